// Executed instructions, summed over groups that the reader chooses.
import { address, grouped, largest } from './format.js';
import { loopName, threadName } from './model.js';
import { setShort, shortOf } from './names.js';

export const OTHER = 'not listed';

// What facts are about, from coarse to fine: a block, its instructions of one kind, or one instruction.
const BLOCK = 0;
const KIND = 1;
const INSTRUCTION = 2;

// What rows and columns can be: {key, title, id(fact), label(fact), order(fact), names(fact), isOfTasks, grain}. A fact is about
// instructions of a block: {block (of the list, or null), part, times (how many instructions), module, function, tuple,
// instruction}; its part is all that ran of the block, or what one task ran. The coarsest facts that all dimensions can do with
// (grain) are the fewest. Labels are short: those of several ids may be the same; names then tell
// them apart, the first that can. Rows sort by order.
function dimension({ key, title, label, id = label, order = label, names = () => [], isOfTasks = false, grain = BLOCK }) {
  return { key, title, label, id: (fact) => String(id(fact)), order, names, isOfTasks, grain };
}

const functionNames = (model, { module, start }) => {
  const { name } = model.modules[module];
  return [name, `${name} ${address(start)}`];
};

function taskDimensions(model) {
  const taskOf = (fact) => model.tasks[fact.part.task];
  const threadOf = (fact) => model.threads[taskOf(fact).thread];
  const processes = new Map(model.threads.filter(({ pid, tid }) => pid === tid).map(({ pid, name }) => [pid, name]));
  const isOther = (fact) => taskOf(fact).pid < 0;
  const others = (fact) => (isOther(fact) ? 'other threads' : `other threads of ${taskOf(fact).pid}`);
  return [
    dimension({
      key: 'process', title: 'Process', isOfTasks: true, id: (fact) => taskOf(fact).pid,
      label: (fact) => (isOther(fact) ? 'other processes' : threadName({ tid: taskOf(fact).pid, name: processes.get(taskOf(fact).pid) ?? '' })),
      order: (fact) => (isOther(fact) ? 'other processes' : taskOf(fact).pid),
    }),
    dimension({
      key: 'thread', title: 'Thread', isOfTasks: true, id: (fact) => fact.part.task,
      label: (fact) => (threadOf(fact) ? threadName(threadOf(fact)) : others(fact)),
      order: (fact) => threadOf(fact)?.tid ?? others(fact),
      names: (fact) => (threadOf(fact) ? [`of ${taskOf(fact).pid}`, `thread ${taskOf(fact).thread}`] : []),
    }),
  ];
}

function inlinedDimension(model, listed) {
  const functionsOf = grouped(model.functions, (f) => f.name);
  const inlinedOf = (fact) => model.inlined[fact.instruction.inlined];
  // An inlined function is the one of its name, if there is only one.
  const functionOf = (fact) => {
    const inlined = inlinedOf(fact);
    if (inlined == null) return model.functions[fact.function];
    const found = functionsOf.get(inlined) ?? [];
    return found.length === 1 ? found[0] : null;
  };
  return dimension({
    key: 'inlined', title: 'Inlined function', grain: INSTRUCTION,
    label: listed((fact) => inlinedOf(fact) ?? functionOf(fact).name),
    id: listed((fact) => functionOf(fact)?.index ?? `inlined ${inlinedOf(fact)}`),
    names: listed((fact) => (functionOf(fact) ? functionNames(model, functionOf(fact)) : ['inlined']), []),
  });
}

export function dimensions(model) {
  const listed = (of, other = OTHER) => (fact) => (fact.block ? of(fact) : other);
  const moduleOf = (fact) => model.modules[fact.module];
  const functionOf = (fact) => model.functions[fact.function];
  const place = (key, title, addressOf, grain) => dimension({
    key, title, grain, label: listed((fact) => address(addressOf(fact))),
    id: listed((fact) => `${fact.module} ${addressOf(fact)}`), order: listed(addressOf),
    names: (fact) => [moduleOf(fact).name],
  });
  const all = [
    dimension({ key: 'module', title: 'Module', label: (fact) => moduleOf(fact).name, id: (fact) => fact.module }),
    dimension({
      key: 'function', title: 'Function', label: (fact) => functionOf(fact)?.name ?? 'other functions',
      id: (fact) => fact.function, names: (fact) => (functionOf(fact) ? functionNames(model, functionOf(fact)) : []),
    }),
    place('block', 'Block', (fact) => fact.block.start),
    place('address', 'Address', (fact) => fact.instruction.address, INSTRUCTION),
    dimension({ key: 'source', title: 'Counted by', label: listed((fact) => fact.block.source) }),
  ];
  if (model.loops.length) {
    const loopOf = ({ block }) => model.loops[block.loop];
    const none = model.loops.length < model.loop_count ? 'no listed loop' : 'no loop';
    all.push(dimension({
      key: 'loop', title: 'Loop',
      label: listed((fact) => (loopOf(fact) ? loopName(model, loopOf(fact)) : none)),
      id: listed((fact) => loopOf(fact)?.index ?? none), order: listed((fact) => loopOf(fact)?.header ?? none),
      names: (fact) => [moduleOf(fact).name],
    }));
  }
  if (model.inlined.length) all.push(inlinedDimension(model, listed));
  if (model.source_files.length) {
    const known = (of) => listed((fact) => (fact.instruction.file == null ? 'unknown' : of(fact)));
    const fileOf = (fact) => model.source_names[fact.instruction.file];
    all.push(dimension({ key: 'file', title: 'Source file', grain: INSTRUCTION, label: known(fileOf) }));
    all.push(dimension({ key: 'line', title: 'Source line', grain: INSTRUCTION, label: known((fact) => `${fileOf(fact)}:${fact.instruction.line}`) }));
  }
  if (model.tasks.length) all.push(...taskDimensions(model));
  for (const property of model.properties) {
    all.push(dimension({
      key: property.key, title: property.title, grain: KIND,
      label: (fact) => property.values[model.tuples[fact.tuple][property.index]],
    }));
  }
  return all;
}

