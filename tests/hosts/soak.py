#!/usr/bin/env python3
"""Profiles hosts under load, in every mode, and compares them with plain runs.

usage: soak.py [--build DIR] [--group NAME]... [--host NAME]...
               [--mode NAME]... [--way record|restart|killed]... [--runs N] [--period NS]...
               [--output FILE] [--fast] [--list]

  record   hbbp record, from the start to the end
  restart  restart_sessions.so in the program: a session of libhbbp each second
  killed   SIGKILL at some moment, of the program and of hbbp

A host was harmed if it ends differently than without a profiler, prints or writes something else, does
not end in time, or has more descriptors, threads or mappings after each session. Percentiles of servers are
reported only. Prints a table; exit status 1 if any host was harmed, 77 if all were skipped.
"""
import argparse
import collections
import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import hosts
import vector
from host import Batch, Server

MODES = {
    'lookahead': ['--source', 'swbt', '--mode', 'lookahead'],
    'verify': ['--source', 'swbt', '--mode', 'verify'],
    'breakpoint': ['--source', 'swbt', '--mode', 'breakpoint'],
    'ebs': ['--source', 'ebs'],
    'outside': ['--source', 'swbt', '--outside', '--children'],
    'outside-verify': ['--source', 'swbt', '--outside', '--children', '--mode', 'verify'],
}
# These have no sessions in the program.
OUTSIDE = ('outside', 'outside-verify')
WAYS = ('record', 'restart', 'killed')
GROUPS = {
    'small': hosts.SMALL,
    'runtimes': hosts.RUNTIMES,
    'servers': hosts.SERVERS,
    'vector': None,  # only in vector.py
}
NOBODY = 65534
SKIPPED = 77
PERIOD_NS = 1_000_000
# Verification stops at each branch of a burst; the fast hosts have fewer bursts then.
VERIFY_PERIOD_OF_FAST_NS = 2_000_000
# A program may take longer than alone by this factor, and these seconds. Verification stops at each branch, and the
# shorter the period the more of it is verified.
SLOWDOWN = {'verify': 200, 'outside-verify': 200}
SLOWDOWN_OF_SHORT_PERIODS = {'verify': 2000, 'outside-verify': 2000}
SHORT_PERIOD_NS = 500_000
DEFAULT_SLOWDOWN = 15
SLACK_SECONDS = 20
START_SECONDS = 20
RESTART_MS = 1000
RESTART_MS_OF_FAST = 100
# Number of sessions before leaks per session are judged.
SESSIONS_TO_JUDGE = 4
# Maximum growth of a server under the second round of its load, over the plain one: descriptors, threads, mappings.
MAX_GROWTH = (2, 2, 24)
KILLS = 6
KILLS_OF_FAST = 3


class Skipped(Exception):
    pass


class Harmed(Exception):
    pass


@dataclasses.dataclass
class Result:
    """The result of one run; `harm` is empty if the host was not harmed."""
    seconds: float = 0
    # This includes starting, stopping and queries.
    minutes: float = 0
    harm: str = ''
    samples: int = 0
    # These are branches that mode verify compared, and those that were wrong by reason.
    verified: int = 0
    disagreements: dict = dataclasses.field(default_factory=dict)
    # These are messages of sessions that could not start.
    refusals: set = dataclasses.field(default_factory=set)
    latency_ms: float = 0
    rate: float = 0


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


def status_of(returncode):
    """Returns the exit status in the convention of a shell and hbbp record."""
    return returncode if returncode >= 0 else 128 - returncode


def children_of(pid):
    with contextlib.suppress(OSError):
        for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
            yield from map(int, (task / 'children').read_text().split())


def descendants(pid):
    for child in children_of(pid):
        yield child
        yield from descendants(child)


def program_of(tool):
    """Returns the process that `tool`, which has helpers of its own, records; None before it has begun."""
    try:
        executable = os.readlink(f'/proc/{tool}/exe')
    except FileNotFoundError:  # it has ended
        return None
    for child in children_of(tool):
        with contextlib.suppress(OSError):
            if os.readlink(f'/proc/{child}/exe') != executable:
                return child
    return None


def usage_of(pids, seconds=0):
    """Returns the sum of (descriptors, threads, mappings) over processes, each the minimum within some time."""
    minimum = {}
    end = time.monotonic() + seconds
    while True:
        for pid in pids:
            with contextlib.suppress(OSError):
                process = pathlib.Path(f'/proc/{pid}')
                found = (len(os.listdir(process / 'fd')), len(os.listdir(process / 'task')),
                         (process / 'maps').read_text().count('\n'))
                minimum[pid] = tuple(map(min, minimum.get(pid, found), found))
        if time.monotonic() >= end:
            return tuple(map(sum, zip((0, 0, 0), *minimum.values())))
        time.sleep(0.02)


