// What instruction-based sampling (IBS) of AMD says: of single instructions, how long they took, where loads had their data from,
// and which memory was accessed.
import { address, count, share, short } from './format.js';
import { bar, h, name } from './dom.js';
import { ibsLoads } from './ibs_loads.js';
import { ibsMemory } from './ibs_memory.js';
import { toBlock } from './links.js';
import { makeTable } from './table.js';

const TITLES = { dc: 'L1 data', ic: 'L1 code', l2: 'L2', dtlb: 'data TLB', itlb: 'code TLB', nb: 'northbridge' };

const KEYS = { text: 'Code', name: 'Function' };

// "op-dc-misses" is "L1 data misses".
const inWords = (event) => event.replace(/^op-(?!samples)|^fetch-(?=ic|itlb)/, '').split('-').map((word) => TITLES[word] ?? word).join(' ');

// The listed block that an instruction is in.
function blockOf(model, row) {
  return model.functions[row.function]?.blocks.find(({ start, size }) => row.address != null && start <= row.address && row.address < start + BigInt(size));
}

// What tables of instructions have in common: where each is, and its text and function if any row has one. Other rows are of none.
function whereColumns(model, rows, { title, isInstruction = () => true, nameOf = () => '' }) {
  const whereOf = (row) => (row.address == null ? 'without code' : address(row.address));
  const moduleOf = (row) => (isInstruction(row) ? model.modules[row.module].name : '');
  const element = (text) => (text ? name(text) : '');
  return [
    {
      id: 'address', title, value: (row) => (isInstruction(row) ? whereOf(row) : nameOf(row)), order: (row) => (isInstruction(row) ? row.address ?? '' : nameOf(row)),
      show: (row) => {
        if (!isInstruction(row)) return name(nameOf(row));
        return blockOf(model, row) ? toBlock(blockOf(model, row), whereOf(row)) : name(whereOf(row));
      },
    },
    ...['text', 'name'].filter((key) => rows.some((row) => row[key])).map((key) => {
      const of = (row) => (isInstruction(row) ? row[key] : '');
      return { id: key, title: KEYS[key], value: of, show: (row) => element(of(row)) };
    }),
    { id: 'module', title: 'Module', value: moduleOf, show: (row) => element(moduleOf(row)) },
  ];
}

function instructions(model) {
  const { ibs } = model;
  return makeTable({
    label: 'Instructions by IBS', rows: ibs.rows, idOf: (row) => String(row.index), sortBy: 'event-0', pageSize: 15,
    columns: [
      ...whereColumns(model, ibs.rows, { title: 'Instruction' }),
      ...ibs.events.map((event, at) => ({ id: `event-${at}`, title: inWords(event), isNumber: true, value: (row) => row.values[at], show: (row) => short(row.values[at]) })),
    ],
  }).element;
}

// Bars end at 100 %.
function latencyFigure({ name: latency, buckets }) {
  const all = buckets.reduce((sum, [, , samples]) => sum + samples, 0);
  const title = `Cycles: ${latency.replaceAll('-', ' ')}`;
  let below = 0;
  return h('figure', {}, h('figcaption', {}, title),
    h('table', { class: 'chart' }, h('caption', { class: 'hidden' }, title),
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Cycles'), h('td', { class: 'bars' }), h('th', { scope: 'col', class: 'number' }, 'Share'), h('th', { scope: 'col', class: 'number' }, 'Up to'))),
      h('tbody', {}, buckets.map(([first, end, samples]) => {
        below += samples;
        return h('tr', { title: `${count(samples)} samples` }, h('th', { scope: 'row' }, end === first + 1 ? count(first) : `${count(first)} to ${count(end - 1)}`),
          h('td', { class: 'bars' }, bar(samples, 0, all)), h('td', { class: 'number' }, share(samples / all)), h('td', { class: 'number' }, share(below / all)));
      }))));
}

export function ibsSection(model) {
  const { ibs } = model;
  const left = ibs.row_count - ibs.rows.length;
  return [
    h('p', {}, 'Samples of single ops and fetches, and what happened to them; cycles are sums. Multiply samples by the period to have occurrences.',
      left > 0 ? ` The ${count(ibs.rows.length)} of ${count(ibs.row_count)} instructions with the most samples.` : ''),
    ibs.events.length ? [h('p', { class: 'muted' }, `In all: ${ibs.events.map((event, at) => `${short(ibs.totals[at])} ${inWords(event)}`).join(', ')}.`),
      instructions(model)] : null,
    ibs.latencies.length ? h('div', { class: 'charts' }, ibs.latencies.map(latencyFigure)) : null,
    ibs.loads.length ? ibsLoads(model, whereColumns) : null,
    ibsMemory(model),
  ];
}
