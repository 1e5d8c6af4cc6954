"""Sums what ran by any keys: rows, columns and values of your choice (docs/guide/mix.md)."""
import ctypes
import typing
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from . import _abi, _optional
from ._abi import LabelKind, PivotAxis, Status
from ._errors import InternalError
from ._handle import Handle, Owner
from ._library import Path, checked, demangle, function, make, path_to_c, sized, text, to_c
from ._listing import SHOWN_ROWS, Listed, Listing, shown
from ._rows import Label, Measured

if typing.TYPE_CHECKING:
    import numpy

Names = Union[str, Sequence[str]]

FUNCTION_KEYS = ('function', 'inlined')
NOTHING = Measured(0.0, 0.0, 0.0, 0.0)


class Taxonomy(Owner):
    """Named groups of instructions (docs/reference/properties.md); a taxonomy is a key of pivots."""

    def __init__(self, text: Optional[str] = None) -> None:
        """Makes the library's own groups if there is no text."""
        self._handle = Handle('taxonomy', make('hbbp_taxonomy_create', _abi.hbbp_taxonomy,
                                               to_c(text)))

    @classmethod
    def load(cls, path: Path) -> 'Taxonomy':
        taxonomy = cls.__new__(cls)
        taxonomy._handle = Handle('taxonomy', make('hbbp_taxonomy_load', _abi.hbbp_taxonomy,
                                                   path_to_c(path)))
        return taxonomy

    def groups(self) -> Dict[str, List[str]]:
        """Returns the groups of each taxonomy, without "other"."""
        with self._handle as pointer:
            return {
                text(function('hbbp_taxonomy_name')(pointer, i)): [
                    text(function('hbbp_taxonomy_group_name')(pointer, i, group))
                    for group in range(function('hbbp_taxonomy_group_count')(pointer, i))]
                for i in range(function('hbbp_taxonomy_count')(pointer))}


def pivot_keys() -> List[str]:
    """Returns the keys of rows and columns of every profile; names of taxonomies are keys, too."""
    return [text(function('hbbp_pivot_key_name')(i))
            for i in range(function('hbbp_pivot_key_name_count')())]


def pivot_values() -> List[str]:
    """Returns the values that can be summed."""
    return [text(function('hbbp_pivot_value_name')(i))
            for i in range(function('hbbp_pivot_value_name_count')())]


def joined(names: Optional[Names]) -> Optional[str]:
    """Returns keys in the form of the C ABI."""
    if names is None or isinstance(names, str):
        return names
    return ','.join(names)


def _split(names: Optional[str], default: str) -> Tuple[str, ...]:
    names = default if names is None else names
    return tuple(name.strip() for name in names.split(',')) if names.strip() else ()


