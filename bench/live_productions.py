#!/usr/bin/env python3
"""Compares estimates of productions from whole bursts with exhaustive profiles of the same programs, by valgrind's stream, or by
single steps, which have values.

usage: live_productions.py HBBP [--only PROGRAM,...] [--short | --tiny] [--productions NAME,...] [--keep-accesses]
                           [--keep-values LIST] [--stream valgrind|step] [--period NS|default,...] [--runs N] [--repeat N]
                           [--exact-repeat N] [--exact DIRECTORY]

The bursts of several runs are added up. With --repeat programs do their work N times in each run, and with --exact-repeat
in that of the exhaustive profile. Exhaustive profiles take minutes; those in --exact are used again. The C library
must choose the same variants of its functions in both, and valgrind has no AVX-512. Prints a table of overlaps for each
profile: a row for each program, columns for each period, with the numbers of bursts and records. Of traces these are the
instructions in hot streams, because addresses of data differ from run to run.
"""
import argparse
import collections
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import productions

WITHOUT_AVX512 = {'GLIBC_TUNABLES': 'glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-ERMS,-FSRM,-RTM'}
DEFAULT = 'default'
# The built-in productions of values, without the start of the program: --productions values.productions.
VALUES = '''use framework
copy-sizes: entry && name ~ "*memcpy*", "*memmove*" && !(name ~ "*@plt", "*_chk*", "*wmem*", "*_ifunc") && !(module ~ ld-*) && sample_flag => count(rdx), null
divisors: mnemonic in (div, idiv) && !(module ~ ld-*) && sample_flag => count(pc, divisor), null
'''


def long_programs(times):
    """Ten times as long as those of productions.py, which --short takes: strides and traces of longer ones find no room."""
    return {
        'bzip2': ['bzip2', '-kc', *['text600k'] * times],
        'gzip': ['gzip', '-kc', *['text2500k'] * times],
        'lua': ['lua5.4', 'long.lua', str(10 * times)],
        'perl': ['perl', '-e', f'for my $round (1 .. {times}) {{ {productions.PERL.replace("text60k", "text600k")} }}'],
        'xz': ['xz', '-0', '-kc', *['text600k'] * times],
    }


def tiny_programs(times):
    """Short enough for single steps."""
    return {
        'bzip2': ['bzip2', '-kc', *['text6k'] * times],
        'gzip': ['gzip', '-kc', *['text25k'] * times],
        'lua': ['lua5.4', 'tiny.lua', str(times)],
        'sqlite3': ['sqlite3', ':memory:', *['.read tiny.sql'] * times],
        'sort': ['sort', *['text25k'] * times],
        'awk': ['awk', productions.AWK, *['text25k'] * times],
        'perl': ['perl', '-e', f'for my $round (1 .. {times}) {{ {productions.PERL.replace("text60k", "text6k")} }}'],
        'xz': ['xz', '-0', '-kc', *['text25k'] * times],
    }


def make_inputs(directory):
    productions.make_inputs(directory)
    text = b''.join(pathlib.Path(path).read_bytes() for path in sorted(glob.glob('/usr/include/*.h')))
    (directory / 'text600k').write_bytes(text[:600000])
    (directory / 'text2500k').write_bytes(text[:2500000])
    (directory / 'values.productions').write_text(VALUES)
    (directory / 'text25k').write_bytes(text[:25000])
    (directory / 'text6k').write_bytes(text[:6000])
    (directory / 'long.lua').write_text(f'for round = 1, arg[1] do {productions.LUA} end')
    tiny = productions.LUA.replace('3000', '300').replace('500', '50').replace('fib(17)', 'fib(12)')
    (directory / 'tiny.lua').write_text(f'for round = 1, arg[1] do {tiny} end')
    (directory / 'tiny.sql').write_text('drop table if exists t;' + productions.SQL.replace('1500', '150'))


def hot_instructions(document):
    """Returns how often the hot streams of each trace have each instruction."""
    traces = collections.defaultdict(collections.Counter)
    for row in document['rows']:
        for element in (row.get('stream') or '').split():
            traces[row['table']][element.rsplit(':', 1)[0]] += row['count']
    return traces


def compare_traces(exact, found):
    """Yields what `hbbp probe --compare` lists of tables of counts."""
    estimates = hot_instructions(found)
    for name, reference in hot_instructions(exact).items():
        estimate = estimates[name]
        records = sum(estimate.values())
        overlap = sum(min(count / sum(reference.values()), estimate[key] / max(1, records)) for key, count in reference.items())
        yield {'table': f'{name}, instructions', 'records': records, 'overlap': overlap}


