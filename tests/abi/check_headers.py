#!/usr/bin/env python3
"""Compiles every public header alone, as C11 and as C++17; hbbp.hpp as C++17 and C++20.

usage: check_headers.py COMPILER INCLUDE_FOLDER
COMPILER is a gcc or clang that compiles both languages.
"""
import pathlib
import subprocess
import sys

WARNINGS = ['-Wall', '-Wextra', '-pedantic', '-Wconversion', '-Werror']
C, CXX17, CXX20 = ('c', '-std=c11'), ('c++', '-std=c++17'), ('c++', '-std=c++20')


def compiles(compiler, include, header, language, standard):
    # Twice: the guard must hold, too.
    source = f'#include <{header}>\n#include <{header}>\n'
    command = [compiler, '-x', language, standard, *WARNINGS, f'-I{include}', '-fsyntax-only', '-']
    done = subprocess.run(command, input=source, text=True, stderr=subprocess.PIPE)
    if done.returncode != 0:
        print(f'{header} as {standard[5:]}:\n{done.stderr}', file=sys.stderr)
    return done.returncode == 0


def main():
    compiler, include = sys.argv[1], pathlib.Path(sys.argv[2])
    passed = failed = 0
    for path in sorted(include.glob('**/*.h*')):
        for language in (CXX17, CXX20) if path.suffix == '.hpp' else (C, CXX17):
            if compiles(compiler, include, path.relative_to(include), *language):
                passed += 1
            else:
                failed += 1
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
