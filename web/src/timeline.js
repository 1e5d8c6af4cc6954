// The mix over time: stacked bars, one for each slice, by a key that the reader chooses.
import { BarController, BarElement, CategoryScale, Chart, LinearScale, Tooltip } from 'chart.js';
import { count, duration, share, short } from './format.js';
import { color, field, fill, h, name, scrolled } from './dom.js';
import { shown } from './names.js';

Chart.register(BarController, BarElement, CategoryScale, LinearScale, Tooltip);

const FIRST = 'category';
const HEIGHT = '18rem';
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

function options(isShare) {
  const scale = { stacked: true, ticks: { color: color('--muted') }, border: { color: color('--line') } };
  return {
    responsive: true, maintainAspectRatio: false, animation: false, interaction: { mode: 'nearest', intersect: true },
    plugins: {
      legend: { display: false },
      tooltip: { callbacks: { title: ([{ label }]) => `from ${label} s on`, label: ({ dataset, raw }) => `${dataset.label}: ${isShare ? `${raw.toFixed(2)} %` : short(raw)}` } },
    },
    scales: {
      x: { ...scale, grid: { display: false }, title: { display: true, text: 'seconds', color: color('--muted') }, ticks: { ...scale.ticks, maxRotation: 0, autoSkipPadding: 16 } },
      y: { ...scale, beginAtZero: true, max: isShare ? 100 : undefined, grid: { color: color('--line') }, ticks: { ...scale.ticks, maxTicksLimit: 6, callback: (value) => (isShare ? `${value} %` : short(value)) } },
    },
  };
}

// onPick(key, value): the reader chose one.
export function timelineView(model, onPick) {
  const { slices, timelines } = model;
  const seconds = secondsOf(slices);
  const key = field('By', 'time-key');
  const unit = field('Show', 'time-unit');
  const canvas = h('canvas', { role: 'img' });
  const frame = h('div', { class: 'canvas' }, canvas);
  frame.style.height = HEIGHT;
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

  let chart = null;
  function draw() {
    const one = chosen();
    const isShare = unit.element.value === 'share';
    const part = (row, at) => (!isShare ? row.instructions[at] : slices.instructions[at] > 0 ? (100 * row.instructions[at]) / slices.instructions[at] : 0);
    canvas.setAttribute('aria-label', `${one.title} over time, in ${count(slices.instructions.length)} bars: ${one.rows.map((row) => `${row.label} ${share(totalOf(row) / model.instructions)}`).join(', ')}`);
    chart?.destroy();
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    chart = new Chart(canvas, {
      type: 'bar',
      data: {
        labels: slices.instructions.map((_, at) => seconds(at)),
        datasets: one.rows.map((row, at) => ({
          label: shown(row.label), data: slices.instructions.map((_, slice) => part(row, slice)), backgroundColor: color(colorName(row, at)),
          borderColor: color('--card'), borderWidth: { top: 1 }, borderSkipped: false, barPercentage: 1, categoryPercentage: slices.instructions.length > 60 ? 1 : 0.94,
        })),
      },
      options: options(isShare),
    });
  }

  function show() {
    legend.replaceChildren(...chosen().rows.map((row, at) => legendItem(chosen(), row, at)));
    table.replaceChildren(tableOf(chosen()));
    draw();
  }
  for (const { element } of [key, unit]) element.addEventListener('change', show);

  const element = h('div', {}, whatIsShown(model), h('div', { class: 'fields' }, key.field, unit.field),
    h('figure', { class: 'time' }, h('figcaption', { class: 'hidden' }, 'Mix over time'), frame, legend, h('details', {}, h('summary', {}, 'As a table'), table)));
  return { element, draw: show };
}
