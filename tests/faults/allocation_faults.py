"""Makes the allocations of `hbbp record` inside a program fail, one in each run and all from one on.

usage: allocation_faults.py HBBP FAILING_MEMORY PROGRAM [--all] [--source NAME] [--only N]

PROGRAM must print and end as it does alone, or not run at all: exit status 2 and a message.
No file may remain except the profile, which `hbbp info` can read.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
TIME_LIMIT_S = 60
SOURCES = {
    'ebs': ['--source', 'ebs', '-e', 'task-clock', '-c', '1000000'],
    'lookahead': ['--source', 'swbt', '-c', '1000000'],
}


class Bench:

    def __init__(self, options):
        self.options = options
        plain = subprocess.run([options.program, '10'], capture_output=True, text=True, check=False)
        self.expected = plain.returncode, plain.stdout

    def run(self, nth, goes_on):
        """Returns (what is wrong or None, how many failed, of how many)."""
        directory = pathlib.Path(tempfile.mkdtemp(prefix='hbbp-faults-'))
        try:
            work = directory / 'work'
            work.mkdir()
            report = directory / 'report'
            environment = {**os.environ, 'LD_PRELOAD': self.options.library,
                           'HBBP_FAULT_NTH': str(nth), 'HBBP_FAULT_REPORT': str(report)}
            if goes_on:
                environment['HBBP_FAULT_ON'] = '1'
            command = [self.options.hbbp, 'record', *SOURCES[self.options.source], '-o',
                       work / 'out.data', '--', self.options.program, '10']
            try:
                done = subprocess.run(command, env=environment, cwd=work, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=TIME_LIMIT_S,
                                      check=False)
            except subprocess.TimeoutExpired:
                return 'hangs', 0, 0
            lines = report.read_text().splitlines() if report.exists() else []
            failed = sum(int(line.split()[0]) for line in lines)
            return self.judge(done, work), failed, sum(int(line.split()[2]) for line in lines)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def judge(self, done, work):
        left = [path.name for path in work.iterdir() if path.name != 'out.data']
        if left:
            return f'leaves {left}'
        if 'hbbp record: ' not in done.stderr:
            return f'no word: {done}'
        refused = done.returncode == 2 and done.stdout == ''
        if not refused and (done.returncode, done.stdout) != self.expected:
            return f'harmed: {done}'
        file = work / 'out.data'
        if file.exists():
            info = subprocess.run([self.options.hbbp, 'info', file], capture_output=True, text=True,
                                  check=False)
            if info.returncode != 0:
                return f'unreadable: {info.stderr}'
        elif not refused and 'memory' not in done.stderr:
            return f'no profile, and no memory is not named: {done.stderr}'
        return None


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument('hbbp')
    parser.add_argument('library')
    parser.add_argument('program')
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--source', default='ebs', choices=SOURCES)
    parser.add_argument('--only', type=int, default=0)
    parser.add_argument('--jobs', type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    for name in ('hbbp', 'library', 'program'):
        setattr(options, name, os.path.realpath(getattr(options, name)))
    return options


def why_not_here(options):
    doctor = subprocess.run([options.hbbp, 'doctor', '--format', 'json'], capture_output=True,
                            text=True, check=False)
    rows = {row['name']: row for row in json.loads(doctor.stdout)['rows']}
    needed = ['task_clock' if options.source == 'ebs' else 'sigtrap']
    if options.source in ('breakpoint', 'verify'):
        needed.append('breakpoint')
    missing = [rows[name]['detail'] for name in needed if rows[name]['state'] != 'supported']
    return missing[0] if missing else None


def numbers(last, everything):
    """Yields each of the first ones, and ever fewer of the later ones."""
    dense, growth = (last, 1) if everything else (24, 6)
    n = 1
    while n <= last:
        yield n
        n += 1 if n < dense else max(1, n // growth)


def main():
    options = parse()
    reason = why_not_here(options)
    if reason:
        print('SKIPPED:', reason)
        sys.exit(SKIPPED)
    bench = Bench(options)
    problem, failed, allocations = bench.run(0, False)
    if problem or failed or not allocations:
        sys.exit(f'does not work without faults: {problem}')
    cases = [(n, goes_on) for goes_on in (False, True)
             for n in ([options.only] if options.only else numbers(allocations, options.all))]
    wrong = failures = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, (problem, failed, _) in zip(cases, pool.map(lambda c: bench.run(*c), cases)):
            failures += failed
            if problem:
                wrong += 1
                print(f'allocation {case[0]}{" and all later ones" if case[1] else ""}: {problem}',
                      flush=True)
    print(f'{len(cases)} runs of {allocations} allocations, {failures} allocations failed, {wrong} wrong')
    if wrong or not failures:
        sys.exit(1)


if __name__ == '__main__':
    main()