def name_of(period):
    return period if period == DEFAULT else f'{int(period) / 1e6:g} ms'


class Bench:

    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.hbbp = pathlib.Path(options.hbbp).resolve()
        programs = tiny_programs if options.tiny else long_programs
        self.exact_programs = productions.PROGRAMS if options.short else programs(options.exact_repeat)
        self.programs = productions.PROGRAMS if options.short else programs(options.repeat)
        self.names = [word for name in options.productions.split(',') for word in ('-p', name)]

    def run(self, *words, **options):
        subprocess.run([str(word) for word in words], cwd=self.directory, check=True, stdout=subprocess.DEVNULL, **options)

    def exact(self, program):
        file = pathlib.Path(self.options.exact or self.directory).resolve() / f'{program}.json'
        if not file.exists():
            self.run(self.hbbp, 'probe', '--stream', self.options.stream, '--exhaustive', '--max-rows', '16M', *self.names,
                     '--format', 'json', '-o', file, '--', *self.exact_programs[program])
        return file

    def live(self, program, period, exact):
        """Returns what `hbbp probe --compare` lists, and the number of bursts."""
        profiles = []
        for number in range(self.options.runs):
            profiles.append(self.directory / f'{number}.data')
            self.run(self.hbbp, 'record', *(['-e', 'task-clock', '-c', period] if period != DEFAULT else []), '--keep-bursts', '64M',
                     *(['--keep-accesses'] if self.options.keep_accesses else []),
                     *(['--keep-values', self.options.keep_values] if self.options.keep_values else []),
                     '-o', profiles[-1], '--', *self.programs[program],
                     env={**os.environ, **(WITHOUT_AVX512 if self.options.stream == 'valgrind' else {})}, stderr=subprocess.DEVNULL)
        self.run(self.hbbp, 'merge', '-o', 'all.data', *profiles, stderr=subprocess.DEVNULL)
        probe = [self.hbbp, 'probe', '--profile', 'all.data', *self.names, '--format', 'json', '-o', 'probed.json']
        self.run(*probe)
        found = json.loads((self.directory / 'probed.json').read_text())
        rows = list(compare_traces(json.loads(exact.read_text()), found))
        if any(row.get('stream') is None for row in found['rows']):
            self.run(*probe, '--compare', exact)
            rows += json.loads((self.directory / 'probed.json').read_text())['rows']
        return rows, found['bursts']


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('hbbp')
    parser.add_argument('--only')
    parser.add_argument('--productions', default='hot-methods,call-pairs')
    parser.add_argument('--short', action='store_true')
    parser.add_argument('--tiny', action='store_true')
    parser.add_argument('--keep-accesses', action='store_true')
    parser.add_argument('--keep-values', default='')
    parser.add_argument('--stream', choices=['valgrind', 'step'], default='valgrind')
    parser.add_argument('--period', default='5000000,1000000,100000')
    parser.add_argument('--runs', type=int, default=20)
    parser.add_argument('--repeat', type=int, default=1)
    parser.add_argument('--exact-repeat', type=int, default=1)
    parser.add_argument('--exact')
    options = parser.parse_args()
    if options.short and (options.tiny or options.repeat != 1 or options.exact_repeat != 1):
        parser.error('--short goes without --tiny and repetitions')
    periods = options.period.split(',')
    rows = {}
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        make_inputs(directory)
        bench = Bench(options, directory)
        for program in options.only.split(',') if options.only else bench.programs:
            exact = bench.exact(program)
            instructions = json.loads(exact.read_text())['instructions']
            for period in periods:
                found, bursts = bench.live(program, period, exact)
                for row in found:
                    entry = rows.setdefault(row['table'], {}).setdefault(program, [f'{instructions / 1e6:.0f}'])
                    entry += [f'{bursts:,}', f'{row["records"]:,}', f'{100 * row["overlap"]:.1f}']
            print(f'{program} is done', file=sys.stderr)
    for table, programs in rows.items():
        print(f'\n{table}\n')
        columns = [f'{name_of(period)}: {what}' for period in periods for what in ('bursts', 'records', 'overlap in %')]
        print(f'| program | million instructions | {" | ".join(columns)} |')
        print('|---' * (len(columns) + 2) + '|')
        for program, values in programs.items():
            print(f'| {program} | {" | ".join(values)} |')


if __name__ == '__main__':
    main()
