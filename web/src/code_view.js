// A function's code with how often it ran: a group of rows for each block, gaps where nothing was counted. The text of source
// lines stands before their instructions, where the profile's machine had the files; else a column names the lines.
import { address, count, largest, share, short } from './format.js';
import { bar, h, name, scrolled } from './dom.js';
import { heatOf } from './heat.js';
import { toBlock, toFunction, toListed, toLoop } from './links.js';

const CALLERS = 8;

const NUMBER = 'number roomy';

// Of what was sampled of instructions: [{title, of(sampled)}], none if nothing was.
function sampledColumns(model, instructions) {
  if (!instructions.some(({ sampled }) => sampled)) return [];
  const ofOps = (title, of) => ({ title, of: (sampled) => (sampled.ops ? of(sampled) : '') });
  return [
    ...model.ibs.sampled_events.map((event, at) => ({ title: `${event} samples`, of: ({ samples }) => short(samples[at] ?? 0) })),
    ofOps('IBS ops', ({ ops }) => short(ops)), ofOps('L1 data misses', ({ misses }) => short(misses)),
    ofOps('Mean miss cycles', ({ mean_miss: cycles }) => (cycles == null ? '' : short(cycles))),
  ];
}

export const hottestOf = (blocks) => blocks.reduce((most, block) => (most && most.weight >= block.weight ? most : block), null);

// {text: all of it, location, inlined}, or null
function whereOf(model, { file, line, inlined }) {
  if (file == null) return null;
  const where = { location: `${model.source_names[file]}:${line}`, inlined: model.inlined[inlined], key: `${file}:${line}` };
  return { ...where, text: [where.location, where.inlined].join(', ') };
}

const keyOf = ({ file, line }) => (file == null ? null : `${file}:${line}`);

// Where its source can be seen it is a button that leads there.
const whereElement = ({ location, inlined, key }, onSource) => h('span', { class: 'place' },
  onSource ? h('button', { type: 'button', class: 'link to-source', 'data-key': key, onclick: () => onSource(key) }, name(location)) : name(location),
  inlined ? [', ', name(inlined)] : null);

const textOf = (model, { file, line }) => (file == null ? null : model.source_text[file]?.[line]?.trim());

// With a link if it is in the table of loops.
function loopOf(model, block) {
  const loop = model.loops[block.loop];
  if (!loop) return null;
  const text = `loop of depth ${loop.depth}`;
  return loop.trips == null ? text : h('span', {}, toLoop(loop, text), `, ${short(loop.trips)} trips on average`);
}

function blockHead(model, block, layout) {
  const { most, columns, onGraph } = layout;
  const parts = [
    `${short(block.count)} ± ${short(block.error)} times, ${share(block.weight / model.instructions)} of all instructions, by ${block.source}`,
    loopOf(model, block), block.biased && 'biased: its count is suspect',
  ].filter(Boolean);
  return h('tr', { class: 'block', id: `code-${block.index}` },
    h('th', { scope: 'rowgroup', colspan: columns }, h('span', { class: 'address' }, address(block.start)), ' ',
      bar(block.count, block.error, most), ' ', parts.flatMap((part, at) => (at ? [', ', part] : [part])),
      onGraph && [' ', h('button', { type: 'button', class: 'link to-graph', onclick: () => onGraph(block) }, 'In the graph')]));
}

function codeText(f, block, text, branches) {
  const target = branches.target(block.module, text);
  if (!target) return text;
  const { operand } = target;
  const to = target.block ? toBlock(target.block, operand) : toFunction(target.f, operand);
  return [text.slice(0, -operand.length), to, target.f === f ? null : h('span', { class: 'muted' }, ' ', name(target.f.name))];
}

function instructionRow(model, block, instruction, place, code, sampled) {
  return h('tr', { 'data-line': keyOf(instruction) },
    h('td', { class: 'address' }, address(instruction.address)),
    h('td', { class: NUMBER }, short(block.count)),
    h('td', { class: NUMBER }, share(block.count / model.instructions)),
    sampled.map(({ of }) => h('td', { class: NUMBER }, instruction.sampled ? of(instruction.sampled) : '')),
    h('td', { class: 'code' }, code),
    place == null ? null : h('td', { class: 'place' }, place));
}

const sourceRow = (where, text, { columns, onSource }) => h('tr', { class: 'source' },
  h('td', { colspan: columns }, whereElement(where, onSource), ' ', text ? h('code', {}, text) : null));

function gapRow(from, to, columns) {
  return h('tbody', {}, h('tr', { class: 'gap' },
    h('td', { colspan: columns }, `${count(Number(to - from))} bytes from ${address(from)} on: not counted, or too seldom to be listed`)));
}

