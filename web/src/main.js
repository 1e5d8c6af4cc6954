// Draws the report from the JSON in the page.
import { mixChart } from './charts.js';
import { codePanel } from './code_panel.js';
import { saveJson } from './download.js';
import { h, name, notes, scrolled, shareBar } from './dom.js';
import { address, count, duration, short } from './format.js';
import { icicleView } from './icicle.js';
import { ibsSection } from './ibs.js';
import { followLinks, toBlock, toFunction, toLoop } from './links.js';
import { loopName, readModel } from './model.js';
import { hasShortNames, showWhole } from './names.js';
import { dimensions, sums } from './pivot_sums.js';
import { pivotView } from './pivot_view.js';
import { makeTable } from './table.js';
import { ratiosTable } from './ratios.js';
import { matcher, setUpSearch } from './search.js';
import { section } from './sections.js';
import { setUpTheme } from './theme.js';
import { threadsTable } from './threads.js';
import { timelineView } from './timeline.js';
import { unseen } from './unseen.js';

const CHARTS = ['extension', 'vector-bits', 'memory', 'category'];
const BARS = 12;
const SAMPLES = { swbt: 'bursts', lbr: 'branch stacks' };

const data = document.getElementById('data').textContent;
const model = readModel(JSON.parse(data));
const all = dimensions(model);
const total = model.instructions;

// As the library estimates them, where it did.
const knownErrors = (key, value) => model.errors.get(key)?.get(value);

function summary() {
  const cards = [
    ['Instructions', short(total), model.up_to_factor ? `in proportion; the source counts ${model.unit}` : 'executed, estimated'],
    ['Functions', count(model.function_count), 'with a count'],
    ['Blocks', count(model.block_count), 'with a count'],
    ['Ran for', duration(model.duration_ns), `${count(model.thread_count)} ${model.thread_count === 1 ? 'thread' : 'threads'}`],
    ...model.sources.map((source) => [`By ${source.kind}`, count(source.samples), `${SAMPLES[source.kind] ?? 'samples'} of ${source.event}`]),
  ];
  const details = [
    ['Recorded', model.start_time_ms ? new Date(model.start_time_ms).toISOString().replace('T', ' ').replace(/\..*/, ' UTC') : 'unknown'],
    ['Machine', model.host || 'unknown'], model.pid ? ['Process', String(model.pid)] : ['Processes', count(model.process_count)], ['Profile', model.files.join(', ')],
    ['Counts by', model.estimator], ['Made by', `hbbp ${model.library}`],
    ...model.sources.filter((source) => source.note).map((source) => [`About ${source.kind}`, source.note]),
  ];
  section('summary', 'Summary',
    h('dl', { class: 'cards' }, cards.map(([title, value, note]) => h('div', {}, h('dt', {}, title), h('dd', {}, h('strong', {}, value), h('span', {}, note))))),
    notes(model.caveats),
    h('dl', { class: 'details' }, details.map(([title, value]) => [h('dt', {}, title), h('dd', {}, name(value))])));
}

function chartsOf(pick) {
  const shown = [...CHARTS.map((key) => all.find((dimension) => dimension.key === key)).filter(Boolean), all.find((dimension) => dimension.key === 'mnemonic')];
  return shown.map((dimension) => {
    const rows = sums(model, [dimension]).children.sort((a, b) => b.instructions - a.instructions).slice(0, BARS);
    for (const row of rows) row.error = (model.shareErrors.get(dimension.key)?.get(row.value) ?? row.error / total) * total;
    return mixChart({ title: `By ${dimension.title.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())}`, rows, total, onPick: (value) => pick(dimension.key, value) });
  });
}

const numberColumn = (id, title, value, show) => ({ id, title, isNumber: true, value, show: show ?? ((row) => short(value(row))) });
const shareColumn = (of, error) => ({
  ...numberColumn('share', 'Share', of, (row) => shareBar(of(row), error(row), total)), csv: (row) => of(row) / total,
});

