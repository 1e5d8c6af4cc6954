"""Runs productions on the whole bursts of profiles (docs/guide/productions.md)."""
import atexit
import contextlib
import ctypes
import os
import threading
import typing
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Set, Tuple, Union

from . import _abi
from ._abi import Flow, ProbeAnswer, ProbeFieldKind
from ._analysis import Analysis
from ._errors import Error, InvalidArgumentError, InvalidStateError
from ._handle import Handle, Owner
from ._host import Cancel, Progress, run_long
from ._library import check, demangle, fit, function, make, sized, text, to_c
from ._lists import copy_list, fetch, table
from ._pivot import Taxonomy
from ._profile import Profile
from ._rows import (ProbeCall, ProbeField, ProbeInfo, ProbeLocation, ProbeProduction, ProbeStream,
                    ProbeTable)
from ._session import Session
from ._tables import Table

Handler = Callable[[ProbeCall], Optional[bool]]

# This is the type of a function that the C ABI takes.
HANDLER: Any = dict(_abi.hbbp_probe_options._fields_)['handler']

FIRST_ACCESS = 2**64 - 1

# Those with a worker, whose handlers Python must not free while they may be called.
_followers: 'Set[Probe]' = set()


@atexit.register
def _stop_followers() -> None:
    """Ends all workers, because they must not call Python when it has ended."""
    for probe in list(_followers):
        with contextlib.suppress(Exception):
            probe.close()


def _renew_locks() -> None:
    """A worker that was in a handler may have held one, and is missing in the child of a fork."""
    for probe in _followers:
        probe._turn = threading.RLock()
        probe._controlled = threading.Lock()


os.register_at_fork(after_in_child=_renew_locks)


def builtin_productions() -> List[str]:
    """Returns the names that "use NAME" knows in productions."""
    return [text(function('hbbp_probe_builtin_name')(i))
            for i in range(function('hbbp_probe_builtin_count')())]


class _Calls:
    """Passes calls on to a handler. What it raises ends the run, and is raised there."""

    def __init__(self, handler: Handler) -> None:
        if not callable(handler):
            raise TypeError(f'handler: {handler!r} cannot be called')
        self._handler = handler
        self._raised: List[BaseException] = []
        self.cancel: Optional[Cancel] = None  # of the current run
        self._thread: Optional[int] = None  # that is in the handler

    def end_run(self) -> None:
        self.cancel = None
        raised, self._raised = self._raised, []
        if raised:
            raise raised[0] from None

    def is_in_handler(self) -> bool:
        return self._thread == threading.get_ident()

    def take(self, pointer: Any, _: Any) -> int:
        if self._raised:
            return ProbeAnswer.GO_ON
        self._thread = threading.get_ident()
        try:
            return ProbeAnswer.STOP_BURST if self._handler(_call(pointer[0])) else ProbeAnswer.GO_ON
        except BaseException as error:
            self._raised.append(error)
            if self.cancel is not None:
                self.cancel.set()
            return ProbeAnswer.GO_ON
        finally:
            self._thread = None


def _call(raw: Any) -> ProbeCall:
    values = tuple(None if raw.unknown >> i & 1 else raw.values[i] for i in range(raw.value_count))
    return ProbeCall(raw.production, raw.table, raw.thread, raw.pc, raw.target, raw.next,
                     Flow(raw.flow), raw.taken != 0, values, raw.burst, raw.time_ns, raw.weight)


