"""Profiles of what the host observes itself: records of perf, or samples that it has decoded."""
import ctypes
import typing
from typing import Any, Iterable, Mapping, NamedTuple, Optional, Sequence, Union

from . import _abi
from ._abi import Event, FeedEventKind, FeedOrder, IbsKind, LogLevel, Source
from ._fed_samples import FeedSample, pack
from ._handle import Handle
from ._host import Log, log_function
from ._library import Path, check, filled, make, moved_file_array, path_to_c, sized, to_c
from ._session import AnySession

if typing.TYPE_CHECKING:
    import numpy

Buffer = Union[bytes, bytearray, memoryview]


class FeedEvent(NamedTuple):
    """Something that happened; hbbp_feed_event tells which fields a kind uses."""
    kind: FeedEventKind
    pid: int = 0
    tid: int = 0
    parent_pid: int = 0
    parent_tid: int = 0
    source: int = 0
    time_ns: int = 0
    address: int = 0
    size: int = 0
    file_offset: int = 0
    device: int = 0
    inode: int = 0
    count: int = 0  # type: ignore[assignment]
    name: Optional[str] = None
    build_id: bytes = b''
    code: bytes = b''


class FedSession(AnySession):
    """Counts what is fed, and starts no thread, no signal handler and no event (docs/guide/feeding.md).
    Its functions may be called from any thread, also several at once."""

    def __init__(self, *, order: Union[FeedOrder, str] = FeedOrder.BY_TIME,
                 max_waiting_bytes: int = 0, command: Optional[str] = None,
                 host: Optional[str] = None, cpu_id: Optional[str] = None,
                 root: Optional[Path] = None, moved_files: Optional[Mapping[str, Path]] = None,
                 slice_ns: int = 0, log: Optional[Log] = None,
                 log_level: Union[LogLevel, str] = LogLevel.INFO, max_memory: int = 0) -> None:
        """`log` and `max_memory` are those of Session; the log is called in whatever thread feeds
        the session or asks it."""
        self._log = None if log is None else log_function(log)  # as long as the session
        moved = moved_file_array(moved_files)
        options = sized(
            _abi.hbbp_feed_options, order=FeedOrder.of(order), max_waiting_bytes=max_waiting_bytes,
            command=to_c(command), host=to_c(host), cpu_id=to_c(cpu_id), slice_ns=slice_ns,
            root=None if root is None else path_to_c(root), moved_files=moved,
            moved_file_count=len(moved), log_level=LogLevel.of(log_level), max_memory=max_memory)
        if self._log is not None:
            options.log = self._log
        self._handle = Handle('session', make('hbbp_session_create_fed', _abi.hbbp_session,
                                              ctypes.byref(options)))

    def add_source(self, kind: Union[Source, str] = Source.NONE,
                   event: Union[Event, str] = Event.AUTO, *, perf_attr: bytes = b'',
                   perf_ids: Sequence[int] = (), event_name: Optional[str] = None,
                   ibs: Union[IbsKind, str] = IbsKind.NONE, include_kernel: bool = False,
                   period: int = 0, frequency_hz: int = 0) -> int:
        """Returns its number. With `perf_attr`, the struct perf_event_attr, it is what raw records
        come from; otherwise `kind` and `event` say what decoded samples are."""
        ids = (ctypes.c_uint64 * len(perf_ids))(*perf_ids)
        source = sized(
            _abi.hbbp_feed_source, perf_attr_size=len(perf_attr), perf_ids=ids,
            perf_id_count=len(ids), event_name=to_c(event_name), kind=Source.of(kind),
            event=Event.of(event), ibs=IbsKind.of(ibs), include_kernel=include_kernel,
            period=period, frequency_hz=frequency_hz)
        if perf_attr:
            source.perf_attr = ctypes.cast(ctypes.c_char_p(perf_attr), ctypes.c_void_p)
        index = ctypes.c_uint32()
        with self._handle as pointer:
            check('hbbp_session_add_fed_source', pointer, ctypes.byref(source),
                  ctypes.byref(index))
        return index.value

    def add_ids(self, source: int, perf_ids: Sequence[int]) -> None:
        """As when a new thread or CPU gets an event."""
        ids = (ctypes.c_uint64 * len(perf_ids))(*perf_ids)
        with self._handle as pointer:
            check('hbbp_session_add_fed_ids', pointer, source, ids, len(ids))

    def feed_perf_records(self, records: Buffer) -> int:
        """Records as they lie in a ring buffer. Returns how many bytes are whole records; the rest
        is to be fed again with what follows."""
        data = bytes(records)
        consumed = ctypes.c_size_t()
        with self._handle as pointer:
            check('hbbp_session_feed_perf_records', pointer, data, len(data),
                  ctypes.byref(consumed))
        return consumed.value

    def feed_samples(self, source: int,
                     samples: 'Union[Iterable[FeedSample], numpy.ndarray[Any, Any]]') -> None:
        """All are taken, or none. A structured array of numpy, whose fields are called as those of
        FeedSample, is many times faster (docs/guide/python.md)."""
        packed = pack(samples)
        with self._handle as pointer:
            check('hbbp_session_feed_samples', pointer, source, packed.records, packed.count,
                  ctypes.sizeof(_abi.hbbp_feed_sample))

    def feed_events(self, events: Iterable[FeedEvent]) -> None:
        """All are taken, or none."""
        made = [_event(event) for event in events]
        array = (_abi.hbbp_feed_event * len(made))(*made)
        with self._handle as pointer:
            check('hbbp_session_feed_events', pointer, array, len(array),
                  ctypes.sizeof(_abi.hbbp_feed_event))

    def finish_round(self) -> None:
        """Every ring was emptied once since the last round."""
        with self._handle as pointer:
            check('hbbp_session_feed_round', pointer)

    def flush(self, up_to_ns: int = _abi.HBBP_FEED_ALL) -> None:
        """Everything that happened up to then was fed."""
        with self._handle as pointer:
            check('hbbp_session_feed_flush', pointer, up_to_ns)


def _octets(data: bytes) -> Any:
    return (ctypes.c_uint8 * len(data)).from_buffer_copy(data) if data else None


def _event(event: FeedEvent) -> Any:
    fields = event._asdict()
    fields.update(kind=FeedEventKind(event.kind), name=to_c(event.name),
                  build_id=_octets(event.build_id), build_id_size=len(event.build_id),
                  code=_octets(event.code))
    return filled(_abi.hbbp_feed_event, **fields)