class Pivot(Listed):
    """A finished pivot, which needs neither the analysis nor the taxonomy.

    pivot.rows and pivot.columns are tuples of labels, one for each key; a pivot without keys of
    columns has one column, (), of everything.
    """

    row_keys: Tuple[str, ...]
    column_keys: Tuple[str, ...]
    values: Tuple[str, ...]
    rows: List[Tuple[Label, ...]]
    columns: List[Tuple[Label, ...]]
    row_count_in_all: int  # including those that `top` excluded

    def __init__(self, pointer: Any, rows: Optional[str], columns: Optional[str],
                 values: Optional[str], notes: Sequence[str]) -> None:
        self.notes = tuple(notes)
        self.row_keys = _split(rows, 'mnemonic')
        self.column_keys = _split(columns, '')
        self.values = _split(values, 'instructions')
        self.rows = self._labels(pointer, PivotAxis.ROWS, self.row_keys)
        self.columns = (self._labels(pointer, PivotAxis.COLUMNS, self.column_keys)
                        if self.column_keys else [])
        if function('hbbp_pivot_value_count')(pointer) != len(self.values):
            raise InternalError(Status.ERROR_INTERNAL, f'a pivot of {self.values} has other values')
        self.row_count_in_all = function('hbbp_pivot_line_count_in_all')(pointer, PivotAxis.ROWS)
        everything = _abi.HBBP_PIVOT_ALL
        rows_and_all = [*range(len(self.rows)), everything]
        columns_and_all = [*range(len(self.columns)), everything]
        found = sized(_abi.hbbp_pivot_cell)
        reference = ctypes.byref(found)
        read = checked('hbbp_pivot_get_cell')

        def cell(row: int, column: int, value: int) -> Measured:
            read(pointer, row, column, value, reference)
            if found.value == 0:
                return NOTHING
            return Measured(found.value, found.standard_error, found.share, found.share_error)

        self._cells = [[[cell(row, column, value) for value in range(len(self.values))]
                        for column in columns_and_all] for row in rows_and_all]
        if not self.column_keys:
            self.columns = [()]

    @staticmethod
    def _labels(pointer: Any, axis: PivotAxis, keys: Sequence[str]) -> List[Tuple[Label, ...]]:
        if function('hbbp_pivot_key_count')(pointer, axis) != len(keys):
            raise InternalError(Status.ERROR_INTERNAL, f'a pivot by {keys} has other keys')
        read = checked('hbbp_pivot_get_label')
        return [tuple(_label(read, pointer, axis, line, i, key) for i, key in enumerate(keys))
                for line in range(function('hbbp_pivot_line_count')(pointer, axis))]

    def __len__(self) -> int:
        return len(self.rows)

    def cell(self, row: Optional[int] = None, column: Optional[int] = None,
             value: Union[int, str] = 0) -> Measured:
        """Returns a number with its error and share. None stands for all rows, including those that
        `top` excluded, or all columns."""
        if isinstance(value, str):
            value = self.values.index(value)
        if column == 0 and not self.column_keys:
            column = None
        return self._cells[_cell_index(row, len(self.rows))][
            _cell_index(column, len(self._cells[0]) - 1)][value]

    def total(self, value: Union[int, str] = 0) -> Measured:
        return self.cell(None, None, value)

    def to_numpy(self) -> 'numpy.ndarray[Any, numpy.dtype[Any]]':
        """Returns a structured array with a record for each row and column: a field for each key, and
        for each value its number, error, share and error of the share."""
        numpy = _optional.numpy()
        keys = [*self.row_keys, *self.column_keys]
        dtype: List[Tuple[str, str]] = [(key, 'O') for key in keys]
        for value in self.values:
            dtype += [(value, 'f8'), (f'{value}_error', 'f8'), (f'{value}_share', 'f8'),
                      (f'{value}_share_error', 'f8')]
        records = []
        for i, row in enumerate(self.rows):
            for j, column in enumerate(self.columns):
                numbers = [number for value in range(len(self.values))
                           for number in self.cell(i, j, value)]
                records.append((*(label.value for label in (*row, *column)), *numbers))
        return numpy.array(records, dtype=dtype)  # type: ignore[no-any-return]

    def to_pandas(self, of: str = 'value') -> Any:
        """Returns a frame whose index is the keys of rows; its columns are the values, under the keys
        of columns. `of` may be standard_error, share or share_error instead."""
        if of not in Measured._fields:
            raise ValueError(f'{of!r} is none of {", ".join(Measured._fields)}')
        pandas = _optional.pandas()
        heads = [(*(label.value for label in column), value)
                 for column in self.columns for value in self.values]
        numbers = [[getattr(self.cell(i, j, value), of) for j in range(len(self.columns))
                    for value in self.values] for i in range(len(self.rows))]
        labels = [[row[i].value for row in self.rows] for i in range(len(self.row_keys))]
        if len(labels) > 1:
            index = pandas.MultiIndex.from_arrays(labels, names=self.row_keys)
        elif labels:
            index = pandas.Index(labels[0], name=self.row_keys[0])
        else:
            index = pandas.Index(['all'] * len(self.rows))
        columns = pandas.Index(self.values)
        if self.column_keys:
            columns = pandas.MultiIndex.from_tuples(heads, names=[*self.column_keys, 'value'])
        return pandas.DataFrame(numbers, index=index, columns=columns)

    def _listing(self) -> Listing:
        heads = list(self.row_keys)
        for column in self.columns:
            for value in self.values:
                labels = [label.name for label in column]
                heads.append(', '.join(labels + ([value] if len(self.values) > 1 or not labels
                                                 else [])))
        with_shares = not self.column_keys and self.values == ('instructions',)
        if with_shares:
            heads += ['standard_error', 'share']
        cells = []
        for i, row in enumerate(self.rows[:SHOWN_ROWS]):
            line = [label.name for label in row]
            line += [shown(self.cell(i, j, value).value) for j in range(len(self.columns))
                     for value in range(len(self.values))]
            if with_shares:
                line += [shown(self.cell(i).standard_error), shown(self.cell(i).share, 'share')]
            cells.append(line)
        is_number = [i >= len(self.row_keys) for i in range(len(heads))]
        below = [f'{len(cells)} of {self.row_count_in_all:,} rows; '
                 f'{shown(self.total().value)} {self.values[0]} in all', *self.notes]
        return Listing(heads, cells, is_number, below)

    def _brief(self) -> str:
        return f'Pivot of {len(self.rows)} rows, {len(self.columns)} columns'


def _cell_index(index: Optional[int], size: int) -> int:
    """Returns the index of a row or column; the last one is the sum of all."""
    return size if index is None else range(size)[index]


def _label(read: Callable[..., None], pointer: Any, axis: PivotAxis, line: int, position: int,
           key: str) -> Label:
    found = sized(_abi.hbbp_pivot_label)
    read(pointer, axis, line, position, ctypes.byref(found))
    name = text(found.text)
    return Label(name, None if found.kind == LabelKind.TEXT else found.number,
                 None if found.index == _abi.HBBP_NO_INDEX else found.index,
                 demangle(name) if key in FUNCTION_KEYS else name)
