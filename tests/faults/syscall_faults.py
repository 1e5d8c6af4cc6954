"""Makes the system calls of `hbbp record` fail, one in each run, and checks the outcome.

usage: syscall_faults.py HBBP INJECT_SYSCALL PROGRAM [--all] [--sources NAME,...] [--only TEXT]
                         [--jobs N]

First it lists the calls that are made with each source (inject_syscall.cc describes the contexts), then
it runs PROGRAM once for each of them, each error that the call may have, and the first few calls;
without --all, once for each call and one error. Each run must end in one of these ways, and prints a
line of a table:
  recorded  the program ran as it does alone, and there is a profile with the usual number of samples
  noted     the program ran as it does alone; something is missing, and a message or a note describes it
  refused   the program was not run, exit status 2, and a message that names the failure
  no profile  the program ran as it does alone, and a message names the failure
Anything else is an error: another output or exit status, a crash, a hang, remaining files or
processes, a profile that cannot be read, samples that are missing without a message.
"""
import argparse
import collections
import concurrent.futures
import errno
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
MISSING = ' missing without a word'
TIME_LIMIT_S = 20
SOURCES = {
    'ebs': ['--source', 'ebs', '-e', 'task-clock', '-c', '1000000'],
    'lookahead': ['--source', 'swbt', '-c', '1000000'],
    'breakpoint': ['--source', 'swbt', '-c', '5000000', '--mode', 'breakpoint'],
    'verify': ['--source', 'swbt', '-c', '5000000', '--mode', 'verify', '--burst', '16'],
}
# The first error of each is that of the short run.
ERRORS = {
    'access': 'EACCES',
    'arch_prctl': '',
    'brk': 'ENOMEM',
    'chdir': 'EACCES',
    'chmod': 'EPERM',
    'clone': 'EAGAIN ENOMEM',
    'clone3': 'EAGAIN ENOMEM ENOSYS',
    'close_range': 'ENOSYS EMFILE ENOMEM',
    'execve': 'EACCES ENOMEM',
    'fcntl': 'EMFILE EINVAL',
    'ftruncate': 'ENOSPC EINTR',
    'futex': 'EINTR EAGAIN',
    'getcwd': 'ENOENT ENOMEM',
    'getdents64': 'EIO ENOMEM',
    'getrandom': 'EINTR ENOSYS',
    'ioctl': 'ENOMEM EINVAL',
    'lseek': 'ESPIPE',
    'memfd_create': 'EMFILE ENOMEM EPERM',
    'mkdir': 'ENOSPC EACCES',
    'mmap': 'ENOMEM EPERM EACCES',
    'mprotect': 'ENOMEM EACCES',
    'newfstatat': 'EACCES ENOMEM',
    'openat': 'EMFILE EACCES ENOMEM EINTR',
    'perf_event_open': 'EMFILE EACCES ENOMEM ENOSPC',
    'pidfd_open': 'EMFILE',
    'pipe2': 'EMFILE',
    'poll': 'EINTR',
    'prctl': 'EPERM',
    'pread64': 'EIO EINTR short',
    'prlimit64': 'EPERM',
    'process_vm_readv': 'EPERM EFAULT ENOMEM',
    'read': 'EIO EINTR short',
    'readlink': 'EACCES ENOMEM',
    'rename': 'EACCES ENOSPC',
    'rmdir': 'EBUSY',
    'rt_sigaction': 'EINVAL',
    'rt_sigprocmask': 'EINVAL',
    'rt_tgsigqueueinfo': 'EAGAIN',
    'sched_getaffinity': 'EPERM',
    'sigaltstack': 'ENOMEM',
    'tgkill': 'EAGAIN',
    'timer_create': 'EAGAIN',
    'timer_settime': 'EINVAL',
    'unlink': 'EACCES',
    'unlinkat': 'EACCES',
    'unshare': 'EPERM ENOMEM',
    'wait4': 'EINTR',
    'write': 'ENOSPC EINTR short',
}
DEFAULT_ERRORS = 'ENOMEM EINTR'

Case = collections.namedtuple('Case', 'source context call nth error')
Outcome = collections.namedtuple('Outcome', 'kind detail location seconds')
Run = collections.namedtuple('Run', 'status out err report files info')