// The rows of a block; lines are said where they change.
function rowsOf(model, block, layout) {
  const { f, branches, hasText, hasPlaces, onSource, sampled } = layout;
  return block.instructions.flatMap((instruction) => {
    const where = whereOf(model, instruction);
    const isNew = where && where.text !== layout.previous;
    layout.previous = where?.text;
    const row = instructionRow(model, block, instruction, !hasPlaces || hasText ? null : isNew ? whereElement(where, onSource) : '',
      codeText(f, block, instruction.text, branches), sampled);
    return hasText && isNew ? [sourceRow(where, textOf(model, instruction), layout), row] : [row];
  });
}

function tableOf(model, f, blocks, { branches, onGraph, onSource }) {
  const most = largest(blocks, (block) => block.count + (block.error ?? 0));
  const busiest = largest(blocks, (block) => block.count);
  const all = blocks.flatMap((block) => block.instructions);
  const hasText = all.some((instruction) => textOf(model, instruction) != null);
  const hasPlaces = all.some((instruction) => instruction.file != null);
  const sampled = sampledColumns(model, all);
  const numbers = ['Executions', 'Share', ...sampled.map(({ title }) => title)];
  const titles = ['Address', ...numbers, 'Instruction', ...(hasPlaces && !hasText ? ['Source'] : [])];
  const layout = { f, branches, onGraph, onSource, most, hasText, hasPlaces, sampled, columns: titles.length, previous: null };
  const groups = [];
  let end = f.start;
  for (const block of blocks) {
    if (block.start > end) groups.push(gapRow(end, block.start, titles.length));
    layout.previous = null;
    groups.push(h('tbody', { 'data-heat': heatOf(block.count, busiest) },
      blockHead(model, block, layout), rowsOf(model, block, layout)));
    end = block.start + BigInt(block.size);
  }
  const last = f.start + BigInt(f.size);
  if (end < last) groups.push(gapRow(end, last, titles.length));
  return scrolled(`Code of ${f.name}`, h('table', { class: 'disassembly' }, h('caption', { class: 'hidden' }, `Code of ${f.name}`),
    h('thead', {}, h('tr', {}, titles.map((title) => h('th', { scope: 'col', class: numbers.includes(title) ? NUMBER : null }, title)))), groups));
}

function callersOf(f, branches) {
  const callers = branches.callers(f);
  if (!callers.length) return null;
  const shown = callers.slice(0, CALLERS).map(({ block, f: from }) => h('li', {}, toBlock(block, from.name), ` ${short(block.count)} times`));
  return h('div', { class: 'callers' }, 'Called from ', h('ul', {}, shown,
    callers.length > CALLERS ? h('li', {}, `and ${count(callers.length - CALLERS)} more places`) : null));
}

export function introductionOf(model, f, branches) {
  return [
    h('p', {}, name(model.modules[f.module].path), `, ${address(f.start)}: ${short(f.instructions)} ± ${short(f.error)} instructions, ${share(f.instructions / model.instructions)} of all. `, toListed(f, 'In the list of functions'), '. ',
      f.blocks.length ? 'Bars and colors are how often a block ran, by the block that ran most; a whisker is one standard error. The hottest block is in view.'
        : 'None of its blocks is among those that are listed with their code; --blocks lists more.'),
    callersOf(f, branches),
  ];
}

// {element, show(block): scrolls there, focus(block), showLine(key): the most executed code of a line}. onGraph(block), onSource(key):
// the reader wants to see the block in the graph, or a line; null if there is none.
export function codeOf(model, f, actions) {
  const lineOf = (block) => keyOf(block.instructions.find(({ file }) => file != null) ?? {});
  const blocks = [...f.blocks].sort((a, b) => (a.start < b.start ? -1 : 1));
  const table = tableOf(model, f, blocks, actions);
  const show = (block) => {
    const row = document.getElementById(`code-${(block ?? hottestOf(blocks)).index}`);
    for (const one of table.querySelectorAll('.target')) one.classList.remove('target');
    if (block) row.classList.add('target');
    scrollTo(row);
  };
  const scrollTo = (row) => {
    const above = table.querySelector('thead').getBoundingClientRect().height;
    table.scrollTop += row.getBoundingClientRect().top - table.getBoundingClientRect().top - above;
  };
  const focus = (block) => {
    const row = document.getElementById(`code-${block.index}`);
    row.querySelector('.to-graph')?.focus({ preventScroll: true });
    table.scrollIntoView({ block: 'nearest' });
  };
  const showLine = (key) => {
    for (const one of table.querySelectorAll('.target')) one.classList.remove('target');
    for (const row of table.querySelectorAll(`[data-line="${key}"]`)) row.classList.add('target');
    const block = hottestOf(blocks.filter((one) => one.instructions.some((instruction) => keyOf(instruction) === key)));
    const row = document.getElementById(`code-${block.index}`).parentElement.querySelector('.target');
    const location = row.previousElementSibling.classList.contains('source') ? row.previousElementSibling : row;
    scrollTo(location);
    location.querySelector('.to-source')?.focus({ preventScroll: true });
    table.scrollIntoView({ block: 'nearest' });
  };
  return { element: table, show, focus, showLine, lineOf };
}
