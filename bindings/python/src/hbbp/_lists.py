"""Reads the lists of a handle, and single structs, as rows."""
import ctypes
from typing import Any, Mapping, Optional, Sequence, Tuple, Type

from ._library import check, checked, function, sized
from ._struct_rows import Row, StructRows
from ._tables import Table


def _array(struct: Any, size: int) -> Any:
    return (struct * size)()


def read_list(pointer: Any, of: str, struct: Any, *index: int) -> 'ctypes.Array[Any]':
    """A list that is read by hbbp_..._count and hbbp_..._at; `index`: of what it belongs to."""
    array = _array(struct, function(f'{of}_count')(pointer, *index))
    read = checked(f'{of}_at')
    for i, element in enumerate(array):
        element.struct_size = ctypes.sizeof(struct)
        read(pointer, *index, i, element)
    return array  # type: ignore[no-any-return]


def copy_list(pointer: Any, of: str, struct: Any) -> 'ctypes.Array[Any]':
    """A list that is copied at once: `of` is 'block' for hbbp_profile_copy_blocks."""
    array = _array(struct, function(f'hbbp_profile_{of}_count')(pointer))
    copied = ctypes.c_size_t()
    if len(array) > 0:
        check(f'hbbp_profile_copy_{of}s', pointer, 0, len(array), ctypes.sizeof(struct), array,
              ctypes.byref(copied))
    if copied.value < len(array):
        array = (struct * copied.value).from_buffer(array)
    return array  # type: ignore[no-any-return]


def table(row_type: Type[Row], array: 'ctypes.Array[Any]', title: str = '',
          names: Optional[Mapping[str, Tuple[str, Sequence[str]]]] = None,
          values: Optional[Mapping[str, Sequence[Any]]] = None,
          notes: Sequence[str] = ()) -> Table[Row]:
    return Table(row_type, StructRows(row_type, array, names, values), title, notes)


def row(row_type: Type[Row], struct: Any, **values: Any) -> Row:
    """One struct."""
    array = (type(struct) * 1)(struct)
    return StructRows(row_type, array, values={name: [value] for name, value in values.items()})[0]


def fetch(row_type: Type[Row], struct: Any, name: str, *arguments: Any) -> Row:
    """What a function writes into a struct."""
    found = sized(struct)
    check(name, *arguments, ctypes.byref(found))
    return row(row_type, found)