class Bench:

    def __init__(self, options):
        self.options = options
        self.usual_samples = {}

    def run(self, source, injection=()):
        directory = pathlib.Path(tempfile.mkdtemp(prefix='hbbp-faults-'))
        try:
            report = directory / 'report'
            work = directory / 'work'
            work.mkdir()
            file = work / 'out.data'
            arguments = [self.options.inject, '--report', report, '--time-limit', str(TIME_LIMIT_S),
                         *injection, '--', self.options.hbbp, 'record', *SOURCES[source],
                         '-o', file, '--', self.options.program]
            done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, errors='replace', cwd=work, check=False)
            text = report.read_text() if report.exists() else ''
            files = sorted(path.name for path in work.iterdir())
            return Run(done.returncode, done.stdout, done.stderr, text, files, self.info(file))
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def info(self, file):
        if not file.exists():
            return None
        result = subprocess.run([self.options.hbbp, 'info', '--format', 'json', file],
                                capture_output=True, text=True, check=False)
        return json.loads(result.stdout) if result.returncode == 0 else {'unreadable': result.stderr}

    def calls(self, source):
        """Returns {(context, call): how many} for the last of some runs in which nothing fails."""
        # The effects of a busy machine on one run must not be the standard for runs with faults.
        runs = [self.run(source) for _ in range(3)]
        for run in runs:
            if run.status != self.status or run.out != self.out or not run.info:
                sys.exit(f'{source}: does not work without faults: {run}')
        self.usual_samples[source] = min(self.samples_alone(source) for _ in range(3))
        found = {}
        for line in run.report.splitlines():
            words = line.split()
            if words[0] == 'call':
                found[words[1], words[2]] = int(words[3])
        return found

    def samples_alone(self, source):
        """Returns the samples of a run whose calls are not listed, since that takes several times as much CPU time."""
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / 'out.data'
            subprocess.run([self.options.hbbp, 'record', *SOURCES[source], '-o', file, '--',
                            self.options.program], stdin=subprocess.DEVNULL, capture_output=True, check=False)
            return samples(self.info(file))

    def find_truth(self):
        alone = subprocess.run([self.options.program], capture_output=True, text=True, check=False)
        self.status, self.out = alone.returncode, alone.stdout

    def judge(self, case):
        begin = time.monotonic()
        outcome = self.outcome(case)
        # A busy machine takes few samples, with a fault or without; a fault does so each time.
        for _ in range(2):
            if MISSING not in outcome.detail:
                break
            outcome = self.outcome(case)
        return outcome._replace(seconds=time.monotonic() - begin)

    def outcome(self, case):
        injection = ['--context', case.context, '--call', case.call, '--nth', str(case.nth)]
        injection += ['--short'] if case.error == 'short' else [
            '--error', str(getattr(errno, case.error))]
        run = self.run(case.source, injection)
        location = ''.join(line[len('injected '):] for line in run.report.splitlines()
                           if line.startswith('injected '))
        if not location:
            return Outcome('not made', '', '', 0)
        problem, kind = self.find_problem(case, run)
        message = run.err.strip().replace('\n', ' | ')
        if problem:
            return Outcome('WRONG', f'{problem}; status {run.status}; {message}', location, 0)
        return Outcome(kind, message if kind != 'recorded' else '', location, 0)

    def find_problem(self, case, run):
        words = run.report.split()
        if 'hang' in words:
            return 'hangs', ''
        if 'stray' in words:
            return 'leaves processes behind', ''
        others = [name for name in run.files if name != 'out.data']
        # A file that must not be removed cannot be checked.
        may_stay = case.context == 'command' and case.call in (
            'fcntl', 'getdents64', 'newfstatat', 'openat', 'rmdir', 'unlink', 'unlinkat')
        if others and not may_stay and 'what was recorded is in' not in run.err:
            return f'leaves {others} behind', ''
        if run.out not in ('', self.out):
            return f'other output: {run.out!r}', ''
        has_run = run.out == self.out
        if run.status == self.status and has_run:
            return self.find_loss(case, run)
        if run.status == 2 and not has_run:
            if not names_failure(case, run.err):
                return 'the message does not name the failure', ''
            return None, 'refused'
        return 'other exit status', ''

    def find_loss(self, case, run):
        if run.info is None:
            if names_failure(case, run.err):
                return None, 'no profile'
            return 'no profile, and the message does not name the failure', ''
        if 'unreadable' in run.info:
            return 'the profile cannot be read: ' + run.info['unreadable'], ''
        notes = ' '.join(source[name] or '' for source in run.info['sources']
                         for name in ('note', 'method'))
        notes += ' '.join(module['problem'] for module in run.info['modules'])
        counters = any(source.get('counters', {}).get(name) for source in run.info['sources']
                       for name in ('missed-threads', 'threads-by-timer'))
        has_note = bool(names_failure(case, run.err) or names_failure(case, notes) or counters)
        few = samples(run.info) < self.usual_samples[case.source] / 3
        in_program = sum(module['samples'] for module in run.info['modules']
                         if module['name'] == self.options.program)
        unknown = in_program < samples(run.info) / 2
        if (few or unknown) and not has_note:
            return ('samples' if few else 'modules') + MISSING, ''
        return None, 'noted' if has_note else 'recorded'


