#!/usr/bin/env python3
"""Checks that struct_sizes_test.c calls every public function that takes a struct which may grow.

usage: check_sizes_tested.py INCLUDE_DIRECTORY TEST_SOURCE
"""
import pathlib
import re
import sys

import public_abi


def main():
    header = public_abi.flat_header(sys.argv[1])
    # hbbp_error is excluded: nearly all functions take it, and one function fills it.
    growing = public_abi.growing_structs(header) - {'hbbp_error'}
    source = pathlib.Path(sys.argv[2]).read_text()
    main_body = source[source.index('\nint main('):]
    taking = {name for name, declaration in public_abi.functions(header).items()
              if growing & set(re.findall(r'\b(\w+) \*', declaration))}
    missing = sorted(name for name in taking if f'test_{name}();' not in main_body)
    for name in missing:
        print(f'{sys.argv[2]}: does not test {name}', file=sys.stderr)
    print(f'{len(taking)} functions, {len(growing)} structs')
    return 1 if missing or not taking else 0


if __name__ == '__main__':
    sys.exit(main())
