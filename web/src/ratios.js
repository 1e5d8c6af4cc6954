// What follows from the whole mix. What did not occur has no row, but is named below.
import { share, short } from './format.js';
import { h, scrolled } from './dom.js';

const inWords = (name) => name.replaceAll('-', ' ');
const valueText = ({ value, unit }) => (unit === 'share' ? share(value) : `${short(value)} ${unit}`);
const errorText = ({ error, unit }) => (error == null ? '–' : `± ${unit === 'share' ? share(error) : short(error)}`);

export function ratiosTable(model) {
  const shown = model.ratios.filter(({ value }) => value !== 0);
  const absent = model.ratios.filter(({ value }) => value === 0);
  const classes = [null, 'roomy', 'number', 'number'];
  return [
    scrolled('Ratios', h('table', {}, h('caption', { class: 'hidden' }, 'Ratios'),
      h('thead', {}, h('tr', {}, ['What', 'Of', 'Value', '± Error'].map((text, at) => h('th', { scope: 'col', class: classes[at] }, text)))),
      h('tbody', {}, shown.map((ratio) => h('tr', {}, h('th', { scope: 'row' }, inWords(ratio.name)),
        h('td', { class: 'roomy' }, inWords(ratio.group)), h('td', { class: 'number wrap' }, valueText(ratio)),
        h('td', { class: 'number' }, errorText(ratio))))))),
    absent.length ? h('p', { class: 'muted' }, `Zero: ${absent.map(({ name }) => inWords(name)).join(', ')}.`) : null,
  ];
}