// [{tuple, times}] of a block.
function kindsOf(block) {
  if (!block.kinds) {
    const times = new Map();
    for (const { tuple } of block.instructions) times.set(tuple, (times.get(tuple) ?? 0) + 1);
    block.kinds = [...times].map(([tuple, number]) => ({ tuple, times: number }));
  }
  return block.kinds;
}

function piecesOf(block, grain) {
  if (grain === BLOCK) return [{ times: block.instructions.length }];
  if (grain === KIND) return kindsOf(block);
  return block.instructions.map((instruction) => ({ tuple: instruction.tuple, times: 1, instruction }));
}

function* facts(model, isOfTasks, grain) {
  for (const block of model.blocks) {
    const pieces = piecesOf(block, grain);
    for (const part of isOfTasks ? block.parts : [block.whole]) {
      for (const { tuple, times, instruction } of pieces) {
        yield { block, part, times, module: block.module, function: block.function, tuple, instruction };
      }
    }
  }
  for (const rest of model.rest) {
    yield { block: null, part: rest.whole, times: 1, module: rest.module, function: rest.function, tuple: rest.tuple };
  }
}

// The error of a sum. Samples fall into blocks independently of each other, so that their errors
// add in squares; the streams of a burst go together, so that theirs may add up in full.
class ErrorSum {
  #variance = 0;
  #bound = 0;
  #last = null;
  #times = 0;

  add(fact) {
    if (!fact.block) {
      this.#bound += fact.part.error ?? 0;
      return;
    }
    if (fact.part !== this.#last?.part) {
      this.#flush();
      this.#last = fact;
    }
    this.#times += fact.times;
  }

  #flush() {
    if (!this.#last) return;
    const error = (this.#last.part.error ?? 0) * this.#times;
    if (this.#last.block.source === 'ebs') this.#variance += error * error;
    else this.#bound += error;
    this.#times = 0;
  }

  value() {
    this.#flush();
    return Math.sqrt(this.#variance) + this.#bound;
  }
}

// A value of a dimension.
const valueOf = (dimension, fact, id) =>
  ({ value: id, label: dimension.label(fact), order: dimension.order(fact), names: dimension.names(fact) });

// Makes labels that occur more than once different.
function tellApart(values) {
  for (const group of grouped(values, (one) => one.label).values()) {
    if (group.length === 1) continue;
    const most = largest(group, ({ names }) => names.length);
    const nameAt = ({ names }, at) => names[Math.min(at, names.length - 1)];
    let at = 0;
    while (at + 1 < most && new Set(group.map((one) => nameAt(one, at))).size < group.length) at += 1;
    for (const one of group) {
      if (!one.names.length) continue;
      const suffix = ` (${nameAt(one, at)})`;
      setShort(one.label + suffix, shortOf(one.label) + suffix);
      one.label += suffix;
    }
  }
}

class Node {
  constructor(id, level, value) {
    Object.assign(this, value, { id, level, instructions: 0, columns: new Map(), children: new Map(), errors: new ErrorSum() });
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
    tellApart(this.children);
    this.children.forEach((child) => child.close());
  }
}

// A tree of sums: a level for each dimension of `by`, and the values of `column`, which may be null, of
// what has a value of a dimension: filter is {dimension, value} or null.
export function sums(model, by, column = null, filter = null) {
  const root = new Node('', -1, { label: 'All' });
  const across = new Map();
  const used = [...by, column, filter?.dimension].filter(Boolean);
  const isOfTasks = used.some((dimension) => dimension.isOfTasks);
  for (const fact of facts(model, isOfTasks, largest(used, ({ grain }) => grain))) {
    if (filter && filter.dimension.id(fact) !== filter.value) continue;
    const amount = fact.part.count * fact.times;
    const of = column ? column.id(fact) : null;
    if (column && !across.has(of)) across.set(of, valueOf(column, fact, of));
    let node = root;
    node.add(fact, amount, of);
    for (const [level, dimension] of by.entries()) {
      const id = dimension.id(fact);
      let child = node.children.get(id);
      if (!child) node.children.set(id, (child = new Node(`${node.id}\u0001${id}`, level, valueOf(dimension, fact, id))));
      node = child;
      node.add(fact, amount, of);
    }
  }
  root.close();
  root.across = [...across.values()];
  tellApart(root.across);
  return root;
}
