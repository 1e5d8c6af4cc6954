// Links within the page. "#function-3" and "#block-17" open code, "#listed-3" and "#loop-2" show a row of a table, so that the
// browser's Back and Forward work, and addresses with them can be kept. No element has such an id: the browser would move the
// focus itself, before this does.
import { h, name } from './dom.js';

const BRANCH = /^(?:(?:bnd|notrack) )?(call|jmp|j\w+|loop\w*) (?:short |near )?0x([0-9a-f]+)$/;

export const link = (href, text) => h('a', { href }, name(text));
export const toFunction = (f, text = f.name) => link(`#function-${f.index}`, text);
export const toBlock = (block, text) => link(`#block-${block.index}`, text);
export const toLoop = (loop, text) => link(`#loop-${loop.index}`, text);
export const toListed = (f, text) => link(`#listed-${f.index}`, text);

const keyOf = (module, start) => `${module} ${start}`;

// What branches of the listed code lead to.
export class Branches {
  #model;
  #functions;
  #blocks;
  #callers = null;

  constructor(model) {
    this.#model = model;
    this.#functions = new Map(model.functions.map((f) => [keyOf(f.module, f.start), f]));
    this.#blocks = new Map(model.blocks.map((block) => [keyOf(block.module, block.start), block]));
  }

  // {f, block, operand} of a direct branch to the start of something that is listed, or null. A call has no block.
  target(module, text) {
    const [, mnemonic, operand] = BRANCH.exec(text) ?? [];
    if (!operand) return null;
    const key = keyOf(module, BigInt(`0x${operand}`));
    const block = mnemonic === 'call' ? null : this.#blocks.get(key);
    const f = this.#functions.get(key) ?? this.#model.functions[block?.function];
    return f ? { f, block: f.start === block?.start ? null : block, operand: `0x${operand}` } : null;
  }

  // [{block, f}] of listed calls and jumps to a function from others, the busiest first.
  callers(f) {
    if (!this.#callers) {
      this.#callers = new Map();
      for (const block of this.#model.blocks) {
        const last = block.instructions.at(-1);
        const target = last && this.target(block.module, last.text);
        if (!target || target.block || target.f.index === block.function) continue;
        if (!this.#callers.has(target.f)) this.#callers.set(target.f, []);
        this.#callers.get(target.f).push({ block, f: this.#model.functions[block.function] });
      }
      for (const list of this.#callers.values()) list.sort((a, b) => b.block.count - a.block.count);
    }
    return this.#callers.get(f) ?? [];
  }
}

// kinds: {kind: what a link to it does with its number}; other(): the address names none of these.
export function followLinks(kinds, other) {
  const follow = () => {
    const [, kind, number] = /^#([a-z]+)-(\d+)$/.exec(location.hash) ?? [];
    if (Object.hasOwn(kinds, kind ?? '')) kinds[kind](Number(number));
    else other();
  };
  addEventListener('hashchange', follow);
  // A link to where the address is already changes nothing in it.
  document.addEventListener('click', ({ target }) => {
    if (target.closest('a')?.getAttribute('href') === location.hash) follow();
  });
  follow();
}