const functionOf = (row) => model.functions[row.function];
const moduleColumn = { id: 'module', title: 'Module', value: (row) => model.modules[row.module].name, show: (row) => name(model.modules[row.module].name) };
const functionColumn = { id: 'function', title: 'Function', value: (row) => functionOf(row)?.name ?? '', show: (row) => (functionOf(row) ? toFunction(functionOf(row)) : name('not listed')) };

// What the search finds rows by.
const matches = (f, start, size) => (query) => matcher(query, {
  texts: (row) => [f(row)?.name ?? '', model.modules[row.module].path, address(start(row))], start, size,
});

function functionsTable() {
  const of = (f) => f.instructions;
  const error = (f) => f.error;
  return makeTable({
    label: 'Functions', rows: model.functions, matches: matches((f) => f, (f) => f.start, (f) => f.size), anchor: 'listed', idOf: (f) => String(f.index), sortBy: 'instructions', pageSize: 15,
    columns: [
      { id: 'name', title: 'Function', value: (f) => f.name, show: (f) => toFunction(f) }, moduleColumn,
      numberColumn('instructions', 'Instructions', of), numberColumn('error', '± Error', error),
      shareColumn(of, error), numberColumn('samples', 'Samples', (f) => f.samples, (f) => count(f.samples)),
    ],
  });
}

const loopOf = (block) => model.loops[block.loop];
const loopColumn = {
  id: 'loop', title: 'Loop', value: (block) => (loopOf(block) ? address(loopOf(block).header) : ''), order: (block) => loopOf(block)?.header ?? '',
  show: (block) => (loopOf(block)?.trips == null ? '' : toLoop(loopOf(block), address(loopOf(block).header))),
};

function blocksTable() {
  const of = (block) => block.weight;
  const error = (block) => (block.error ?? 0) * block.instructions.length;
  return makeTable({
    label: 'Blocks', rows: model.blocks, matches: matches(functionOf, (block) => block.start, (block) => block.size), idOf: (block) => String(block.index), sortBy: 'share', pageSize: 15,
    columns: [
      { id: 'start', title: 'Block', value: (block) => address(block.start), order: (block) => block.start, show: (block) => toBlock(block, address(block.start)) },
      functionColumn, moduleColumn, numberColumn('length', 'Length', (block) => block.instructions.length),
      numberColumn('count', 'Executions', (block) => block.count), numberColumn('error', '± Error', (block) => block.error),
      shareColumn(of, error),
      loopColumn,
      { id: 'source', title: 'By', value: (block) => block.source, show: (block) => block.source + (block.biased ? ', biased' : '') },
    ],
  });
}

// To its first block, or to its function if that block is not listed.
function headerOf(loop) {
  const f = functionOf(loop);
  const block = f?.blocks.find(({ start }) => start === loop.header);
  if (block) return toBlock(block, address(loop.header));
  return f ? toFunction(f, address(loop.header)) : name(address(loop.header));
}

// Trips may be exact, but for what rounding leaves.
const tripsError = ({ trips_error: error }) => (error > 0 && error < 0.01 ? '<\u00a00.01' : short(error));

function loopsTable(rows) {
  const of = (loop) => loop.instructions;
  const error = (loop) => loop.error;
  return makeTable({
    label: 'Loops', rows, matches: matches(functionOf, (loop) => loop.header, () => 1), anchor: 'loop', idOf: (loop) => String(loop.index), sortBy: 'instructions', pageSize: 15,
    columns: [
      { id: 'header', title: 'Loop at', value: (loop) => loopName(model, loop), order: (loop) => loop.header,
        show: (loop) => headerOf(loop) },
      functionColumn, moduleColumn, numberColumn('depth', 'Depth', (loop) => loop.depth),
      numberColumn('trips', 'Trips', (loop) => loop.trips, (loop) => `${short(loop.trips)} ± ${tripsError(loop)}`), numberColumn('entries', 'Entries', (loop) => loop.entries),
      numberColumn('instructions', 'Instructions', of), numberColumn('error', '± Error', error),
      shareColumn(of, error),
    ],
  });
}

