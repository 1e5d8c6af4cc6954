// The memory that ops of IBS accessed: by cache line, page and data object.
import { address, count, short } from './format.js';
import { h, name } from './dom.js';
import { makeTable } from './table.js';

const NUMBERS = [
  ['loads', 'Loads'], ['stores', 'Stores'], ['misses', 'L1 data misses'], ['miss_cycles', 'Miss cycles'], ['local', 'Local'], ['remote', 'Remote'], ['threads', 'Threads'],
];

const numbers = NUMBERS.map(([id, title]) => ({ id, title, isNumber: true, value: (row) => row[id], show: (row) => short(row[id]) }));
const text = (id, title, value) => ({ id, title, value, show: (row) => (value(row) ? name(value(row)) : '') });

const table = (label, rows, columns) => makeTable({ label, rows, idOf: (row) => String(row.index), sortBy: 'samples', pageSize: 10, columns });

const samples = { id: 'samples', title: 'Samples', isNumber: true, value: (row) => row.loads + row.stores, show: (row) => short(row.loads + row.stores) };

function byAddress(label, title, { rows }) {
  const processes = new Set(rows.map(({ pid }) => pid)).size > 1 ? [{ id: 'pid', title: 'Process', isNumber: true, value: (row) => row.pid, show: (row) => String(row.pid) }] : [];
  const nodes = rows.some(({ node }) => node) ? [text('node', 'NUMA node', (row) => row.node)] : [];
  return table(label, rows, [
    { id: 'address', title, value: (row) => address(row.address), order: (row) => row.address, show: (row) => name(address(row.address)) },
    ...processes, samples, ...numbers, ...nodes,
  ]).element;
}

function byObject(model, { rows }) {
  const moduleOf = (row) => model.modules[row.module]?.name ?? '';
  return table('Data objects', rows, [
    { id: 'name', title: 'Object', value: (row) => row.name, show: (row) => name(row.name) },
    text('module', 'Module', moduleOf),
    { id: 'address', title: 'Address', value: (row) => (row.address == null ? '' : address(row.address)), order: (row) => row.address ?? '', show: (row) => (row.address == null ? '' : name(address(row.address))) },
    { id: 'size', title: 'Bytes', isNumber: true, value: (row) => row.size, show: (row) => (row.size ? count(row.size) : '') },
    samples, ...numbers,
  ]).element;
}

export function ibsMemory(model) {
  const part = (title, list, element) => {
    if (!list.rows.length) return null;
    const isCut = list.rows.length < list.row_count;
    return [h('h3', {}, title), isCut ? h('p', {}, `The ${count(list.rows.length)} of ${count(list.row_count)} with the most samples.`) : null, element(list)];
  };
  const { objects, lines, pages } = model.ibs;
  if (!objects.rows.length && !lines.rows.length) return null;
  return [
    h('p', {}, 'Accessed memory. Local and remote are loads with data from beyond the caches of their core, by node of the core; the NUMA node is that of the memory.'),
    part('Data objects', objects, (list) => byObject(model, list)),
    part('Cache lines', lines, (list) => byAddress('Cache lines', 'Line', list)),
    part('Pages', pages, (list) => byAddress('Pages', 'Page', list)),
  ];
}
