#!/usr/bin/env python3
"""Checks that libhbbp.a adds the functions of libhbbp.map to a program and no other name that could
clash: everything else is in the namespace hbbp, begins with hbbp_, or is a template or inline function
that several libraries may have. A library that links it exports nothing else of it.

usage: check_archive.py ARCHIVE MAP
"""
import collections
import pathlib
import re
import subprocess
import sys

import elf

# Functions, variables and the compiler's tables of classes, in the namespace hbbp.
IN_NAMESPACE = re.compile(r'_Z(T[VTIS]|GV|GR|Z|Th?n?\d*_)*N[KVR]*(4hbbp|\d+hbbp_)')


def symbols(archive):
    """Returns (name, binding, visibility) of every symbol that is defined and not local."""
    listing = subprocess.run(['readelf', '--wide', '--syms', archive], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    for line in listing.splitlines():
        fields = line.split()
        if len(fields) == 8 and fields[4] in ('GLOBAL', 'WEAK', 'UNIQUE') and fields[6] != 'UND':
            yield fields[7], fields[4], fields[5]


def main():
    archive, map_path = sys.argv[1:]
    listed = set().union(*elf.map_nodes(pathlib.Path(map_path).read_text()).values())
    problems, counts = set(), collections.Counter()
    defined = set()
    for name, binding, visibility in symbols(archive):
        is_strong = binding == 'GLOBAL'
        counts[binding] += 1
        if is_strong:
            defined.add(name)
        if is_strong and name not in listed:
            if not IN_NAMESPACE.match(name) and not name.lower().startswith('hbbp'):
                problems.add(f'{name} is in no namespace of ours')
            if visibility == 'DEFAULT':
                problems.add(f'{name} is not hidden')
        if IN_NAMESPACE.match(name) and visibility == 'DEFAULT':
            problems.add(f'{name} is not hidden')
    problems.update(f'{name} is not there' for name in listed - defined)
    for problem in sorted(problems):
        print(f'{archive}: {problem}', file=sys.stderr)
    print(', '.join(f'{count} {binding}' for binding, count in sorted(counts.items())))
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
