#!/usr/bin/env python3
"""Compiles every public header alone, as C11 and C++17, and hbbp.h and hbbp.hpp, which include all, as C17 and C++20
too, with -DHBBP_DISABLE and without; hbbp.hpp as C++ only.

usage: check_headers.py COMPILER INCLUDE_DIRECTORY
COMPILER is a gcc or clang that compiles both languages.
"""
import pathlib
import subprocess
import sys

WARNINGS = ['-Wall', '-Wextra', '-pedantic', '-Wconversion', '-Wshadow', '-Wstrict-prototypes',
            '-Werror']
OLDEST = [('c', '-std=c11'), ('c++', '-std=c++17')]
LATER = [('c', '-std=c17'), ('c++', '-std=c++20')]
WHOLE = {'hbbp.h', 'hbbp.hpp'}


def compiles(compiler, include, header, language, standard, *options):
    # The header is included twice, which tests its guard.
    source = f'#include <{header}>\n#include <{header}>\n'
    warnings = [each for each in WARNINGS if language == 'c' or each != '-Wstrict-prototypes']
    command = [compiler, '-x', language, standard, *warnings, *options, f'-I{include}', '-fsyntax-only',
               '-']
    done = subprocess.run(command, input=source, text=True, stderr=subprocess.PIPE)
    if done.returncode != 0:
        print(f'{header} as {" ".join([standard[5:], *options])}:\n{done.stderr}', file=sys.stderr)
    return done.returncode == 0


def main():
    compiler, include = sys.argv[1], pathlib.Path(sys.argv[2])
    passed = failed = 0
    for path in sorted(include.glob('**/*.h*')):
        languages = OLDEST + LATER if path.name in WHOLE else OLDEST
        for language in languages:
            if path.suffix == '.hpp' and language[0] == 'c':
                continue
            for options in [], ['-DHBBP_DISABLE']:
                if compiles(compiler, include, path.relative_to(include), *language, *options):
                    passed += 1
                else:
                    failed += 1
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
