#!/usr/bin/env python3
"""Checks that the symbols of a library are those of its map and of the public headers, or with --part some
of them, and that everything is bound when it is loaded.

usage: check_library.py [--part] LIBRARY MAP INCLUDE_DIRECTORY MAJOR_VERSION
"""
import pathlib
import re
import sys

import elf


def declared_functions(include):
    declared = set()
    for path in include.glob('**/*.h'):
        text = re.sub(r'/\*.*?\*/', '', path.read_text(), flags=re.S)
        declared.update(re.findall(r'^HBBP_API\b[^;(]*?(\w+)\s*\(', text, flags=re.M))
    return declared


def main():
    is_part = sys.argv[1] == '--part'
    library, map_path, include, major = sys.argv[1 + is_part:]
    nodes = elf.map_nodes(pathlib.Path(map_path).read_text())
    listed = {name: node for node, names in nodes.items() for name in names}
    exported = elf.exported_symbols(library)
    declared = declared_functions(pathlib.Path(include))
    problems = []

    def compare(what, left, right):
        problems.extend(f'{what}: {name}' for name in sorted(set(left) - set(right)))

    compare('in the map, not exported (not defined?)', listed, exported)
    compare('exported, not in the map', exported, listed)
    compare('in the map, in no header', listed, declared)
    if not is_part:
        compare('in a header, not in the map', declared, listed)
    problems.extend(f'{name} has version {version}, not {listed[name]}'
                    for name, version in sorted(exported.items())
                    if name in listed and version != listed[name])
    soname = elf.dynamic_entries(library, 'SONAME')
    if soname != [f'{pathlib.Path(map_path).stem}.so.{major}']:
        problems.append(f'SONAME is {soname}')
    if not elf.binds_now(library):
        problems.append('leaves functions to bind in signal handlers')
    for problem in problems:
        print(f'{library}: {problem}', file=sys.stderr)
    print(f'{len(exported)} symbols')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
