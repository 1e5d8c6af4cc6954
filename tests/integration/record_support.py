"""Shared code of the tests of hbbp record: a directory, the command, and its output.

The environment names the command (HBBP_TOOL) and the directory of the helper programs
(HBBP_PROGRAMS). A file of tests ends with `record_support.main(ItsTestCase)`; with the name of a
test as argument it runs only that. Exit status 77: skipped.
"""
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = os.environ['HBBP_TOOL']
PROGRAMS = pathlib.Path(os.environ['HBBP_PROGRAMS'])
SKIPPED = 77
NOBODY = 65534
PERIOD_NS = 1_000_000
# Where counts are compared, a loaded machine and ticks of 4 ms cause part of the difference.
TOLERANCE = 0.25
TOLERANCE_MS = 25
# After this time a process hangs. A busy machine takes many times as long as one that is idle.
TIMEOUT_S = 240


def program(name):
    path = PROGRAMS / name
    if not path.exists():
        raise unittest.SkipTest(f'{name} could not be built')
    return str(path)


def why_not_permitted():
    doctor = subprocess.run([TOOL, 'doctor', '--format', 'json'], capture_output=True, text=True)
    rows = [row for row in json.loads(doctor.stdout)['rows'] if row['name'] == 'task_clock']
    if not rows or any(row['state'] == 'supported' for row in rows):
        return None
    return rows[0]['detail'] or 'no task_clock'


@functools.cache
def why_no_breakpoints():
    """Returns why modes breakpoint and verify cannot run here, or None."""
    doctor = subprocess.run([TOOL, 'doctor', '--format', 'json'], capture_output=True, text=True)
    rows = {row['name']: row for row in json.loads(doctor.stdout)['rows']}
    missing = [rows[name] for name in ('sigtrap', 'breakpoint') if rows[name]['state'] != 'supported']
    return f'no breakpoints here: {missing[0]["detail"]}' if missing else None


