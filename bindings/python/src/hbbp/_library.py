"""Finds libhbbp, loads it when the first function is called, and calls its functions."""
import ctypes
import functools
import os
import pathlib
import subprocess
import threading
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _abi
from ._errors import InvalidArgumentError, LibraryError, error_of

SONAME = f'libhbbp.so.{_abi.HBBP_VERSION_MAJOR}'
VARIABLE = 'HBBP_LIBRARY'

Path = Union[str, 'os.PathLike[str]']

_lock = threading.Lock()
_library: Optional[ctypes.CDLL] = None
_library_path = ''
_functions: Dict[str, Any] = {}


def _directory_of_pkg_config() -> Optional[str]:
    try:
        done = subprocess.run(['pkg-config', '--variable=libdir', 'hbbp'], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _candidates() -> Iterator[Tuple[str, str]]:
    """Yields what to load, and its description in a message, in the order of preference."""
    named = os.environ.get(VARIABLE)
    if named:
        is_directory = os.path.isdir(named)
        yield os.path.join(named, SONAME) if is_directory else named, f'{VARIABLE}={named}'
        return
    sibling = pathlib.Path(__file__).resolve().parent / SONAME
    yield str(sibling), 'next to the package'
    yield SONAME, 'where the dynamic linker looks (ldconfig, LD_LIBRARY_PATH)'
    directory = _directory_of_pkg_config()
    if directory is None:
        yield '', 'where pkg-config has hbbp'
    else:
        yield os.path.join(directory, SONAME), 'where pkg-config has hbbp'


def _why_unfit(library: ctypes.CDLL) -> Optional[str]:
    if not hasattr(library, 'hbbp_version_number'):
        return f'{library._name} is not libhbbp'
    library.hbbp_version_number.restype = ctypes.c_uint32
    major = library.hbbp_version_number() // 1000000
    if major != _abi.HBBP_VERSION_MAJOR:
        return (f'{library._name} has version {major}, this package is for '
                f'{_abi.HBBP_VERSION_MAJOR}')
    return None


def _load() -> Tuple[ctypes.CDLL, str]:
    failures: List[str] = []
    for path, where in _candidates():
        if not path:
            failures.append(f'{where}: it has none')
            continue
        if os.path.isabs(path) and not os.path.exists(path):
            failures.append(f'{where}: no {path}')
            continue
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            failures.append(f'{where}: {error}')
            continue
        problem = _why_unfit(library)
        if problem is None:
            return library, path
        failures.append(f'{where}: {problem}')
    raise LibraryError(
        f'{SONAME} could not be loaded:\n' + ''.join(f'  {failure}\n' for failure in failures) +
        'Install libhbbp (cmake --install, then ldconfig), or set '
        f'{VARIABLE} to the path of the library, for example build/release/lib/capi/{SONAME}.')


def _loaded() -> ctypes.CDLL:
    global _library, _library_path
    with _lock:
        if _library is None:
            _library, _library_path = _load()
        return _library


def library_path() -> str:
    """Returns the path by which the library was loaded."""
    _loaded()
    return _library_path


def function(name: str) -> Any:
    """Returns a function of the C ABI, with its types."""
    found: Any = _functions.get(name)
    if found is None:
        library = _loaded()
        try:
            found = library[name]
        except AttributeError:
            raise LibraryError(
                f'{_library_path} has no {name}: it is older than this package, hbbp '
                f'{_abi.HBBP_VERSION_STRING}; install libhbbp of that version') from None
        result, *arguments = _abi.FUNCTIONS[name]
        found.restype, found.argtypes = result, arguments
        _functions[name] = found
    return found


# Ranges of C's integers; ctypes would cut larger numbers silently.
_LIMITS = {
    ctypes.c_int32: (-2**31, 2**31 - 1), ctypes.c_uint32: (0, 2**32 - 1),
    ctypes.c_uint64: (0, 2**64 - 1), ctypes.c_size_t: (0, 2**64 - 1),
}


def fit(value: Any, kind: Any, name: str) -> None:
    if not isinstance(value, int) or kind not in _LIMITS:
        return
    minimum, maximum = _LIMITS[kind]
    if not minimum <= value <= maximum:
        raise InvalidArgumentError(_abi.Status.ERROR_INVALID_ARGUMENT,
                                   f'{name}: {int(value)} is out of range')


def numbers(kind: Any, values: Sequence[int], name: str) -> Any:
    """Returns an array for C."""
    for i, value in enumerate(values):
        fit(value, kind, f'{name}[{i}]')
    return (kind * len(values))(*values)


@functools.lru_cache(maxsize=None)
def _kinds(struct: Any) -> Dict[str, Any]:
    return dict(struct._fields_)


def filled(struct: Any, /, **fields: Any) -> Any:
    """Returns a struct of the C ABI with some fields set."""
    kinds = _kinds(struct)
    for name, value in fields.items():
        fit(value, kinds[name], name)
    return struct(**fields)


def sized(struct: Any, /, **fields: Any) -> Any:
    """Returns the same with its size set."""
    return filled(struct, struct_size=ctypes.sizeof(struct), **fields)


def checked(name: str) -> Callable[..., None]:
    """Wraps a function whose last argument is a hbbp_error, for many calls: it raises the reported
    error. Only one thread at a time may call it."""
    failure = sized(_abi.hbbp_error)
    reference = ctypes.byref(failure)
    called = function(name)

    def call(*arguments: Any) -> None:
        try:
            status = called(*arguments, reference)
        except ctypes.ArgumentError as error:
            raise TypeError(f'{name}: {error}') from None
        if status != 0:
            raise error_of(status, text(failure.message) or f'{name} failed')

    return call


def check(name: str, *arguments: Any) -> None:
    """Calls a function of the C ABI once."""
    for value, kind in zip(arguments, _abi.FUNCTIONS[name][1:]):
        fit(value, kind, name)
    checked(name)(*arguments)


def make(name: str, handle: Any, *arguments: Any) -> Any:
    """Calls a function that writes a handle through the argument before its hbbp_error."""
    made = ctypes.POINTER(handle)()
    check(name, *arguments, ctypes.byref(made))
    return made


def text(value: Optional[bytes]) -> str:
    """Decodes a string of the C ABI: it is UTF-8, but text from files may be invalid."""
    return (value or b'').decode('utf-8', 'backslashreplace')


def to_c(value: Optional[str]) -> Optional[bytes]:
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f'{value!r} is not a string')
    if '\0' in value:
        raise InvalidArgumentError(_abi.Status.ERROR_INVALID_ARGUMENT,
                                   f'{value!r} has a character 0 in it')
    return value.encode('utf-8', 'surrogateescape')


