// Lays out a graph in layers, from the top down, as Sugiyama, Tagawa and Toda do: edges that close a cycle are turned round
// first; a node is below all that lead to it; then nodes are ordered in their layers so that few edges cross, and moved so
// that edges are straight, those of the greatest weight most of all. Long edges to one node share their way.
import { grouped, largest } from './format.js';

const SWEEPS = 12;
const GAP = 44; // between boxes
const WAY_GAP = 16; // around edges that pass
const LAYER_GAP = 54;

// Edges as [from, to, edge] from the layer above to one below, none of a node to itself.
function downward(nodes, edges) {
  const out = nodes.map(() => []);
  edges.forEach((edge) => edge.from !== edge.to && out[edge.from].push(edge));
  const state = nodes.map(() => 0); // 1: on the path, 2: done
  const down = [];
  const order = []; // what comes after all that leads to it, from the end
  for (let root = 0; root < nodes.length; root += 1) {
    if (state[root]) continue;
    state[root] = 1;
    const path = [[root, 0]];
    while (path.length) {
      const top = path.at(-1);
      const edge = out[top[0]][top[1]];
      top[1] += 1;
      if (!edge) {
        state[top[0]] = 2;
        order.push(top[0]);
        path.pop();
      } else {
        edge.isBack = state[edge.to] === 1;
        down.push(edge.isBack ? [edge.to, edge.from, edge] : [edge.from, edge.to, edge]);
        if (!state[edge.to]) {
          state[edge.to] = 1;
          path.push([edge.to, 0]);
        }
      }
    }
  }
  return { down, order: order.reverse() };
}

function layersOf(nodes, down, order) {
  const below = nodes.map(() => []);
  const isLed = nodes.map(() => false);
  for (const [from, to] of down) {
    below[from].push(to);
    isLed[to] = true;
  }
  const layer = nodes.map(() => 0);
  for (const node of order) for (const to of below[node]) layer[to] = Math.max(layer[to], layer[node] + 1);
  for (const node of order) {
    if (!isLed[node] && node !== 0 && below[node].length) layer[node] = below[node].reduce((least, to) => Math.min(least, layer[to]), Infinity) - 1;
  }
  return layer;
}

// Cells are the nodes and, in each layer that an edge passes, its way.
function cellsOf(nodes, down, layer) {
  const cells = nodes.map((node, index) => ({ node, layer: layer[index], width: node.width, above: [], below: [] }));
  const ways = new Map();
  const link = (upper, lower, weight) => {
    upper.below.push({ cell: lower, weight });
    lower.above.push({ cell: upper, weight });
  };
  const wayAt = (edge, at) => {
    const key = `${edge.to} ${edge.isBack} ${at}`;
    if (!ways.has(key)) {
      ways.set(key, { node: null, layer: at, width: 0, above: [], below: [] });
      cells.push(ways.get(key));
    }
    return ways.get(key);
  };
  for (const [from, to, edge] of down) {
    edge.ways = [];
    let last = cells[from];
    for (let at = layer[from] + 1; at < layer[to]; at += 1) {
      const way = wayAt(edge, at);
      edge.ways.push(way);
      if (!last.below.some(({ cell }) => cell === way)) link(last, way, edge.weight);
      last = way;
    }
    link(last, cells[to], edge.weight);
  }
  return cells;
}

function crossings(layers) {
  let sum = 0;
  for (const cells of layers) {
    const ends = cells.flatMap((cell) => cell.below.map(({ cell: to }) => to.at).sort((a, b) => a - b));
    for (let one = 0; one < ends.length; one += 1) for (let other = one + 1; other < ends.length; other += 1) sum += ends[one] > ends[other];
  }
  return sum;
}

const number = (cells) => cells.forEach((cell, at) => { cell.at = at; });

function orderLayers(layers) {
  layers.forEach(number);
  let best = { crossings: crossings(layers), orders: layers.map((cells) => [...cells]) };
  for (let sweep = 0; sweep < SWEEPS && best.crossings; sweep += 1) {
    const side = sweep % 2 ? 'below' : 'above';
    for (const cells of sweep % 2 ? [...layers].reverse() : layers) {
      for (const cell of cells) {
        const linked = cell[side];
        cell.wanted = linked.length ? linked.reduce((sum, { cell: other }) => sum + other.at, 0) / linked.length : cell.at;
      }
      cells.sort((a, b) => a.wanted - b.wanted || a.at - b.at);
      number(cells);
    }
    const found = crossings(layers);
    if (found < best.crossings) best = { crossings: found, orders: layers.map((cells) => [...cells]) };
  }
  best.orders.forEach(number);
  return best.orders;
}

const halves = (left, right) => (left.width + right.width) / 2 + (left.node && right.node ? GAP : left.node || right.node ? (GAP + WAY_GAP) / 2 : WAY_GAP);

// Moves the cells of a layer to where they are wanted, as near as their order and their widths allow: cells that would
// overlap form a group, whose members are wanted where their weighted mean is.
function place(cells) {
  const groups = [];
  let offset = 0; // of the cell from the first one, if all stood as close as they may
  cells.forEach((cell, at) => {
    if (at) offset += halves(cells[at - 1], cell);
    cell.offset = offset;
    groups.push({ sum: (cell.wanted - offset) * cell.pull, pull: cell.pull, cells: [cell] });
    while (groups.length > 1 && groups.at(-2).sum / groups.at(-2).pull > groups.at(-1).sum / groups.at(-1).pull) {
      const { sum, pull, cells: more } = groups.pop();
      const group = groups.at(-1);
      group.sum += sum;
      group.pull += pull;
      group.cells.push(...more);
    }
  });
  for (const { sum, pull, cells: members } of groups) for (const cell of members) cell.x = sum / pull + cell.offset;
}

