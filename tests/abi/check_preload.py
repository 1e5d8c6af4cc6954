#!/usr/bin/env python3
"""Checks that a preload library exports the functions of its map and needs no library but libc, its
loader, and those that are named.

usage: check_preload.py LIBRARY MAP [NEEDED...]
"""
import pathlib
import sys

import elf


def main():
    library, map_path, *others = sys.argv[1:]
    listed = set().union(*elf.map_nodes(pathlib.Path(map_path).read_text()).values())
    exported = set(elf.exported_symbols(library))
    problems = [f'in the map, not exported: {name}' for name in sorted(listed - exported)]
    problems += [f'exported, not in the map: {name}' for name in sorted(exported - listed)]
    needed = elf.needed_besides_libc(library)
    problems += [f'needs {name}' for name in needed if name.split('.so')[0] not in others]
    if not elf.binds_now(library):
        problems.append('leaves functions to bind in signal handlers')
    for problem in problems:
        print(f'{library}: {problem}', file=sys.stderr)
    print(f'{len(exported)} symbols; needs {", ".join(["libc", *needed])}')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
