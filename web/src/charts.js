// Bars with error bars, by Chart.js. What a chart shows is in a table below it, too.
import { BarController, BarElement, CategoryScale, Chart, LinearScale, Tooltip } from 'chart.js';
import { share, short } from './format.js';
import { color, h, name, scrolled } from './dom.js';

Chart.register(BarController, BarElement, CategoryScale, LinearScale, Tooltip);

const BAR_HEIGHT = 26;
const LONGEST_LABEL = 18;
const cut = (text) => (text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1)}…` : text);

const errorBars = {
  id: 'errorBars',
  afterDatasetsDraw(chart) {
    const { ctx, scales: { x }, chartArea } = chart;
    const { errors, data } = chart.data.datasets[0];
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = color('--text');
    ctx.font = `12px ${Chart.defaults.font.family}`;
    ctx.textBaseline = 'middle';
    chart.getDatasetMeta(0).data.forEach((element, at) => {
      const left = Math.max(x.getPixelForValue(data[at] - errors[at]), chartArea.left);
      const right = Math.min(x.getPixelForValue(data[at] + errors[at]), chartArea.right);
      ctx.beginPath();
      ctx.moveTo(left, element.y);
      ctx.lineTo(right, element.y);
      for (const end of [left, right]) {
        ctx.moveTo(end, element.y - 4);
        ctx.lineTo(end, element.y + 4);
      }
      ctx.stroke();
      ctx.fillText(`${data[at].toFixed(1)} %`, Math.max(right, element.x) + 6, element.y);
    });
    ctx.restore();
  },
};

function options(most, onPick) {
  return {
    indexAxis: 'y', responsive: true, maintainAspectRatio: false, animation: false,
    layout: { padding: { right: 56 } },
    onClick: (_, [hit]) => hit && onPick(hit.index),
    onHover: (event, [hit]) => { event.native.target.style.cursor = hit ? 'pointer' : 'default'; },
    plugins: {
      legend: { display: false },
      tooltip: { callbacks: { label: ({ dataset, dataIndex }) => dataset.labelsInFull[dataIndex] } },
    },
    scales: {
      x: { beginAtZero: true, suggestedMax: most, ticks: { color: color('--muted'), maxTicksLimit: 5, callback: (value) => `${value} %` }, grid: { color: color('--line') }, border: { display: false } },
      y: { ticks: { color: color('--text'), autoSkip: false }, grid: { display: false }, border: { color: color('--line') } },
    },
  };
}

// rows: [{value, label, instructions, error}], most first. onPick(value): the reader chose one.
export function mixChart({ title, rows, total, onPick }) {
  const canvas = h('canvas', { role: 'img', 'aria-label': `${title}: ${rows.map((row) => `${row.label} ${share(row.instructions / total)}`).join(', ')}` });
  const frame = h('div', { class: 'canvas' }, canvas);
  frame.style.height = `${rows.length * BAR_HEIGHT + 40}px`;
  const body = h('tbody', {}, rows.map((row) => h('tr', {},
    h('th', { scope: 'row' }, h('button', { type: 'button', class: 'link', onclick: () => onPick(row.value) }, name(row.label))),
    h('td', { class: 'number' }, short(row.instructions)),
    h('td', { class: 'number' }, `± ${short(row.error)}`),
    h('td', { class: 'number' }, share(row.instructions / total)))));
  const figure = h('figure', {}, h('figcaption', {}, title), frame,
    h('details', {}, h('summary', {}, 'As a table'),
      scrolled(title, h('table', {}, h('caption', { class: 'hidden' }, title),
        h('thead', {}, h('tr', {}, ['Value', 'Instructions', 'Error', 'Share'].map((text, at) => h('th', { scope: 'col', class: at ? 'number' : null }, text)))),
        body))));

  const most = Math.max(...rows.map((row) => (100 * (row.instructions + (row.error ?? 0))) / total));
  let chart = null;
  const draw = () => {
    chart?.destroy();
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    chart = new Chart(canvas, {
      type: 'bar',
      data: {
        labels: rows.map((row) => cut(row.label)),
        datasets: [{
          data: rows.map((row) => (100 * row.instructions) / total),
          errors: rows.map((row) => (100 * (row.error ?? 0)) / total),
          labelsInFull: rows.map((row) => `${row.label}: ${short(row.instructions)} ± ${short(row.error)}`),
          backgroundColor: color('--bar'), maxBarThickness: 16,
        }],
      },
      options: options(most, (at) => onPick(rows[at].value)),
      plugins: [errorBars],
    });
  };
  return { figure, draw };
}
