// The source of a function next to its disassembly: its lines with what was executed for each, and those of other files and
// functions that were inlined. A line leads to its instructions.
import { largest, share, short } from './format.js';
import { h, name, scrolled } from './dom.js';
import { heatOf } from './heat.js';

const GAP = 8; // as in tools/export/report_source.cc

const STATES = {
  missing: 'is not where hbbp export ran: there is only which of its lines have instructions.',
  newer: 'is newer than what ran: its lines may be others than those that ran.',
  refused: 'is not named like a source file, so that its text was not copied.',
  'left-out': 'is left out (--no-source): there is only which of its lines have instructions.',
};

// By file and line: {file, line, instructions, count}.
function linesOf(f) {
  const lines = new Map();
  for (const block of f.blocks) {
    for (const { file, line } of block.instructions) {
      if (file == null) continue;
      const key = `${file}:${line}`;
      const sum = lines.get(key) ?? { key, file, line, instructions: 0, count: 0 };
      sum.instructions += block.count;
      sum.count = Math.max(sum.count, block.count);
      lines.set(key, sum);
    }
  }
  return lines;
}

// With the lines between them where there are few.
function withGaps(texts, rows) {
  rows.sort((a, b) => a.line - b.line);
  return rows.flatMap((row, at) => {
    const after = [];
    const next = rows[at + 1]?.line ?? 0;
    for (let line = row.line + 1; next - row.line <= GAP && line < next; line += 1) if (texts[line] != null) after.push({ line });
    return [row, ...after];
  });
}

// [{file, rows: [{line, sum}]}]: the function's own lines, then all others that it has.
function partsOf(model, f, lines) {
  const [ownFile, first, last] = f.source ?? [-1, 0, 0];
  const isOwn = ({ file, line }) => file === ownFile && first <= line && line <= last;
  const own = [];
  for (let line = first; line <= last && ownFile >= 0; line += 1) {
    const sum = lines.get(`${ownFile}:${line}`);
    if (sum || model.source_text[ownFile][line] != null) own.push({ line, sum });
  }
  const others = new Map();
  for (const sum of lines.values()) {
    if (isOwn(sum)) continue;
    if (!others.has(sum.file)) others.set(sum.file, []);
    others.get(sum.file).push({ line: sum.line, sum });
  }
  const instructionsOf = ({ rows }) => rows.reduce((sum, row) => sum + (row.sum?.instructions ?? 0), 0);
  const parts = [...others].map(([file, rows]) => ({ file, isInlined: ownFile >= 0, rows: withGaps(model.source_text[file], rows) }));
  parts.sort((a, b) => instructionsOf(b) - instructionsOf(a));
  const all = own.length ? [{ file: ownFile, isInlined: false, rows: own }, ...parts] : parts;
  return all.map((part) => ({ ...part, indent: indentation(part.rows.map(({ line }) => model.source_text[part.file][line])) }));
}

// The indentation that all of them have, but for directives.
function indentation(texts) {
  const found = texts.filter((text) => text?.trim() && !text.startsWith('#')).map((text) => /^[ \t]*/.exec(text)[0]);
  return found.reduce((least, one) => (one.startsWith(least) ? least : least.startsWith(one) ? one : ''), found[0] ?? '').length;
}

function rowOf(model, { file, indent }, { line, sum }, most, onLine) {
  const text = h('td', { class: 'code' }, model.source_text[file][line]?.slice(indent) ?? '');
  if (!sum) return h('tr', {}, h('th', { scope: 'row', class: 'number' }, String(line)), h('td', { class: 'number' }), text);
  const title = `${short(sum.instructions)} instructions, ${share(sum.instructions / model.instructions)} of all`;
  return h('tr', { 'data-line': sum.key, 'data-heat': heatOf(sum.instructions, most), title },
    h('th', { scope: 'row', class: 'number' }, h('button', { type: 'button', class: 'link', 'aria-label': `Code of line ${line}`, onclick: () => onLine(sum.key) }, String(line))),
    h('td', { class: 'number' }, share(sum.instructions / model.instructions)), text);
}

function headOf(model, { file, isInlined }) {
  const state = STATES[model.source_states[file]];
  return h('tr', { class: 'block' }, h('th', { scope: 'rowgroup', colspan: 3 }, isInlined ? 'Inlined, or of other lines, from ' : '', name(model.source_names[file]),
    state ? h('span', { class: 'state' }, ' ', state) : null));
}

export const hasSource = (f) => f.blocks.some((block) => block.instructions.some(({ file }) => file != null));

// {element, show(key): brings that line into view, focus(key)}. onLine(key): the reader wants to see its code.
export function sourceOf(model, f, onLine) {
  const lines = linesOf(f);
  const most = largest([...lines.values()], ({ instructions }) => instructions);
  const groups = partsOf(model, f, lines).map((part) => h('tbody', {}, headOf(model, part), part.rows.map((row, at) => [
    at && row.line > part.rows[at - 1].line + 1 ? h('tr', { class: 'gap' }, h('td', { colspan: 3 }, '⋮')) : null,
    rowOf(model, part, row, most, onLine)])));
  const element = scrolled(`Source of ${f.name}`, h('table', { class: 'disassembly source-lines' }, h('caption', { class: 'hidden' }, `Source of ${f.name}`),
    h('thead', {}, h('tr', {}, h('th', { scope: 'col', class: 'number' }, 'Line'), h('th', { scope: 'col', class: 'number' }, 'Share'), h('th', { scope: 'col' }, 'Source'))), groups));
  element.classList.add('source-view');
  const rows = new Map([...element.querySelectorAll('[data-line]')].map((row) => [row.dataset.line, row]));

  function show(key) {
    for (const row of element.querySelectorAll('.target')) row.classList.remove('target');
    const row = rows.get(key);
    if (!row) return;
    row.classList.add('target');
    element.scrollTop += row.getBoundingClientRect().top - element.getBoundingClientRect().top - element.clientHeight / 3;
  }
  return { element, show, focus: (key) => rows.get(key)?.querySelector('button').focus({ preventScroll: true }) };
}
