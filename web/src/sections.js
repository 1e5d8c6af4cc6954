// The sections of the page and the links to them, which stay in view; the one that is read is marked.
import { h } from './dom.js';

const list = document.getElementById('sections');
const links = new Map(); // by section
const inView = new Set();

function mark() {
  const current = [...links.keys()].find((section) => inView.has(section));
  for (const [section, link] of links) {
    if (section !== current) {
      link.removeAttribute('aria-current');
    } else if (!link.hasAttribute('aria-current')) {
      link.setAttribute('aria-current', 'true');
      list.scrollLeft = link.offsetLeft - list.offsetLeft - list.clientWidth / 3;
    }
  }
}

// Below the links is the top of what is read.
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) inView.add(target);
    else inView.delete(target);
  }
  mark();
}, { rootMargin: '-15% 0px -65% 0px' });

export function section(id, title, ...children) {
  const element = h('section', { id, 'aria-labelledby': `${id}-title` }, h('h2', { id: `${id}-title` }, title), children);
  const link = h('a', { href: `#${id}` }, title);
  list.append(h('li', {}, link));
  links.set(element, link);
  document.getElementById('main').append(element);
  observer.observe(element);
}
