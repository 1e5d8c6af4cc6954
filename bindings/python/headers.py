"""Reads the declarations in the public headers of libhbbp by cffi, after the preprocessor."""
import os
import pathlib
import re
import subprocess
from typing import Dict, Iterator, List, NamedTuple, Union

import cffi

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / 'include'
COMPILER = os.environ.get('CC', 'cc')
INCLUDE_ALL = '#include <hbbp/hbbp.h>\n'


class Function(NamedTuple):
    name: str
    result: str
    parameters: str


class Enum(NamedTuple):
    name: str
    type: str
    constants: List[str]


def preprocess(text: str, include: pathlib.Path = INCLUDE, *options: str) -> str:
    command = [COMPILER, '-E', '-std=c11', f'-I{include}', *options, '-']
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True,
                          text=True).stdout


def declarations(include: pathlib.Path = INCLUDE, text: str = INCLUDE_ALL) -> str:
    """Returns the declarations without those of the C library, which cffi knows itself."""
    directory = f'{include}/hbbp/'
    kept = []
    is_ours = False
    for line in preprocess(text, include).splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            is_ours = marker.group(1).startswith(directory)
        elif is_ours and line.strip():
            kept.append(line + '\n')
    return ''.join(kept)


def _value(text: str) -> Union[str, int, float, None]:
    if re.fullmatch(r'"[^"]*"', text):
        return text[1:-1]
    text = re.sub(r'(?<=[0-9a-fA-F])[uUlL]+\b', '', text).strip('() ')
    if re.fullmatch(r'\d+|0[xX][0-9a-fA-F]+', text):
        return int(text, 0)
    if re.fullmatch(r'[\d.]+([eE][-+]?\d+)?', text):
        return float(text)
    return None


def macros(include: pathlib.Path = INCLUDE) -> Dict[str, Union[str, int, float]]:
    """Returns the macros that are numbers or strings."""
    names = sorted(re.findall(r'^#define (HBBP_\w+) \S', preprocess(INCLUDE_ALL, include, '-dM'),
                              flags=re.M))
    asked = ''.join(f'<<"{name}">> {name}\n' for name in names)
    answers = dict(re.findall(r'^<<"(\w+)">> (.+)$', preprocess(INCLUDE_ALL + asked, include, '-P'),
                              flags=re.M))
    values = {name: _value(answers[name]) for name in names if name in answers}
    return {name: value for name, value in values.items() if value is not None}


def enums(text: str) -> Iterator[Enum]:
    """Returns the constants of each integer type: those of the enum after it."""
    for kind, name, body in re.findall(
            r'typedef (u?int32_t) (hbbp_\w+);\s*enum \{(.*?)\};', text, flags=re.S):
        yield Enum(name, kind, re.findall(r'\b(HBBP_\w+)\s*=', body))


def constants(text: str) -> List[str]:
    """Returns the constants of all enums."""
    return [name for body in re.findall(r'\benum \{(.*?)\};', text, flags=re.S)
            for name in re.findall(r'\b(HBBP_\w+)\s*=', body)]


def functions(text: str) -> Iterator[Function]:
    for result, name, parameters in re.findall(
            r'(?:^|;|\})\s*(\w[\w\s]*?[\s*]+)(hbbp_\w+)\(([^;{}]*)\)(?=;)', text):
        yield Function(name, result.strip(), ' '.join(parameters.split()))


def structs(text: str) -> List[str]:
    """Returns the structs in the order of their dependencies, opaque ones first."""
    defined = re.findall(r'\bstruct (hbbp_\w+) \{', text)
    opaque = [name for name in re.findall(r'\btypedef struct (hbbp_\w+) hbbp_\w+;', text)
              if name not in defined]
    return opaque + defined


def parse(text: str) -> cffi.FFI:
    ffi = cffi.FFI()
    ffi.cdef(text)
    return ffi
