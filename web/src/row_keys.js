// Keys for the rows of a tree grid: Tab reaches one row of it, arrow keys, Home and End the others;
// Right and Left open and close a row or go to its first child or its parent, Enter does what its button does.
export function rowKeys(body) {
  let active = null; // the row that Tab reaches, by its data-row

  const rowsNow = () => [...body.children];
  const levelOf = (row) => Number(row.getAttribute('aria-level'));
  const isOpen = (row) => row.getAttribute('aria-expanded');

  function activate(row) {
    for (const one of rowsNow()) one.tabIndex = one === row ? 0 : -1;
    active = row?.dataset.row ?? null;
  }

  function focus(row) {
    activate(row);
    row.focus();
  }

  const parentOf = (row) => {
    let above = row.previousElementSibling;
    while (above && levelOf(above) >= levelOf(row)) above = above.previousElementSibling;
    return above;
  };
  const press = (row) => row.querySelector('button')?.click();
  const actions = {
    ArrowDown: (row) => row.nextElementSibling,
    ArrowUp: (row) => row.previousElementSibling,
    Home: () => body.firstElementChild,
    End: () => body.lastElementChild,
    ArrowRight: (row) => (isOpen(row) === 'true' ? row.nextElementSibling : isOpen(row) && press(row)),
    ArrowLeft: (row) => (isOpen(row) === 'true' ? press(row) : parentOf(row)),
    Enter: press,
    ' ': press,
  };

  body.addEventListener('keydown', (event) => {
    const row = event.target;
    if (row.parentElement !== body || event.ctrlKey || event.altKey || event.metaKey || !actions[event.key]) return;
    event.preventDefault();
    const next = actions[event.key](row);
    if (next) focus(next);
  });
  body.addEventListener('focusin', ({ target }) => activate(target.closest('tr')));

  // Makes rows anew; the active one stays active, if there is such a row still.
  function keep(make) {
    const hadFocus = body.contains(document.activeElement);
    make();
    const row = rowsNow().find((one) => one.dataset.row === active) ?? body.firstElementChild;
    if (row && hadFocus) focus(row);
    else activate(row);
  }

  return { focus, keep };
}
