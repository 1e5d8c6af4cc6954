"""Cancels long work, and passes progress and messages on to functions of the host."""
import ctypes
import weakref
from typing import Any, Callable, List, Optional, TypeVar

from . import _abi
from ._abi import LogLevel
from ._handle import Handle, Owner
from ._library import function, make, sized, text

Progress = Callable[[int, int], None]
Log = Callable[[LogLevel, str], None]
Result = TypeVar('Result')

# These are the types of functions that the C ABI takes.
PROGRESS: Any = dict(_abi.hbbp_work_options._fields_)['progress']
LOG: Any = dict(_abi.hbbp_session_options._fields_)['log']


class Cancel(Owner):
    """A flag that cancels long work, for any number of functions in any threads: they raise
    CancelledError soon after it was set."""

    def __init__(self) -> None:
        self._handle = Handle('cancel', make('hbbp_cancel_create', _abi.hbbp_cancel))

    def set(self) -> None:
        with self._handle as pointer:
            function('hbbp_cancel_set')(pointer, 1)

    def clear(self) -> None:
        with self._handle as pointer:
            function('hbbp_cancel_set')(pointer, 0)

    def is_set(self) -> bool:
        with self._handle as pointer:
            return bool(function('hbbp_cancel_is_set')(pointer))


class KeptFlag:
    """The flag of a Cancel, which lives as long as this object, even if it was closed."""

    def __init__(self, cancel: Cancel) -> None:
        self._handle = cancel._handle
        self.pointer = self._handle.__enter__()

    def __del__(self) -> None:
        if hasattr(self, 'pointer'):
            self._handle.__exit__(None, None, None)


def run_long(work: Callable[[Any], Result], progress: Optional[Progress],
             cancel: Optional[Cancel]) -> Result:
    """Calls `work` with a pointer to hbbp_work_options. If `progress` raises, also by an interrupt
    from the keyboard, the flag is set and the exception is raised here, whatever the result."""
    flag = cancel or Cancel()
    raised: List[BaseException] = []

    def report(done: int, everything: int, _: Any) -> None:
        try:
            if progress is not None and not raised:
                progress(done, everything)
        except BaseException as error:
            raised.append(error)
            flag.set()

    try:
        with flag._handle as pointer:
            options = sized(_abi.hbbp_work_options, progress=PROGRESS(report), cancel=pointer)
            return work(ctypes.byref(options))
    finally:
        if raised:
            raise raised[0] from None


def run(work: Callable[[Any], Result], progress: Optional[Progress],
        cancel: Optional[Cancel]) -> Result:
    """Does the same for work that is mostly short: without options nothing interrupts it."""
    if progress is None and cancel is None:
        return work(None)
    return run_long(work, progress, cancel)


def log_function(log: Log) -> Any:
    """Converts `log` for the C ABI. A message may close its session, which then releases this function."""
    if not callable(log):
        raise TypeError(f'log: {log!r} cannot be called')

    def pass_on(level: int, message: Any, _: Any) -> None:
        running = itself()
        log(LogLevel(level), text(message))
        del running

    called = LOG(pass_on)
    itself = weakref.ref(called)
    return called