def samples(info):
    return sum(source['samples'] for source in info['sources'])


def names_failure(case, text):
    names_call = re.search(rf'\b{case.call.rstrip("0123456789")}\b', text)
    if case.error == 'short':
        return bool(names_call)
    number = getattr(errno, case.error)
    words = [case.error, os.strerror(number)]
    if case.error == 'ENOMEM' or case.call in ('mmap', 'brk', 'mprotect'):
        words.append('memory')
    return bool(names_call) or any(word in text for word in words)


def errors_of(context, call):
    # This is the first byte of a pipe.
    if (context, call) == ('launch', 'read'):
        return ['EINTR']
    return ERRORS.get(call, DEFAULT_ERRORS).split()


def cases_of(source, calls, everything):
    few = 2
    for (context, call), count in sorted(calls.items()):
        for error in errors_of(context, call) if everything else errors_of(context, call)[:1]:
            for nth in range(1, min(count, few if everything else 1) + 1):
                yield Case(source, context, call, nth, error)
        # A call with many purposes has another meaning each time.
        if everything and context in ('worker', 'program', 'command') and errors_of(context, call):
            for nth in range(few + 1, min(count, 60) + 1):
                yield Case(source, context, call, nth, errors_of(context, call)[0])


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument('hbbp')
    parser.add_argument('inject')
    parser.add_argument('program')
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--sources', default=','.join(SOURCES))
    parser.add_argument('--only', default='')
    parser.add_argument('--jobs', type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    for name in ('hbbp', 'inject', 'program'):
        setattr(options, name, os.path.realpath(getattr(options, name)))
    return options


def why_not_here(options):
    """Returns None if the program can be profiled and traced here."""
    run = subprocess.run([options.inject, '--report', os.devnull, '--', options.hbbp, 'doctor',
                          '--format', 'json'], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return 'no ptrace: ' + run.stderr
    rows = {row['name']: row for row in json.loads(run.stdout)['rows']}
    sources = options.sources.split(',')
    needed = ['task_clock' if sources == ['ebs'] else 'sigtrap']
    if any(name in sources for name in ('breakpoint', 'verify')):
        needed.append('breakpoint')
    missing = [name for name in needed if name in rows and rows[name]['state'] != 'supported']
    return f'no {missing[0]}: {rows[missing[0]]["detail"]}' if missing else None


def main():
    options = parse()
    reason = why_not_here(options)
    if reason:
        print('SKIPPED:', reason)
        sys.exit(SKIPPED)
    bench = Bench(options)
    bench.find_truth()
    cases = []
    for source in options.sources.split(','):
        cases += [case for case in cases_of(source, bench.calls(source), options.all)
                  if options.only in ' '.join(map(str, case))]
    kinds = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, outcome in zip(cases, pool.map(bench.judge, cases)):
            kinds[outcome.kind] += 1
            print(f'{case.source:10} {case.context:8} {case.call:18} {case.nth:2} {case.error:8} '
                  f'{outcome.seconds:5.1f} s  {outcome.kind:10} {outcome.detail[:230]}'.rstrip(), flush=True)
            if outcome.kind == 'WRONG':
                print(f'  at {outcome.location}', flush=True)
    print(', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items())))
    if kinds['WRONG'] or not kinds.total() - kinds['not made']:
        sys.exit(1)


if __name__ == '__main__':
    main()
