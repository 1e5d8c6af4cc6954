#!/usr/bin/env python3
"""Checks that a library with the C++ library inside needs no library at its start but the parts of libc and
those that are named, exports nothing but hbbp_*, and when stripped is not larger than the limit.

usage: check_self_contained.py [--max-kib N] LIBRARY [BEGINNING_OF_A_NAME...]
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import elf


def stripped_kib(library):
    with tempfile.TemporaryDirectory() as directory:
        stripped = pathlib.Path(directory) / 'stripped.so'
        subprocess.run(['strip', '-o', stripped, library], check=True)
        return stripped.stat().st_size / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--max-kib', type=int)
    parser.add_argument('library')
    parser.add_argument('allowed', nargs='*')
    arguments = parser.parse_args()
    needed = elf.needed_besides_libc(arguments.library)
    allowed = ('libm.so.', *arguments.allowed)
    problems = [f'needs {name}' for name in needed if not name.startswith(allowed)]
    problems += [f'exports {name}' for name in sorted(elf.exported_symbols(arguments.library))
                 if not name.startswith('hbbp_')]
    size = stripped_kib(arguments.library)
    if arguments.max_kib and size > arguments.max_kib:
        problems.append(f'has {size:.0f} KiB, more than {arguments.max_kib}')
    for problem in problems:
        print(f'{arguments.library}: {problem}', file=sys.stderr)
    print(f'{size:.0f} KiB; needs {", ".join(["libc", *needed])}')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
