"""Imports numpy and pandas when they are first needed."""
import importlib
from typing import Any, Sequence


def need(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f'this needs {module}: install the Debian package {package}, or '
                          f'"pip install {module}" ({error})') from error


def numpy() -> Any:
    return need('numpy', 'python3-numpy')


def pandas() -> Any:
    return need('pandas', 'python3-pandas')


def objects(values: Sequence[Any]) -> Any:
    """Returns an array of Python objects."""
    array = numpy().empty(len(values), dtype=object)
    array[:] = values
    return array
