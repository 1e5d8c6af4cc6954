"""Exceptions of the library. Each is also the built-in exception that it resembles, if any."""
from typing import Any, Dict, Tuple, Type, Union

from ._abi import Status


class Error(Exception):
    """libhbbp refused or failed: `status` is the kind, `message` says what, where, and what to do."""

    def __init__(self, status: Union[Status, int], message: str) -> None:
        super().__init__(message)
        self.status = Status(status)
        self.message = message

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (int(self.status), self.message)


class InvalidArgumentError(Error, ValueError):
    """The caller made a mistake."""


class InvalidStateError(Error, RuntimeError):
    """The call came at the wrong time: start of a started session, use of a closed object."""


class NoMemoryError(Error, MemoryError):
    pass


class NotFoundError(Error, LookupError):
    """There is no such file, block, thread, function or event."""


class IoError(Error, OSError):
    """Reading or writing failed."""


class BadFormatError(Error, ValueError):
    """A file is damaged, or is something else."""


class UnsupportedError(Error):
    """This machine or kernel cannot do it."""


class PermissionDeniedError(Error, PermissionError):
    """The system can do it, but not for this user."""


class BusyError(Error):
    """A resource is taken or used up."""


class VersionError(Error):
    """The program was made for a newer library."""


class MismatchError(Error):
    """A file's build ID is not that of the file that ran."""


class InternalError(Error):
    """This is a bug of libhbbp; please report it."""


class CancelledError(Error):
    """The work was cancelled by its Cancel."""


class LibraryError(ImportError):
    """libhbbp was not found, or is too old; the message lists where it was searched and what to do."""


CLASSES: Dict[Status, Type[Error]] = {
    Status.ERROR_INVALID_ARGUMENT: InvalidArgumentError,
    Status.ERROR_INVALID_STATE: InvalidStateError,
    Status.ERROR_NO_MEMORY: NoMemoryError,
    Status.ERROR_NOT_FOUND: NotFoundError,
    Status.ERROR_IO: IoError,
    Status.ERROR_BAD_FORMAT: BadFormatError,
    Status.ERROR_UNSUPPORTED: UnsupportedError,
    Status.ERROR_PERMISSION: PermissionDeniedError,
    Status.ERROR_BUSY: BusyError,
    Status.ERROR_VERSION: VersionError,
    Status.ERROR_MISMATCH: MismatchError,
    Status.ERROR_INTERNAL: InternalError,
    Status.ERROR_CANCELLED: CancelledError,
}


def error_of(status: int, message: str) -> Error:
    return CLASSES.get(Status(status), Error)(status, message)
