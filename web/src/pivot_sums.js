// Executed instructions, summed over groups that the reader chooses.
import { address, baseName } from './format.js';
import { loopName } from './model.js';

export const OTHER = 'not listed';

// What rows and columns can be: {key, title, value(fact)}. A fact is a kind of instruction in a
// block: {block (of the list, or null), module, function, tuple, instruction}.
export function dimensions(model) {
  const listed = (of) => (fact) => (fact.block ? of(fact) : OTHER);
  const all = [
    { key: 'module', title: 'Module', value: (fact) => model.modules[fact.module].name },
    { key: 'function', title: 'Function', value: (fact) => model.functions[fact.function]?.name ?? 'other functions' },
    { key: 'block', title: 'Block', value: listed((fact) => address(fact.block.start)) },
    { key: 'address', title: 'Address', value: listed((fact) => address(fact.instruction.address)) },
    { key: 'source', title: 'Counted by', value: listed((fact) => fact.block.source) },
  ];
  if (model.loops.length) {
    all.push({
      key: 'loop', title: 'Loop',
      value: listed(({ block }) => (block.loop < 0 ? (model.loops.length < model.loop_count ? 'no listed loop' : 'no loop') : model.loops[block.loop] ? loopName(model, model.loops[block.loop]) : OTHER)),
    });
  }
  if (model.inlined.length) {
    all.push({
      key: 'inlined', title: 'Inlined function',
      value: listed((fact) => model.inlined[fact.instruction.inlined] ?? model.functions[fact.function].name),
    });
  }
  if (model.source_files.length) {
    const file = ({ instruction }) => (instruction.file == null ? 'unknown' : baseName(model.source_files[instruction.file]));
    all.push({ key: 'file', title: 'Source file', value: listed(file) });
    all.push({
      key: 'line', title: 'Source line',
      value: listed((fact) => (fact.instruction.file == null ? 'unknown' : `${file(fact)}:${fact.instruction.line}`)),
    });
  }
  for (const property of model.properties) {
    all.push({
      key: property.key, title: property.title, isProperty: true,
      value: (fact) => property.values[model.tuples[fact.tuple][property.index]],
    });
  }
  return all;
}

export function* facts(model) {
  for (const block of model.blocks) {
    for (const instruction of block.instructions) {
      yield { block, module: block.module, function: block.function, tuple: instruction.tuple, instruction };
    }
  }
  for (const rest of model.rest) {
    yield { block: null, rest, module: rest.module, function: rest.function, tuple: rest.tuple };
  }
}

// The error of a sum. Samples fall into blocks independently of each other, so that their errors
// add in squares; the streams of a burst go together, so that theirs may add up in full.
class ErrorSum {
  #variance = 0;
  #bound = 0;
  #block = null;
  #times = 0;

  add(fact) {
    if (!fact.block) {
      this.#bound += fact.rest.error ?? 0;
      return;
    }
    if (fact.block !== this.#block) {
      this.#flush();
      this.#block = fact.block;
    }
    this.#times += 1;
  }

  #flush() {
    if (!this.#block) return;
    const error = (this.#block.error ?? 0) * this.#times;
    if (this.#block.source === 'ebs') this.#variance += error * error;
    else this.#bound += error;
    this.#times = 0;
  }

  value() {
    this.#flush();
    return Math.sqrt(this.#variance) + this.#bound;
  }
}

class Node {
  constructor(id, label, level) {
    Object.assign(this, { id, label, level, instructions: 0, columns: new Map(), children: new Map(), errors: new ErrorSum() });
  }

  add(fact, amount, column) {
    this.instructions += amount;
    if (column != null) this.columns.set(column, (this.columns.get(column) ?? 0) + amount);
    this.errors.add(fact);
  }

  close() {
    this.error = this.errors.value();
    delete this.errors;
    this.children = [...this.children.values()];
    this.children.forEach((child) => child.close());
  }
}

// A tree of sums: a level for each dimension of `by`. `column` may be null; `where` keeps a fact or not.
export function sums(model, by, column, where = () => true) {
  const root = new Node('', 'All', -1);
  for (const fact of facts(model)) {
    if (!where(fact)) continue;
    const amount = fact.block ? fact.block.count : fact.rest.instructions;
    const of = column ? column.value(fact) : null;
    let node = root;
    node.add(fact, amount, of);
    for (const [level, dimension] of by.entries()) {
      const label = dimension.value(fact);
      let child = node.children.get(label);
      if (!child) node.children.set(label, (child = new Node(`${node.id}\u0001${label}`, label, level)));
      node = child;
      node.add(fact, amount, of);
    }
  }
  root.close();
  return root;
}
