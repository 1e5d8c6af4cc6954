#!/usr/bin/env python3
"""Measures what recording for productions costs real programs, in CPU time of the program and the recorder together.

usage: live_overhead.py HBBP [--only PROGRAM,...] [--runs N] [--repeat N] [--period NS,...]

--repeat has programs do N times as much.

Runs of each kind alternate: plain, with whole bursts, and with the addresses that they accessed, at the defaults of
`hbbp record` or with bursts each so many ns of CPU time. Prints a table of the median time of plain runs, and of the medians of what the others take more than the
plain run before them.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile

import productions

TEXT_BYTES = 30_000_000
KINDS = {
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


def cpu_seconds(command, directory):
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, 'LC_ALL': 'C'})
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f'{command[0]} ended with status {status}')
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('hbbp')
    parser.add_argument('--only')
    parser.add_argument('--runs', type=int, default=9)
    parser.add_argument('--repeat', type=int, default=1)
    parser.add_argument('--period')
    options = parser.parse_args()
    commands = programs(options.repeat)
    kinds = kinds_at(options.period)
    hbbp = pathlib.Path(options.hbbp).resolve()
    print(f'| program | plain, s | {" | ".join(f"{kind}, %" for kind in kinds)} |')
    print('|---' * (len(kinds) + 2) + '|')
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        text = b''.join(path.read_bytes() for path in sorted(pathlib.Path('/usr/include').glob('*.h')))
        (directory / 'text').write_bytes((text * (1 + TEXT_BYTES // len(text)))[:TEXT_BYTES])
        (directory / 'long.lua').write_text(f'for round = 1, arg[1] do {productions.LUA} end')
        for program in options.only.split(',') if options.only else commands:
            plain, more = [], {kind: [] for kind in kinds}
            cpu_seconds(commands[program], directory)
            for _ in range(options.runs):
                for kind, words in kinds.items():
                    plain.append(cpu_seconds(commands[program], directory))
                    recorded = cpu_seconds([hbbp, 'record', *words, '-o', 'out.data', '--', *commands[program]], directory)
                    more[kind].append(100 * (recorded / plain[-1] - 1))
            cells = [f'{statistics.median(plain):.2f}', *(f'{statistics.median(values):.1f}' for values in more.values())]
            print(f'| {program} | {" | ".join(cells)} |', flush=True)


if __name__ == '__main__':
    main()
