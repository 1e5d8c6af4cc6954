// What the run could not see, and how much of it there was.
import { count, share } from './format.js';
import { h, name, notes, scrolled } from './dom.js';

const REASONS = {
  'no-code': 'the code is missing', undecodable: 'the code does not decode', 'leaves-module': 'the stream leaves its module',
  backwards: 'the stream ends before it starts', 'passes-branch': 'the stream passes a branch that is always taken',
  'not-a-branch': 'the stream ends at no branch', 'too-long': 'the stream is too long',
};

function sourceRows(source) {
  const streams = ['swbt', 'lbr'].includes(source.kind);
  const inAll = streams && source.taken_branches ? source.taken_branches : source.samples;
  const of = (part) => (inAll > 0 ? share(part / inAll) : '–');
  const rows = [
    ['lost: the kernel had no room', source.lost, source.samples + source.lost > 0 ? share(source.lost / (source.samples + source.lost)) : '–'],
    ['times that the kernel held sampling back', source.throttled, ''],
    [`${streams ? 'targets of branches' : 'samples'} in no known mapping`, source.unmapped, of(source.unmapped)],
    [`${streams ? 'streams' : 'samples'} that are unexplained`, source.unexplained, of(source.unexplained)],
    ...source.reasons.map(([reason, number]) => [`of these: ${REASONS[reason] ?? reason}`, number, of(number)]),
    ...source.counters.map(([counter, number]) => [`counted on the way: ${counter}`, number, '']),
  ];
  if (source.superseded > 0) {
    rows.push(['superseded: another source counts the code that they are in', source.superseded, of(source.superseded)]);
  }
  return rows.map(([what, number, part]) => h('tr', {}, h('th', { scope: 'row' }, what),
    h('td', {}, `${source.kind} of ${source.event}`), h('td', { class: 'number' }, count(number)), h('td', { class: 'number' }, part)));
}

export function unseen(model) {
  const missing = model.modules.filter((module) => module.samples > 0 && (module.problem || ['missing', 'mismatch'].includes(module.code)));
  const listed = model.blocks.reduce((sum, block) => sum + block.weight, 0);
  const heads = (titles, numbers) => h('thead', {}, h('tr', {}, titles.map((title, at) => h('th', { scope: 'col', class: numbers.includes(at) ? 'number' : null }, title))));
  return [
    notes([...model.caveats, ...model.line_problems.map((problem) => `Source lines are missing: ${problem}`), ...model.source_problems.map((problem) => `Of source text: ${problem}`)]),
    scrolled('What was not seen', h('table', {}, h('caption', { class: 'hidden' }, 'What was not seen'),
      heads(['What', 'Source', 'Number', 'Share'], [2, 3]), h('tbody', {}, model.sources.map(sourceRows)))),
    missing.length ? scrolled('Modules without code', h('table', {}, h('caption', {}, 'Modules whose code was not found'),
      heads(['Module', 'Samples', 'Why'], [1]),
      h('tbody', {}, missing.map((module) => h('tr', {}, h('th', { scope: 'row' }, name(module.path)),
        h('td', { class: 'number' }, count(module.samples)), h('td', { class: 'wrap' }, name(module.problem || module.code))))))) : null,
    h('p', {}, `This page has ${count(model.functions.length)} of ${count(model.function_count)} functions by name and ${count(model.blocks.length)} of ${count(model.block_count)} blocks with their code. `,
      `The blocks that are listed executed ${share(listed / model.instructions)} of all instructions; the others are in every sum, as “not listed”.`,
      model.biased_block_count ? ` ${count(model.biased_block_count)} blocks are biased: their counts by LBR are suspect.` : ''),
  ];
}
