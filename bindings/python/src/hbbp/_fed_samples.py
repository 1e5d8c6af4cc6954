"""Converts decoded samples to those of the C ABI, one by one, or a whole array of numpy."""
import array
import ctypes
import itertools
import struct
import typing
from typing import Any, Iterable, List, NamedTuple, Sequence, Tuple

from . import _abi, _optional
from ._library import fit

if typing.TYPE_CHECKING:
    import numpy


class FeedSample(NamedTuple):
    """A sample that the host has decoded; hbbp_feed_sample describes the fields of each kind of source.
    Branches are (from, to, flags), in a stack the newest first, in a burst the oldest."""
    time_ns: int = 0
    ip: int = 0
    period: int = 0
    extent: int = 0
    pid: int = 0
    tid: int = 0
    branches: Sequence[Tuple[int, int, int]] = ()
    ibs_registers: Sequence[int] = ()
    ibs_capabilities: int = 0


class Packed(NamedTuple):
    """An array of hbbp_feed_sample."""
    records: Any  # a pointer for ctypes
    count: int  # type: ignore[assignment]
    kept: Any  # the objects that it points to


_STRUCT = _abi.hbbp_feed_sample
_SIZES = {name: getattr(_STRUCT, name).size for name, _ in _STRUCT._fields_}
_RECORD = struct.Struct('@' + ''.join({4: 'I', 8: 'Q'}[size] for size in _SIZES.values()))
assert _RECORD.size == ctypes.sizeof(_STRUCT)
_BRANCH_FIELDS = tuple(name for name, _ in _abi.hbbp_branch_entry._fields_)
# Fields of a sample that point to lists, with the field of their length.
_COUNTS = {'branches': 'branch_count', 'ibs_registers': 'ibs_register_count'}


def pack(samples: Any) -> Packed:
    """Converts FeedSamples, or a structured array with fields of the same names."""
    if hasattr(samples, '__array_interface__'):
        return _of_array(_optional.numpy().asarray(samples))
    return _of_samples(samples)


# One by one --------------------------------------------------------------------------------------

def _of_samples(samples: Iterable[FeedSample]) -> Packed:
    kept: List[Any] = []
    records = bytearray()
    for sample in samples:
        try:
            records += _record(sample, kept)
        except (struct.error, OverflowError):
            _refuse(sample)
    count = len(records) // _RECORD.size
    return Packed((_STRUCT * count).from_buffer(records), count, kept)


def _record(sample: FeedSample, kept: List[Any]) -> bytes:
    branches = _words(itertools.chain.from_iterable(sample.branches), kept)
    registers = _words(sample.ibs_registers, kept)
    if branches[1] != len(_BRANCH_FIELDS) * len(sample.branches):
        raise ValueError('a branch is (from, to, flags)')
    return _RECORD.pack(sample.time_ns, sample.ip, sample.period, sample.extent, sample.pid,
                        sample.tid, branches[0], len(sample.branches), registers[1], registers[0],
                        sample.ibs_capabilities, 0)


def _words(numbers: Iterable[int], kept: List[Any]) -> Tuple[int, int]:
    """Returns the address and length of the list; address 0 if it is empty."""
    words = array.array('Q', numbers)
    if not words:
        return 0, 0
    kept.append(words)
    return words.buffer_info()


def _refuse(sample: FeedSample) -> None:
    for name, kind in _STRUCT._fields_:
        if name in FeedSample._fields and name not in _COUNTS:
            fit(getattr(sample, name), kind, name)
    for number in itertools.chain(sample.ibs_registers, *sample.branches):
        fit(number, ctypes.c_uint64, 'a register or branch')
    raise TypeError(f'a sample has integers, not {sample!r}')


# Whole arrays ------------------------------------------------------------------------------------

def _of_array(samples: 'numpy.ndarray[Any, Any]') -> Packed:
    numpy = _optional.numpy()
    if samples.ndim != 1 or not samples.dtype.names:
        raise TypeError('samples are FeedSamples, or a structured array of one dimension')
    made = numpy.zeros(len(samples), dtype=[(name, f'u{size}') for name, size in _SIZES.items()])
    kept = []
    for name in samples.dtype.names:
        values = samples[name]
        if name in _COUNTS:
            elements = _elements(name, values)
            kept.append(elements)
            made[name] = elements.ctypes.data + numpy.arange(len(samples)) * elements.strides[0]
            if _COUNTS[name] not in samples.dtype.names:
                made[_COUNTS[name]] = elements.shape[1]
        else:
            _check_column(name, values)
            made[name] = values
    _check_counts(made, samples)
    return Packed(made.ctypes.data_as(ctypes.POINTER(_STRUCT)), len(made), [made, *kept])


def _elements(name: str, values: 'numpy.ndarray[Any, Any]') -> 'numpy.ndarray[Any, Any]':
    """Returns the list of each sample, one row per sample, in the library's layout."""
    wanted: Any = 'u8'
    if name == 'branches':
        wanted = [(field, 'u8') for field in _BRANCH_FIELDS]
    elements = _optional.numpy().ascontiguousarray(values)
    if elements.dtype != wanted or elements.ndim != 2:
        raise TypeError(f'{name} of each sample are several of {wanted}')
    return elements  # type: ignore[no-any-return]


def _check_column(name: str, values: 'numpy.ndarray[Any, Any]') -> None:
    if name not in FeedSample._fields and name not in _COUNTS.values():
        raise TypeError(f'a sample has no {name}; it has {", ".join(FeedSample._fields)}, and '
                        f'{" and ".join(_COUNTS.values())}')
    if values.dtype.kind not in 'iu' or values.ndim != 1:
        raise TypeError(f'{name} of each sample is an integer, not {values.dtype}')
    is_wide = values.dtype.kind == 'i' or values.dtype.itemsize > _SIZES[name]
    if is_wide and len(values) > 0:
        kind = dict(_STRUCT._fields_)[name]
        fit(int(values.min()), kind, name)
        fit(int(values.max()), kind, name)


def _check_counts(made: Any, samples: 'numpy.ndarray[Any, Any]') -> None:
    """Checks that no sample has more elements than exist: the library would read beyond the end."""
    for name, count in _COUNTS.items():
        room = samples[name].shape[1] if name in samples.dtype.names else 0
        if len(made) > 0 and made[count].max() > room:
            raise ValueError(f'{count} is {made[count].max()}, and there is room for {room} '
                             f'{name}')
