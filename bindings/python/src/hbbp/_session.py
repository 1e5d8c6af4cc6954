"""Sessions profile the calling process."""
import atexit
import contextlib
import ctypes
import warnings
import weakref
from types import TracebackType
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from . import _abi
from ._abi import EbsMethod, Event, LogLevel, PeriodMode, SourceKind, TraceMode
from ._capabilities import find_event
from ._errors import Error, InvalidStateError
from ._handle import Handle, Owner
from ._host import Cancel, Log, Progress, log_function, run
from ._library import check, make, numbers, sized, to_c
from ._lists import fetch
from ._profile import Profile
from ._rows import EventCode, SessionInfo
from ._source import Callbacks, Source, raised_by

Result = TypeVar('Result')

_calling_python: 'weakref.WeakSet[Session]' = weakref.WeakSet()


@atexit.register
def _close_those_that_call_python() -> None:
    """Ends all sessions, because their threads must not call Python when it has ended. A thread that
    is inside a call of a session delays its closing, but not its end."""
    for session in list(_calling_python):
        with contextlib.suppress(InvalidStateError):
            session.stop()
        session.close()


def _value_bits(names: Sequence[str]) -> int:
    bits = 0
    for name in names:
        bit = getattr(_abi, f'HBBP_VALUE_{name.upper()}', None)
        if bit is None:
            raise ValueError(f"keep_values: '{name}' is not a value of it")
        bits |= bit
    return bits


