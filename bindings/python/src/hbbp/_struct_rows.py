"""Makes rows of structs of the C ABI."""
import ctypes
import struct
import typing
from typing import (Any, Callable, Dict, Generic, Iterator, List, Mapping, Optional, Sequence,
                    Tuple, Type, TypeVar, Union, overload)

from . import _abi, _optional
from ._choice import Choice
from ._kinds import annotations_of, is_optional, numpy_type, plain_type
from ._library import text
from ._optional import objects

Row = TypeVar('Row', bound='Tuple[Any, ...]')

FORMATS = {ctypes.c_uint8: 'B', ctypes.c_int32: 'i', ctypes.c_uint32: 'I', ctypes.c_uint64: 'Q',
           ctypes.c_double: 'd', ctypes.c_size_t: 'N', ctypes.c_char_p: 'P', ctypes.c_void_p: 'P'}
# Fields of rows whose name in the C ABI differs, and those that are one bit of a field.
RENAMED = {'from_address': 'from', 'to_address': 'to'}
BITS = {'is_biased': ('flags', _abi.HBBP_BLOCK_BIASED),
        'is_irreducible': ('flags', _abi.HBBP_LOOP_IRREDUCIBLE)}


class StructRows(Sequence[Row], Generic[Row]):
    """Makes rows of an array of structs of the C ABI, when they are requested.

    A field of the row is made of that of the struct by its type: an enumeration, a bool, a string,
    or an Optional number, which is None for HBBP_NO_INDEX and HBBP_NO_ADDRESS. Other fields are
    given: `names` by an index in another field, `values` by the index of the row. Strings are
    copied at once, because they live no longer than their owner in the library.
    """

    def __init__(self, row_type: Type[Row], array: 'ctypes.Array[Any]',
                 names: Optional[Mapping[str, Tuple[str, Sequence[str]]]] = None,
                 values: Optional[Mapping[str, Sequence[Any]]] = None) -> None:
        self._row_type = row_type
        self._array = array
        self._names = names or {}
        self._values = dict(values or {})
        kinds = annotations_of(row_type)
        layout = struct_format(array._type_)
        self._struct = struct.Struct(layout.format)
        assert self._struct.size == ctypes.sizeof(array._type_), array._type_
        self._columns: List[Callable[[int, Tuple[Any, ...]], Any]] = []
        for field in typing.cast(Any, row_type)._fields:
            self._columns.append(self._column(field, kinds[field], layout))

    def _column(self, field: str, kind: Any,
                layout: 'Layout') -> Callable[[int, Tuple[Any, ...]], Any]:
        if field in self._values:
            values = self._values[field]
            return lambda i, raw: values[i]
        if field in self._names:
            by, names = self._names[field]
            position = layout.positions[by]
            return lambda i, raw: names[raw[position]] if raw[position] < len(names) else ''
        if field in BITS:
            word, bit = BITS[field]
            position = layout.positions[word]
            return lambda i, raw: raw[position] & bit != 0
        source = RENAMED.get(field, field)
        position = layout.positions[source]
        plain = plain_type(kind)
        if plain is str:
            strings = [text(getattr(each, source)) for each in self._array]
            self._values[field] = strings
            return lambda i, raw: strings[i]
        if is_optional(kind):
            none = _none_of(layout.types[source])
            return lambda i, raw: None if raw[position] == none else raw[position]
        if plain in (int, float):
            return lambda i, raw: raw[position]
        return lambda i, raw: plain(raw[position])

    def __len__(self) -> int:
        return len(self._array)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> List[Row]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Row, List[Row]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        raw = self._struct.unpack_from(self._array, row * self._struct.size)
        return self._made(row, raw)

    def __iter__(self) -> Iterator[Row]:
        if len(self) == 0:
            return
        octets = (ctypes.c_char * ctypes.sizeof(self._array)).from_buffer(self._array)
        for i, raw in enumerate(self._struct.iter_unpack(octets)):
            yield self._made(i, raw)

    def _made(self, row: int, raw: Tuple[Any, ...]) -> Row:
        make = typing.cast(Any, self._row_type)._make
        return make(column(row, raw) for column in self._columns)  # type: ignore[no-any-return]

    def given(self, name: str) -> Optional[Sequence[Any]]:
        """Returns a column that was given, and is not made of the structs."""
        return self._values.get(name)

    def numpy_column(self, name: str) -> Any:
        """Returns a column as an array without making rows; None if that is impossible."""
        if name in self._values:
            return None
        if name in self._names:
            numpy = _optional.numpy()
            by, names = self._names[name]
            known = objects([*names, ''])
            return known[numpy.minimum(self._raw(by), len(names))]
        if name in BITS:
            word, bit = BITS[name]
            return self._raw(word) & bit != 0
        kind = annotations_of(self._row_type)[name]
        plain = plain_type(kind)
        field = RENAMED.get(name, name)
        column = self._raw(field)
        if issubclass(plain, Choice):
            values, indices = _optional.numpy().unique(column, return_inverse=True)
            return objects([str(plain(value)) for value in values.tolist()])[indices]
        if is_optional(kind) and numpy_type(kind, name) == 'i8':
            missing = column == _none_of(dict(self._array._type_._fields_)[field])
            column = column.astype('i8')
            column[missing] = -1
        return column

    def _raw(self, field: str) -> Any:
        numpy = _optional.numpy()
        kind = self._array._type_
        dtype = numpy.dtype({'names': [field], 'formats': [dict(kind._fields_)[field]],
                             'offsets': [getattr(kind, field).offset],
                             'itemsize': ctypes.sizeof(kind)})
        if len(self) == 0:
            return numpy.empty(0, dtype=dtype)[field]
        return numpy.frombuffer(self._array, dtype=dtype)[field]


class Layout(typing.NamedTuple):
    format: str
    positions: Dict[str, int]  # of fields, in the tuple that struct unpacks
    types: Dict[str, Any]


def struct_format(kind: Any) -> Layout:
    """Returns the format of a struct of the C ABI for the module struct. Fields that are neither
    numbers nor pointers are skipped."""
    layout = ''
    positions: Dict[str, int] = {}
    end = 0
    for name, field in kind._fields_:
        descriptor = getattr(kind, name)
        layout += 'x' * (descriptor.offset - end)
        end = descriptor.offset + descriptor.size
        if field in FORMATS:
            positions[name] = len(positions)
            layout += FORMATS[field]
        else:
            layout += 'x' * descriptor.size
    layout += 'x' * (ctypes.sizeof(kind) - end)
    return Layout('@' + layout, positions, dict(kind._fields_))


def _none_of(field: Any) -> int:
    return _abi.HBBP_NO_INDEX if ctypes.sizeof(field) == 4 else _abi.HBBP_NO_ADDRESS