class Runner:
    """Runs one host in a directory of its own, plain first."""

    def __init__(self, options, host):
        self.options = options
        self.host = host
        self.work = pathlib.Path(tempfile.mkdtemp(prefix='hbbp-host-'))
        self.work.chmod(0o777)
        self.profile = self.work / 'profile.data'
        self.log = self.work / 'restart.log'
        self.random = random.Random(host.name)
        self.plain = None
        self.port = 0
        self.period = PERIOD_NS

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.work, ignore_errors=True)

    def expand(self, text):
        values = {'work': self.work, 'programs': self.options.build.programs, 'port': self.port,
                  'integration': self.options.build.integration,
                  'library': self.options.build.programs / 'loaded_library.so'}
        return re.sub(r'\{(work|programs|port|integration|library)\}', lambda found: str(values[found[1]]), text)

    def command(self, words):
        return [self.expand(word) for word in words]

    def environment(self, extra=()):
        return {**os.environ, 'LC_ALL': 'C.UTF-8', **self.host.environment, **dict(extra)}

    def identity(self):
        if not self.host.as_unprivileged or os.geteuid() != 0:
            return {}
        return {'user': NOBODY, 'group': NOBODY, 'extra_groups': []}

    def write_files(self):
        for name, text in self.host.files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.expand(text) if name.endswith('.conf') else text)

    def prepare(self):
        self.write_files()
        for words in self.host.prepare:
            command = self.command(words)
            if shutil.which(command[0]) is None:
                raise Skipped(f'no {command[0]}: install {self.host.packages}')
            result = subprocess.run(command, cwd=self.work, env=self.environment(), stdin=subprocess.DEVNULL,
                                    capture_output=True, text=True, timeout=180, **self.identity())
            if result.returncode != 0:
                raise Skipped(f'{command[0]} failed: {(result.stdout + result.stderr).strip()[-200:]}')
        program = self.expand(self.host.command[0])
        if shutil.which(program) is None:
            what = f'install {self.host.packages}' if self.host.packages else 'it was not built'
            raise Skipped(f'no {os.path.basename(program)}: {what}')
        for path in [self.work, *self.work.rglob('*')]:
            if self.host.as_unprivileged and os.geteuid() == 0:
                os.chown(path, NOBODY, NOBODY)

    # How it is started -------------------------------------------------------------------------

    def wrapped(self, command, way, mode):
        """Returns the command and the additions to its environment."""
        if way == 'record':
            period = ['-e', 'task-clock', '-c', str(self.period)] if self.period else []
            return [str(self.options.build.tool), 'record', *MODES[mode], *period, '-o', str(self.profile), '--',
                    *command], {}
        if way == 'restart':
            milliseconds = RESTART_MS_OF_FAST if self.host.is_fast else RESTART_MS
            extra = {'LD_PRELOAD': str(self.options.build.programs / 'restart_sessions.so'), 'HBBP_RESTART': mode,
                     'HBBP_RESTART_MS': str(milliseconds), 'HBBP_RESTART_LOG': str(self.log)}
            if self.host.forks:
                extra['HBBP_RESTART_FORKS'] = '1'
            return command, extra
        return command, {}

    @contextlib.contextmanager
    def started(self, way, mode):
        """Starts the process in a session of its own, all of which is killed at the end."""
        for path in self.work.glob('profile.data*'):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.log.unlink(missing_ok=True)
        command, extra = self.wrapped(self.command(self.host.command), way, mode)
        with open(self.work / 'stdout', 'w+') as out, open(self.work / 'stderr', 'w+') as err:
            process = subprocess.Popen(command, cwd=self.work, env=self.environment(extra), stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=err, start_new_session=True, **self.identity())
            try:
                yield process
            finally:
                # Some make process groups of their own.
                started = list(descendants(process.pid))
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                for pid in started:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                process.wait()

    def wait(self, process, mode):
        is_short = 0 < self.period < SHORT_PERIOD_NS
        slowdown = (SLOWDOWN_OF_SHORT_PERIODS if is_short else SLOWDOWN).get(mode, DEFAULT_SLOWDOWN)
        limit = SLACK_SECONDS + self.host.patience * slowdown * (self.plain.seconds if self.plain else 10)
        try:
            return status_of(process.wait(limit))
        except subprocess.TimeoutExpired:
            states = collections.Counter()
            for pid in descendants(process.pid):
                with contextlib.suppress(OSError):
                    states[pathlib.Path(f'/proc/{pid}/wchan').read_text() or 'running'] += 1
            raise Harmed(f'hangs: not ended after {limit:.0f} s, {dict(states)}') from None

    def printed(self, name):
        return (self.work / name).read_bytes().decode('latin-1')

    def last_message(self):
        """Returns messages other than the summary."""
        summary = ('exit status', 'bursts of', 'samples of', 'busiest modules', 'wrote', 'next:')
        lines = [line for line in self.printed('stderr').strip().splitlines()
                 if not (line.startswith('hbbp record: ') and any(word in line for word in summary))]
        return f'; {lines[-1][:200]}' if lines else ''

    # What came of it ---------------------------------------------------------------------------

    def digest_of_outputs(self):
        digest = hashlib.sha256()
        for name in getattr(self.host, 'outputs', []):
            path = self.work / name
            digest.update(path.read_bytes() if path.exists() else b'missing')
        return digest.hexdigest()

    def run_batch(self, way, mode):
        """Returns (status, stdout, digest) and the duration in seconds."""
        for name in self.host.outputs:
            (self.work / name).unlink(missing_ok=True)
        begin = time.monotonic()
        with self.started(way, mode) as process:
            status = self.wait(process, mode)
        seconds = time.monotonic() - begin
        out = self.printed('stdout')
        problem = self.host.check(out + self.printed('stderr')) if status == 0 else ''
        if problem and self.plain:
            raise Harmed(problem)
        if problem:
            raise Skipped(f'fails without a profiler: {problem}')
        shown = self.host.normalize(out) if self.host.compares_stdout else ''
        if len(shown) > 10_000:
            shown = hashlib.sha256(shown.encode('latin-1')).hexdigest()
        return (status, shown, self.digest_of_outputs()), seconds

    def run_load(self):
        text = ''
        for words in self.host.load:
            try:
                result = subprocess.run(self.command(words), cwd=self.work, env=self.environment(),
                                        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                                        **self.identity())
            except subprocess.TimeoutExpired:
                raise Harmed(f'{words[0]} waits for ever') from None
            text += result.stdout + result.stderr
            if result.returncode != 0:
                raise Harmed(f'{words[0]}: {text[-300:]}')
        problem = self.host.check(text)
        if problem:
            raise Harmed(problem)
        return text

    def wait_for_port(self, process):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if process.poll() is not None:
                raise Harmed(f'ended with {status_of(process.returncode)} at its start: {self.printed("stderr")[-300:]}')
            if self.takes_requests():
                return
            time.sleep(0.1)
        raise Harmed(f'took no requests after {START_SECONDS} s')

    def takes_requests(self):
        if self.host.ready:
            return subprocess.run(self.command(self.host.ready), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, timeout=START_SECONDS).returncode == 0
        with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', self.port), timeout=1):
            return True
        return False

    def run_server(self, way, mode):
        """Returns (status, answers), seconds of load, its growth, p99 in ms and requests per second."""
        self.port = free_port()
        self.write_files()
        with self.started(way, mode) as process:
            self.wait_for_port(process)
            try:
                begin = time.monotonic()
                self.run_load()
                answers = self.host.ask(self.port)
                main = process.pid if way != 'record' else program_of(process.pid)
                # Resources of a running session are not leaks; between two sessions there are none.
                seconds_of_usage = 2 * RESTART_MS / 1000 if way == 'restart' else 0
                before = usage_of([main, *descendants(main)], seconds_of_usage)
                text = self.run_load()
                answers += self.host.ask(self.port)
                seconds = time.monotonic() - begin
                # Closed connections have timed out by now.
                time.sleep(0.5)
                after = usage_of([main, *descendants(main)], seconds_of_usage)
                if way == 'restart':
                    time.sleep((SESSIONS_TO_JUDGE + 1) * RESTART_MS / 1000 * 1.2)
            except Harmed as problem:
                raise Harmed(f'{problem}; {self.end_of(process)}') from None
            os.kill(main, getattr(signal, self.host.stop_signal))
            status = self.wait(process, mode)
        latency, rate = self.host.latency(self.work, text) if self.host.load else (0.0, 0.0)
        growth = tuple(b - a for a, b in zip(before, after))
        return (status, answers), seconds, growth, latency, rate

    def end_of(self, process):
        """Says what became of a server whose load has failed."""
        try:
            state = f'the server ended with {status_of(process.wait(2))}'
        except subprocess.TimeoutExpired:
            state = 'the server still runs'
        return f'{state}: {self.printed("stdout")[-1500:]} {self.printed("stderr")[-500:]}'

    def judge_profiles(self, result, mode):
        files = [path for path in self.work.glob('profile.data*') if '.parts-' not in path.name]
        left = [path.name for path in self.work.glob('*.parts-*')]
        if left:
            raise Harmed(f'left over: {left}')
        for path in files:
            shown = subprocess.run([str(self.options.build.tool), 'info', '--format', 'json', str(path)],
                                   capture_output=True, text=True)
            if shown.returncode != 0:
                raise Harmed(f'unreadable profile: {shown.stderr.strip()}')
            for source in json.loads(shown.stdout)['sources']:
                result.samples += source['samples']
                result.verified += source.get('verified_branches', 0)
                counters = {'disagreements': source.get('disagreements', 0),
                            **{name: value for name, value in source.get('counters', {}).items()
                               if name.startswith('disagreement')}}
                if any(counters.values()) and not any(name.startswith('wrong at ') for name in source['counters']):
                    raise Harmed('disagreements, but not where')
                for name, value in counters.items():
                    if value:
                        result.disagreements[name] = result.disagreements.get(name, 0) + value
        may_lack_samples = self.host.may_lack_samples or mode in self.host.may_lack_bursts_in
        if result.samples == 0 and self.period and not may_lack_samples:
            raise Harmed('no samples: ' + (self.printed('stderr').strip().splitlines() or ['no message'])[-1][:200])

    def judge_sessions(self, result):
        """Judges the log of restart_sessions.so."""
        lines = self.log.read_text(errors='replace').splitlines() if self.log.exists() else []
        kept = collections.defaultdict(list)
        for line in lines:
            pid, samples, *counts, message = line.split(' ', 8)
            counts = [int(count) for count in counts]
            if message != 'ok':
                result.refusals.add(message)
            result.samples += int(samples)
            kept[pid].append([after - before for before, after in zip(counts[:3], counts[3:])])
        for pid, rows in kept.items():
            # The first session maps what all others use.
            rows = rows[1:]
            if len(rows) + 1 < SESSIONS_TO_JUDGE:
                continue
            for index, what in enumerate(('descriptors', 'threads', 'mappings')):
                if what in self.host.changes:
                    continue
                minimum = min(row[index] for row in rows)
                if minimum > 0:
                    raise Harmed(f'{minimum} {what} leaked by each of {len(rows)} sessions')

    def run(self, way, mode):
        result = Result()
        try:
            if isinstance(self.host, Server):
                found, result.seconds, growth, result.latency_ms, result.rate = self.run_server(way, mode)
            else:
                found, result.seconds = self.run_batch(way, mode)
                growth = (0, 0, 0)
            if self.plain is None:
                result.found, result.growth = found, growth
                return result
            self.compare(found, growth)
            if way == 'record':
                self.judge_profiles(result, mode)
            else:
                self.judge_sessions(result)
        except Harmed as problem:
            if self.plain is None:
                raise Skipped(f'fails without a profiler: {problem}') from None
            result.harm = str(problem)
        return result

    def compare(self, found, growth):
        expected = self.plain.found
        for name, a, b in zip(('status', 'output', 'files'), expected, found):
            if a != b:
                shown = f': {a!r} became {b!r}' if len(str(a)) + len(str(b)) < 120 else ''
                raise Harmed(f'another {name}{shown}{self.last_message()}')
        for what, mine, plain, limit in zip(('descriptors', 'threads', 'mappings'), growth, self.plain.growth, MAX_GROWTH):
            if mine - max(plain, 0) > limit:
                raise Harmed(f'{mine} more {what} after the second round of load, {plain} when plain')

    # Killed ------------------------------------------------------------------------------------

    def run_killed(self, mode):
        """Kills the program, or hbbp itself, at some moment; the others must end properly."""
        result = Result()
        try:
            for attempt in range(KILLS_OF_FAST if self.options.fast else KILLS):
                kills_tool = attempt % 3 == 2
                with self.started('record', mode) as process:
                    time.sleep(self.random.uniform(0, min(1.0, self.plain.seconds)))
                    program = program_of(process.pid)
                    if program is None:
                        continue
                    os.kill(process.pid if kills_tool else program, signal.SIGKILL)
                    status = self.wait(process, mode)
                    if kills_tool:
                        self.wait_for_end(program)
                        if self.printed('stdout') not in ('', self.plain.found[1]):
                            raise Harmed('another output after hbbp was killed')
                    elif status != 128 + signal.SIGKILL:
                        raise Harmed(f'status {status} of a killed program{self.last_message()}')
        except Harmed as problem:
            result.harm = str(problem)
        return result

    def wait_for_end(self, pid):
        end = time.monotonic() + SLACK_SECONDS + SLOWDOWN['verify'] * self.plain.seconds
        while os.path.exists(f'/proc/{pid}') and time.monotonic() < end:
            with contextlib.suppress(OSError):
                if 'State:\tZ' in pathlib.Path(f'/proc/{pid}/status').read_text():
                    return
            time.sleep(0.1)
        if time.monotonic() >= end:
            raise Harmed('the program hangs after hbbp was killed')

    def measure_plain(self):
        self.prepare()
        self.plain = self.run('plain', None)
        if self.plain.found[0] == SKIPPED:
            raise Skipped('not possible here')
        if isinstance(self.host, Batch) and self.plain.found[0] != self.host.status:
            raise Skipped(f'ends with status {self.plain.found[0]} without a profiler, '
                          f'not {self.host.status}{self.last_message()}')


