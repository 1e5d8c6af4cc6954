#!/usr/bin/env python3
"""Writes src/hbbp/_abi.py, the C ABI for ctypes, from include/hbbp/*.h.

usage: generate_abi.py [--check]
--check: writes nothing and reports whether the file matches the headers. It needs python3-cffi and a C
compiler (CC).
"""
import difflib
import os
import pathlib
import sys
from typing import Any, Iterator, List

import headers

TARGET = pathlib.Path(__file__).resolve().parent / 'src' / 'hbbp' / '_abi.py'
PRIMITIVES = {
    'char': 'c_char', 'double': 'c_double', 'size_t': 'c_size_t', 'uint8_t': 'c_uint8',
    'int32_t': 'c_int32', 'uint32_t': 'c_uint32', 'uint64_t': 'c_uint64',
}
PROLOGUE = '''\
"""The C ABI of libhbbp, made by generate_abi.py from include/hbbp/*.h: run that instead of editing.
"""
# flake8: noqa
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int32, c_size_t,
                    c_uint8, c_uint32, c_uint64, c_void_p)
from typing import Any, Dict, Tuple

from ._choice import Choice, Flags
'''


def ctype(kind: Any) -> str:
    """Returns the ctypes spelling of a type of cffi."""
    if kind.kind == 'primitive':
        return PRIMITIVES[kind.cname]
    if kind.kind == 'struct':
        return str(kind.cname).replace('struct ', '')
    if kind.kind == 'array':
        return f'{ctype(kind.item)} * {kind.length}'
    if kind.kind == 'void':
        return 'None'
    if kind.kind == 'function':
        return 'CFUNCTYPE(' + ', '.join(map(ctype, (kind.result, *kind.args))) + ')'
    assert kind.kind == 'pointer', kind
    if kind.item.kind == 'void':
        return 'c_void_p'
    if kind.item.kind == 'primitive' and kind.item.cname == 'char':
        return 'c_char_p'
    return f'POINTER({ctype(kind.item)})'


def class_name(name: str) -> str:
    return ''.join(word.capitalize() for word in name.replace('hbbp_', '').split('_'))


def member_names(constants: List[str]) -> List[str]:
    """Returns each constant without the words that all of them begin with."""
    prefix = os.path.commonprefix(constants)
    prefix = prefix[:prefix.rindex('_') + 1]
    return [constant[len(prefix):] for constant in constants]


def wrapped(start: str, parts: List[str], end: str) -> Iterator[str]:
    line = start
    for i, part in enumerate(parts):
        part += ', ' if i + 1 < len(parts) else end
        if len(line) + len(part.rstrip()) > 99:
            yield line.rstrip()
            line = '        '
        line += part
    yield line.rstrip()


def module() -> Iterator[str]:
    text = headers.declarations()
    ffi = headers.parse(text)
    values = ffi.dlopen(None)
    yield PROLOGUE
    for name, value in headers.macros().items():
        yield f'{name} = {value!r}'
    enums = list(headers.enums(text))
    named = {constant for enum in enums for constant in enum.constants}
    for constant in headers.constants(text):
        if constant not in named:
            yield f'{constant} = {getattr(values, constant)}'
    for enum in enums:
        base = 'Flags' if enum.type == 'uint32_t' else 'Choice'
        yield f'\n\nclass {class_name(enum.name)}({base}):'
        for member, constant in zip(member_names(enum.constants), enum.constants):
            yield f'    {member} = {getattr(values, constant)}'
    for name in headers.structs(text):
        yield f'\n\nclass {name}(Structure):'
        fields = ffi.typeof(name).fields
        if fields is None:
            yield '    pass'
            continue
        yield '    _fields_ = ['
        for field, information in fields:
            yield f"        ('{field}', {ctype(information.type)}),"
        yield '    ]'
    yield '\n\nFUNCTIONS: Dict[str, Tuple[Any, ...]] = {'
    for function in headers.functions(text):
        kind = ffi.typeof(f'{function.result}(*)({function.parameters})')
        parts = [ctype(part) for part in (kind.result, *kind.args)]
        closing = ',),' if len(parts) == 1 else '),'
        yield from wrapped(f"    '{function.name}': (", parts, closing)
    yield '}'


def main() -> int:
    wanted = '\n'.join(module()) + '\n'
    if sys.argv[1:] == ['--check']:
        found = TARGET.read_text()
        sys.stdout.writelines(difflib.unified_diff(
            found.splitlines(True), wanted.splitlines(True), str(TARGET), 'include/hbbp/*.h'))
        if found != wanted:
            print('bindings/python: src/hbbp/_abi.py is not what the headers say; run '
                  'bindings/python/generate_abi.py', file=sys.stderr)
        return 0 if found == wanted else 1
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    TARGET.write_text(wanted)
    return 0


if __name__ == '__main__':
    sys.exit(main())
