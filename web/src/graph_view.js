// The control-flow graph of a function: its blocks, warmer and with thicker edges where they ran more often. It scrolls and can
// be dragged; a block leads to its code.
import { address, count, grouped, largest, share, short } from './format.js';
import { h, s, scrolled } from './dom.js';
import { layOut } from './graph_layout.js';
import { heatOf } from './heat.js';

const FIRST_BLOCKS = 120; // more are harder to read than the code
const MOST_BLOCKS = 640;
const BOX = { width: 176, height: 62 };
const ZOOM = 1.25;
const SCALES = [0.15, 3];
const HOT_EDGE = 0.2; // of the most frequent one
const KINDS = { next: 'goes on to', call: 'calls, and goes on to', branch: 'branches to', indirect: 'jumps to', through: 'leads, through blocks that are not shown, to' };

const lastOf = (block) => block.instructions.at(-1)?.text ?? '';
const cut = (text, room) => (text.length > room ? `${text.slice(0, room - 1)}…` : text);

// Edges by which blocks that nothing shown leads to are reached through blocks that are not shown.
function waysThroughOthers(f, blocks, edges) {
  const isShown = new Set(blocks);
  const into = grouped(f.edges, ({ to }) => to);
  const isLed = new Set(edges.filter(({ from, to }) => from !== to).map(({ to }) => to));
  return blocks.slice(1).filter((block) => !isLed.has(block)).flatMap((block) => {
    const seen = new Set([block]);
    for (const one of seen) {
      for (const { from } of into.get(one) ?? []) {
        if (isShown.has(from) && from !== block) return [{ from, to: block, kind: 'through', count: null }];
        seen.add(from);
      }
    }
    return [];
  });
}

// The blocks that are shown, by address, and the edges between them.
function partOf(f, limit) {
  const busiest = [...f.blocks].sort((a, b) => b.count - a.count).slice(0, limit);
  const blocks = busiest.sort((a, b) => (a.start < b.start ? -1 : 1));
  const at = new Map(blocks.map((block, index) => [block, index]));
  const between = f.edges.filter(({ from, to }) => at.has(from) && at.has(to));
  const edges = [...between, ...waysThroughOthers(f, blocks, between)];
  return { blocks, edges: edges.map((edge) => ({ edge, from: at.get(edge.from), to: at.get(edge.to), weight: edge.count ?? 0 })) };
}

const wayText = ({ kind, to, count: times }) => `${KINDS[kind]} ${address(to.start)}${times == null ? '' : ` ${short(times)} times`}`;

function describe(model, block, ways) {
  const text = `Block ${address(block.start)}: ${short(block.count)} ± ${short(block.error)} times, ${share(block.weight / model.instructions)} of all instructions`;
  return [text, ...ways.map(wayText)].join('; ');
}

function boxOf(model, block, node, hottest, ways) {
  const text = (y, what, kind) => s('text', { x: 10, y, class: kind }, what);
  const label = describe(model, block, ways);
  const box = s('a', { href: `#block-${block.index}`, class: 'graph-block', tabindex: '-1', 'data-block': block.index, 'data-heat': heatOf(block.count, hottest), 'aria-label': label,
    transform: `translate(${node.x - node.width / 2} ${node.y - node.height / 2})` },
  s('title', {}, label), s('rect', { width: node.width, height: node.height, rx: 5 }),
  text(17, address(block.start), 'address'), text(35, `${short(block.count)} times, ${share(block.weight / model.instructions)}`),
  text(52, cut(lastOf(block), 24), 'address'));
  return box;
}

// Rounds the corners of a line.
function pathOf(points) {
  const parts = [`M${points[0]}`];
  for (let at = 1; at < points.length - 1; at += 1) {
    const [[x0, y0], [x, y], [x1, y1]] = points.slice(at - 1, at + 2);
    const part = (dx, dy) => Math.min(1, 10 / (Math.hypot(dx, dy) || 1)) / (Math.hypot(dx, dy) < 20 ? 2 : 1);
    const [into, out] = [part(x0 - x, y0 - y), part(x1 - x, y1 - y)];
    parts.push(`L${x + (x0 - x) * into},${y + (y0 - y) * into}Q${x},${y},${x + (x1 - x) * out},${y + (y1 - y) * out}`);
  }
  parts.push(`L${points.at(-1)}`);
  return parts.join('');
}