def path_to_c(path: Path) -> bytes:
    name = os.fsencode(path)
    if b'\0' in name:
        raise InvalidArgumentError(_abi.Status.ERROR_INVALID_ARGUMENT,
                                   f'{name!r} has a byte 0 in it')
    return name


def moved_file_array(moved_files: Optional[Mapping[str, Path]]) -> 'ctypes.Array[Any]':
    files = moved_files or {}
    array = (_abi.hbbp_moved_file * len(files))()
    for entry, (recorded, here) in zip(array, files.items()):
        entry.recorded, entry.here = path_to_c(recorded), path_to_c(here)
    return array


def demangle(symbol: str) -> str:
    """Returns the name of a function in C++ or Rust, or the symbol itself if it is not mangled."""
    symbol_in_c = to_c(symbol)
    size = function('hbbp_demangle')(symbol_in_c, None, 0) + 1
    buffer = ctypes.create_string_buffer(size)
    function('hbbp_demangle')(symbol_in_c, buffer, size)
    return text(buffer.value)


def library_version() -> str:
    """Returns the version of the loaded library, which may be newer than the package."""
    return text(function('hbbp_version_string')())


def feature(name: str) -> bool:
    """Returns whether the loaded library was built with the feature: 'ebs', 'lbr', 'ibs', 'swbt',
    'import', 'analysis', 'debug-information', 'probes'. The result is False for unknown names."""
    return bool(function('hbbp_feature')(to_c(name)))
