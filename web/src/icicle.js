// Where it ran, from coarse to fine: modules, their functions, loops and blocks, each as wide as its part of the one above. Choosing
// one makes it as wide as the page.
import { address, short, share } from './format.js';
import { field, fill, h, name } from './dom.js';
import { heatOf } from './heat.js';
import { toBlock, toFunction, toLoop } from './links.js';
import { shown } from './names.js';
import { matcher } from './search.js';

const NARROWEST = 3; // pixels
const NARROWEST_NAMED = 30;
const UNITS = { instructions: 'instructions', executions: 'executions of listed blocks' };

// children by what they are of
const makeNode = (what, parent) => ({ ...what, parent, depth: parent ? parent.depth + 1 : 0, instructions: 0, executions: 0, children: new Map() });

function childOf(parent, key, what) {
  if (!parent.children.has(key)) parent.children.set(key, makeNode(what(), parent));
  return parent.children.get(key);
}

function add(node, instructions, executions) {
  for (let at = node; at; at = at.parent) {
    at.instructions += instructions;
    at.executions += executions;
  }
}

function loopNode(model, parent, index) {
  const loop = model.loops[index];
  if (!loop) return parent;
  return childOf(loopNode(model, parent, loop.parent), `loop ${index}`, () => ({
    kind: 'loop', label: `loop at ${address(loop.header)}`, error: loop.error, link: loop.trips == null ? null : () => toLoop(loop, 'In the list of loops'),
  }));
}

function treeOf(model) {
  const root = makeNode({ kind: 'all', label: 'All' }, null);
  const moduleNode = (index) => childOf(root, index, () => ({ kind: 'module', label: model.modules[index].name }));
  const functionNode = (module, index) => {
    const f = model.functions[index];
    return childOf(moduleNode(module), `function ${index}`, () => (f
      ? { kind: 'function', label: f.name, f, error: f.error, link: () => toFunction(f, 'Its code') }
      : { kind: 'function', label: 'other functions' }));
  };
  for (const block of model.blocks) {
    const parent = loopNode(model, functionNode(block.module, block.function), block.loop);
    const leaf = childOf(parent, `block ${block.index}`, () => ({
      kind: 'block', label: address(block.start), error: (block.error ?? 0) * block.instructions.length, link: () => toBlock(block, 'Its code'),
    }));
    add(leaf, block.weight, block.count);
  }
  for (const rest of model.rest) {
    const f = functionNode(rest.module, rest.function);
    add(f.f ? childOf(f, 'rest', () => ({ kind: 'rest', label: 'blocks that are not listed' })) : f, rest.instructions, 0);
  }
  return root;
}

const pathTo = (node) => (node ? [...pathTo(node.parent), node] : []);

