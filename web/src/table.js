// A table that sorts, opens rows and shows more on demand: TanStack Table keeps the state, this
// makes elements of it. Headers are <th scope="col"> with a button in each, rows have a <th scope="row">.
// All have their roles, because the style sheet makes other boxes of rows and cells in a narrow window, where browsers would forget
// them; a cell then shows data-label, the title of its column.
// Where rows open it is a tree grid: Tab leads to one row, arrow keys from row to row.
import {
  constructTable, createExpandedRowModel, createPaginatedRowModel, createSortedRowModel,
  rowExpandingFeature, rowPaginationFeature, rowSortingFeature, sortFn_alphanumeric, tableFeatures,
} from '@tanstack/table-core';
import { storeReactivityBindings } from '@tanstack/table-core/store-reactivity-bindings';
import { saveCsv } from './download.js';
import { count } from './format.js';
import { h, scrolled } from './dom.js';
import { rowKeys } from './row_keys.js';

const features = tableFeatures({
  coreReactivityFeature: storeReactivityBindings(),
  rowSortingFeature, rowExpandingFeature, rowPaginationFeature,
  sortedRowModel: createSortedRowModel(),
  expandedRowModel: createExpandedRowModel(),
  paginatedRowModel: createPaginatedRowModel(),
  sortFns: { byOrder },
});

// Numbers, which come first, by their value; BigInt, too, as addresses are.
function byOrder(one, other, id) {
  const [a, b] = [one, other].map((row) => row.getValue(id));
  const [isNumberA, isNumberB] = [a, b].map((value) => typeof value !== 'string');
  if (isNumberA !== isNumberB) return isNumberA ? -1 : 1;
  if (!isNumberA) return sortFn_alphanumeric(one, other, id);
  return Number(a > b) - Number(a < b);
}

const ARROWS = { asc: '▲', desc: '▼', false: '↕' };
const ARIA = { asc: 'ascending', desc: 'descending' };
const CHILDREN = 10;
const GROWTH = 4;

const moreText = (shown, of) => `Show more (${count(shown)} of ${count(of)} shown)`;

