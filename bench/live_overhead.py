#!/usr/bin/env python3
"""Measures what recording for productions costs real programs, in CPU time of the program and the recorder together.

usage: live_overhead.py HBBP [--only PROGRAM,...] [--runs N] [--repeat N] [--period NS,...] [--svg FILE]

--repeat has programs do N times as much.

A run without anything for productions, with whole bursts, or with the addresses that these accessed, and a plain one run at the same
time on one CPU (shared_cpu.py), at the defaults of `hbbp record` or with bursts each so many ns of CPU time. Prints a table of the
median time of plain runs, and of the median and the range of what the others take more; --svg draws it.
"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile

import productions
import shared_cpu

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / 'accuracy'))

import bar_chart  # noqa: E402

TEXT_BYTES = 30_000_000
KINDS = {
    'nothing kept': [],
    'whole bursts': ['--keep-bursts', '64M'],
    'and accesses': ['--keep-accesses'],
}
SQL = ('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000) '
       'SELECT count(*), sum(i * i % 97), max(substr(hex(i), 2)) FROM n;')
PYTHON = ('import sys\nwords = {}\nfor i in range(4000000 * int(sys.argv[1])): words[str(i % 5000)] = words.get(str(i % 5000), 0) + i\n'
          'print(len(words))')


def kinds_at(periods):
    if not periods:
        return KINDS
    return {f'{int(period) / 1e6:g} ms: {kind}': [*words, '-e', 'task-clock', '-c', period]
            for period in periods.split(',') for kind, words in KINDS.items()}


def programs(times):
    return {
        'bzip2': ['bzip2', '-kc', *['text'] * times],
        'gzip': ['gzip', '-9kc', *['text'] * times],
        'xz': ['xz', '-T1', '-2kc', *['text'] * times],
        'lua': ['lua5.4', 'long.lua', str(2000 * times)],
        'perl': ['perl', '-e', f'for my $round (1 .. {3 * times}) {{ {productions.PERL.replace("text60k", "text")} }}'],
        'python': ['python3', '-c', PYTHON, str(times)],
        'sqlite3': ['sqlite3', ':memory:', *[SQL] * times],
        'sort': ['sort', '--parallel=1', *['text'] * 6 * times],
    }


def draw(path, programs, kinds):
    """`programs` has the overheads of each kind, run by run. What seems to cost less than nothing is drawn as nothing."""
    def bar(overheads):
        shown = [max(0, overhead) for overhead in overheads]
        return min(shown), statistics.median(shown), max(shown)

    groups = [(program, [bar(of_kinds[kind]) for kind in kinds]) for program, of_kinds in programs.items()]
    path.write_text(bar_chart.bars('CPU time that recording for productions adds', kinds, groups))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('hbbp')
    parser.add_argument('--only')
    parser.add_argument('--runs', type=int, default=9)
    parser.add_argument('--repeat', type=int, default=1)
    parser.add_argument('--period')
    parser.add_argument('--svg', type=pathlib.Path)
    options = parser.parse_args()
    commands = programs(options.repeat)
    kinds = kinds_at(options.period)
    if options.svg and len(kinds) > len(bar_chart.COLOURS):
        parser.error('there are not so many colours: name fewer periods')
    hbbp = str(pathlib.Path(options.hbbp).resolve())
    svg = options.svg.resolve() if options.svg else None
    print(f'| program | plain, s | {" | ".join(f"{kind}, %" for kind in kinds)} |')
    print('|---' * (len(kinds) + 2) + '|')
    measured = {}
    os.environ['LC_ALL'] = 'C'
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        text = b''.join(path.read_bytes() for path in sorted(pathlib.Path('/usr/include').glob('*.h')))
        (directory / 'text').write_bytes((text * (1 + TEXT_BYTES // len(text)))[:TEXT_BYTES])
        (directory / 'long.lua').write_text(f'for round = 1, arg[1] do {productions.LUA} end')
        os.chdir(directory)
        for program in options.only.split(',') if options.only else commands:
            plain, more = [], {}
            for kind, words in kinds.items():
                recorded = [hbbp, 'record', *words, '-o', 'out.data', '--', *commands[program]]
                seconds, ratios = zip(*shared_cpu.ratios(commands[program], recorded, options.runs))
                plain += seconds
                more[kind] = [ratio - 1 for ratio in ratios]
            measured[program] = more
            cells = [f'{statistics.median(plain):.2f}']
            cells += [f'{100 * statistics.median(values):.1f} ({100 * min(values):.1f} to {100 * max(values):.1f})'
                      for values in more.values()]
            print(f'| {program} | {" | ".join(cells)} |', flush=True)
        os.chdir('/')
    if svg:
        draw(svg, measured, list(kinds))


if __name__ == '__main__':
    main()