class Session(Owner):
    """Samples every thread of this process, or of another one, from start to stop.

        with hbbp.Session() as session:
            work()
        print(session.profile().mix())

    The end of the `with` stops it; profile() may be called afterwards, or at any time meanwhile.
    Options are those of hbbp_session_options (include/hbbp/session.h); 0 and None are defaults.
    Enumerations may be given by name: source='auto' (the best that this machine has), 'ebs', 'lbr',
    'ibs', 'swbt', 'ebs-and-swbt', 'perf' (the best without signal handlers) or 'external'. `event` is the result of find_event, or a name or code that it
    knows. `log` gets a LogLevel and a line, in any thread; it may query the session and close it,
    but starting and stopping it raise InvalidStateError there. `threads` are ids of gettid, instead
    of all threads; max_overhead (a fraction) and max_memory (bytes) are budgets, which the session
    keeps by longer periods. `kept_burst_bytes` are for whole bursts, which Analysis.export writes as
    'brstack', with `keep_accesses` for the addresses that they accessed, and with `keep_values` for
    values, by their names in productions: 'divisor', 'rdi', 'rsi', 'rdx', 'rcx', 'r8', 'r9'. With drained_by_host it starts no thread, and drain() must be called
    again and again. With enable_on_exec samples of process `pid` begin when it executes a program. Any thread may call its functions.
    """

    def __init__(self, source: Union[SourceKind, str] = SourceKind.AUTO, *,
                 event: Union[Event, EventCode, str] = Event.AUTO,
                 period_mode: Union[PeriodMode, str] = PeriodMode.PRIME, period: int = 0,
                 frequency_hz: int = 0, include_kernel: bool = False, buffer_bytes: int = 0,
                 trace_mode: Union[TraceMode, str] = TraceMode.LOOKAHEAD, burst_branches: int = 0,
                 branch_period: int = 0, expected_seconds: int = 0, pid: int = 0,
                 ebs_method: Union[EbsMethod, str] = EbsMethod.AUTO, imprecise: bool = False,
                 slice_ns: int = 0, log: Optional[Log] = None,
                 log_level: Union[LogLevel, str] = LogLevel.INFO,
                 threads: Sequence[int] = (), max_overhead: float = 0.0,
                 max_memory: int = 0, drained_by_host: bool = False,
                 kept_burst_bytes: int = 0, keep_accesses: bool = False,
                 keep_values: Sequence[str] = (), enable_on_exec: bool = False) -> None:
        self._log = None if log is None else log_function(log)  # it must live as long as the session
        self._sources: List[Callbacks] = []
        ids = numbers(ctypes.c_uint32, threads, 'threads') if threads else None
        code = _event_code(event)
        options = sized(
            _abi.hbbp_session_options, source=SourceKind.of(source), event=code.event,
            period_mode=PeriodMode.of(period_mode), period=period, frequency_hz=frequency_hz,
            include_kernel=include_kernel, buffer_bytes=buffer_bytes,
            trace_mode=TraceMode.of(trace_mode), burst_branches=burst_branches,
            branch_period=branch_period, expected_seconds=expected_seconds, pid=pid,
            event_name=to_c(code.name or None), event_type=code.type, event_config=code.config,
            ebs_method=EbsMethod.of(ebs_method), imprecise=imprecise, slice_ns=slice_ns,
            log_level=LogLevel.of(log_level), thread_count=len(threads), threads=ids,
            max_overhead=max_overhead, max_memory=max_memory, drained_by_host=drained_by_host,
            kept_burst_bytes=kept_burst_bytes, keep_accesses=keep_accesses,
            keep_values=_value_bits(keep_values), enable_on_exec=enable_on_exec)
        if self._log is not None:
            options.log = self._log
        self._handle = Handle('session', make('hbbp_session_create', _abi.hbbp_session,
                                              ctypes.byref(options)))
        if self._log is not None:
            _calling_python.add(self)

    def start(self) -> None:
        """Starts the session. It may be started again after stop(), and its counts continue."""
        self._call('hbbp_session_start')

    def stop(self) -> None:
        """Collects what is in the buffers, and ends all events and threads. The files of counted
        modules stay open as long as the session or a profile lives. If the `stop` of a source
        raises, so does this function, and the session is stopped nevertheless."""
        self._call('hbbp_session_stop')

    def drain(self) -> float:
        """Collects what is in the buffers of a session with drained_by_host, which has no thread
        for it. Returns the seconds until it should be called again, 0.001 to 1."""
        next_ms = ctypes.c_uint32()
        self._call('hbbp_session_drain', ctypes.byref(next_ms))
        return next_ms.value / 1000

    def _call(self, name: str, *arguments: Any) -> None:
        raised_by(self._sources)
        try:
            with self._handle as pointer:
                check(name, pointer, *arguments)
        except Error as error:
            cause = raised_by(self._sources)
            if cause is None:
                raise
            raise error from cause

    def add_source(self, source: Source) -> None:
        """Adds a source of the host to a session that does not run. Session('external') has only
        such sources."""
        callbacks = Callbacks(source)
        try:
            with self._handle as pointer:
                check('hbbp_session_add_source', pointer, ctypes.byref(callbacks.ops), None)
        except BaseException:
            callbacks.forget()
            raise
        self._sources.append(callbacks)
        _calling_python.add(self)

    def profile(self, *, progress: Optional[Progress] = None,
                cancel: Optional[Cancel] = None) -> Profile:
        """Returns what was counted so far. A running session continues undisturbed. `progress`,
        which must not use the session, and `cancel` are useful with millions of counts."""
        def take(work: Any) -> Profile:
            with self._handle as pointer:
                return Profile(make('hbbp_session_snapshot', _abi.hbbp_profile, pointer, work))

        return run(take, progress, cancel)

    def info(self) -> SessionInfo:
        """Returns the current state of the session."""
        with self._handle as pointer:
            return fetch(SessionInfo, _abi.hbbp_session_info, 'hbbp_session_get_info', pointer)

    def add_code(self, address: int, size: int, *, code: Optional[bytes] = None,
                 name: Optional[str] = None, time_ns: int = 0) -> None:
        """Adds code that this process has generated: samples there count for it from now on, or from
        `time_ns` of CLOCK_MONOTONIC. Without `code` its bytes are read from memory."""
        if code is not None and len(code) != size:
            raise ValueError(f'code of {len(code)} bytes for a size of {size}')
        region = sized(_abi.hbbp_code_region, address=address, size=size, name=to_c(name),
                       time_ns=time_ns)
        if code is not None:
            region.code = ctypes.cast(ctypes.c_char_p(code), ctypes.c_void_p)
        with self._handle as pointer:
            check('hbbp_session_add_code', pointer, ctypes.byref(region))

    def add_data(self, address: int, size: int, *, name: Optional[str] = None, time_ns: int = 0) -> None:
        """Names memory of this process: IBS samples of accesses to it count for the block of that name from now on,
        or from `time_ns` of CLOCK_MONOTONIC. Without a name it is memory that was freed."""
        region = sized(_abi.hbbp_data_region, address=address, size=size, name=to_c(name), time_ns=time_ns)
        with self._handle as pointer:
            check('hbbp_session_add_data', pointer, ctypes.byref(region))

    @property
    def is_running(self) -> bool:
        return not self.is_closed and self.info().running

    def __enter__(self) -> 'Session':
        self.start()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        if self.is_running:
            self.stop()

    def __del__(self) -> None:
        handle = getattr(self, '_handle', None)
        if handle is not None and self.is_running:
            warnings.warn('a hbbp.Session was still running when its last reference went',
                          ResourceWarning, source=self)
        super().__del__()

    def __repr__(self) -> str:
        if self.is_closed:
            return '<Session, closed>'
        info = self.info()
        return (f'<Session, {"running" if info.running else "stopped"}, {info.samples:,} samples '
                f'in {info.duration_ns / 1e9:.3g} s>')


def profile_call(function: Callable[..., Result], *arguments: Any,
                 options: Optional[Mapping[str, Any]] = None,
                 **keywords: Any) -> Tuple[Result, Profile]:
    """Calls the function with the arguments. Returns its result, and the profile of this process
    during the call. `options` are those of Session."""
    with contextlib.closing(Session(**(options or {}))) as session:
        with session:
            result = function(*arguments, **keywords)
        return result, session.profile()


def _event_code(event: Union[Event, EventCode, str]) -> EventCode:
    if isinstance(event, EventCode):
        return event
    if isinstance(event, str) and event.upper().replace('-', '_') not in Event.__members__:
        return find_event(event)
    return EventCode(Event.of(event), 0, 0, '')