function loopsSection() {
  const known = model.loops.filter((loop) => loop.trips != null);
  const silent = model.loops.length - known.length;
  const table = known.length ? loopsTable(known) : null;
  section('loops', 'Loops', h('p', {}, 'Trips: how often the body of the loop runs each time that it is entered, on average.',
    model.loops.length < model.loop_count ? ` From the busiest ${count(model.loops.length)} of ${count(model.loop_count)}.` : '',
    silent ? ` Left out: ${count(silent)} ${silent === 1 ? 'loop' : 'loops'} whose trips this profile does not say, as it has no count of their entry.` : ''),
  table?.element);
  return table;
}

function draw() {
  document.title = `hbbp report: ${model.command || model.files.join(', ')}`;
  document.getElementById('command').append(h('code', {}, name(model.command || 'unknown command')));
  summary();
  const showIbs = () => {
    if (model.ibs.events.length || model.ibs.latencies.length) section('ibs', 'IBS', ibsSection(model));
  };
  if (!(total > 0)) {
    showIbs();
    section('unseen', 'What the run could not see', h('p', {}, 'No instruction was counted: there is nothing to show by block or function.'), unseen(model));
    return () => {};
  }
  const pivot = pivotView(model, all, knownErrors);
  const pick = (key, value) => {
    pivot.pick(key, value, 'function');
    document.getElementById('pivot').scrollIntoView();
    document.getElementById('pivot-row-0').focus({ preventScroll: true });
  };
  section('mix', 'Instruction mix', h('p', {}, 'Shares of all executed instructions, with one standard error; bars of shares end at 100\u00a0%. Choose a value to see its functions.'),
    h('div', { class: 'charts' }, chartsOf(pick)));
  const icicle = icicleView(model);
  section('icicle', 'Icicle', h('p', {}, 'Modules, functions, loops and blocks, each as wide as its part of what is above it. Choose one to see it as wide as the page.'), icicle.element);
  if (model.timelines.length) section('time', 'Over time', timelineView(model, pick));
  if (model.ratios.length) {
    section('ratios', 'Ratios', h('p', {}, 'What follows from the whole mix, with one standard error.'), ratiosTable(model));
  }
  section('pivot', 'Pivot', h('p', {}, 'Executed instructions, grouped as you like; a heading sorts, an arrow opens a row.'), pivot.element,
    h('p', { class: 'muted' }, 'Errors are one standard error. Where a sum is regrouped here, those of traced branches are added up, because the streams of a burst go together: they are then at most so large.'));
  section('threads', 'Threads', threadsTable(model));
  const functions = functionsTable();
  const blocks = blocksTable();
  const panel = codePanel(model);
  section('functions', 'Functions', h('p', {}, 'Choose one to see its code.'), functions.element, panel.element);
  section('blocks', 'Blocks', h('p', {}, 'Code without a branch into or out of its middle. Choose one to see it in its function.'), blocks.element);
  const loops = model.loops.length ? loopsSection() : null;
  showIbs();
  section('unseen', 'What the run could not see', unseen(model));
  const show = {
    function: (index) => panel.open(model.functions[index]),
    block: (index) => panel.open(functionOf(model.blocks[index] ?? {}), model.blocks[index]),
    listed: (index) => functions.reveal(String(index)),
    loop: (index) => loops?.reveal(String(index)),
  };
  setUpSearch([
    { id: 'functions', title: 'functions', one: 'function', filter: functions.filter }, { id: 'blocks', title: 'blocks', one: 'block', filter: blocks.filter },
    ...(loops ? [{ id: 'loops', title: 'loops', one: 'loop', filter: loops.filter }] : []),
  ], icicle.mark);
  return () => followLinks(show, panel.close);
}

// Names that have short forms have these at first.
function setUpNames() {
  document.getElementById('names').hidden = !hasShortNames();
  document.getElementById('whole-names').addEventListener('change', ({ target }) => {
    showWhole(target.checked);
  });
}

const follow = draw();
document.getElementById('footer').append(
  h('details', {}, h('summary', {}, 'Licences of what this page contains'), h('pre', { tabindex: '0' }, LICENCES)));
setUpNames();
setUpTheme(document.getElementById('theme'));
document.getElementById('json').addEventListener('click', () => saveJson('hbbp-report.json', data));
follow();