// columns: [{id, title, value(row), order(row), show(row), csv(row), isNumber}]; the first one is the row's header.
// They sort by order, and are saved by csv, or by value where there is none. Rows of the first level have the id `row-${anchor}-${idOf(row)}`.
// matches(query): a test of rows, or null. Its CSV has all rows that match, in their order, and the numbers in full; where rows
// open it has the innermost rows, and a column for each level.
// {element, reveal(id): shows the row and gives it the focus, filter(query): how many rows are left}
export function makeTable({ label, columns, rows: all, children, idOf, anchor, matches, sortBy, pageSize = 25, footer }) {
  let rows = all;
  const table = constructTable({
    features,
    data: rows,
    columns: columns.map(({ id, value, order, isNumber }) => ({
      id, accessorFn: order ?? value, sortFn: isNumber ? undefined : 'byOrder', sortDescFirst: Boolean(isNumber),
      sortUndefined: 'last',
    })),
    getSubRows: children,
    getRowId: idOf,
    enableSortingRemoval: false,
    paginateExpandedRows: false,
    autoResetPageIndex: false,
    initialState: { sorting: [{ id: sortBy, desc: true }], pagination: { pageIndex: 0, pageSize } },
  });
  const limits = new Map(); // of the children of a row that are shown, by its id

  const headers = columns.map((column) => {
    const arrow = h('span', { class: 'arrow', 'aria-hidden': 'true' });
    const button = h('button', { type: 'button', class: 'sort', onclick: () => table.getColumn(column.id).toggleSorting() },
      column.title, ' ', arrow);
    return { column, arrow, cell: h('th', { role: 'columnheader', scope: 'col', class: column.isNumber ? 'number' : null }, button) };
  });
  const body = h('tbody', { role: 'rowgroup' });
  const cellOf = (column) => ({ role: children ? 'gridcell' : 'cell', class: column.isNumber ? 'number' : null, 'data-label': labelOf(column) });
  const labelOf = ({ title }) => title.textContent ?? title;
  const keys = children ? rowKeys(body) : null;
  const more = h('button', {
    type: 'button', class: 'more',
    onclick: () => {
      const shown = table.atoms.pagination.get().pageSize;
      table.setPageSize(shown * GROWTH);
      if (more.hidden) focusRow(shown);
    },
  });
  const element = h('div', { class: 'table' },
    h('div', { class: 'tools' }, h('button', { type: 'button', class: 'csv', 'aria-label': `${label} as CSV`, onclick: download }, 'CSV')),
    scrolled(label, h('table', { role: children ? 'treegrid' : 'table', 'aria-label': children ? label : null },
      h('caption', { class: 'hidden' }, label),
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, headers.map(({ cell }) => cell))), body,
      footer && h('tfoot', { role: 'rowgroup' }, h('tr', { role: 'row' }, columns.map((column, at) => (at
        ? h('td', cellOf(column), column.show(footer)) : h('th', { role: 'rowheader', scope: 'row' }, column.show(footer)))))))),
    more);

  // Of those that are in no other row.
  function focusRow(at) {
    const row = body.querySelectorAll('[data-depth="0"]')[at];
    if (keys) keys.focus(row);
    else (row.querySelector('a, button') ?? element.querySelector('.scroll')).focus();
  }

  const limitOf = (row) => Math.min(row.subRows.length, limits.get(row.id) ?? CHILDREN);

  function opener(row) {
    if (!children) return null;
    if (!row.getCanExpand()) return h('span', { class: 'open' });
    const isOpen = row.getIsExpanded();
    return h('button', {
      type: 'button', class: 'open', tabindex: '-1',
      'aria-label': `${isOpen ? 'Close' : 'Open'} ${columns[0].value(row.original)}`,
      onclick: () => row.toggleExpanded(),
    }, isOpen ? '▾' : '▸');
  }

  function rowElement(row, at, among) {
    const tree = children && {
      'data-row': row.id, 'aria-level': row.depth + 1, 'aria-posinset': at + 1, 'aria-setsize': among,
      'aria-expanded': row.getCanExpand() ? String(row.getIsExpanded()) : null,
    };
    return h('tr', { role: 'row', id: anchor ? `row-${anchor}-${row.id}` : null, 'data-depth': row.depth, ...tree }, columns.map((column, column_at) => {
      if (column_at) return h('td', cellOf(column), column.show(row.original));
      const cell = h('th', { role: 'rowheader', scope: 'row' }, opener(row), column.show(row.original));
      cell.style.setProperty('--depth', row.depth);
      return cell;
    }));
  }

  function moreElement(row) {
    const shown = limitOf(row);
    const button = h('button', {
      type: 'button', tabindex: '-1', 'aria-label': `${moreText(shown, row.subRows.length)} in ${columns[0].value(row.original)}`,
      onclick: () => {
        limits.set(row.id, shown * GROWTH);
        render();
        keys.focus(body.querySelector(`[data-row="${CSS.escape(row.subRows[shown].id)}"]`));
      },
    }, moreText(shown, row.subRows.length));
    const cell = h('th', { role: 'rowheader', scope: 'row', colspan: columns.length, class: 'more' }, button);
    cell.style.setProperty('--depth', row.depth + 1);
    return h('tr', { role: 'row', 'data-row': `${row.id}\u0001more`, 'aria-level': row.depth + 2 }, cell);
  }

  function elementsOf(row, at, among) {
    if (!row.getIsExpanded() || !row.subRows.length) return [rowElement(row, at, among)];
    const shown = row.subRows.slice(0, limitOf(row));
    return [
      rowElement(row, at, among), ...shown.flatMap((child, child_at) => elementsOf(child, child_at, row.subRows.length)),
      ...(shown.length < row.subRows.length ? [moreElement(row)] : []),
    ];
  }

  function render() {
    for (const { column, arrow, cell } of headers) {
      const sorted = table.getColumn(column.id).getIsSorted();
      arrow.textContent = ARROWS[sorted];
      if (sorted) cell.setAttribute('aria-sort', ARIA[sorted]);
      else cell.removeAttribute('aria-sort');
    }
    const top = table.getRowModel().rows.filter((row) => row.depth === 0);
    const make = () => body.replaceChildren(...top.flatMap((row, at) => elementsOf(row, at, rows.length)));
    if (keys) keys.keep(make);
    else make();
    const shown = Math.min(rows.length, table.atoms.pagination.get().pageSize);
    more.hidden = shown === rows.length;
    more.textContent = moreText(shown, rows.length);
  }

  function filter(query) {
    const test = matches(query);
    rows = test ? all.filter(test) : all;
    table.setOptions((options) => ({ ...options, data: rows }));
    render();
    return rows.length;
  }

  function download() {
    const leaves = (row, path) => (row.subRows.length ? row.subRows.flatMap((child) => leaves(child, [...path, row])) : [[...path, row]]);
    const [first, ...others] = columns;
    const levels = children ? first.title.split(' › ') : [first.title];
    const paths = table.getSortedRowModel().rows.filter((row) => row.depth === 0).flatMap((row) => leaves(row, []));
    saveCsv(`${label.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.csv`, [...levels, ...others.map(labelOf)],
      paths.map((path) => [...levels.map((_, at) => (path[at] ? first.value(path[at].original) : '')),
        ...others.map(({ csv, value }) => (csv ?? value)(path.at(-1).original))]));
  }

  function reveal(id) {
    if (!rows.some((row) => idOf(row) === id)) filter('');
    const at = table.getSortedRowModel().rows.findIndex((row) => row.id === id);
    if (at < 0) return;
    if (at >= table.atoms.pagination.get().pageSize) table.setPageSize(at + 1);
    for (const row of element.querySelectorAll('.target')) row.classList.remove('target');
    const row = document.getElementById(`row-${anchor}-${id}`);
    row.classList.add('target');
    row.querySelector('a')?.focus({ preventScroll: true });
    row.scrollIntoView({ block: 'center' });
  }

  table.store.subscribe(render);
  render();
  return { element, reveal, filter };
}
