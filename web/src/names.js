// Short forms of the names of C++ and Rust: "lexer<...>::scan(...)". Any text of the page may have one, which is shown
// instead of it until the reader asks for whole names.
import { grouped } from './format.js';

const SHORT_ENOUGH = 8;
const OPERATOR = /operator *(?:\(\)|\[\]|<=>|->\*?|<<=?|>>=?|&&|\|\||\+\+|--|[-+*/%^&|~!=<>]=?|,)/y;
const IN_NAMES = /\b(?:operator|new|delete|to|for|as) $/; // "non-virtual thunk to f()", "operator bool()"
const CLOSING = { '<': '>', '(': ')', '[': ']', '{': '}' };
const STRING = /std::(?:__cxx11::)?basic_string<char, std::char_traits<char>, std::allocator<char> ?>/g;

const operatorAt = (text, at) => {
  if (text[at] !== 'o' || /\w/.test(text[at - 1] ?? '')) return null;
  OPERATOR.lastIndex = at;
  return OPERATOR.exec(text)?.[0] ?? null;
};

// Where the bracket at `from` closes; -1: nowhere.
function closingOf(text, from) {
  const open = [];
  for (let at = from; at < text.length; at += 1) {
    const operator = operatorAt(text, at);
    if (operator) at += operator.length - 1;
    else if (CLOSING[text[at]]) open.push(CLOSING[text[at]]);
    else if (text[at] === open.at(-1) && !(text[at] === '>' && text[at - 1] === '-')) {
      open.pop();
      if (!open.length) return at;
    }
  }
  return -1;
}

// Leaves out template arguments, parameters or both, and the type that a function template returns.
function elided(text, what, isInside = false) {
  let out = '';
  let isNamed = false; // what comes next is a list of arguments if it is in angle brackets
  let hasParameters = isInside;
  let nameFrom = 0; // in out: types that are returned come before it
  for (let at = 0; at < text.length; at += 1) {
    const operator = operatorAt(text, at);
    if (operator) {
      out += operator;
      at += operator.length - 1;
      isNamed = true;
      if (text.startsWith(' <', at + 1)) at += 1;
      continue;
    }
    const end = CLOSING[text[at]] ? closingOf(text, at) : -1;
    if (end < 0) {
      out += text[at];
      isNamed = /\w/.test(text[at]);
      if (text[at] === ' ' && !hasParameters) nameFrom = IN_NAMES.test(out) ? 0 : out.length;
      continue;
    }
    const inside = text.slice(at + 1, end);
    const isList = text[at] === '<' && isNamed;
    const isParameters = text[at] === '(' && inside !== 'anonymous namespace' && !/\bdecltype ?$/.test(out);
    if (isParameters && !hasParameters) {
      hasParameters = true;
      out = out.slice(nameFrom);
    }
    const isLeftOut = inside.length > SHORT_ENOUGH && ((isList && what.lists) || (isParameters && what.parameters));
    const kept = () => (isList ? inside : elided(inside, what, isParameters));
    out += text[at] + (isLeftOut ? '...' : kept()) + text[end];
    isNamed = text[end] !== ')';
    at = end;
  }
  return out;
}

const FORMS = [{ lists: true, parameters: true }, { lists: true }, { parameters: true }];

// Of several ways to shorten a name the first one by which it differs from all other names.
export function shortNames(names) {
  let left = [...new Set(names)];
  const short = new Map();
  for (const form of FORMS) {
    const alike = grouped(left, (name) => elided(name.replace(STRING, 'std::string'), form).replaceAll(/\[abi:\w+\]/g, ''));
    for (const [text, [name, ...others]] of alike) if (!others.length && !short.has(name)) short.set(name, text);
    // Names that differ in the shortest form do so in all others; those that differ in another form may be like
    // others in the next one.
    if (form === FORMS[0]) left = left.filter((name) => !short.has(name));
  }
  return short;
}

const forms = new Map(); // by the whole text
let isWhole = false;

export function setShort(whole, short) {
  if (short != null && short.length < whole.length) forms.set(whole, short);
}

export const shortOf = (text) => forms.get(text) ?? text;
export const hasShort = (text) => forms.has(text);
export const hasShortNames = () => forms.size > 0;
export const shown = (text) => (isWhole ? text : shortOf(text));

// Elements whose text is a name have the whole of it in data-whole.
export function showWhole(whole) {
  isWhole = whole;
  document.documentElement.dataset.names = whole ? 'whole' : 'short';
  for (const element of document.querySelectorAll('[data-whole]')) element.textContent = shown(element.dataset.whole);
}
