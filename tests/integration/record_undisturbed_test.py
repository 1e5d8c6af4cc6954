"""Tests that a process runs as without hbbp while its branches are traced from outside, and when hbbp is killed: restartable
sequences, the vsyscall page, system calls with time limits, SIGSTOP and SIGCONT, threads."""
import contextlib
import ctypes
import os
import random
import signal
import struct
import subprocess
import time
import unittest

import record_support
from record_support import TOOL, program

DENSE_NS = 1_000_000
# A thread that was found in a restartable sequence is not stopped for so long.
REST_NS = 50_000_000
# Soaks have 1000.
KILLS = int(os.environ.get('HBBP_KILLS', 20))
THREADS = 6

PTRACE_PEEKUSER = 3
PTRACE_DETACH = 17
PTRACE_SEIZE = 0x4206
PTRACE_INTERRUPT = 0x4207
WALL = 0x40000000
# Of struct user in <sys/user.h>: u_debugreg[7], which says what breakpoints are armed.
OFFSET_OF_DR7 = 848 + 7 * 8

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.restype = ctypes.c_long
LIBC.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)


def ptrace(request, tid, address=0):
    ctypes.set_errno(0)
    result = LIBC.ptrace(request, tid, address, 0)
    if result == -1 and ctypes.get_errno() != 0:
        raise OSError(ctypes.get_errno(), f'ptrace request {request:#x} of {tid}')
    return result


def armed_breakpoints(tid):
    try:
        ptrace(PTRACE_SEIZE, tid)
    except PermissionError as error:
        raise unittest.SkipTest(f'{error}') from error
    ptrace(PTRACE_INTERRUPT, tid)
    os.waitpid(tid, WALL)
    armed = ptrace(PTRACE_PEEKUSER, tid, OFFSET_OF_DR7) & 0xff
    ptrace(PTRACE_DETACH, tid)
    return armed


class RecordUndisturbedTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        why = record_support.why_not_permitted()
        if why:
            self.skipTest(why)

    def run_densely(self, *command, mode='lookahead', status=0):
        result = self.run_tool('record', '--outside', '--source', 'swbt', '-c', DENSE_NS, '--mode', mode, '-o', self.file, '--',
                               *command)
        if result.returncode == 77:
            self.skipTest(result.stdout.strip())
        self.assertEqual(result.returncode, status, result)
        trace = self.info()['sources'][0]
        self.assertGreater(trace['bursts'] + sum(trace['counters'].values()), 0)
        self.assertEqual(trace['disagreements'], 0, trace)
        return trace

    # Restartable sequences ----------------------------------------------------------------------

    def test_counters_of_cpus_in_restartable_sequences(self):
        for mode in ('lookahead', 'verify'):
            with self.subTest(mode):
                trace = self.run_densely(program('restartable_counters'), 4, 20_000_000, 0, mode=mode)
                self.assertGreater(trace['bursts'], 0)

    def test_long_restartable_sequences_come_to_their_end(self):
        """Without hbbp hardly any is restarted; with a stop each millisecond each would be, again and again."""
        for mode in ('lookahead', 'verify'):
            with self.subTest(mode):
                trace = self.run_densely(program('restartable_counters'), 1, 400, 1_600, mode=mode)
                found = trace['counters']['in-restartable-sequence']
                self.assertGreater(found, 2)
                # The main thread runs some, too, and then the other one.
                self.assertLessEqual(found, self.info()['duration_ns'] / REST_NS + 2)

    # System calls -------------------------------------------------------------------------------

    def test_calls_by_the_vsyscall_page(self):
        for mode in ('lookahead', 'verify'):
            with self.subTest(mode):
                trace = self.run_densely(program('outside'), 'vsyscalls', mode=mode)
                # Code that cannot be read, or a system call where it can.
                ends = trace['counters'].get('unreadable-code', 0) + trace['counters'].get('system-call', 0)
                self.assertGreater(ends, 0, trace)

    def test_time_limits_of_system_calls(self):
        for mode in ('lookahead', 'verify'):
            with self.subTest(mode):
                self.run_densely(program('waits'), 40, mode=mode)

    # Stops and ends -----------------------------------------------------------------------------

    def progress(self):
        counters = self.directory / 'counters'
        process = subprocess.Popen([program('progress'), counters, str(THREADS)])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_for(lambda: min(self.counters()) > 0)
        return process

    def counters(self):
        counters = self.directory / 'counters'
        if not counters.exists() or counters.stat().st_size < 8 * THREADS:
            return (0,)
        return struct.unpack_from(f'{THREADS}Q', counters.read_bytes())

    def assert_all_threads_go_on(self):
        before = self.counters()
        deadline = time.monotonic() + record_support.TIMEOUT_S
        while not all(now > then for now, then in zip(self.counters(), before)):
            self.assertLess(time.monotonic(), deadline, (before, self.counters()))
            time.sleep(0.001)

    def trace(self, process, *options):
        """Starts a profiler of the process that goes on until it is killed."""
        tool = subprocess.Popen([TOOL, 'record', '--source', 'swbt', '-c', str(DENSE_NS), *options, '-o', self.file, '--pid',
                                 str(process.pid)], stderr=subprocess.DEVNULL)

        def end():
            tool.kill()
            tool.wait()
        self.addCleanup(end)
        return tool

    def reports_of_stops(self, process):
        """Returns what a parent sees of a process that it stops and continues."""
        reports = []

        def wait():
            _, status = os.waitpid(process.pid, os.WUNTRACED | os.WCONTINUED)
            if os.WIFCONTINUED(status):
                reports.append('continued')
            else:
                reports.append(f'stopped by {os.WSTOPSIG(status)}' if os.WIFSTOPPED(status) else f'ended with {status}')
        for _ in range(100):
            for number in (signal.SIGSTOP, signal.SIGCONT):
                # Between two stops of the profiler, or in one.
                time.sleep(random.uniform(0, 0.003))
                os.kill(process.pid, number)
                wait()
                if reports[-1].startswith('ended'):
                    return reports
        time.sleep(0.05)
        pid, status = os.waitpid(process.pid, os.WUNTRACED | os.WCONTINUED | os.WNOHANG)
        reports.append(f'then {status}' if pid else 'then none')
        return reports

    def test_parent_sees_stops_as_without_a_profiler(self):
        process = self.progress()
        untraced = self.reports_of_stops(process)
        self.assertEqual(untraced, ['stopped by 19', 'continued'] * 100 + ['then none'])
        for mode in ('lookahead', 'verify'):
            with self.subTest(mode):
                tool = self.trace(process, '--mode', mode)
                record_support.wait_until_caught(tool.pid, signal.SIGINT)
                time.sleep(0.3)
                self.assertEqual(self.reports_of_stops(process), untraced)
                self.assert_all_threads_go_on()
                tool.send_signal(signal.SIGINT)
                self.assertEqual(tool.wait(), 0)
                self.assertGreater(self.info()['sources'][0]['bursts'], 0)
                self.assert_all_threads_go_on()

    def assert_untouched(self, pid):
        self.assert_all_threads_go_on()
        for tid in map(int, os.listdir(f'/proc/{pid}/task')):
            with open(f'/proc/{pid}/task/{tid}/status') as file:
                status = dict(line.split(':\t', 1) for line in file.read().splitlines() if ':\t' in line)
            self.assertEqual(status['TracerPid'].strip(), '0')
            self.assertIn(status['State'][0], 'RSD')
            self.assertEqual(armed_breakpoints(tid), 0)
        self.assert_all_threads_go_on()

    def test_all_threads_survive_the_end_of_their_tracer(self):
        process = self.progress()
        self.assertEqual(len(os.listdir(f'/proc/{process.pid}/task')), THREADS)
        self.assert_untouched(process.pid)
        for _ in range(KILLS):
            tool = self.trace(process)
            # A tool takes some 20 ms until it stops threads.
            time.sleep(random.uniform(0.02, 0.12))
            tool.kill()
            tool.wait()
            self.assertIsNone(process.poll())
            self.assert_untouched(process.pid)

    def test_command_survives_the_end_of_its_tracer(self):
        counters = self.directory / 'counters'
        for _ in range(max(KILLS // 4, 1)):
            counters.unlink(missing_ok=True)
            tool = subprocess.Popen([TOOL, 'record', '--outside', '--source', 'swbt', '-c', str(DENSE_NS), '-o', self.file, '--',
                                     program('progress'), counters, str(THREADS)], stderr=subprocess.DEVNULL)
            self.wait_for(lambda: min(self.counters()) > 0)
            with open(f'/proc/{tool.pid}/task/{tool.pid}/children') as file:
                pid, = map(int, file.read().split())
            try:
                time.sleep(random.uniform(0, 0.1))
                tool.kill()
                tool.wait()
                self.assert_untouched(pid)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


if __name__ == '__main__':
    record_support.main(RecordUndisturbedTest)
