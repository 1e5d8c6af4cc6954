// The pivot: what its rows, columns and filter are is chosen above it.
import { count, share, short } from './format.js';
import { field, fill, h, name, shareBar } from './dom.js';
import { sums } from './pivot_sums.js';
import { makeTable } from './table.js';

const COLUMNS = 8;
const NONE = '';

// The busiest columns; the others are added up in one.
function columnsOf(root) {
  const of = (node, { value }) => node.columns.get(value) ?? 0;
  const busiest = [...root.across].sort((a, b) => of(root, b) - of(root, a));
  const shown = busiest.length > COLUMNS ? busiest.slice(0, COLUMNS - 1) : busiest;
  const columns = shown.map((one) => ({ label: one.label, of: (node) => of(node, one) }));
  if (shown.length < busiest.length) {
    const others = busiest.slice(shown.length);
    columns.push({ label: `${others.length} others`, of: (node) => others.reduce((sum, one) => sum + of(node, one), 0) });
  }
  return columns;
}

export function pivotView(model, all, knownErrors) {
  const byKey = new Map(all.map((dimension) => [dimension.key, dimension]));
  const rows = ['Rows', 'then by', 'then by'].map((label, at) => field(label, `pivot-row-${at}`));
  const across = field('Columns', 'pivot-column');
  const filterKey = field('Only where', 'pivot-filter');
  const filterValue = field('is', 'pivot-value');
  const values = h('div', { class: 'pivot-table' });
  const status = h('p', { role: 'status', class: 'muted' });

  const titles = all.map((dimension) => [dimension.key, dimension.title]);
  const optional = [[NONE, '(none)'], ...titles];
  const start = byKey.has('category') ? ['function', 'category', NONE] : ['function', 'mnemonic', NONE];
  rows.forEach(({ element }, at) => fill(element, at ? optional : titles, start[at]));
  fill(across.element, optional, NONE);
  fill(filterKey.element, [[NONE, '(everything)'], ...titles], NONE);

  const offerValues = (value) => {
    const dimension = byKey.get(filterKey.element.value);
    filterValue.field.hidden = !dimension;
    if (!dimension) return;
    const nodes = sums(model, [dimension]).children.sort((a, b) => b.instructions - a.instructions);
    fill(filterValue.element, nodes.map((node) => [node.value, node.label]), value ?? nodes[0]?.value ?? '');
  };

  function render() {
    const by = [...new Set(rows.map(({ element }) => element.value).filter(Boolean))].map((key) => byKey.get(key));
    const column = byKey.get(across.element.value) ?? null;
    const filter = byKey.has(filterKey.element.value) ? { dimension: byKey.get(filterKey.element.value), value: filterValue.element.value } : null;
    const root = sums(model, by, column, filter);
    if (!filter) {
      for (const node of root.children) node.error = knownErrors(by[0].key, node.value) ?? node.error;
    }
    const titleOf = by.map((dimension) => dimension.title).join(' › ');
    const whole = { ...root, label: 'All', error: null };
    values.replaceChildren(makeTable({
      label: `Instructions by ${titleOf}${column ? ` and ${column.title}` : ''}`,
      columns: [
        { id: 'label', title: titleOf, value: (node) => node.label, order: (node) => node.order, show: (node) => name(node.label) },
        { id: 'instructions', title: 'Instructions', isNumber: true, value: (node) => node.instructions, show: (node) => short(node.instructions) },
        { id: 'error', title: '± Error', isNumber: true, value: (node) => node.error, show: (node) => (node.error == null ? '' : short(node.error)) },
        { id: 'share', title: 'Share', isNumber: true, value: (node) => node.instructions, csv: (node) => node.instructions / model.instructions, show: (node) => shareBar(node.instructions, node.error, model.instructions) },
        ...columnsOf(root).map((shown, at) => ({
          id: `column-${at}`, title: name(shown.label), isNumber: true, value: shown.of, csv: (node) => shown.of(node) / model.instructions,
          show: (node) => (shown.of(node) ? share(shown.of(node) / model.instructions) : ''),
        })),
      ],
      rows: root.children, children: by.length > 1 ? (node) => (node.children.length ? node.children : undefined) : undefined, idOf: (node) => node.id,
      sortBy: 'instructions', footer: whole,
    }).element);
    status.textContent = `${count(root.children.length)} rows, ${short(root.instructions)} instructions, ${share(root.instructions / model.instructions)} of all.`;
  }

  for (const { element } of [...rows, across, filterValue]) element.addEventListener('change', render);
  filterKey.element.addEventListener('change', () => {
    offerValues();
    render();
  });
  offerValues();
  render();

  const element = h('div', {},
    h('div', { class: 'fields' }, [...rows, across, filterKey, filterValue].map((one) => one.field)), status, values);
  // Shows what one value of a dimension is made of.
  const pick = (key, value, row) => {
    rows.forEach((one, at) => { one.element.value = at ? NONE : row; });
    filterKey.element.value = key;
    offerValues(value);
    render();
  };
  return { element, pick };
}
