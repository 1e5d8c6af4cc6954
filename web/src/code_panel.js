// Shows the code of one function at a time, and its graph next to it.
import { codeOf, hottestOf, introductionOf } from './code_view.js';
import { h, name } from './dom.js';
import { graphOf } from './graph_view.js';
import { Branches } from './links.js';
import { hasSource, sourceOf } from './source_view.js';

const VIEWS = { graph: 'Graph', source: 'Source', code: 'Code only' };

export function codePanel(model) {
  const branches = new Branches(model);
  const element = h('div', { id: 'code', class: 'panel', hidden: true, onkeydown: ({ key }) => key === 'Escape' && leave() });
  let openedBy = null;
  let shown = null; // {f, views, code, graph, source}: whose code it is
  let view = 'graph';

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

  // Parts that are not shown have no size, so that they can be drawn only then.
  function choose(chosen) {
    view = chosen;
    const { f, views, sides } = shown;
    const side = views.includes(view) ? view : 'code';
    for (const button of element.querySelectorAll('[data-view]')) button.setAttribute('aria-pressed', String(button.dataset.view === side));
    sides.dataset.view = side;
    if (side === 'graph' && !shown.graph) {
      shown.graph = graphOf(model, f);
      sides.prepend(shown.graph.element);
      shown.graph.start(shown.block);
    }
    if (side === 'source' && !shown.source) {
      shown.source = sourceOf(model, f, (key) => shown.code.showLine(key));
      sides.prepend(shown.source.element);
      shown.source.show(shown.code.lineOf(shown.block));
    }
  }

  function toSource(key) {
    choose('source');
    shown.source.show(key);
    shown.source.focus(key);
    shown.source.element.scrollIntoView({ block: 'nearest' });
  }

  function toGraph(block) {
    choose('graph');
    shown.graph.show(block, true);
    shown.graph.element.scrollIntoView({ block: 'nearest' });
  }

  function show(block) {
    shown.block = block ?? hottestOf(shown.f.blocks);
    if (!shown.code) return;
    shown.code.show(block);
    shown.graph?.show(shown.block);
    shown.source?.show(shown.code.lineOf(shown.block));
  }

  function draw(f) {
    const title = h('h3', { tabindex: '-1' }, 'Code of ', name(f.name));
    const views = [...(f.edges.length ? ['graph'] : []), ...(hasSource(f) ? ['source'] : []), 'code'];
    const sides = h('div', { class: 'sides' });
    shown = { f, views, sides, title, block: hottestOf(f.blocks), graph: null, source: null, code: null };
    if (f.blocks.length) {
      shown.code = codeOf(model, f, { branches, onGraph: views.includes('graph') ? toGraph : null, onSource: views.includes('source') ? toSource : null });
      sides.append(shown.code.element);
    }
    const buttons = views.length > 1 ? h('div', { role: 'group', 'aria-label': 'Next to the code', class: 'views' },
      views.map((one) => h('button', { type: 'button', 'data-view': one, onclick: () => choose(one) }, VIEWS[one]))) : null;
    element.replaceChildren(
      h('div', { class: 'head' }, title, h('div', { class: 'settings' }, ...(buttons ? [buttons] : []), h('button', { type: 'button', class: 'close', onclick: leave }, 'Close'))),
      h('div', { class: 'code-view' }, introductionOf(model, f, branches), sides));
  }

  // From within the panel a block of the same function is shown without leaving it.
  function open(f, block) {
    if (!f) return close();
    const isInside = element.contains(document.activeElement);
    const isSame = isInside && shown?.f === f && !element.hidden;
    if (!isInside) openedBy = document.activeElement.closest('main a');
    if (isSame && block) {
      show(block);
      shown.code.focus(block);
      return;
    }
    draw(f);
    element.hidden = false;
    shown.block = block ?? shown.block;
    choose(view);
    shown.title.focus({ preventScroll: true });
    show(block);
    element.scrollIntoView();
  }

  return { element, open, close };
}
