// Bars with error bars, each in the row of a table that has its numbers.
import { share, short } from './format.js';
import { bar, h, name } from './dom.js';

const AXIS = ['0', '50', '100\u00a0%'];

// rows: [{value, label, instructions, error}], most first. onPick(value): the reader chose one.
export function mixChart({ title, rows, total, onPick }) {
  const heads = [['Value'], ['', 'bars'], ['Share', 'number'], ['± Error', 'number']];
  return h('figure', {}, h('figcaption', {}, title),
    h('table', { class: 'chart' }, h('caption', { class: 'hidden' }, title),
      h('thead', {}, h('tr', {}, heads.map(([text, kind]) => (text ? h('th', { scope: 'col', class: kind }, text) : h('td', { class: kind, 'aria-hidden': 'true' }, h('div', { class: 'axis' }, AXIS.map((at) => h('span', {}, at)))))))),
      h('tbody', {}, rows.map((row) => h('tr', { title: `${short(row.instructions)} ± ${short(row.error)} instructions` },
        h('th', { scope: 'row' }, h('button', { type: 'button', class: 'link', onclick: () => onPick(row.value) }, name(row.label))),
        h('td', { class: 'bars' }, bar(row.instructions, row.error, total)),
        h('td', { class: 'number' }, share(row.instructions / total)),
        h('td', { class: 'number' }, share(row.error / total)))))));
}
