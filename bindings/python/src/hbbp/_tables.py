"""Lists of the library as tables: sequences of rows, numpy arrays, pandas frames, HTML."""
import operator
import typing
from typing import (Any, Callable, Dict, Generic, Iterator, List, Sequence, Tuple, Type, Union,
                    overload)

from . import _abi, _optional
from ._choice import Choice
from ._kinds import annotations_of, is_optional, numpy_type, plain_type
from ._listing import SHOWN_ROWS, Listed, Listing, shown
from ._optional import objects
from ._struct_rows import Row, StructRows

if typing.TYPE_CHECKING:
    import numpy


class Table(Listed, Sequence[Row], Generic[Row]):
    """A table of rows, which are named tuples. It keeps no object of the library alive.

    to_numpy() gives a structured array, to_pandas() a frame, both with a column for each field.
    An unknown value is None in a row, <NA> in a frame; in an array it is -1, or the greatest
    number in a column of addresses. Members of enumerations are their names in arrays and frames.
    """

    def __init__(self, row_type: Type[Row], rows: Sequence[Row], title: str = '',
                 notes: Sequence[str] = ()) -> None:
        self.row_type = row_type
        self.title = title
        self.notes = tuple(notes)
        self._rows = rows

    @property
    def columns(self) -> Tuple[str, ...]:
        return typing.cast(Any, self.row_type)._fields  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> 'Table[Row]': ...

    def __getitem__(self, index: Union[int, slice]) -> 'Union[Row, Table[Row]]':
        if isinstance(index, slice):
            return Table(self.row_type, self._rows[index], self.title, self.notes)
        return self._rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def top(self, count: int, by: Union[str, Callable[[Row], Any]]) -> 'Table[Row]':
        """Returns the rows with the largest values of a column, or of a function, largest first."""
        key = typing.cast(Callable[[Row], Any], by if callable(by) else operator.attrgetter(by))
        rows = sorted(self._rows, key=key, reverse=True)[:count]
        return Table(self.row_type, rows, self.title, self.notes)

    def where(self, condition: Callable[[Row], bool]) -> 'Table[Row]':
        """Returns the rows for which a function is true."""
        rows = [row for row in self._rows if condition(row)]
        return Table(self.row_type, rows, self.title, self.notes)

    def column(self, name: str) -> List[Any]:
        given = self._rows.given(name) if isinstance(self._rows, StructRows) else None
        return [getattr(row, name) for row in self._rows] if given is None else list(given)

    def to_numpy(self) -> 'numpy.ndarray[Any, numpy.dtype[Any]]':
        """Returns a structured array; needs numpy."""
        columns = self._numpy_columns()
        array = _optional.numpy().empty(len(self), dtype=[(name, column.dtype)
                                                          for name, column in columns.items()])
        for name, column in columns.items():
            array[name] = column
        return array  # type: ignore[no-any-return]

    def _numpy_columns(self) -> Dict[str, Any]:
        kinds = annotations_of(self.row_type)
        asarray = _optional.numpy().asarray
        return {name: asarray(self._numpy_column(name, kinds[name]), numpy_type(kinds[name], name))
                for name in self.columns}

    def _numpy_column(self, name: str, kind: Any) -> Any:
        if isinstance(self._rows, StructRows):
            known = self._rows.numpy_column(name)
            if known is not None:
                return known
        values = self.column(name)
        if isinstance(plain_type(kind), type) and issubclass(plain_type(kind), Choice):
            return objects([str(value) for value in values])
        dtype = numpy_type(kind, name)
        if dtype == 'O':
            return objects(values)
        if is_optional(kind):
            missing = {'u8': _abi.HBBP_NO_ADDRESS, 'i8': -1, 'f8': float('nan')}[dtype]
            return [missing if value is None else value for value in values]
        return values

    def to_pandas(self) -> Any:
        """Returns a DataFrame; needs pandas."""
        pandas = _optional.pandas()
        columns = self._numpy_columns()
        kinds = annotations_of(self.row_type)
        frame = pandas.DataFrame(columns)
        for name, column in columns.items():
            kind = numpy_type(kinds[name], name)
            if is_optional(kinds[name]) and kind in ('i8', 'u8'):
                missing = column == (_abi.HBBP_NO_ADDRESS if kind == 'u8' else -1)
                whole = frame[name].astype('UInt64' if kind == 'u8' else 'Int64')
                frame[name] = whole.mask(missing)
        return frame

    def _cells(self) -> List[List[str]]:
        return [[shown(value, name) for name, value in zip(self.columns, row)]
                for row in self._rows[:SHOWN_ROWS]]

    def _lines_below(self) -> List[str]:
        more = [f'{SHOWN_ROWS} of {len(self):,} rows'] if len(self) > SHOWN_ROWS else []
        return [*more, *self._summary(), *self.notes]

    def _summary(self) -> List[str]:
        return []

    def _listing(self) -> Listing:
        kinds = annotations_of(self.row_type)
        is_number = [numpy_type(kinds[name], name) in ('i8', 'u8', 'f8') for name in self.columns]
        return Listing(self.columns, self._cells(), is_number,
                       self._lines_below()).without_empty_columns()

    def _brief(self) -> str:
        return f'{self.title or "Table"} of {len(self)} {self.row_type.__name__}'