function setPositions(layers, nodes) {
  const cellsOfAll = layers.flat(); // too many for arguments of a function, maybe
  const most = Math.max(largest(cellsOfAll, (cell) => largest(cell.below, ({ weight }) => weight)), 1e-300);
  for (const cells of layers) {
    for (const cell of cells) Object.assign(cell, { wanted: 0, pull: 1 });
    place(cells);
  }
  for (let sweep = 0; sweep < 2 * SWEEPS; sweep += 1) {
    const sides = sweep % 2 ? ['below', 'above'] : ['above', 'below'];
    for (const cells of sweep % 2 ? [...layers].reverse() : layers) {
      for (const cell of cells) {
        const linked = cell[sides[0]].length ? cell[sides[0]] : cell[sides[1]];
        const pullOf = ({ cell: other, weight }) => (0.05 + weight / most) * (cell.node || other.node ? 1 : 4);
        cell.pull = linked.reduce((sum, one) => sum + pullOf(one), 0);
        cell.wanted = cell.pull ? linked.reduce((sum, one) => sum + one.cell.x * pullOf(one), 0) / cell.pull : cell.x;
        cell.pull ||= 0.01;
      }
      place(cells);
    }
  }
  const left = cellsOfAll.reduce((least, cell) => Math.min(least, cell.x - cell.width / 2), Infinity);
  let top = 0;
  for (const cells of layers) {
    const height = Math.max(...cells.map(({ node }) => node?.height ?? 0));
    for (const cell of cells) {
      cell.x += GAP - left;
      cell.y = top + GAP / 2 + height / 2;
      cell.height = cell.node?.height ?? height;
      if (cell.node) Object.assign(cell.node, { x: cell.x, y: cell.y, layer: cell.layer });
    }
    top += height + LAYER_GAP;
  }
  const right = largest(cellsOfAll, (cell) => cell.x + cell.width / 2);
  return { width: right + GAP, height: top - LAYER_GAP + GAP };
}

const upright = (x, from, to) => [[x, from], [x, to]];

// The points of a forward edge, from the bottom of a box through the layers that it passes to the top of another one.
function forwardPoints(edge, from, to) {
  const ways = edge.ways.flatMap(({ x, y, height }) => upright(x, y - height / 2, y + height / 2));
  return [[from.x + edge.leave, from.y + from.height / 2], ...ways, [to.x + edge.enter, to.y - to.height / 2]];
}

// The points of one that goes up: out of the bottom, past the side of its box, and into the top of the other one.
function backPoints(edge, from, to) {
  const first = edge.ways.at(-1);
  const last = edge.ways[0];
  const side = (first ?? { x: Infinity }).x >= from.x ? 1 : -1;
  const lastSide = (last ?? { x: Infinity }).x >= to.x ? 1 : -1;
  const out = edge.ways.length ? from.x + side * (from.width / 2 + 14) : Math.max(from.x + from.width / 2, to.x + to.width / 2) + 14;
  const into = edge.ways.length ? to.x + lastSide * (to.width / 2 + 14) : out;
  const [low, high] = [from.y + from.height / 2, to.y - to.height / 2];
  const ways = [...edge.ways].reverse().flatMap(({ x, y, height }) => upright(x, y + height / 2, y - height / 2));
  return [[from.x + edge.leave, low], [from.x + edge.leave, low + 12], [out, low + 12], [out, from.y - from.height / 2], ...ways,
    [into, to.y + to.height / 2], [into, high - 12], [to.x + edge.enter, high - 12], [to.x + edge.enter, high]];
}

// Spreads the ends of edges over the side of a box, in the order in which they go on; those of one way end together.
function spread(edges, end, way, horizontal, width) {
  const groups = [...grouped(edges, (edge) => way(edge) ?? edge).values()].sort(([a], [b]) => horizontal(a) - horizontal(b));
  const room = Math.min(width * 0.8, 44 * groups.length);
  groups.forEach((group, at) => { for (const edge of group) edge[end] = ((at + 1) / (groups.length + 1) - 0.5) * room; });
}

// nodes: [{width, height}], the first one at the top; edges: [{from, to, weight}] by index. Nodes get {x, y} of their middle
// and {layer}, edges {points, isBack}. Returns {width, height}.
export function layOut(nodes, edges) {
  const { down, order } = downward(nodes, edges);
  const layer = layersOf(nodes, down, order);
  const cells = cellsOf(nodes, down, layer);
  const layers = Array.from({ length: Math.max(...layer) + 1 }, () => []);
  for (const cell of cells) layers[cell.layer].push(cell);
  const size = setPositions(orderLayers(layers), nodes);
  for (const edge of edges) {
    edge.ways ??= [];
    edge.isBack ||= edge.from === edge.to;
  }
  const lastWay = (edge) => edge.ways.at(edge.isBack ? 0 : -1);
  const nextX = (edge) => (edge.ways.at(edge.isBack ? -1 : 0)?.x ?? (edge.isBack ? Infinity : nodes[edge.to].x));
  const lastX = (edge) => (lastWay(edge)?.x ?? (edge.isBack ? Infinity : nodes[edge.from].x));
  const leaving = grouped(edges, ({ from }) => from);
  const entering = grouped(edges, ({ to }) => to);
  nodes.forEach((node, index) => {
    spread(leaving.get(index) ?? [], 'leave', () => null, nextX, node.width);
    spread(entering.get(index) ?? [], 'enter', lastWay, lastX, node.width);
  });
  for (const edge of edges) {
    edge.points = (edge.isBack ? backPoints : forwardPoints)(edge, nodes[edge.from], nodes[edge.to]);
  }
  return size;
}
