#!/usr/bin/env python3
"""Checks that there is one version everywhere: CMake, Meson, version.h, hbbp.pc, Python, newest node of libhbbp.map, Cargo.

usage: check_version.py CMAKE_VERSION SOURCE_DIRECTORY HBBP_PC
"""
import pathlib
import re
import sys

import elf


def main():
    expected, source, pc = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    header = (source / 'include/hbbp/version.h').read_text()
    numbers = dict(re.findall(r'#define HBBP_VERSION_(MAJOR|MINOR|PATCH) (\d+)', header))
    meson = re.search(r"version: '([\d.]+)'", (source / 'meson.build').read_text())
    python = (source / 'bindings/python/src/hbbp/_abi.py').read_text()
    newest_node = list(elf.map_nodes((source / 'lib/capi/libhbbp.map').read_text()))[-1]
    found = {
        'HBBP_VERSION_MAJOR, _MINOR, _PATCH':
            '.'.join(numbers.get(part, '?') for part in ('MAJOR', 'MINOR', 'PATCH')),
        'HBBP_VERSION_STRING': re.search(r'HBBP_VERSION_STRING "(.*)"', header).group(1),
        'hbbp.pc': re.search(r'^Version: (.*)$', pc.read_text(), flags=re.M).group(1),
        'bindings/python': re.search(r"^HBBP_VERSION_STRING = '(.*)'$", python, flags=re.M).group(1),
        'meson.build': meson.group(1) if meson else 'none',
    }
    for name in ('Cargo.toml', 'hbbp/Cargo.toml', 'Cargo.lock'):
        text = (source / 'bindings/rust' / name).read_text()
        versions = re.findall(r'^(?:version|hbbp-sys)\b.*"([\d.]+)"', text, flags=re.M)
        found['bindings/rust/' + name] = ' and '.join(sorted(set(versions))) or 'none'
    problems = [f'{where}: {version}' for where, version in found.items() if version != expected]
    if newest_node != 'HBBP_' + '.'.join(expected.split('.')[:2]):
        problems.append(f'libhbbp.map: {newest_node}')
    for problem in problems:
        print(f'{problem}; CMake has {expected}', file=sys.stderr)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
