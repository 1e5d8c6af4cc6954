import { share } from './format.js';
import { hasShort, shown } from './names.js';

// h('td', { class: 'number' }, 'text', node): an element. Text is always text, never HTML.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity)) if (child != null) element.append(child);
  return element;
}

// The same for SVG.
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat(Infinity));
  return element;
}

// A name out of the profiled program, whatever script or direction marks it contains.
// Long ones are cut where there is no room; then the title has them whole.
const LONG = 40;
export const name = (text) => h('bdi', {
  class: 'name', title: text.length > LONG || hasShort(text) ? text : null, 'data-whole': hasShort(text) ? text : null,
}, shown(text));

export const scrolled = (label, ...children) =>
  h('div', { class: 'scroll', role: 'region', 'aria-label': label, tabindex: '0' }, ...children);

export const notes = (texts) => (texts.length ? h('ul', { class: 'notes' }, texts.map((text) => h('li', {}, text))) : null);

// A choice with its label.
export const field = (label, id) => {
  const element = h('select', { id });
  return { element, field: h('div', { class: 'field' }, h('label', { for: id }, label), element) };
};

export const fill = (element, entries, value) => {
  element.replaceChildren(...entries.map(([key, title]) => h('option', { value: key, 'data-whole': hasShort(title) ? title : null }, shown(title))));
  element.value = value;
};

// A bar for a value and a whisker for its error, both as parts of `most`.
export function bar(value, error, most) {
  const percent = (part) => `${Math.max(0, Math.min(100, (100 * part) / most))}%`;
  const fill = h('span', { class: 'fill' });
  const track = h('span', { class: 'bar', 'aria-hidden': 'true' }, fill);
  if (!(most > 0)) return track;
  fill.style.width = percent(value);
  if (error > 0) {
    const whisker = h('span', { class: 'whisker' });
    whisker.style.left = percent(value - error);
    whisker.style.right = `calc(100% - ${percent(value + error)})`;
    track.append(whisker);
  }
  return track;
}

// A share of a total and its bar, which ends at 100 %.
export const shareBar = (value, error, total) =>
  h('span', { class: 'share' }, bar(value, error, total), h('span', {}, share(value / total)));
