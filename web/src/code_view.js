// A function's code with how often it ran: a group of rows for each block, gaps where nothing was counted.
import { address, count, largest, share, short } from './format.js';
import { bar, h, name, scrolled } from './dom.js';

// With source lines, if any are known.
const TITLES = ['Address', 'Executions', 'Share', 'Instruction', 'Source'];
const CLASSES = [null, 'number roomy', 'number roomy', null, null];

function whereOf(model, instruction) {
  if (instruction.file == null) return null;
  const inlined = model.inlined[instruction.inlined];
  return `${model.source_names[instruction.file]}:${instruction.line}${inlined ? `, ${inlined}` : ''}`;
}

function blockHead(model, block, most, columns) {
  const loop = model.loops[block.loop];
  const parts = [
    `${short(block.count)} ± ${short(block.error)} times`, `${share(block.weight / model.instructions)} of all instructions`,
    `by ${block.source}`,
    loop && `loop of depth ${loop.depth}${loop.trips == null ? '' : `, ${short(loop.trips)} trips on average`}`,
    block.biased && 'biased: its count is suspect',
  ].filter(Boolean);
  return h('tr', { class: 'block', id: `block-${block.index}` },
    h('th', { scope: 'rowgroup', colspan: columns }, h('span', { class: 'address' }, address(block.start)), ' ',
      bar(block.count, block.error, most), ' ', parts.join(', ')));
}

function instructionRow(model, block, instruction, place) {
  return h('tr', {},
    h('td', { class: 'address' }, address(instruction.address)),
    h('td', { class: 'number roomy' }, short(block.count)),
    h('td', { class: 'number roomy' }, share(block.count / model.instructions)),
    h('td', { class: 'code' }, instruction.text),
    place == null ? null : h('td', { class: 'place' }, name(place)));
}

function gapRow(from, to, columns) {
  return h('tbody', {}, h('tr', { class: 'gap' },
    h('td', { colspan: columns }, `${count(Number(to - from))} bytes from ${address(from)} on: not counted, or too seldom to be listed`)));
}

export function codeOf(model, f) {
  const blocks = [...f.blocks].sort((a, b) => (a.start < b.start ? -1 : 1));
  const most = largest(blocks, (block) => block.count + (block.error ?? 0));
  const hasPlaces = blocks.some((block) => block.instructions.some((instruction) => whereOf(model, instruction) != null));
  const columns = hasPlaces ? TITLES.length : TITLES.length - 1;
  const groups = [];
  let end = f.start;
  let previous = null;
  // Said where it changes.
  const placeOf = (instruction) => {
    const place = whereOf(model, instruction) ?? '';
    const text = place === previous ? '' : place;
    previous = place;
    return hasPlaces ? text : null;
  };
  for (const block of blocks) {
    if (block.start > end) groups.push(gapRow(end, block.start, columns));
    groups.push(h('tbody', {}, blockHead(model, block, most, columns),
      block.instructions.map((instruction) => instructionRow(model, block, instruction, placeOf(instruction)))));
    end = block.start + BigInt(block.size);
  }
  const last = f.start + BigInt(f.size);
  if (end < last) groups.push(gapRow(end, last, columns));
  return h('div', { class: 'code-view' },
    h('p', {}, name(model.modules[f.module].path), `, ${address(f.start)}: ${short(f.instructions)} ± ${short(f.error)} instructions, ${share(f.instructions / model.instructions)} of all. `,
      'A bar is how often a block ran, by the block that ran most; the whisker is one standard error.'),
    blocks.length
      ? scrolled(`Code of ${f.name}`, h('table', { class: 'disassembly' }, h('caption', { class: 'hidden' }, `Code of ${f.name}`),
        h('thead', {}, h('tr', {}, TITLES.slice(0, columns).map((title, at) =>
          h('th', { scope: 'col', class: CLASSES[at] }, title)))), groups))
      : h('p', {}, 'None of its blocks is among those that are listed with their code; --blocks lists more.'));
}
