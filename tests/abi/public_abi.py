"""The declarations of the public headers, without an implementation: one header without comments, its
functions and constants, and a library that has them and nothing else, so that the ABI tools need
not read the whole of libhbbp.
"""
import pathlib
import re
import subprocess

import elf

# Macros that are not values, or change with every release.
_NO_CONSTANT = re.compile(r'HBBP_(API|EXTERN_C_\w+|VERSION_\w+|ABI_VERSION)$')

# Elements of arrays whose size is an argument.
SIZED_BY_ARGUMENT = {'hbbp_feed_event', 'hbbp_feed_sample'}

_STRUCT = re.compile(r'\bstruct (\w+) \{(.*?)\}', flags=re.S)


def flat_header(include):
    """Returns all public C headers as one, without comments. `include` is the directory with hbbp/."""
    seen, system = set(), []

    def text_of(path):
        if path in seen:
            return ''
        seen.add(path)
        text = re.sub(r'/\*.*?\*/', '', path.read_text(), flags=re.S)
        text = re.sub(r'\A\s*#ifndef (\w+)\n#define \1\n(.*)#endif\s*\Z', r'\2', text, flags=re.S)
        # What there is instead of the library is not its ABI.
        text = re.sub(r'^#if defined\(HBBP_DISABLE\)\n.*?^#endif\n', '', text, flags=re.M | re.S)
        system.extend(name for name in re.findall(r'^#include <(.*)>\n', text, flags=re.M)
                      if name not in system)
        text = re.sub(r'^#include <.*\n', '', text, flags=re.M)
        return re.sub(r'^#include "(.*)"\n',
                      lambda match: text_of(path.parent / match.group(1)), text, flags=re.M)

    directory = pathlib.Path(include) / 'hbbp'
    text = ''.join(text_of(path) for path in sorted(directory.glob('*.h')))
    text = ''.join(f'#include <{name}>\n' for name in system) + text
    return re.sub(r'\n{3,}', '\n\n', re.sub(r'[ \t]+$', '', text, flags=re.M)).strip() + '\n'


def functions(header):
    """Returns {name: declaration without the semicolon}."""
    found = re.findall(r'^HBBP_API\b([^;(]*?(\w+)\s*\([^;]*\));', header, flags=re.M)
    return {name: ' '.join(declaration.split()) for declaration, name in found}


def _fields(body):
    return re.findall(r'[^;]*;', body)


def growing_structs(header):
    """Returns names of structs that may grow at their ends, because callers pass their size."""
    return SIZED_BY_ARGUMENT | {name for name, body in _STRUCT.findall(header)
                                if re.match(r'\s*uint32_t struct_size;', body)}


def cut_structs(header, old_header):
    """Returns `header` with its growing structs as long as those of `old_header`: without the fields that
    were added at their ends."""
    lengths = {name: len(_fields(body)) for name, body in _STRUCT.findall(old_header)
               if name in growing_structs(header)}

    def cut(match):
        name, body = match.groups()
        if name not in lengths:
            return match.group()
        return f'struct {name} {{{"".join(_fields(body)[:lengths[name]])}\n}}'

    return _STRUCT.sub(cut, header)


def version(header):
    return re.search(r'HBBP_VERSION_STRING "(.*)"', header).group(1)


def abi_version(header):
    return int(re.search(r'define HBBP_ABI_VERSION (\d+)', header).group(1))


def constants(header, compiler, directory):
    """Returns {name: value} of enumerators and of macros that are values."""
    names = re.findall(r'^#define (HBBP_\w+) \S', header, flags=re.M)
    for body in re.findall(r'\benum \w*\s*\{(.*?)\}', header, flags=re.S):
        names.extend(re.findall(r'\b(HBBP_\w+)\s*(?:=[^,]*)?(?:,|\s*$)', body))
    names = [name for name in names if not _NO_CONSTANT.match(name)]
    prints = ''.join(
        f'printf(_Generic(({name}), float: "{name} %.17g\\n", double: "{name} %.17g\\n", '
        f'default: "{name} %lld\\n"), ({name}));\n' for name in names)
    source = pathlib.Path(directory) / 'constants.c'
    source.write_text(header + '#include <stdio.h>\nint main(void) {\n' + prints +
                      'return 0;\n}\n')
    program = pathlib.Path(directory) / 'constants'
    subprocess.run([compiler, '-std=c11', '-w', source, '-o', program], check=True)
    listed = subprocess.run([program], check=True, text=True, stdout=subprocess.PIPE).stdout
    return dict(line.split() for line in listed.splitlines())


def make_library(header, symbols, soname, compiler, directory):
    """Makes a library with debug information that has those functions of `header` that `symbols`, {name:
    version node}, lists. Returns its path."""
    directory = pathlib.Path(directory)
    bodies = ''.join(f'{declaration} {{ __builtin_trap(); }}\n'
                     for name, declaration in functions(header).items() if name in symbols)
    source, script, library = (directory / name for name in ('abi.c', 'abi.map', soname))
    source.write_text(f'{header}\n{bodies}')
    nodes = {}
    for name, node in symbols.items():
        nodes.setdefault(node, []).append(name)
    script.write_text('local_of_all { local: *; };\n' + ''.join(
        f'{node} {{ global: {" ".join(f"{name};" for name in sorted(names))} }};\n'
        for node, names in nodes.items()))
    subprocess.run(
        [compiler, '-std=c11', '-w', '-g', '-gdwarf-4', '-O1', '-shared', '-fPIC', '-nostdlib',
         f'-fdebug-prefix-map={directory}=.', f'-Wl,-soname,{soname}', f'-Wl,--version-script={script}',
         source, '-o', library], check=True)
    return library


def library_of(library, header, compiler, directory):
    """Calls make_library with the symbols that the real library exports."""
    soname = elf.dynamic_entries(library, 'SONAME')[0]
    return make_library(header, elf.exported_symbols(library), soname, compiler, directory)
