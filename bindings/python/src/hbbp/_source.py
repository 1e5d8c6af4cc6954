"""Sources of samples that the host implements, as parts of a session."""
import time
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Tuple, Type

from . import _abi
from ._abi import Status
from ._errors import Error, InvalidStateError
from ._feed import Feed
from ._handle import _lock
from ._library import sized, to_c

_TYPES: Any = dict(_abi.hbbp_source_ops._fields_)
# Objects that C may call, until it reports that it never will again.
_in_use: Dict[int, 'Callbacks'] = {}


class Source:
    """A reader of a device's trace, of another profiler's output, of an emulator: the session that
    it is added to starts it next to its own sources, drains it, and stops it. Its samples belong to
    the session's process; samples of other processes are dropped and counted.

    Its functions are never called concurrently. They must not use the session. An exception of
    start is the cause of the error of Session.start; exceptions of the others are in the log of the
    session, and in the notes of the profile's sources.
    """

    name = ''  # for messages; if empty, the name of the class

    def start(self, feed: Feed) -> None:
        """Adds its sources to the feed (Feed.add_source), which is a new one at each start, and
        starts to collect. The same sources in the same order continue their counts. Any thread
        may use the feed until stop has returned; it has neither info nor profile."""
        raise NotImplementedError

    def drain(self, feed: Feed) -> Optional[bool]:
        """Adds the samples since the last call, without waiting for more. Returns True if no more
        can come before the next start. Threads of the library call it; without this function,
        threads of the host add their samples."""
        raise NotImplementedError

    def stop(self, feed: Feed) -> None:
        """Stops collecting; may add the remaining samples."""
        raise NotImplementedError


class LentHandle:
    """The feed of a session, from the start of a source to its end."""

    def __init__(self, pointer: Any) -> None:
        self._pointer = pointer
        self._users = 0
        self.is_closed = False

    def __enter__(self) -> Any:
        with _lock:
            if self.is_closed:
                raise InvalidStateError(Status.ERROR_INVALID_STATE,
                                        'the source that has this feed was stopped')
            self._users += 1
            return self._pointer

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        with _lock:
            self._users -= 1

    def close(self) -> None:
        """Does nothing, because the feed belongs to the session."""

    def end(self) -> None:
        """Ends the feed, and waits for threads that are in a function of it."""
        with _lock:
            self.is_closed = True
        while self._users > 0:
            time.sleep(0.0001)


class Callbacks:
    """The functions of a Source for C."""

    def __init__(self, source: Source) -> None:
        self.raised: Optional[BaseException] = None  # raised by the last callback that failed
        self._source = source
        self._feed: Optional[Feed] = None
        self._handle: Optional[LentHandle] = None
        self.ops = sized(_abi.hbbp_source_ops, name=to_c(source.name or type(source).__name__),
                         start=_TYPES['start'](self._start), stop=_TYPES['stop'](self._stop),
                         destroy=_TYPES['destroy'](self._destroy))
        if type(source).drain is not Source.drain:
            self.ops.drain = _TYPES['drain'](self._drain)
        _in_use[id(self)] = self

    def forget(self) -> None:
        _in_use.pop(id(self), None)

    def _start(self, _: Any, pointer: Any, error: Any) -> int:
        handle = self._handle = LentHandle(pointer)
        feed = self._feed = Feed._of(handle)
        status = self._call(lambda: self._source.start(feed), error)
        if status != Status.OK:
            handle.end()
        return status

    def _drain(self, _: Any, pointer: Any, has_ended: Any, error: Any) -> int:
        def drain() -> None:
            assert self._feed is not None
            has_ended[0] = 1 if self._source.drain(self._feed) else 0

        return self._call(drain, error)

    def _stop(self, _: Any, pointer: Any, error: Any) -> int:
        def stop() -> None:
            assert self._feed is not None
            self._source.stop(self._feed)

        try:
            return self._call(stop, error)
        finally:
            assert self._handle is not None
            self._handle.end()

    def _destroy(self, _: Any) -> None:
        self.forget()

    def _call(self, function: Callable[[], None], error: Any) -> int:
        try:
            function()
            return Status.OK
        except BaseException as raised:
            self.raised = raised
            status, message = _reported(raised)
            kept = message.encode('utf-8', 'backslashreplace')
            size = type(error.contents).message.size
            error.contents.message = kept[:size - 1]
            return status


def _reported(raised: BaseException) -> Tuple[int, str]:
    if isinstance(raised, Error) and raised.status != Status.OK:
        return int(raised.status), raised.message
    message = f'{type(raised).__name__}: {raised}'.replace('\n', ' ')
    if isinstance(raised, MemoryError):
        return Status.ERROR_NO_MEMORY, message
    return (Status.ERROR_IO if isinstance(raised, OSError) else Status.ERROR_INVALID_STATE), message


def raised_by(callbacks: List[Callbacks]) -> Optional[BaseException]:
    """Returns the exception of a callback since the last call."""
    found = None
    for each in callbacks:
        found = found or each.raised
        each.raised = None
    return found