function edgeOf({ edge, points }, most) {
  const part = edge.count == null ? 0 : edge.count / most;
  const width = 1 + 6 * Math.sqrt(part);
  const [x, y] = points.at(-1);
  const tip = 3.5 + width;
  const line = [...points.slice(0, -1), [x, y - tip]];
  const kind = edge.count == null ? 'unknown' : part >= HOT_EDGE ? 'hot' : 'cool';
  return s('g', { class: `graph-edge ${kind}`, 'data-kind': edge.kind }, s('title', {}, `${address(edge.from.start)} ${wayText(edge)}`),
    s('path', { d: pathOf(line), 'stroke-width': width.toFixed(1) }),
    s('path', { class: 'tip', d: `M${x - tip * 0.7},${y - tip}L${x + tip * 0.7},${y - tip}L${x},${y}Z` }));
}

// Where a block goes on in two ways, each says how often, on its side.
function edgeLabel({ edge, points, leave }) {
  const [x, y] = points[0];
  const isLeft = leave < 0;
  return s('text', { class: 'graph-count', x: x + (isLeft ? -6 : 6), y: y + 13, 'text-anchor': isLeft ? 'end' : 'start' }, edge.count == null ? '?' : short(edge.count));
}

function drawingOf(model, f, limit) {
  const { blocks, edges } = partOf(f, limit);
  const nodes = blocks.map(() => ({ ...BOX }));
  const size = layOut(nodes, edges);
  const hottest = largest(blocks, (block) => block.count);
  const most = largest(edges, ({ weight }) => weight);
  const ways = new Map(blocks.map((block) => [block, []]));
  for (const { edge } of edges) ways.get(edge.from).push(edge);
  const drawn = [...edges].sort((a, b) => a.weight - b.weight);
  const boxes = blocks.map((block, at) => boxOf(model, block, nodes[at], hottest, ways.get(block)));
  const svg = s('svg', { role: 'group', 'aria-label': `Control-flow graph of ${f.name}`, viewBox: `0 0 ${size.width} ${size.height}` },
    drawn.map((edge) => edgeOf(edge, most)), boxes,
    edges.filter(({ edge }) => ways.get(edge.from).length === 2).map(edgeLabel));
  return { svg, size, blocks, nodes, boxes, edges };
}

// Keys go along the edges that were taken most, or to neighbours.
function neighbour({ nodes, edges }, at, key) {
  const along = (from, to) => edges.filter((edge) => edge[from] === at && edge[to] !== at)
    .reduce((most, edge) => (most && most.weight >= edge.weight ? most : edge), null)?.[to];
  const aside = (direction) => nodes.map((node, index) => ({ ...node, index }))
    .filter(({ layer, x }) => layer === nodes[at].layer && direction * (x - nodes[at].x) > 0)
    .sort((a, b) => direction * (a.x - b.x))[0]?.index;
  const next = {
    ArrowDown: () => along('from', 'to'), ArrowUp: () => along('to', 'from'), ArrowLeft: () => aside(-1), ArrowRight: () => aside(1),
    Home: () => 0, End: () => nodes.length - 1,
  };
  return next[key]?.();
}

