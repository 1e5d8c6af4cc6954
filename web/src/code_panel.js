// Shows the code of one function at a time.
import { codeOf } from './code_view.js';
import { h, name } from './dom.js';
import { Branches } from './links.js';

export function codePanel(model) {
  const branches = new Branches(model);
  const element = h('div', { id: 'code', class: 'panel', hidden: true, onkeydown: ({ key }) => key === 'Escape' && leave() });
  let openedBy = null;

  // The focus goes back to where the panel was opened, unless that row is no longer shown.
  function close() {
    if (element.hidden) return;
    element.hidden = true;
    const back = openedBy?.isConnected ? openedBy : document.querySelector('#functions tbody a');
    back.focus({ preventScroll: true });
    back.scrollIntoView({ block: 'center' });
  }

  // The address no longer names the code, and the browser's Back opens it again.
  function leave() {
    history.pushState(null, '', '#functions');
    close();
  }

  function open(f, block) {
    if (!f) return close();
    if (!element.contains(document.activeElement)) openedBy = document.activeElement.closest('main a');
    const title = h('h3', { tabindex: '-1' }, 'Code of ', name(f.name));
    const code = codeOf(model, f, branches);
    element.replaceChildren(
      h('div', { class: 'head' }, title, h('button', { type: 'button', onclick: leave }, 'Close')), code.element);
    element.hidden = false;
    title.focus({ preventScroll: true });
    code.show(block);
    element.scrollIntoView();
  }

  return { element, open, close };
}
