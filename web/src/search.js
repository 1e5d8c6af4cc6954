// The search field: it leaves those rows in tables whose functions, modules or addresses have all of its words. An address also
// finds what it lies in.
import { count } from './format.js';
import { h } from './dom.js';
import { shortOf } from './names.js';

const ADDRESS = /^0x[0-9a-f]{1,16}$/;

// Of text: a row's, which is looked at once.
const texts = new WeakMap();
function textOf(row, make) {
  if (!texts.has(row)) texts.set(row, make(row).flatMap((text) => [text, shortOf(text)]).join('\n').toLowerCase());
  return texts.get(row);
}

// A test of rows, or null if the reader searches for nothing. of: {texts(row), start(row), size(row)}
export function matcher(query, of) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const tests = words.map((word) => {
    const place = ADDRESS.test(word) ? BigInt(word) : null;
    const isAround = (row) => place != null && of.start(row) <= place && place < of.start(row) + BigInt(of.size(row));
    return (row) => isAround(row) || textOf(row, of.texts).includes(word);
  });
  return (row) => tests.every((test) => test(row));
}

// tables: [{id, title, one, filter(query): returns how many rows are left}]; mark(query) shows the query elsewhere.
export function setUpSearch(tables, mark) {
  const input = document.getElementById('search');
  const status = document.getElementById('found');
  const search = () => {
    const query = input.value.trim();
    const left = tables.map(({ filter }) => filter(query));
    mark(query);
    status.replaceChildren(...(query ? tables.flatMap(({ id, title, one }, at) => [h('a', { href: `#${id}` }, `${count(left[at])} ${left[at] === 1 ? one : title}`), ' ']) : []));
  };
  let due = null;
  input.addEventListener('input', () => {
    cancelAnimationFrame(due);
    due = requestAnimationFrame(search);
  });
  input.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter' && input.value.trim()) document.querySelector('#found a')?.click();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.altKey || event.metaKey || event.target.matches('input, select')) return;
    event.preventDefault();
    input.focus();
  });
}
