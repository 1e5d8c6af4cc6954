#!/usr/bin/env python3
"""libhbbp-preload.so exports what its map says and needs no library but libc and its loader.

usage: check_preload.py LIBRARY MAP
"""
import pathlib
import sys

import elf

ALLOWED = {'libc.so.6', 'ld-linux-x86-64.so.2'}


def main():
    library, map_path = sys.argv[1:]
    listed = set().union(*elf.map_nodes(pathlib.Path(map_path).read_text()).values())
    exported = set(elf.exported_symbols(library))
    problems = [f'in the map, not exported: {name}' for name in sorted(listed - exported)]
    problems += [f'exported, not in the map: {name}' for name in sorted(exported - listed)]
    needed = set(elf.dynamic_entries(library, 'NEEDED'))
    problems += [f'needs {name}' for name in sorted(needed - ALLOWED)]
    for problem in problems:
        print(f'{library}: {problem}', file=sys.stderr)
    print(f'{len(exported)} symbols; needs {", ".join(sorted(needed))}')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
