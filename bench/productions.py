#!/usr/bin/env python3
"""Compares sampled profiles of productions with exhaustive ones of the same runs, by valgrind's stream.

usage: productions.py HBBP [--only PROGRAM,...] [--productions NAME,...] [--sample-freq N,...] [--burst-length N,...]
                      [--min-heat SHARE] [--svg DIRECTORY]

Prints a table of overlaps for each profile: a row for each program, a column for each sample frequency and burst length.
--svg draws, for each profile, what the overlaps lack of 100 %: DIRECTORY/productions-PROFILE.svg.
"""
import argparse
import glob
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parent / 'accuracy'))
import bar_chart

LUA = '''
local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
local t = {}
for i = 1, 3000 do t[#t+1] = (i * 7919) % 3001 end
table.sort(t)
local s = {}
for i = 1, 500 do s[#s+1] = string.format("%d:%s", t[i], tostring(i)) end
print(fib(17), #table.concat(s, ","))
'''
SQL = '''
create table t(a integer primary key, b text, c integer);
with recursive n(i) as (select 1 union all select i+1 from n where i<1500) insert into t select i, 'row'||i, (i*7919)%1009 from n;
create index tc on t(c);
select count(*), sum(c) from t where c between 100 and 600;
select b, c from t order by c desc, b limit 5;
select a.c, count(*) from t a join t b on a.c=b.c group by a.c order by 2 desc limit 3;
'''
AWK = '{for(i=1;i<=NF;i++) c[$i]++} END {for (w in c) if (c[w]>200) print w, c[w]}'
PERL = 'my %c; open F,"text60k"; while(<F>){ $c{$_}++ for split /\\W+/ } print scalar(keys %c),"\\n"'
PROGRAMS = {
    'bzip2': ['bzip2', '-kc', 'text60k'],
    'gzip': ['gzip', '-kc', 'text250k'],
    'lua': ['lua5.4', 'script.lua'],
    'sqlite3': ['sqlite3', ':memory:', '.read script.sql'],
    'sort': ['sort', 'text250k'],
    'awk': ['awk', AWK, 'text250k'],
    'perl': ['perl', '-e', PERL],
    'xz': ['xz', '-0', '-kc', 'text250k'],
}


def make_inputs(directory):
    text = b''.join(pathlib.Path(path).read_bytes() for path in sorted(glob.glob('/usr/include/*.h')))
    (directory / 'text60k').write_bytes(text[:60000])
    (directory / 'text250k').write_bytes(text[:250000])
    (directory / 'script.lua').write_text(LUA)
    (directory / 'script.sql').write_text(SQL)


def overlaps(options, program, directory):
    words = [pathlib.Path(options.hbbp).resolve(), 'probe', '--stream', 'valgrind', '--compare-exhaustive', '--format', 'json',
             '-o', 'overlaps.json', '--sample-freq', options.sample_freq, '--burst-length', options.burst_length]
    if options.min_heat:
        words += ['--min-heat', options.min_heat]
    for name in options.productions.split(','):
        words += ['-p', name]
    subprocess.run([*words, '--', *PROGRAMS[program]], cwd=directory, check=True, stdout=subprocess.DEVNULL)
    return json.loads((directory / 'overlaps.json').read_text())


def draw(directory, table, programs, columns):
    """`programs` has the overlaps of each column, in per cent, behind two other numbers."""
    lacking = {name: [1 - float(value) / 100 for value in values[2:]] for name, values in programs.items()}
    groups = [(column, [(values[i],) * 3 for values in lacking.values()]) for i, column in enumerate(columns)]
    title = f'{table}: 100 % less the overlap, by sample frequency / burst length'
    (directory / f'productions-{table}.svg').write_text(bar_chart.bars(title, list(lacking), groups))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('hbbp')
    parser.add_argument('--only', default=','.join(PROGRAMS))
    parser.add_argument('--productions', default='hot-methods,call-pairs,edges')
    parser.add_argument('--sample-freq', default='100,1000,10000')
    parser.add_argument('--burst-length', default='10,100,1000')
    parser.add_argument('--min-heat')
    parser.add_argument('--svg', type=pathlib.Path)
    options = parser.parse_args()
    rows = {}
    columns = []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        make_inputs(directory)
        for program in options.only.split(','):
            found = overlaps(options, program, directory)
            for note in found.get('notes', []):
                print(f'{program}: {note}', file=sys.stderr)
            for row in found['rows']:
                column = f'{row["sample_freq"]} / {row["burst_length"]}'
                if column not in columns:
                    columns.append(column)
                entry = rows.setdefault(row['table'], {}).setdefault(program, [found['instructions'], row['exhaustive']])
                entry.append(f'{100 * row["overlap"]:.1f}')
    for table, programs in rows.items():
        print(f'\n{table}, overlap in %\n')
        print(f'| program | million instructions | records | {" | ".join(columns)} |')
        print('|---' * (len(columns) + 3) + '|')
        for program, (instructions, records, *values) in programs.items():
            print(f'| {program} | {instructions / 1e6:.1f} | {records:,} | {" | ".join(values)} |')
        if options.svg:
            draw(options.svg, table, programs, columns)


if __name__ == '__main__':
    main()
