// The latencies of loads by instruction and level of memory, and the histogram of one instruction.
import { address, count, share, short } from './format.js';
import { field, fill, h, name } from './dom.js';
import { makeTable } from './table.js';

const SERIES = 7;

const loadsIn = (buckets) => buckets.reduce((sum, [, , samples]) => sum + samples, 0);

// Cycles that at least this share of the loads was below.
function cyclesAbove(buckets, part) {
  const wanted = part * loadsIn(buckets);
  let loads = 0;
  return buckets.find(([, , samples]) => (loads += samples) >= wanted)[1];
}

// The buckets of all levels, by cycles.
function together(levels) {
  const sums = new Map();
  for (const [first, end, samples] of levels.flatMap(({ buckets }) => buckets)) sums.set(first, [first, end, (sums.get(first)?.[2] ?? 0) + samples]);
  return [...sums.values()].sort(([a], [b]) => a - b);
}

const BOUNDS = [['half', 'Half below', 0.5], ['most', '90\u00a0% below', 0.9], ['all', 'All below', 1]];

function loadsTable(model, whereColumns) {
  const rows = model.ibs.loads.map((row) => {
    const buckets = together(row.levels);
    const loads = loadsIn(buckets);
    const levels = row.levels.map((level, at) => ({ index: `${row.index}-${at}`, level: level.name, buckets: level.buckets, loads: loadsIn(level.buckets), of: loads }));
    return { ...row, buckets, loads, levels };
  });
  const isInstruction = (row) => row.level == null;
  const number = (id, title, value, show) => ({ id, title, isNumber: true, value, show: (row) => (value(row) == null ? '' : show(value(row))) });
  // Loads that hit the L1 data cache have no latency.
  const bound = (part) => (row) => (row.level === 'l1' ? null : cyclesAbove(row.buckets, part));
  return makeTable({
    label: 'Loads by level of memory', rows, children: (row) => row.levels, idOf: (row) => String(row.index), sortBy: 'loads', pageSize: 10,
    columns: [
      ...whereColumns(model, rows, { title: 'Instruction › Level', isInstruction, nameOf: (row) => row.level }),
      number('loads', 'Loads', (row) => row.loads, short),
      number('share', 'Share', (row) => (isInstruction(row) ? null : row.loads / row.of), share),
      ...BOUNDS.map(([id, title, part]) => number(id, title, bound(part), count)),
    ],
  }).element;
}

const colorOf = (at) => (at < SERIES ? `var(--series-${at})` : 'var(--other)');

const swatch = (at) => {
  const element = h('span', { class: 'swatch', 'aria-hidden': 'true' });
  element.style.background = colorOf(at);
  return element;
};

// Parts of a bar: one for each level, as wide as its loads of `most`.
function levelsBar(numbers, most) {
  let before = 0;
  return h('span', { class: 'bar', 'aria-hidden': 'true' }, numbers.map((loads, at) => {
    const part = h('span', { class: 'fill' });
    part.style.setProperty('--color', colorOf(at));
    part.style.left = `${(100 * before) / most}%`;
    part.style.width = `${(100 * loads) / most}%`;
    before += loads;
    return part;
  }));
}

function histogram({ levels }) {
  const buckets = together(levels);
  const most = Math.max(...buckets.map(([, , loads]) => loads));
  const numbersOf = (start) => levels.map((level) => level.buckets.find(([first]) => first === start)?.[2] ?? 0);
  return h('table', { class: 'chart levels' }, h('caption', { class: 'hidden' }, 'Loads by cycles and level of memory'),
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Cycles'), h('td', { class: 'bars' }),
      levels.map((level, at) => h('th', { scope: 'col', class: 'number' }, swatch(at), ' ', level.name)))),
    h('tbody', {}, buckets.map(([first, end]) => h('tr', {},
      h('th', { scope: 'row' }, end === first + 1 ? count(first) : `${count(first)} to ${count(end - 1)}`),
      h('td', { class: 'bars' }, levelsBar(numbersOf(first), most)),
      numbersOf(first).map((loads) => h('td', { class: 'number' }, loads ? short(loads) : ''))))));
}

function histogramFigure(model) {
  const titleOf = (row) => [row.address == null ? 'without code' : address(row.address), row.name].filter(Boolean).join(' in ');
  const { element: choice, field: labelled } = field('Instruction', 'ibs-load');
  const figure = h('figure', { class: 'time' }, h('figcaption', {}, 'Cycles of the loads of one instruction'), labelled);
  fill(choice, model.ibs.loads.map((row) => [String(row.index), titleOf(row)]), '0');
  let table = null;
  const draw = () => {
    const row = model.ibs.loads[Number(choice.value)];
    const drawn = h('div', { class: 'scroll', role: 'region', 'aria-label': 'Cycles of loads', tabindex: '0' }, row.text ? h('p', {}, h('code', {}, name(row.text))) : null, histogram(row));
    if (table) table.replaceWith(drawn);
    else figure.append(drawn);
    table = drawn;
  };
  choice.addEventListener('change', draw);
  draw();
  return figure;
}

// whereColumns: of ibs.js.
export function ibsLoads(model, whereColumns) {
  const { ibs } = model;
  return [
    h('h3', {}, 'Loads by level of memory'),
    h('p', {}, 'Where loads had their data from, and in how many cycles if they missed the L1 data cache; those that hit it have 0. An arrow opens the levels of an instruction.',
      ibs.loads.length < ibs.load_count ? ` The ${count(ibs.loads.length)} of ${count(ibs.load_count)} instructions with the most loads.` : ''),
    loadsTable(model, whereColumns), histogramFigure(model),
  ];
}