def cell(results):
    if not results:
        return '-'
    harmed = [result for result in results if result.harm]
    return f'**{len(harmed)} of {len(results)}**' if harmed else str(len(results))


def notes(plain, by_column):
    """Describes further observations: disagreements, percentiles, harm."""
    found = []
    for column, results in by_column.items():
        for reason in sorted({result.harm for result in results if result.harm}):
            found.append(f'{column}: {reason}')
        for message in sorted(set().union(*[result.refusals for result in results])):
            found.append(f'{column}: a session did not start: {message}')
        disagreements = collections.Counter()
        for result in results:
            disagreements.update(result.disagreements)
        verified = sum(result.verified for result in results)
        if verified:
            found.append(f'{column}: {verified} branches verified')
        found += [f'{column}: {count} {name}' for name, count in disagreements.items()]
    if plain.latency_ms:
        latencies = [('plain', plain.latency_ms, plain.rate)]
        for column, results in by_column.items():
            whole = [result for result in results if result.latency_ms]
            if whole:
                latencies.append((column, max(result.latency_ms for result in whole),
                                  sum(result.rate for result in whole) / len(whole)))
        found.append('p99 ms (requests/s): ' + ', '.join(f'{name} {ms:.2f} ({rate:.0f})' for name, ms, rate in latencies))
    return '; '.join(found).replace('|', '\\|').replace('\n', ' ')