class Probe(Owner):
    """Productions, and what they record of the bursts that they were run on.

        with hbbp.Session('swbt', kept_burst_bytes=64 << 20) as session:
            work()
        with hbbp.Probe('use call-pairs') as probe:
            probe.run(session.profile())
            print(probe.rows('call-pairs'))

    `handler` is called where a production with the action `call` fires, in the thread that is in
    run(), or in the worker of start(); if its result is true, the burst ends there. It may call
    locate(), and no other function of the probe. What it raises ends the run, or is raised by stop().
    """

    def __init__(self, productions: str, *, taxonomy: Optional[Taxonomy] = None,
                 is_exhaustive: bool = False, sample_freq: int = 0, burst_length: int = 0,
                 max_rows: int = 0, max_symbols: int = 0, min_stream_length: int = 0,
                 max_stream_length: int = 0, min_stream_heat: float = 0,
                 handler: Optional[Handler] = None) -> None:
        self._calls = None if handler is None else _Calls(handler)
        # It lives as long as the handle.
        self._called = None if self._calls is None else HANDLER(self._calls.take)
        options = sized(_abi.hbbp_probe_options, productions=to_c(productions),
                        is_exhaustive=int(is_exhaustive), sample_freq=sample_freq,
                        burst_length=burst_length, max_rows=max_rows, max_symbols=max_symbols,
                        min_stream_length=min_stream_length, max_stream_length=max_stream_length,
                        min_stream_heat=min_stream_heat)
        if self._called is not None:
            options.handler = self._called

        def create(groups: Any) -> Handle:
            if groups is not None:
                options.taxonomy = groups
            return Handle('probe', make('hbbp_probe_create', _abi.hbbp_probe,
                                        ctypes.byref(options)))

        if taxonomy is None:
            self._handle = create(None)
        else:
            with taxonomy._handle as groups:
                self._handle = create(groups)
        self._controlled = threading.Lock()  # one thread at a time starts or stops a worker
        self._held: Optional[contextlib.ExitStack] = None  # what the worker uses
        self._turn = threading.RLock()  # one thread at a time may use the handle
        self.next_burst = 0  # the first that the last run did not take, also if it was cancelled

    def run(self, of: Union[Analysis, Profile], first_burst: int = 0, *,
            progress: Optional[Progress] = None, cancel: Optional[Cancel] = None) -> int:
        """Runs the productions on the bursts of a profile from number `first_burst` on, and adds what
        they record. Returns first_burst for a later profile of the same session, which is next_burst."""
        analysis = of.analysis() if isinstance(of, Profile) else of
        following = ctypes.c_uint64(self.next_burst)
        flag = cancel or Cancel()

        def work(how: Any) -> None:
            with self._handle as pointer, analysis._handle as analysed:
                check('hbbp_probe_run', pointer, analysed, first_burst, how,
                      ctypes.byref(following))

        with self._turn:
            if self._calls is not None:
                self._calls.cancel = flag
            try:
                run_long(work, progress, flag)
            finally:
                self.next_burst = following.value
                if self._calls is not None:
                    self._calls.end_run()
        return self.next_burst

    def start(self, session: Session, interval_ms: int = 1000) -> None:
        """Starts a worker, which runs the productions on the new bursts of the session, `interval_ms`
        behind the last ones, until stop() or close(). The handler is called in its thread. Until then
        nothing else can be done with the probe, and both objects stay alive."""
        fit(interval_ms, ctypes.c_uint32, 'interval_ms')
        with self._control(), self._turn, contextlib.ExitStack() as held:
            pointer = held.enter_context(self._handle)
            observed = held.enter_context(session._handle)
            check('hbbp_probe_start', pointer, observed, interval_ms)
            self._held = held.pop_all()
            _followers.add(self)

    def stop(self) -> None:
        """Runs what is new, and ends the worker. It is an error if there were no bursts."""
        self._end_worker()
        if self._calls is not None:
            self._calls.end_run()

    def close(self) -> None:
        """Ends the worker, too, and drops what its handler raised. The handler cannot do that."""
        if self in _followers:
            if self._is_in_handler():
                raise InvalidStateError(_abi.Status.ERROR_INVALID_STATE,
                                        'the handler of a worker cannot close the probe')
            with contextlib.suppress(Error):
                self._end_worker()
        super().close()

    def _end_worker(self) -> None:
        with self._control(), self._handle as pointer:  # without the turn, which a handler needs to locate
            has_ended = True
            try:
                check('hbbp_probe_stop', pointer)
            except InvalidStateError:  # there is no worker, or this is its handler
                has_ended = False
                raise
            finally:
                if has_ended:
                    self._let_go()

    def _let_go(self) -> None:
        _followers.discard(self)
        held, self._held = self._held, None
        if held is not None:
            held.close()

    def _is_in_handler(self) -> bool:
        return self._calls is not None and self._calls.is_in_handler()

    @contextlib.contextmanager
    def _control(self) -> Iterator[None]:
        # Who stops the worker waits for its handler, which must not wait for that.
        if not self._controlled.acquire(blocking=not self._is_in_handler()):
            raise InvalidStateError(_abi.Status.ERROR_INVALID_STATE,
                                    'the probe is stopped, and its handler cannot do that')
        try:
            yield
        finally:
            self._controlled.release()

    def info(self) -> ProbeInfo:
        with self._turn, self._handle as pointer:
            return fetch(ProbeInfo, _abi.hbbp_probe_info, 'hbbp_probe_get_info', pointer)

    def productions(self) -> Table[ProbeProduction]:
        with self._turn, self._handle as pointer:
            return table(ProbeProduction, copy_list(
                pointer, 'hbbp_probe_production_count', 'hbbp_probe_copy_productions',
                _abi.hbbp_probe_production), 'Productions')

    def tables(self) -> Table[ProbeTable]:
        with self._turn, self._handle as pointer:
            return table(ProbeTable, copy_list(
                pointer, 'hbbp_probe_table_count', 'hbbp_probe_copy_tables',
                _abi.hbbp_probe_table), 'Tables')

    def fields(self, of: Union[int, str] = 0) -> Table[ProbeField]:
        """Returns the fields of a table, by its index or name."""
        with self._turn, self._handle as pointer:
            return table(ProbeField, copy_list(
                pointer, 'hbbp_probe_field_count', 'hbbp_probe_copy_fields',
                _abi.hbbp_probe_field, self._index(of)), 'Fields')

    def rows(self, of: Union[int, str] = 0) -> Table[Any]:
        """Returns the rows of a table of counts, by falling estimates. A row has the fields of the
        table, of code numbers also the name of the function (target and target_name), and estimate,
        share and records."""
        with self._turn, self._handle as pointer:
            fields = list(self.fields(of))
            array = copy_list(pointer, 'hbbp_probe_row_count', 'hbbp_probe_copy_rows',
                              _abi.hbbp_probe_row, self._index(of))
            row_type = _row_type(fields)
            rows = [row_type(*(cell for field, value in zip(fields, raw.values)
                               for cell in self._cells(field.kind, value)),
                             raw.estimate, raw.share, raw.records) for raw in array]
            return Table(row_type, rows, self._name(of))

    def streams(self, of: Union[int, str] = 0) -> Table[ProbeStream]:
        """Returns the hot streams of a trace, by falling shares."""
        with self._turn, self._handle as pointer:
            array = copy_list(pointer, 'hbbp_probe_stream_count', 'hbbp_probe_copy_streams',
                              _abi.hbbp_probe_stream, self._index(of))
            rows = [ProbeStream(
                tuple(tuple(raw.values[i * raw.field_count + k] for k in range(raw.field_count))
                      for i in range(raw.length)), raw.length, raw.frequency, raw.share)
                    for raw in array]
            return Table(ProbeStream, rows, self._name(of))

    def locate(self, code: int) -> ProbeLocation:
        """Returns what a code number stands for: the number of an address in fields such as pc."""
        with self._turn, self._handle as pointer:
            return fetch(ProbeLocation, _abi.hbbp_probe_location, 'hbbp_probe_locate', pointer,
                         code)

    def name(self, code: int) -> str:
        """Returns the name of the function at a code number, and how far behind its start that is:
        "sort", "sort+0x1a"; of an unknown function the module and the address in it."""
        if code == 0:
            return ''
        found = self.locate(code)
        if not found.name:
            return f'{found.path.rsplit("/", 1)[-1]}+{found.address:#x}'
        name = demangle(found.name)
        behind = found.address - (found.address if found.function is None else found.function)
        return f'{name}+{behind:#x}' if behind else name

    def _cells(self, kind: ProbeFieldKind, value: int) -> Tuple[Any, ...]:
        if kind == ProbeFieldKind.CODE:
            return value, self.name(value)
        if kind == ProbeFieldKind.SIGNED:
            return (ctypes.c_int64(value).value,)
        if kind == ProbeFieldKind.REUSE and value == FIRST_ACCESS:
            return (None,)
        return (value,)

    def _index(self, of: Union[int, str]) -> int:
        if isinstance(of, int):
            fit(of, ctypes.c_size_t, 'table')
            return of
        names = [each.name for each in self.tables()]
        if of not in names:
            raise InvalidArgumentError(_abi.Status.ERROR_INVALID_ARGUMENT,
                                       f'no table {of!r}; there are {", ".join(names)}')
        return names.index(of)

    def _name(self, of: Union[int, str]) -> str:
        return self.tables()[of].name if isinstance(of, int) else of


def _row_type(fields: List[ProbeField]) -> Any:
    columns: List[Tuple[str, Any]] = []
    for field in fields:
        name = field.name
        while any(name == known for known, _ in columns):  # a table may have a field twice
            name += '_again'
        optional = field.kind == ProbeFieldKind.REUSE
        columns.append((name, Optional[int] if optional else int))
        if field.kind == ProbeFieldKind.CODE:
            columns.append((f'{name}_name', str))
    columns += [('estimate', float), ('share', float), ('records', int)]
    return typing.cast(Any, NamedTuple)('ProbeRow', columns)
