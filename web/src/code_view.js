// A function's code with how often it ran: a group of rows for each block, gaps where nothing was counted.
import { address, baseName, count, share, short } from './format.js';
import { bar, h, name, scrolled } from './dom.js';

const COLUMNS = 5;

function whereOf(model, instruction) {
  if (instruction.file == null) return null;
  const inlined = model.inlined[instruction.inlined];
  return `${baseName(model.source_files[instruction.file])}:${instruction.line}${inlined ? `, ${inlined}` : ''}`;
}

function blockHead(model, block, most) {
  const loop = model.loops[block.loop];
  const parts = [
    `${short(block.count)} ± ${short(block.error)} times`, `${share(block.weight / model.instructions)} of all instructions`,
    `by ${block.source}`,
    loop && `loop of depth ${loop.depth}${loop.trips == null ? '' : `, ${short(loop.trips)} trips on average`}`,
    block.biased && 'biased: its count is suspect',
  ].filter(Boolean);
  return h('tr', { class: 'block', id: `block-${block.index}` },
    h('th', { scope: 'rowgroup', colspan: COLUMNS }, h('span', { class: 'address' }, address(block.start)), ' ',
      bar(block.count, block.error, most), ' ', parts.join(', ')));
}

function instructionRow(model, block, instruction, previousPlace) {
  const place = whereOf(model, instruction);
  return h('tr', {},
    h('td', { class: 'address' }, address(instruction.address)),
    h('td', { class: 'number' }, short(block.count)),
    h('td', { class: 'number' }, share(block.count / model.instructions)),
    h('td', { class: 'code' }, instruction.text),
    h('td', { class: 'place' }, place === previousPlace ? '' : name(place ?? '')));
}

function gapRow(from, to) {
  return h('tbody', {}, h('tr', { class: 'gap' },
    h('td', { colspan: COLUMNS }, `${count(Number(to - from))} bytes from ${address(from)} on: not counted, or too seldom to be listed`)));
}

export function codeOf(model, f) {
  const blocks = [...f.blocks].sort((a, b) => (a.start < b.start ? -1 : 1));
  const most = Math.max(0, ...blocks.map((block) => block.count + (block.error ?? 0)));
  const groups = [];
  let end = f.start;
  let place = null;
  for (const block of blocks) {
    if (block.start > end) groups.push(gapRow(end, block.start));
    groups.push(h('tbody', {}, blockHead(model, block, most), block.instructions.map((instruction) => {
      const row = instructionRow(model, block, instruction, place);
      place = whereOf(model, instruction);
      return row;
    })));
    end = block.start + BigInt(block.size);
  }
  const last = f.start + BigInt(f.size);
  if (end < last) groups.push(gapRow(end, last));
  return h('div', { class: 'code-view' },
    h('p', {}, name(model.modules[f.module].path), `, ${address(f.start)}: ${short(f.instructions)} ± ${short(f.error)} instructions, ${share(f.instructions / model.instructions)} of all. `,
      'A bar is how often a block ran, by the block that ran most; the whisker is one standard error.'),
    blocks.length
      ? scrolled(`Code of ${f.name}`, h('table', { class: 'disassembly' }, h('caption', { class: 'hidden' }, `Code of ${f.name}`),
        h('thead', {}, h('tr', {}, ['Address', 'Executions', 'Share', 'Instruction', 'Source'].map((title, at) =>
          h('th', { scope: 'col', class: at === 1 || at === 2 ? 'number' : null }, title)))), groups))
      : h('p', {}, 'None of its blocks is among those that are listed with their code; --blocks lists more.'));
}
