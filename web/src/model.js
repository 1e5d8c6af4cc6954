// The report's JSON (tools/export/report_json.cc) as objects.
import { address, baseName, grouped } from './format.js';
import { setShort, shortNames, shortOf } from './names.js';

const VERSION = 5;
const TITLES = {
  mnemonic: 'Mnemonic', extension: 'ISA extension', category: 'Category', packing: 'Packing',
  element: 'Element type', 'vector-bits': 'Vector width', memory: 'Memory access',
};
const SPECIAL_VALUES = { 'vector-bits': { 0: 'no vector' }, memory: { none: 'no memory' } };

function rows(columns) {
  const keys = Object.keys(columns);
  const length = keys.length ? columns[keys[0]].length : 0;
  return Array.from({ length }, (_, index) => {
    const row = { index };
    for (const key of keys) row[key] = columns[key][index];
    return row;
  });
}

const titleOf = (key) =>
  TITLES[key] ?? (key.charAt(0).toUpperCase() + key.slice(1)).replaceAll('-', ' ');

const textOf = (key, value) => SPECIAL_VALUES[key]?.[value] ?? String(value);

// The last parts of paths, and the whole of those that share theirs with another one.
function pathNames(paths) {
  const alike = new Map();
  for (const path of new Set(paths)) alike.set(baseName(path), (alike.get(baseName(path)) ?? 0) + 1);
  return paths.map((path) => (alike.get(baseName(path)) > 1 ? path : baseName(path)));
}

// Those with samples are told apart: builds of one file at one path by their build IDs.
function readModules({ modules }) {
  const seen = modules.filter(({ samples }) => samples > 0);
  const names = pathNames(seen.map(({ path }) => path));
  const nameOf = new Map(seen.map(({ path }, at) => [path, names[at]]));
  const builds = new Map();
  for (const { path, build_id: id } of seen) builds.set(path, (builds.get(path) ?? new Set()).add(id));
  return modules.map((module, index) => ({
    ...module, index,
    name: (nameOf.get(module.path) ?? baseName(module.path)) + (builds.get(module.path)?.size > 1 ? ` ${module.build_id.slice(0, 8)}` : ''),
  }));
}

// Whose a block is: {task, count, error} of each.
const partsOf = ({ tasks, count, error }) =>
  (Array.isArray(tasks) ? tasks.map(([task, partCount, partError]) => ({ task, count: partCount, error: partError }))
    : [{ task: tasks, count, error }]);

function readBlocks(data, functions) {
  return rows(data.blocks).map((block) => {
    block.start = BigInt(`0x${block.start}`);
    let place = block.start;
    block.instructions = block.code.map(([length, tuple, text, file, line, inlined]) => {
      const instruction = { address: place, tuple, text, file, line, inlined };
      place += BigInt(length);
      return instruction;
    });
    block.whole = { count: block.count, error: block.error };
    block.parts = partsOf(block);
    block.weight = block.count * block.instructions.length;
    functions[block.function].blocks.push(block);
    return block;
  });
}

// Of each function, between its blocks.
function addEdges(data, functions, blocks) {
  for (const { from, to, kind, count } of rows(data.edges)) {
    functions[blocks[from].function].edges.push({ from: blocks[from], to: blocks[to], kind, count });
  }
}

// Threads are sampled independently of each other: their errors add in squares.
export const errorOfThreads = (threads) => Math.sqrt(threads.reduce((sum, { error }) => sum + (error ?? 0) ** 2, 0));

// As the pivot has processes; of all of their threads, or not known.
function processErrors({ threads, thread_count: all }) {
  if (threads.length < all) return new Map();
  return new Map([...grouped(threads, ({ pid }) => String(pid))].map(([pid, ofProcess]) => [pid, errorOfThreads(ofProcess)]));
}

export const threadName = ({ tid, name }) => `${tid} ${name}`.trim();

function readTimeline(timeline, slices) {
  const { key, other_values: others } = timeline;
  const rows = timeline.values.map((value, at) => ({ label: textOf(key, value), instructions: timeline.instructions[at] }));
  if (others) {
    const of = (slice) => Math.max(0, rows.reduce((left, row) => left - row.instructions[slice], slices.instructions[slice]));
    rows.push({ label: `${others} ${others === 1 ? 'other' : 'others'}`, isOthers: true, instructions: slices.instructions.map((_, slice) => of(slice)) });
  }
  return { key, title: titleOf(key), rows };
}

// {key: {id of the value: error}}, of sums that the library made.
function readErrors(mixes, functions, field) {
  const errors = new Map(mixes.map((mix) =>
    [mix.key, new Map(mix.values.map((value, at) => [textOf(mix.key, value), mix[field][at]]))]));
  errors.set('function', new Map(functions.map((f) => [String(f.index), f.error])));
  return errors;
}

export function readModel(data) {
  if (data.version !== VERSION) throw new Error(`this page does not know data of version ${data.version}`);
  const modules = readModules(data);
  const functions = rows(data.functions).map((f) => ({ ...f, start: BigInt(`0x${f.start}`), blocks: [], edges: [] }));
  const properties = data.properties.map(({ key, values }, index) => ({
    key, index, title: titleOf(key),
    values: values.map((value) => textOf(key, value)),
  }));
  for (const [whole, short] of shortNames([...functions.map((f) => f.name), ...data.inlined,
    ...[data.ibs.rows, data.ibs.loads, data.ibs.objects.rows].flatMap(({ name }) => name ?? [])])) setShort(whole, short);
  const errors = readErrors(data.mixes, functions, 'errors');
  errors.set('thread', new Map(data.tasks.map(({ thread }, task) => [String(task), data.threads[thread]?.error])));
  errors.set('process', processErrors(data));
  const blocks = readBlocks(data, functions);
  addEdges(data, functions, blocks);
  return {
    ...data, modules, functions, properties, errors,
    source_names: pathNames(data.source_files),
    blocks,
    rest: rows(data.rest).map((rest) => ({ ...rest, whole: { task: rest.task, count: rest.instructions, error: rest.error } })),
    timelines: data.slices.timelines.map((timeline) => readTimeline(timeline, data.slices)),
    ibs: readIbs(data, blocks),
    loops: rows(data.loops).map((loop) => ({ ...loop, header: BigInt(`0x${loop.header}`) })),
    shareErrors: readErrors(data.mixes, [], 'share_errors'),
  };
}

const withAddress = (row) => ({ ...row, address: row.address == null ? null : BigInt(`0x${row.address}`) });

// What was sampled of an instruction goes to it.
function readIbs({ ibs }, blocks) {
  for (const { block, at, ...sampled } of rows(ibs.code)) blocks[block].instructions[at].sampled = sampled;
  const accesses = (list) => ({ ...list, rows: rows(list.rows).map(withAddress) });
  return {
    ...ibs, rows: rows(ibs.rows).map(withAddress), loads: rows(ibs.loads).map(withAddress),
    lines: accesses(ibs.lines), pages: accesses(ibs.pages), objects: accesses(ibs.objects),
  };
}

// Where a loop is, in words: "0x1234 in main".
export function loopName(model, loop) {
  const where = model.functions[loop.function]?.name ?? model.modules[loop.module].name;
  const text = `${address(loop.header)} in ${where}`;
  setShort(text, `${address(loop.header)} in ${shortOf(where)}`);
  return text;
}