// {element, mark(query): shows which parts have all words of a search}
export function icicleView(model) {
  const root = treeOf(model);
  const unit = field('Width by', 'icicle-unit');
  fill(unit.element, Object.entries(UNITS), 'instructions');
  const tree = h('div', { class: 'icicle', role: 'tree', 'aria-label': 'Modules, functions, loops and blocks' });
  const about = h('p', { role: 'status' });
  const found = h('p', { class: 'muted', hidden: true });
  let top = root; // what is as wide as the page
  let active = root; // what Tab reaches
  let isMatch = null;
  let cells = new Map(); // elements by node

  const sizeOf = (node) => node[unit.element.value];
  let sorted = new Map(); // children by node, the widest first
  function childrenOf(node) {
    if (!sorted.has(node)) sorted.set(node, [...node.children.values()].filter((child) => sizeOf(child) > 0).sort((a, b) => sizeOf(b) - sizeOf(a)));
    return sorted.get(node);
  }
  const textOf = (node) => `${shown(node.label)}: ${share(sizeOf(node) / sizeOf(root))}`;

  function describe(node) {
    const error = node.error != null && unit.element.value === 'instructions' ? ` ± ${short(node.error)}` : '';
    about.replaceChildren(name(node.label), `${node.parent ? `, ${node.kind}` : ''}: ${short(sizeOf(node))}${error} ${UNITS[unit.element.value]}, ${share(sizeOf(node) / sizeOf(root))} of all`,
      node.parent && node.parent !== root ? `, ${share(sizeOf(node) / sizeOf(node.parent))} of its ${node.parent.kind}` : '', '. ', node.link?.() ?? '');
  }

  function cellOf(node, left, width, at) {
    const siblings = node.parent ? childrenOf(node.parent) : [node];
    const cell = h('div', {
      class: `cell ${node.kind}`, role: 'treeitem', tabindex: '-1', 'aria-level': node.depth + 1, 'aria-posinset': at + 1, 'aria-setsize': siblings.length,
      'aria-label': textOf(node), title: textOf(node), 'data-heat': heatOf(sizeOf(node), sizeOf(root)), 'data-match': isMatch?.(node) || null,
      onclick: () => zoom(node), onpointerenter: () => describe(node), onfocus: () => activate(node),
    }, width * tree.clientWidth < NARROWEST_NAMED ? null : name(node.label));
    cell.style.left = `${100 * left}%`;
    cell.style.width = `${100 * width}%`;
    cell.style.top = `${1.7 * node.depth}rem`;
    cells.set(node, cell);
    return cell;
  }

  function draw() {
    cells = new Map();
    const narrowest = NARROWEST / (tree.clientWidth || 1000);
    let deepest = top.depth;
    const below = (node, left) => {
      let from = left;
      for (const [at, child] of childrenOf(node).entries()) {
        const width = sizeOf(child) / sizeOf(top);
        if (width < narrowest) break;
        deepest = Math.max(deepest, child.depth);
        cellOf(child, from, width, at);
        below(child, from);
        from += width;
      }
    };
    for (const node of pathTo(top)) cellOf(node, 0, 1, node.parent ? childrenOf(node.parent).indexOf(node) : 0);
    below(top, 0);
    tree.style.height = `${1.7 * (deepest + 1)}rem`;
    const hadFocus = tree.contains(document.activeElement);
    tree.replaceChildren(...cells.values());
    if (!cells.has(active)) active = top;
    cells.get(active).tabIndex = 0;
    if (hadFocus) cells.get(active).focus({ preventScroll: true });
    cells.get(top).classList.add('top');
    describe(active);
  }

  function activate(node) {
    if (cells.has(active)) cells.get(active).tabIndex = -1;
    active = node;
    cells.get(node).tabIndex = 0;
    describe(node);
  }

  function zoom(node) {
    top = node;
    active = node;
    draw();
    cells.get(node).focus({ preventScroll: true });
  }

  const isDrawn = (node) => node && cells.has(node);
  const sibling = (node, step) => {
    const siblings = node.parent ? childrenOf(node.parent) : [node];
    return siblings[siblings.indexOf(node) + step];
  };
  const keys = {
    ArrowDown: (node) => childrenOf(node)[0], ArrowUp: (node) => node.parent,
    ArrowLeft: (node) => sibling(node, -1), ArrowRight: (node) => sibling(node, 1),
    Home: () => root,
  };
  tree.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const next = keys[event.key]?.(active);
    if (isDrawn(next)) {
      cells.get(next).focus();
    } else if (event.key === 'Enter' || event.key === ' ') {
      zoom(active);
    } else if (event.key === 'Escape' && top.parent) {
      zoom(top.parent);
    } else {
      return;
    }
    event.preventDefault();
  });
  unit.element.addEventListener('change', () => {
    top = root;
    sorted = new Map();
    draw();
  });
  let drawnWidth = null;
  new ResizeObserver(() => {
    if (tree.clientWidth === drawnWidth) return;
    drawnWidth = tree.clientWidth;
    draw();
  }).observe(tree);

  // What lies below a part that is found is not added again.
  function sizeOfFound(node) {
    if (isMatch(node)) return sizeOf(node);
    return childrenOf(node).reduce((sum, child) => sum + sizeOfFound(child), 0);
  }

  function mark(query) {
    const test = matcher(query, { texts: (node) => [node.label], start: () => 0n, size: () => 0 });
    isMatch = test && ((node) => node.parent && test(node));
    found.hidden = !test;
    if (test) found.textContent = `“${query}”: ${share(sizeOfFound(root) / sizeOf(root))} of ${UNITS[unit.element.value]}.`;
    draw();
  }

  const element = h('div', {}, h('div', { class: 'fields' }, unit.field), tree, about, found);
  return { element, mark };
}
