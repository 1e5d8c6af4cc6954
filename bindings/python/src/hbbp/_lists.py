"""Reads the lists of a handle, and single structs, as rows."""
import ctypes
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type

from . import _abi
from ._abi import ModuleKind
from ._library import check, function, sized
from ._rows import SourceInfo
from ._struct_rows import Row, StructRows
from ._tables import Table


def copy_list(pointer: Any, count: str, copy: str, struct: Any,
              *of: int) -> 'ctypes.Array[Any]':
    """Reads a list by its two functions (api.h, "Lists"), in one call of each. `of` is the
    index of the source that the list belongs to."""
    array = (struct * function(count)(pointer, *of))()
    if len(array) == 0:
        return array  # type: ignore[no-any-return]
    copied = ctypes.c_size_t()
    check(copy, pointer, *of, 0, len(array), ctypes.sizeof(struct), array, ctypes.byref(copied))
    if copied.value < len(array):
        array = (struct * copied.value).from_buffer(array)
    return array  # type: ignore[no-any-return]


def copy_modules(profile: Any) -> 'ctypes.Array[Any]':
    return copy_list(profile, 'hbbp_profile_module_count', 'hbbp_profile_copy_modules',
                     _abi.hbbp_module)


def module_columns(modules: 'ctypes.Array[Any]') -> Dict[str, List[Any]]:
    """Returns the fields in which rows of modules differ from the struct."""
    return {'kind': [ModuleKind(each.kind) for each in modules],
            'build_id': [bytes(each.build_id[:each.build_id_size]).hex()
                         if each.build_id_size else '' for each in modules]}


def read_sources(profile: Any) -> Table[SourceInfo]:
    return table(SourceInfo, copy_list(profile, 'hbbp_profile_source_count',
                                       'hbbp_profile_copy_sources', _abi.hbbp_source_info),
                 'Sources')


def table(row_type: Type[Row], array: 'ctypes.Array[Any]', title: str = '',
          names: Optional[Mapping[str, Tuple[str, Sequence[str]]]] = None,
          values: Optional[Mapping[str, Sequence[Any]]] = None,
          notes: Sequence[str] = ()) -> Table[Row]:
    """Makes a table while the owner of the strings is alive."""
    return Table(row_type, StructRows(row_type, array, names, values), title, notes)


def row(row_type: Type[Row], struct: Any, **values: Any) -> Row:
    """Makes a row of one struct."""
    array = (type(struct) * 1)(struct)
    return StructRows(row_type, array, values={name: [value] for name, value in values.items()})[0]


def fetch(row_type: Type[Row], struct: Any, name: str, *arguments: Any) -> Row:
    """Makes a row of the struct that a function writes."""
    found = sized(struct)
    check(name, *arguments, ctypes.byref(found))
    return row(row_type, found)