def table(rows, columns, skipped):
    lines = ['| host | plain, s | ' + ' | '.join(columns) + ' | notes |',
             '|---|---|' + '---|' * len(columns) + '---|']
    for name, plain, by_column in rows:
        cells = ' | '.join(cell(by_column.get(column, [])) for column in columns)
        lines.append(f'| {name} | {plain.seconds:.1f} | {cells} | {notes(plain, by_column)} |')
    lines += [f'| {name} | skipped | ' + ' | '.join('-' for _ in columns) + f' | {reason} |' for name, reason in skipped]
    return '\n'.join(lines)


class Build:
    """The paths of the build."""

    def __init__(self, directory):
        build = pathlib.Path(directory).resolve()
        self.tool = build / 'tools/hbbp'
        self.programs = build / 'tests/hosts/programs'
        self.integration = build / 'tests/integration/programs'


def add_build(parser):
    parser.add_argument('--build', type=Build, default=str(pathlib.Path(__file__).resolve().parents[2] / 'build/dev'))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_build(parser)
    parser.add_argument('--group', action='append', choices=GROUPS, default=[])
    parser.add_argument('--host', action='append', default=[])
    parser.add_argument('--mode', action='append', choices=MODES, default=[])
    parser.add_argument('--way', action='append', choices=WAYS, default=[])
    parser.add_argument('--runs', type=int, default=1)
    parser.add_argument('--period', type=int, action='append', default=[],
                        help='nanoseconds; 0: the default of hbbp record')
    parser.add_argument('--output', type=pathlib.Path, help='the table, as Markdown')
    parser.add_argument('--fast', action='store_true', help='only hosts of a second or two; restarted in one mode, verified less')
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    return options


