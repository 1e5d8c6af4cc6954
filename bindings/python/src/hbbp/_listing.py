"""Formats tables for people, as text and HTML."""
import html
from typing import Any, List, NamedTuple, Sequence

from ._choice import Choice

SHOWN_ROWS = 20
# Columns of addresses, which are shown in hexadecimal.
ADDRESSES = {'address', 'start', 'end', 'header', 'from_address', 'to_address', 'target'}
SHARES = {'share', 'share_error'}
# Numbers that identify something.
NAMES = {'pid', 'tid', 'line', 'column'}


def shown(value: Any, name: str = '') -> str:
    """Formats a value for people."""
    if value is None:
        return ''
    if isinstance(value, Choice):
        return str(value)
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, float):
        if name in SHARES:
            return f'{100 * value:.2f} %'
        return f'{value:,.0f}' if abs(value) >= 1000 else f'{value:.4g}'
    if isinstance(value, int):
        if name in ADDRESSES:
            return hex(value)
        return str(value) if name in NAMES else f'{value:,}'
    return str(value)


class Listing(NamedTuple):
    """The part of a table that is shown."""
    columns: Sequence[str]
    cells: Sequence[Sequence[str]]
    is_number: Sequence[bool]
    below: Sequence[str] = ()

    def without_empty_columns(self) -> 'Listing':
        kept = [i for i in range(len(self.columns))
                if not self.cells or any(line[i] for line in self.cells)]
        return Listing([self.columns[i] for i in kept],
                       [[line[i] for i in kept] for line in self.cells],
                       [self.is_number[i] for i in kept], self.below)

    def text(self) -> str:
        lines: List[Sequence[str]] = [self.columns, *self.cells]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        listed = ['  '.join(cell.rjust(width) if right else cell.ljust(width)
                            for cell, width, right in zip(line, widths, self.is_number)).rstrip()
                  for line in lines]
        return '\n'.join([*listed, *self.below])

    def html(self, title: str = '') -> str:
        def row(tag: str, line: Sequence[str]) -> str:
            return '<tr>' + ''.join(
                f'<{tag} style="text-align: {"right" if right else "left"}">{html.escape(cell)}'
                f'</{tag}>' for cell, right in zip(line, self.is_number)) + '</tr>'

        caption = f'<caption>{html.escape(title)}</caption>' if title else ''
        body = ''.join(row('td', line) for line in self.cells)
        notes = ''.join(f'<p>{html.escape(line)}</p>' for line in self.below)
        return (f'<table>{caption}<thead>{row("th", self.columns)}</thead><tbody>{body}</tbody>'
                f'</table>{notes}')


class Listed:
    """Implements what print and notebooks show. A __repr__ in a subclass would hide
    _repr_pretty_ from IPython."""

    title = ''

    def _listing(self) -> Listing:
        raise NotImplementedError

    def _brief(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f'<{self._brief()}>'

    def __str__(self) -> str:
        return self._listing().text()

    def _repr_html_(self) -> str:
        return self._listing().html(self.title)

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        printer.text(str(self))
