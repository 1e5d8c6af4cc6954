// Bars with error bars, each in the row of a table that has its numbers.
import { largest, share, short } from './format.js';
import { bar, h, name } from './dom.js';

// rows: [{value, label, instructions, error}], most first. onPick(value): the reader chose one.
export function mixChart({ title, rows, total, onPick }) {
  const most = largest(rows, (row) => row.instructions + (row.error ?? 0));
  const heads = [['Value'], ['', 'bars'], ['Share', 'number'], ['± Error', 'number']];
  return h('figure', {}, h('figcaption', {}, title),
    h('table', { class: 'chart' }, h('caption', { class: 'hidden' }, title),
      h('thead', {}, h('tr', {}, heads.map(([text, kind]) => (text ? h('th', { scope: 'col', class: kind }, text) : h('td', { class: kind }))))),
      h('tbody', {}, rows.map((row) => h('tr', { title: `${short(row.instructions)} ± ${short(row.error)} instructions` },
        h('th', { scope: 'row' }, h('button', { type: 'button', class: 'link', onclick: () => onPick(row.value) }, name(row.label))),
        h('td', { class: 'bars' }, bar(row.instructions, row.error, most)),
        h('td', { class: 'number' }, share(row.instructions / total)),
        h('td', { class: 'number' }, share(row.error / total)))))));
}
