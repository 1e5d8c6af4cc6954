"""Writes an analysis in the formats of other tools."""
import ctypes
import io
import os
from typing import Any, BinaryIO, List, Optional, Union, cast

from . import _abi
from ._handle import Handle
from ._host import Cancel, Progress, run
from ._library import Path, check, function, sized, text, to_c
from ._lists import table
from ._rows import ExportFormat
from ._tables import Table

# These are the types of functions that the C ABI takes.
WRITE: Any = _abi.FUNCTIONS['hbbp_export'][5]
NOTE: Any = dict(_abi.hbbp_export_options._fields_)['note']


def export_formats() -> Table[ExportFormat]:
    """Returns the formats that Analysis.export writes."""
    array = (_abi.hbbp_export_format * function('hbbp_export_format_count')())()
    check('hbbp_export_copy_formats', 0, len(array), ctypes.sizeof(_abi.hbbp_export_format), array,
          ctypes.byref(ctypes.c_size_t()))
    return table(ExportFormat, array)


def export(handle: Handle, name: str, output: Union[Path, BinaryIO], module: Optional[str],
           progress: Optional[Progress], cancel: Optional[Cancel]) -> List[str]:
    if not isinstance(output, (str, bytes, os.PathLike)):
        return _write(handle, name, output, module, progress, cancel)
    # What could not be written as a whole leaves no file.
    whole = io.BytesIO()
    notes = _write(handle, name, whole, module, progress, cancel)
    with open(output, 'wb') as file:
        file.write(whole.getbuffer())
    return notes


def _write(handle: Handle, name: str, output: BinaryIO, module: Optional[str],
           progress: Optional[Progress], cancel: Optional[Cancel]) -> List[str]:
    notes: List[str] = []
    raised: List[BaseException] = []

    def write(content: int, size: int, _: Any) -> int:
        try:
            output.write(ctypes.string_at(content, size))
        except BaseException as error:
            raised.append(error)
        return len(raised)

    def note(message: bytes, _: Any) -> None:
        notes.append(text(message))

    options = sized(_abi.hbbp_export_options, module=to_c(module), note=NOTE(note))

    def work(how: Any) -> None:
        with handle as pointer:
            check('hbbp_export', pointer, to_c(name), ctypes.byref(options), how,
                  cast(Any, WRITE(write)), None)

    try:
        run(work, progress, cancel)
    finally:
        if raised:
            raise raised[0] from None
    return notes
