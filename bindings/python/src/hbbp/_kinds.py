"""Derives the kinds of columns from the annotations of rows."""
import functools
import typing
from typing import Any

from ._choice import Choice
from ._listing import ADDRESSES


def is_optional(kind: Any) -> bool:
    return type(None) in getattr(kind, '__args__', ())


def plain_type(kind: Any) -> Any:
    """Returns int for Optional[int]."""
    if not is_optional(kind):
        return kind
    return next(each for each in kind.__args__ if each is not type(None))


def numpy_type(kind: Any, name: str) -> str:
    plain = plain_type(kind)
    if plain is bool:
        return '?'
    if isinstance(plain, type) and issubclass(plain, int) and not issubclass(plain, Choice):
        return 'u8' if name in ADDRESSES else 'i8'
    return 'f8' if plain is float else 'O'


@functools.lru_cache(maxsize=None)
def annotations_of(row_type: Any) -> Any:
    return typing.get_type_hints(row_type)
