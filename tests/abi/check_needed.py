#!/usr/bin/env python3
"""Checks that a program or library needs no library at its start but libc, its loader, those of the
compiler, and those that are named: libdw and its dependencies are loaded only when they are used.

usage: check_needed.py FILE [BEGINNING_OF_A_NAME...]
"""
import sys

import elf

OF_THE_COMPILER = ('libstdc++', 'libm', 'libgcc_s')


def main():
    path, *others = sys.argv[1:]
    allowed = [*OF_THE_COMPILER, *others]
    unwanted = [name for name in elf.needed_besides_libc(path)
                if not any(name.startswith(each) for each in allowed)]
    for name in unwanted:
        print(f'{path}: needs {name}', file=sys.stderr)
    return 1 if unwanted else 0


if __name__ == '__main__':
    sys.exit(main())
