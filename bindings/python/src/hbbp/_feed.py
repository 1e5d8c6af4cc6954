"""Feeds make profiles of what the host observes itself, records of perf or decoded samples."""
import ctypes
import typing
from typing import Any, Iterable, Mapping, NamedTuple, Optional, Sequence, Union

from . import _abi
from ._abi import Event, FeedEventKind, FeedOrder, IbsKind, LogLevel, SourceKind
from ._fed_samples import FeedSample, pack
from ._handle import Handle, Owner
from ._host import Cancel, Log, Progress, log_function, run
from ._library import Path, check, filled, make, moved_file_array, numbers, path_to_c, sized, to_c
from ._lists import fetch
from ._profile import Profile
from ._rows import FeedInfo

if typing.TYPE_CHECKING:
    import numpy

Buffer = Union[bytes, bytearray, memoryview]


class FeedEvent(NamedTuple):
    """Something that happened; hbbp_feed_event describes the fields of each kind."""
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


class Feed(Owner):
    """Counts what is added, and starts no thread, no signal handler and no event
    (docs/guide/feeding.md). Any number of threads may call its functions at once."""

    def __init__(self, *, order: Union[FeedOrder, str] = FeedOrder.BY_TIME,
                 max_waiting_bytes: int = 0, command: Optional[str] = None,
                 host: Optional[str] = None, cpu_id: Optional[str] = None,
                 root: Optional[Path] = None, moved_files: Optional[Mapping[str, Path]] = None,
                 slice_ns: int = 0, log: Optional[Log] = None,
                 log_level: Union[LogLevel, str] = LogLevel.INFO, max_memory: int = 0,
                 kept_burst_bytes: int = 0) -> None:
        """`log`, `max_memory` and `kept_burst_bytes` are those of Session; the log is called in a thread that is calling
        one of the functions."""
        self._log = None if log is None else log_function(log)  # it must live as long as the feed
        moved = moved_file_array(moved_files)
        options = sized(
            _abi.hbbp_feed_options, order=FeedOrder.of(order), max_waiting_bytes=max_waiting_bytes,
            command=to_c(command), host=to_c(host), cpu_id=to_c(cpu_id), slice_ns=slice_ns,
            root=None if root is None else path_to_c(root), moved_files=moved,
            moved_file_count=len(moved), log_level=LogLevel.of(log_level), max_memory=max_memory,
            kept_burst_bytes=kept_burst_bytes)
        if self._log is not None:
            options.log = self._log
        self._handle = Handle('feed', make('hbbp_feed_create', _abi.hbbp_feed,
                                           ctypes.byref(options)))

    @classmethod
    def _of(cls, handle: Any) -> 'Feed':
        """Makes the feed of a session."""
        feed = cls.__new__(cls)
        feed._handle = handle
        return feed

    def add_source(self, kind: Union[SourceKind, str] = SourceKind.NONE,
                   event: Union[Event, str] = Event.AUTO, *, perf_attr: bytes = b'',
                   perf_ids: Sequence[int] = (), event_name: Optional[str] = None,
                   ibs: Union[IbsKind, str] = IbsKind.NONE, include_kernel: bool = False,
                   period: int = 0, frequency_hz: int = 0) -> int:
        """Returns the number of the source. With `perf_attr`, the struct perf_event_attr, it is the
        source of raw records; otherwise `kind` and `event` describe the decoded samples."""
        ids = numbers(ctypes.c_uint64, perf_ids, 'perf_ids')
        source = sized(
            _abi.hbbp_feed_source, perf_attr_size=len(perf_attr), perf_ids=ids,
            perf_id_count=len(ids), event_name=to_c(event_name), kind=SourceKind.of(kind),
            event=Event.of(event), ibs=IbsKind.of(ibs), include_kernel=include_kernel,
            period=period, frequency_hz=frequency_hz)
        if perf_attr:
            source.perf_attr = ctypes.cast(ctypes.c_char_p(perf_attr), ctypes.c_void_p)
        index = ctypes.c_uint32()
        with self._handle as pointer:
            check('hbbp_feed_add_source', pointer, ctypes.byref(source),
                  ctypes.byref(index))
        return index.value

    def add_perf_ids(self, source: int, perf_ids: Sequence[int]) -> None:
        """Adds the ids of another event, as when a new thread or CPU gets one."""
        ids = numbers(ctypes.c_uint64, perf_ids, 'perf_ids')
        with self._handle as pointer:
            check('hbbp_feed_add_perf_ids', pointer, source, ids, len(ids))

    def add_perf_records(self, records: Buffer) -> int:
        """Adds records in the layout of a ring buffer. Returns how many bytes are whole records; add
        the rest again with the following bytes."""
        data = bytes(records)
        consumed = ctypes.c_size_t()
        with self._handle as pointer:
            check('hbbp_feed_add_perf_records', pointer, data, len(data),
                  ctypes.byref(consumed))
        return consumed.value

    def add_samples(self, source: int,
                    samples: 'Union[Iterable[FeedSample], numpy.ndarray[Any, Any]]') -> None:
        """Adds all samples, or none. A structured array of numpy with the field names of FeedSample is
        many times faster (docs/guide/python.md)."""
        packed = pack(samples)
        with self._handle as pointer:
            check('hbbp_feed_add_samples', pointer, source, packed.records, packed.count,
                  ctypes.sizeof(_abi.hbbp_feed_sample))

    def add_events(self, events: Iterable[FeedEvent]) -> None:
        """Adds all events, or none."""
        made = [_event(event) for event in events]
        array = (_abi.hbbp_feed_event * len(made))(*made)
        with self._handle as pointer:
            check('hbbp_feed_add_events', pointer, array, len(array),
                  ctypes.sizeof(_abi.hbbp_feed_event))

    def process(self, pid: int = 0) -> None:
        """Adds the mappings and names of threads of a process that runs, as /proc shows them; 0 is
        this one."""
        with self._handle as pointer:
            check('hbbp_feed_process', pointer, pid)

    def end_round(self) -> None:
        """Call it after every ring was emptied once since the last round."""
        with self._handle as pointer:
            check('hbbp_feed_end_round', pointer)

    def flush(self, up_to_ns: int = _abi.HBBP_FEED_ALL) -> None:
        """Counts what waits up to a time. Call it after everything that happened before was added."""
        with self._handle as pointer:
            check('hbbp_feed_flush', pointer, up_to_ns)

    def profile(self, *, progress: Optional[Progress] = None,
                cancel: Optional[Cancel] = None) -> Profile:
        """Returns what was counted so far, and not what waits. `progress` must not use the feed."""
        def take(work: Any) -> Profile:
            with self._handle as pointer:
                return Profile(make('hbbp_feed_snapshot', _abi.hbbp_profile, pointer, work))

        return run(take, progress, cancel)

    def info(self) -> FeedInfo:
        """Returns the current state of the feed."""
        with self._handle as pointer:
            return fetch(FeedInfo, _abi.hbbp_feed_info, 'hbbp_feed_get_info', pointer)


def _octets(data: bytes) -> Any:
    return (ctypes.c_uint8 * len(data)).from_buffer_copy(data) if data else None


def _event(event: FeedEvent) -> Any:
    fields = event._asdict()
    fields.update(kind=FeedEventKind(event.kind), name=to_c(event.name),
                  build_id=_octets(event.build_id), build_id_size=len(event.build_id),
                  code=_octets(event.code))
    return filled(_abi.hbbp_feed_event, **fields)