// {element, show(block, withFocus): brings it into view, where there is such a block}
export function graphOf(model, f) {
  const scroll = scrolled(`Control-flow graph of ${f.name}`);
  const status = h('span', {});
  const more = h('button', { type: 'button', class: 'link' });
  let limit = FIRST_BLOCKS;
  let drawing = null;
  let scale = 1;

  function resize() {
    const { svg, size } = drawing;
    svg.setAttribute('width', size.width * scale);
    svg.setAttribute('height', size.height * scale);
  }

  // The point at (x, y) of the window stays where it is.
  function zoom(factor, x = scroll.clientWidth / 2, y = scroll.clientHeight / 2) {
    const before = scale;
    scale = Math.min(SCALES[1], Math.max(SCALES[0], scale * factor));
    const [left, top] = [scroll.scrollLeft, scroll.scrollTop];
    resize();
    scroll.scrollLeft = ((left + x) * scale) / before - x;
    scroll.scrollTop = ((top + y) * scale) / before - y;
  }

  const whole = () => Math.min(scroll.clientWidth / drawing.size.width, scroll.clientHeight / drawing.size.height);

  function fit() {
    zoom(Math.min(1, whole()) / scale);
  }

  function center({ x, y }) {
    scroll.scrollLeft = x * scale - scroll.clientWidth / 2;
    scroll.scrollTop = y * scale - scroll.clientHeight / 2;
  }

  function activate(at) {
    drawing.boxes.forEach((box, index) => box.setAttribute('tabindex', index === at ? '0' : '-1'));
  }

  function draw() {
    drawing = drawingOf(model, f, limit);
    scroll.replaceChildren(drawing.svg);
    activate(0);
    resize();
    const shown = drawing.blocks.length;
    const ran = drawing.blocks.reduce((sum, block) => sum + block.weight, 0);
    const isPart = shown < f.blocks.length;
    status.textContent = isPart ? `The ${count(shown)} of ${count(f.blocks.length)} blocks that ran most often, with ${share(ran / f.instructions)} of the instructions of the function. ` : '';
    const next = Math.min(MOST_BLOCKS, f.blocks.length);
    more.textContent = `Show ${count(next)} blocks`;
    more.hidden = shown >= next;
  }

  function showMore() {
    limit = MOST_BLOCKS;
    draw();
  }

  more.addEventListener('click', () => {
    showMore();
    fit();
    drawing.boxes[0].focus();
  });
  scroll.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = { '+': () => zoom(ZOOM), '=': () => zoom(ZOOM), '-': () => zoom(1 / ZOOM), 0: fit }[event.key];
    const at = drawing.boxes.indexOf(document.activeElement);
    const next = at >= 0 ? neighbour(drawing, at, event.key) : undefined;
    if (!act && next === undefined) return;
    event.preventDefault();
    if (act) act();
    else drawing.boxes[next].focus();
  });
  scroll.addEventListener('focusin', ({ target }) => {
    const at = drawing.boxes.indexOf(target.closest('a'));
    if (at >= 0) activate(at);
  });
  scroll.addEventListener('wheel', (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const { left, top } = scroll.getBoundingClientRect();
    zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, event.clientX - left, event.clientY - top);
  }, { passive: false });
  scroll.addEventListener('pointerdown', (down) => {
    if (down.pointerType !== 'mouse' || down.button !== 0 || down.target.closest('a')) return;
    const [left, top] = [scroll.scrollLeft, scroll.scrollTop];
    const move = (event) => {
      scroll.scrollLeft = left + down.clientX - event.clientX;
      scroll.scrollTop = top + down.clientY - event.clientY;
    };
    scroll.setPointerCapture(down.pointerId);
    scroll.addEventListener('pointermove', move);
    scroll.addEventListener('pointerup', () => scroll.removeEventListener('pointermove', move), { once: true });
  });

  const button = (text, label, onclick) => h('button', { type: 'button', 'aria-label': label, onclick }, text);
  const element = h('div', { class: 'graph' },
    scroll,
    h('div', { class: 'head' }, h('p', { class: 'muted' }, status, more),
      h('div', { class: 'graph-tools' }, button('+', 'Zoom in', () => zoom(ZOOM)), button('−', 'Zoom out', () => zoom(1 / ZOOM)), button('Fit', 'Fit the graph', fit))));
  draw();

  function show(block, withFocus) {
    if (!drawing.blocks.includes(block) && limit < MOST_BLOCKS) showMore();
    const at = drawing.blocks.indexOf(block);
    for (const box of drawing.boxes) box.classList.toggle('target', box === drawing.boxes[at]);
    if (at < 0) return;
    activate(at);
    center(drawing.nodes[at]);
    if (withFocus) drawing.boxes[at].focus({ preventScroll: true });
  }

  // A small graph is seen whole, of a large one what ran most.
  function start(block) {
    fit();
    if (scale < 0.6) zoom(0.75 / scale);
    show(block);
    if (drawing.nodes.length && whole() >= 0.6) center({ x: drawing.size.width / 2, y: 0 });
  }
  return { element, show, start };
}
