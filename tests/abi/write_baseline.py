#!/usr/bin/env python3
"""Writes the baseline of check_abi.py: hbbp.h.txt, all public headers as one, and libhbbp.abi, the output
of abidw for them.

usage: write_baseline.py LIBRARY INCLUDE_DIRECTORY BASELINE_DIRECTORY C_COMPILER
"""
import pathlib
import subprocess
import sys
import tempfile

import public_abi


def main():
    library, include, baseline, compiler = sys.argv[1:]
    header = public_abi.flat_header(include)
    baseline = pathlib.Path(baseline)
    baseline.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        stub = public_abi.library_of(library, header, compiler, directory)
        subprocess.run(
            ['abidw', '--no-corpus-path', '--no-comp-dir-path', '--no-show-locs', '--no-elf-needed',
             '--type-id-style', 'hash', '--out-file', baseline / 'libhbbp.abi', stub], check=True)
    (baseline / 'hbbp.h.txt').write_text(header)
    print(f'{baseline}: libhbbp {public_abi.version(header)}, '
          f'{len(public_abi.functions(header))} functions')
    return 0


if __name__ == '__main__':
    sys.exit(main())
