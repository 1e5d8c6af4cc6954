#!/usr/bin/env python3
"""Writes a sample profile for clang -fprofile-sample-use from a profile of hbbp.

usage: sample_profile.py PROGRAM PROFILE [-o FILE]

PROGRAM was built with -g (clang: -fdebug-info-for-profiling) and is the module of PROFILE whose lines are
used. A line gets the highest count of its instructions, as in AutoFDO (Chen et al., "AutoFDO: Automatic
Feedback-Directed Optimization for Warehouse-Scale Applications", CGO 2016). Inlined code counts for the
function that was inlined; discriminators are not used.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


def functions(program):
    """Returns {name: (line of its declaration, the base of lines in a sample profile, address)}."""
    found = {}
    for entry in re.split(r'(?m)^ <\d+><', run('readelf', '--debug-dump=info', program)):
        name = re.search(r'DW_AT_(?:linkage_)?name\s*:.*?([\w$.]+)\s*$', entry, re.MULTILINE)
        line = re.search(r'DW_AT_decl_line\s*:\s*(\d+)', entry)
        start = re.search(r'DW_AT_low_pc\s*:\s*0x([0-9a-f]+)', entry)
        if 'DW_TAG_subprogram' in entry and name and line:
            found.setdefault(name.group(1), (int(line.group(1)), int(start.group(1), 16) if start else None))
    return found


def counts(program, profile):
    """Returns ({function: {line: executions}}, {address: executions}) of the module."""
    rows = json.loads(run('hbbp', 'mix', profile, '--by', 'inlined,line,address', '--values', 'executions',
                          '--where', f'module = {program.name}', '--format', 'json'))['rows']
    found, at = collections.defaultdict(lambda: collections.defaultdict(float)), {}
    for row in rows:
        at[int(row['address'], 16)] = row['executions']
        _, _, line = row['line'].rpartition(':')
        if line.isdigit():
            lines = found[row['inlined']]
            lines[int(line)] = max(lines[int(line)], row['executions'])
    return found, at


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program', type=pathlib.Path)
    parser.add_argument('profile')
    parser.add_argument('-o', '--output', default='/dev/stdout')
    arguments = parser.parse_args()
    known = functions(arguments.program)
    by_function, at = counts(arguments.program, arguments.profile)
    text = []
    for function, lines in sorted(by_function.items()):
        first, address = known.get(function, (None, None))
        offsets = {line - first: round(count) for line, count in lines.items() if first and line >= first}
        if not offsets:
            continue
        text.append(f'{function}:{sum(offsets.values())}:{round(at.get(address, 0))}')
        text += [f' {offset}: {count}' for offset, count in sorted(offsets.items())]
    if not text:
        sys.exit(f'{arguments.profile}: no lines of {arguments.program.name}; was it built with -g?')
    pathlib.Path(arguments.output).write_text('\n'.join(text) + '\n')


if __name__ == '__main__':
    main()
