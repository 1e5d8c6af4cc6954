"""Handles of the C ABI, which any thread may close at any time."""
import os
import threading
from types import TracebackType
from typing import Any, Optional, Type, TypeVar

from ._abi import Status
from ._errors import InvalidStateError
from ._library import function

AnyOwner = TypeVar('AnyOwner', bound='Owner')

# The lock is held for a few instructions only, never while the library is called. There is one for all handles, so that
# a fork finds it free. It is reentrant, because the garbage collector may close a handle anywhere.
_lock = threading.RLock()
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release,
                    after_in_child=_lock.release)


class Handle:
    """Owns a handle. `with handle as pointer` keeps it from being destroyed meanwhile.

    If a thread is in such a block when another one forks, it is missing in the child, where the
    handle is then never destroyed: the state in which the thread left it is unknown.
    """

    __slots__ = ('_pointer', '_name', '_destroy', '_users', '_is_closed')

    def __init__(self, name: str, pointer: Any) -> None:
        self._pointer = pointer
        self._name = name
        self._destroy = function(f'hbbp_{name}_destroy')
        self._users = 0
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def __enter__(self) -> Any:
        with _lock:
            if self._is_closed:
                raise InvalidStateError(Status.ERROR_INVALID_STATE,
                                        f'the {self._name} was closed')
            self._users += 1
            return self._pointer

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        with _lock:
            self._users -= 1
            is_last = self._is_closed and self._users == 0
        if is_last:
            self._destroy(self._pointer)

    def close(self) -> None:
        """Destroys the handle, or has the last thread that uses it do so. It may be called twice."""
        with _lock:
            is_last = not self._is_closed and self._users == 0
            self._is_closed = True
        if is_last:
            self._destroy(self._pointer)


class Owner:
    """An object with a handle, closed by close(), at the end of a `with`, or with its last reference."""

    _handle: Handle

    def close(self) -> None:
        """Frees its memory in the library at once; using it afterwards raises
        InvalidStateError. Lists that were read from it stay valid."""
        self._handle.close()

    @property
    def is_closed(self) -> bool:
        return self._handle.is_closed

    def __enter__(self: AnyOwner) -> AnyOwner:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        handle = getattr(self, '_handle', None)
        if handle is not None:
            handle.close()
