// The mix over time: stacked bars, one for each slice, by a key that the reader chooses.
import { count, duration, largest, share, short } from './format.js';
import { field, fill, h, name, s, scrolled } from './dom.js';
import { shown } from './names.js';

const FIRST = 'category';
const OTHERS = '--other';

const colorName = (row, at) => (row.isOthers ? OTHERS : `--series-${at}`);

// In seconds, with as many digits as tell neighbours apart.
const secondsOf = ({ width_ns: width }) => {
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(width / 1e9))));
  return (at) => ((at * width) / 1e9).toFixed(digits);
};

function whatIsShown(model) {
  const { slices } = model;
  const parts = [`${count(slices.count)} slices of ${duration(slices.width_ns / slices.joined)}`];
  if (slices.joined > 1) parts.push(`, of which ${count(slices.joined)} are one bar here, so that this page stays small`);
  parts.push('. Values that are not among the busiest are added up.');
  if (slices.without_time > 0) parts.push(` ${share(slices.without_time / model.instructions)} of the instructions are of samples whose time is not known.`);
  return h('p', {}, parts.join(''));
}

const TICKS = [1, 0.75, 0.5, 0.25, 0];

// Stacked bars. Their box is 1 wide for each slice, and 100 high; it is stretched to what room there is.
function barsOf({ rows, heights, labels, titleOf }) {
  const bars = s('svg', { viewBox: `0 0 ${labels.length} 100`, preserveAspectRatio: 'none', role: 'img' });
  for (const tick of TICKS) bars.append(s('line', { x1: 0, x2: labels.length, y1: 100 - 100 * tick, y2: 100 - 100 * tick }));
  const tops = labels.map(() => 100);
  rows.forEach((row, at) => {
    heights[at].forEach((height, slice) => {
      if (!(height > 0)) return;
      tops[slice] -= height;
      // A gap between the parts, where there is room for it.
      const gap = Math.min(0.5, height / 4);
      const part = s('rect', { x: slice + 0.03, width: 0.94, y: tops[slice] + gap, height: height - gap }, s('title', {}, titleOf(row, slice)));
      part.style.fill = `var(${colorName(row, at)})`;
      bars.append(part);
    });
  });
  return bars;
}

// onPick(key, value): the reader chose one.
export function timelineView(model, onPick) {
  const { slices, timelines } = model;
  const seconds = secondsOf(slices);
  const key = field('By', 'time-key');
  const unit = field('Show', 'time-unit');
  const chart = h('div', { class: 'bars-over-time' });
  const legend = h('ul', { class: 'legend' });
  const table = h('div');
  fill(key.element, timelines.map((one) => [one.key, one.title]), timelines.some((one) => one.key === FIRST) ? FIRST : timelines[0].key);
  fill(unit.element, [['share', 'shares of each slice'], ['instructions', 'instructions']], 'share');

  const chosen = () => timelines.find((one) => one.key === key.element.value);
  const isProperty = (one) => model.properties.some((property) => property.key === one.key);
  const totalOf = (row) => row.instructions.reduce((sum, part) => sum + part, 0);

  function legendItem(one, row, at) {
    const swatch = h('span', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.background = `var(${colorName(row, at)})`;
    const canPick = isProperty(one) && !row.isOthers;
    return h('li', {}, swatch, canPick
      ? h('button', { type: 'button', class: 'link', onclick: () => onPick(one.key, row.label) }, name(row.label))
      : name(row.label), ' ', share(totalOf(row) / model.instructions));
  }

  function tableOf({ title, rows }) {
    const label = `${title} over time`;
    const number = (...children) => h('td', { class: 'number' }, children);
    return scrolled(label, h('table', {}, h('caption', { class: 'hidden' }, label),
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'From second'), ['Samples', 'Instructions', ...rows.map((row) => name(row.label))].map((text) => h('th', { scope: 'col', class: 'number' }, text)))),
      h('tbody', {}, slices.instructions.map((instructions, at) => h('tr', {}, h('th', { scope: 'row' }, seconds(at)),
        number(count(slices.samples[at])), number(short(instructions)),
        rows.map((row) => number(instructions > 0 ? share(row.instructions[at] / instructions) : '')))))));
  }

  function draw() {
    const one = chosen();
    const isShare = unit.element.value === 'share';
    const most = largest(slices.instructions, (instructions) => instructions);
    const whole = (slice) => (isShare ? slices.instructions[slice] : most);
    const bars = barsOf({
      rows: one.rows, labels: slices.instructions,
      heights: one.rows.map((row) => row.instructions.map((part, slice) => (whole(slice) > 0 ? (100 * part) / whole(slice) : 0))),
      titleOf: (row, slice) => `From ${seconds(slice)} s on, ${shown(row.label)}: ${isShare ? share(row.instructions[slice] / slices.instructions[slice]) : short(row.instructions[slice])}`,
    });
    bars.setAttribute('aria-label', `${one.title} over time, in ${count(slices.instructions.length)} bars: ${one.rows.map((row) => `${row.label} ${share(totalOf(row) / model.instructions)}`).join(', ')}`);
    const times = TICKS.map((part) => (1 - part) * slices.instructions.length);
    chart.replaceChildren(
      h('div', { class: 'heights', 'aria-hidden': 'true' }, TICKS.map((part) => h('span', {}, isShare ? `${100 * part} %` : short(part * most)))),
      bars, h('div', { class: 'times', 'aria-hidden': 'true' }, times.map((at) => h('span', {}, `${seconds(at)} s`))));
  }

  function show() {
    legend.replaceChildren(...chosen().rows.map((row, at) => legendItem(chosen(), row, at)));
    table.replaceChildren(tableOf(chosen()));
    draw();
  }
  for (const { element } of [key, unit]) element.addEventListener('change', show);

  const element = h('div', {}, whatIsShown(model), h('div', { class: 'fields' }, key.field, unit.field),
    h('figure', { class: 'time' }, h('figcaption', { class: 'hidden' }, 'Mix over time'), chart, legend, h('details', {}, h('summary', {}, 'As a table'), table)));
  show();
  return element;
}