def chosen_names(options):
    """Returns [(group, name)]."""
    found = []
    for group in options.group or GROUPS:
        if group == 'vector':
            names = [name for name in vector.names() if not options.fast or name in vector.FAST]
        else:
            names = [host.name for host in GROUPS[group] if not options.fast or host.is_fast]
        found += [(group, name) for name in names if not options.host or name in options.host]
    return found


def find_host(group, name, directory):
    if group == 'vector':
        return vector.host(name, directory)
    return next(host for host in GROUPS[group] if host.name == name)


def columns_of(options):
    """Returns [(title, way, mode, period)]; the period is part of the title if there are several."""
    columns = []
    for way in options.way:
        for period in options.period if way == 'record' else options.period[:1]:
            shown = f' {period // 1000} us' if period else ' default'
            columns += [(f'{way} {mode}' + shown * (way == 'record' and len(options.period) > 1), way, mode, period)
                        for mode in (options.mode[:1] if options.fast and way == 'restart' else options.mode)]
    return columns


def applies(host, way, mode):
    if mode in OUTSIDE and way == 'restart':
        return False
    if host == hosts.KILLED:
        # A process that is stepped ends when its tracer is killed.
        return way == 'killed' and mode != 'outside-verify'
    return way == 'record' or way == 'restart' and not host.why_no_restart


