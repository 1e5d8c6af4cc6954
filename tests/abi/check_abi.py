#!/usr/bin/env python3
"""Checks that the library is compatible with the last release: abidiff compares its headers and symbols
with the baseline, and constants keep their values. Exit status 77: no abidiff here.

usage: check_abi.py LIBRARY INCLUDE_DIRECTORY BASELINE_DIRECTORY C_COMPILER
scripts/abi-baseline writes the baseline.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import public_abi


def abidiff(baseline, library, *options):
    """Returns (whether they differ, the report)."""
    done = subprocess.run(['abidiff', '--no-show-locs', *options, baseline, library], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode != 0, done.stdout


def main():
    library, include, baseline, compiler = sys.argv[1:]
    if not shutil.which('abidiff'):
        print('SKIPPED: no abidiff (Debian package abigail-tools)')
        return 77
    header = public_abi.flat_header(include)
    baseline = pathlib.Path(baseline)
    old_header = (baseline / 'hbbp.h.txt').read_text()
    problems = []
    with tempfile.TemporaryDirectory() as directory:
        # With structs and lists of functions cut to their former size, everything must be equal.
        shortened = public_abi.cut_structs(header, old_header)
        stub = public_abi.library_of(library, shortened, compiler, directory)
        breaks, report = abidiff(baseline / 'libhbbp.abi', stub, '--no-added-syms')
        if breaks:
            problems.append(report)
        # In the next version, all additions have the same ABI version.
        grows = False
        if public_abi.version(header) != public_abi.version(old_header):
            stub = public_abi.library_of(library, header, compiler, directory)
            grows, _ = abidiff(baseline / 'libhbbp.abi', stub)
        old = public_abi.constants(old_header, compiler, directory)
        new = public_abi.constants(header, compiler, directory)
    problems.extend(f'{name} is {new.get(name, "gone")}, was {value}'
                    for name, value in old.items() if new.get(name) != value)
    if grows and public_abi.abi_version(header) <= public_abi.abi_version(old_header):
        problems.append('something was added, but HBBP_ABI_VERSION has not grown')
    for problem in problems:
        print(f'incompatible with {public_abi.version(old_header)}: {problem}')
    print(f'{len(public_abi.functions(old_header))} functions, {len(old)} constants of the '
          f'baseline; {len(problems)} problems')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
