"""Compares two mixes, before and after: what changed, and whether the change is significant."""
import math
import typing
from typing import Any, Dict, List, Optional, Set, Tuple, Union

from . import _optional
from ._pivot import Names, Pivot, Taxonomy, joined
from ._rows import DiffRow, Label
from ._tables import Table

if typing.TYPE_CHECKING:
    import numpy
    from ._analysis import Analysis
    from ._profile import Profile

PATH_KEYS = ('module', 'file')


class Diff(Table[DiffRow]):
    """Changes, the largest first. As an array or frame the table has a column for each key."""

    keys: Tuple[str, ...]

    def to_numpy(self) -> 'numpy.ndarray[Any, numpy.dtype[Any]]':
        numpy = _optional.numpy()
        plain = super().to_numpy()
        numbers = self.columns[1:]
        array = numpy.empty(len(self), dtype=[*((key, 'O') for key in self.keys),
                                              *((name, 'f8') for name in numbers)])
        for i, key in enumerate(self.keys):
            array[key] = [row.labels[i] for row in self]
        for name in numbers:
            array[name] = plain[name]
        return array  # type: ignore[no-any-return]

    def to_pandas(self) -> Any:
        array = self.to_numpy()
        return _optional.pandas().DataFrame(
            {name: array[name] for name in array.dtype.names or ()})

    def _cells(self) -> List[List[str]]:
        return [[', '.join(row.labels), *cells[1:]]
                for row, cells in zip(self, super()._cells())]


def _base_name(path: str) -> str:
    return path.rsplit('/', 1)[-1]


def _ambiguous(pivot: Pivot) -> Set[str]:
    """Returns last parts of paths that several files of one side have."""
    paths: Dict[str, str] = {}
    ambiguous = set()
    for i, key in enumerate(pivot.row_keys):
        if key in PATH_KEYS:
            for row in pivot.rows:
                name = _base_name(row[i].text)
                if paths.setdefault(name, row[i].text) != row[i].text:
                    ambiguous.add(name)
    return ambiguous


def _labels(row: Tuple[Label, ...], keys: Tuple[str, ...], ambiguous: Set[str]) -> Tuple[str, ...]:
    """Returns labels that match although the sides may be in different directories."""
    return tuple(
        _base_name(label.text)
        if key in PATH_KEYS and _base_name(label.text) not in ambiguous else label.name
        for label, key in zip(row, keys))


class _Side(typing.NamedTuple):
    value: float = 0.0
    error: float = 0.0


def _sides(pivot: Pivot, ambiguous: Set[str], absolute: bool) -> Dict[Tuple[str, ...], _Side]:
    sides: Dict[Tuple[str, ...], _Side] = {}
    for i, row in enumerate(pivot.rows):
        labels = _labels(row, pivot.row_keys, ambiguous)
        cell = pivot.cell(i)
        sides[labels] = (_Side(cell.value, cell.standard_error) if absolute
                         else _Side(cell.share, cell.share_error))
    return sides


def _row(labels: Tuple[str, ...], before: _Side, after: _Side) -> DiffRow:
    change = after.value - before.value
    error = math.hypot(before.error, after.error)
    z = 0.0 if change == 0 else change / error if error > 0 else math.copysign(math.inf, change)
    p = None if change != 0 and not error > 0 else math.erfc(abs(z) / math.sqrt(2))
    return DiffRow(labels, before.value, before.error, after.value, after.error, change, error, z,
                   p)


def diff(before: 'Union[Profile, Analysis]', after: 'Union[Profile, Analysis]',
         by: Names = 'mnemonic', *, value: str = 'instructions', where: Optional[str] = None,
         absolute: bool = False, taxonomy: Optional[Taxonomy] = None) -> Diff:
    """Compares shares of two profiles or analyses, row by row, like hbbp diff; `absolute` compares the
    numbers, which is meaningful only where both are counts of executions."""
    pivots = [side.pivot(by, values=value, where=where, taxonomy=taxonomy, join_names=True)
              for side in (before, after)]
    ambiguous = _ambiguous(pivots[0]) | _ambiguous(pivots[1])
    old, new = (_sides(pivot, ambiguous, absolute) for pivot in pivots)
    rows = [_row(labels, old.get(labels, _Side()), new.get(labels, _Side()))
            for labels in {**old, **new}]
    rows.sort(key=lambda row: (-abs(row.change), row.labels))
    found = Diff(DiffRow, rows, f'Change of {joined(by)}')
    found.keys = pivots[0].row_keys
    return found