def why_no_breakpoints(tool):
    """Returns None if there are breakpoints."""
    doctor = subprocess.run([tool, 'doctor', '--format', 'json'], capture_output=True, text=True, check=False)
    row, = [row for row in json.loads(doctor.stdout)['rows'] if row['name'] == 'breakpoint']
    return None if row['state'] == 'supported' else row['detail']


def run_host(options, host):
    """Returns the plain result and {column: results}."""
    by_column = {}
    with Runner(options, host) as runner:
        runner.measure_plain()
        for _ in range(options.runs):
            for column, way, mode, period in columns_of(options):
                if not applies(host, way, mode):
                    continue
                runner.period = VERIFY_PERIOD_OF_FAST_NS if options.fast and mode == 'verify' else period
                begin = time.monotonic()
                result = runner.run_killed(mode) if way == 'killed' else runner.run(way, mode)
                result.minutes = (time.monotonic() - begin) / 60
                by_column.setdefault(column, []).append(result)
                print(f'{time.strftime("%T")} {host.name}: {column}, {result.seconds:.1f} s, {result.samples} '
                      f'samples, {result.harm or "unharmed"}', file=sys.stderr, flush=True)
    return runner.plain, by_column


def main():
    # Everything that was started ends with this process.
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(128 + signal.SIGTERM))
    options = arguments()
    options.mode = options.mode or [mode for mode in MODES if not (options.fast and mode in OUTSIDE)]
    options.way = options.way or list(WAYS)
    options.period = options.period or [PERIOD_NS]
    names = chosen_names(options)
    if options.list:
        print('\n'.join(name for _, name in names))
        return 0
    reason = why_no_breakpoints(options.build.tool)
    if reason:
        print(f'modes that need breakpoints are skipped: {reason}')
        options.mode = [mode for mode in options.mode if mode not in ('breakpoint', 'verify')]
    if not options.mode:
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix='hbbp-hosts-') as directory:
        return run_all(options, [find_host(group, name, directory) for group, name in names])


def run_all(options, selected):
    columns = [column for column, _, _, _ in columns_of(options)]
    rows, skipped = [], []
    for host in selected:
        try:
            plain, by_column = run_host(options, host)
            rows.append((host.name, plain, by_column))
        except Skipped as reason:
            print(f'{host.name}: SKIPPED: {reason}', file=sys.stderr, flush=True)
            skipped.append((host.name, str(reason).replace('\n', ' ')))
    text = table(rows, columns, skipped)
    results = [result for _, _, by_column in rows for found in by_column.values() for result in found]
    harmed = sum(1 for result in results if result.harm)
    minutes = collections.Counter()
    for _, _, by_column in rows:
        for column, found in by_column.items():
            minutes[column] += sum(result.minutes for result in found)
    text += '\n\nminutes: ' + ', '.join(f'{column} {sum_:.1f}' for column, sum_ in minutes.items())
    text += f'\n\n{len(rows)} hosts, {len(results)} runs, {harmed} harmed, {len(skipped)} hosts skipped.\n'
    print(text)
    if options.output:
        options.output.write_text(text)
    if not rows:
        return SKIPPED
    return 1 if harmed else 0


if __name__ == '__main__':
    sys.exit(main())
