// The report's JSON (tools/export/report_json.cc) as objects.
import { address, baseName } from './format.js';

const VERSION = 1;
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

function readBlocks(data, functions) {
  return rows(data.blocks).map((block) => {
    block.start = BigInt(`0x${block.start}`);
    let place = block.start;
    block.instructions = block.code.map(([length, tuple, text, file, line, inlined]) => {
      const instruction = { address: place, tuple, text, file, line, inlined };
      place += BigInt(length);
      return instruction;
    });
    block.weight = block.count * block.instructions.length;
    functions[block.function].blocks.push(block);
    return block;
  });
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
  const modules = data.modules.map((module, index) => ({ ...module, index, name: baseName(module.path) }));
  const functions = rows(data.functions).map((f) => ({ ...f, start: BigInt(`0x${f.start}`), blocks: [] }));
  const properties = data.properties.map(({ key, values }, index) => ({
    key, index, title: titleOf(key),
    values: values.map((value) => textOf(key, value)),
  }));
  return {
    ...data, modules, functions, properties,
    blocks: readBlocks(data, functions),
    rest: rows(data.rest),
    loops: rows(data.loops).map((loop) => ({ ...loop, header: BigInt(`0x${loop.header}`) })),
    errors: readErrors(data.mixes, functions, 'errors'),
    shareErrors: readErrors(data.mixes, [], 'share_errors'),
  };
}

// Where a loop is, in words: "0x1234 in main".
export const loopName = (model, loop) =>
  `${address(loop.header)} in ${model.functions[loop.function]?.name ?? model.modules[loop.module].name}`;