def wait_until_caught(pid, number):
    """Waits until the process handles the signal, which on a busy machine takes it long."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        with open(f'/proc/{pid}/status') as file:
            status = dict(line.split(':\t', 1) for line in file.read().splitlines() if ':\t' in line)
        if status['State'].startswith('Z'):
            raise AssertionError(f'process {pid} has ended')
        if any(int(status[name], 16) >> (number - 1) & 1 for name in ('SigCgt', 'SigBlk')):
            return
        if time.monotonic() > deadline:
            raise AssertionError(f'process {pid} does not handle {signal.Signals(number).name}')
        time.sleep(0.01)


class CpuTime(int):
    """Milliseconds in user code, as the kernel guesses from its ticks, and in `total`, which is exact."""

    def __new__(cls, user, total=None):
        time = super().__new__(cls, user)
        time.total = int(user if total is None else total)
        return time

    def __add__(self, other):
        return CpuTime(int(self) + int(other), self.total + getattr(other, 'total', other))

    __radd__ = __add__


def reported(output):
    """Returns {process or thread id: CpuTime} from the output of helper programs."""
    numbers = [line.split() for line in output.splitlines()]
    return {int(words[0]): CpuTime(*words[1:]) for words in numbers
            if len(words) in (2, 3) and all(word.isdigit() for word in words)}


def recorded(name):
    """Returns the path of a recording of real hardware."""
    path = pathlib.Path(os.environ.get('HBBP_TEST_DATA', '')) / name
    if not path.is_file():
        raise unittest.SkipTest('no recordings (HBBP_TEST_DATA)')
    return path


def has_names_of_libc():
    """Returns whether the debug file of the C library is here, which alone names the variants of memcpy."""
    notes = subprocess.run(['readelf', '-n', '/lib/x86_64-linux-gnu/libc.so.6'], capture_output=True, text=True, check=False)
    found = re.search(r'Build ID: ([0-9a-f]{2})([0-9a-f]+)', notes.stdout)
    return found is not None and pathlib.Path('/usr/lib/debug/.build-id', found[1], f'{found[2]}.debug').is_file()


def build_library(test):
    """Builds a library of one function, `work`. Returns it, and the address of `work` where it is at 0x400000."""
    if shutil.which('cc') is None:
        test.skipTest('no compiler')
    source, library = test.directory / 'lib.c', test.directory / 'lib.so'
    source.write_text('int work(int n) { return n * 3 + 1; }\n')
    subprocess.run(['cc', '-shared', '-nostdlib', '-O1', '-o', library, source], check=True)
    symbols = subprocess.run(['nm', library], capture_output=True, text=True, check=True).stdout
    offset, = (int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(' work'))
    return library, 0x400000 + offset


class RecordTest(unittest.TestCase):

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='hbbp-record-'))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.file = self.directory / 'out.data'

    def run_tool(self, *arguments, timeout=TIMEOUT_S, **options):
        """Returns a finished process; everything that it started has ended, or the test fails."""
        options = {'stdin': subprocess.DEVNULL, 'cwd': self.directory, **options}
        process = subprocess.Popen([TOOL, *map(str, arguments)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True,
                                   **options)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            self.fail(f'hangs: {arguments}\n{out}\n{err}')
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def record(self, *command, period_ns=PERIOD_NS, status=0, options=(), **run_options):
        result = self.run_tool('record', '--source', 'ebs', '-e', 'task-clock', '-c', period_ns, *options, '-o', self.file, '--',
                               *command, **run_options)
        self.assertEqual(result.returncode, status, result)
        if ' still run' in result.stderr:
            self.wait_for(self.has_no_parts)
        self.assert_no_parts()
        return result

    def refused(self, *arguments, **options):
        """Runs a command that must fail; returns the one line that it prints."""
        result = self.run_tool(*arguments, **options)
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(result.stdout, '')
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertTrue(result.stderr.startswith(f'hbbp {arguments[0]}: '), result.stderr)
        return result.stderr

    def wait_for(self, condition):
        deadline = time.monotonic() + TIMEOUT_S
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def has_no_parts(self):
        return not any('.parts-' in path.name for path in self.directory.iterdir())

    def assert_no_parts(self):
        self.assertEqual([path.name for path in self.directory.iterdir() if '.parts-' in path.name],
                         [])

    def info(self, file=None):
        result = self.run_tool('info', '--format', 'json', file or self.file)
        self.assertEqual(result.returncode, 0, result)
        return json.loads(result.stdout)

    def milliseconds(self, file=None):
        return sum(source['samples'] * source['period'] / 1e6
                   for source in self.info(file)['sources'])

    def children(self):
        prefix = self.file.name + '.'
        return {int(path.name[len(prefix):]): path for path in self.directory.iterdir()
                if path.name.startswith(prefix) and path.name != prefix + 'old'}

    def assert_close(self, found, expected):
        """Compares milliseconds of user code with a number, or a CpuTime."""
        total = getattr(expected, 'total', expected)
        message = f'{found} ms in the profile, {expected} to {total} ms of CPU time'
        self.assertLess(expected - found, max(TOLERANCE * expected, TOLERANCE_MS), message)
        self.assertLess(found - total, max(TOLERANCE * total, TOLERANCE_MS), message)

    def assert_whole(self, result):
        """Checks that the profile has all the CPU time that the program reports."""
        info = self.info()
        self.assert_close(self.milliseconds(), reported(result.stdout)[info['pid']])
        return info

    def rows(self, *arguments):
        result = self.run_tool(*arguments, '--format', 'json')
        self.assertEqual(result.returncode, 0, result)
        return json.loads(result.stdout)['rows']

    def let_everybody_in(self):
        self.directory.chmod(0o777)


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, 'needs root')(test)


def main(case):
    reason = why_not_permitted()
    if reason:
        print(f'SKIPPED: {reason}')
        sys.exit(SKIPPED)
    names = sys.argv[1:] or unittest.defaultTestLoader.getTestCaseNames(case)
    result = unittest.TextTestRunner(verbosity=2).run(
        unittest.TestSuite(case(name) for name in names))
    if not result.wasSuccessful():
        sys.exit(1)
    if result.skipped and len(result.skipped) >= result.testsRun:
        print(f'SKIPPED: {result.skipped[0][1]}')
        sys.exit(SKIPPED)
