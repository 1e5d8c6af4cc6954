#!/usr/bin/env python3
"""Tests sessions in this process: what they observe, and that they release everything."""
import ctypes
import gc
import io
import mmap
import os
import subprocess
import sys
import threading
import time
import unittest
import warnings

import hbbp

import support


def descriptors():
    return len(os.listdir('/proc/self/fd'))


def tasks():
    return len(os.listdir('/proc/self/task'))


def resident_bytes():
    with open('/proc/self/statm') as statm:
        return int(statm.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


def session(**options):
    return hbbp.Session('ebs', event='task-clock', period=support.PERIOD_NS, **options)


@support.needs_events
class SessionTest(unittest.TestCase):

    def test_sees_native_code_of_this_process(self):
        with session() as running:
            self.assertTrue(running.is_running)
            support.work()
        self.assertFalse(running.is_running)
        profile = running.profile()
        self.assertGreater(profile.info().samples, 20)
        self.assertEqual(profile.info().pid, os.getpid())
        modules = profile.pivot('module', sort='instructions').rows
        self.assertIn('python', modules[0][0].text)
        self.assertAlmostEqual(sum(row.share for row in profile.mix()), 1, places=6)

    def test_a_call_is_profiled(self):
        options = {'source': 'ebs', 'event': 'task-clock', 'period': support.PERIOD_NS}
        result, profile = hbbp.profile_call(lambda a, b: (support.work(), a + b), 1, b=2, options=options)
        self.assertEqual(result[1], 3)
        self.assertGreater(profile.info().samples, 20)
        with self.assertRaises(ZeroDivisionError):
            hbbp.profile_call(lambda: 1 // 0)

    def test_sees_every_thread(self):
        with session() as running:
            support.run_in_threads(lambda i: support.work(0.1), 3)
        sampled = [thread for thread in running.profile().threads() if thread.samples > 5]
        self.assertGreaterEqual(len(sampled), 3)

    def test_profile_is_taken_while_it_runs(self):
        with session() as running:
            support.work(0.1)
            early = running.profile()
            support.work(0.2)
        self.assertGreater(running.profile().info().samples, early.info().samples)
        self.assertGreater(early.info().samples, 0)

    def test_host_drains_it(self):
        before = tasks()
        with session(drained_by_host=True) as running:
            self.assertEqual(tasks(), before)
            for _ in range(3):
                support.work(0.05)
                self.assertTrue(0.001 <= running.drain() <= 1)
        self.assertGreater(running.profile().info().samples, 20)
        with self.assertRaisesRegex(hbbp.InvalidStateError, 'not running'):
            running.drain()
        with session() as other, self.assertRaisesRegex(hbbp.InvalidStateError, 'drained_by_host'):
            other.drain()

    def test_samples_begin_at_an_exec(self):
        child = subprocess.Popen(['sh', '-c', 'read go; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; '
                                  'exec "$0" -c "for i in range(10**7): pass"', sys.executable], stdin=subprocess.PIPE)
        with session(pid=child.pid, enable_on_exec=True) as running:
            child.communicate(b'go')
        self.assertEqual(child.returncode, 0)
        profile = running.profile()
        self.assertGreater(profile.info().samples, 20)
        names = {module.name for module in profile.modules()}
        self.assertIn(os.path.basename(os.path.realpath(sys.executable)), names)
        self.assertNotIn(os.path.basename(os.path.realpath('/bin/sh')), names)
        with self.assertRaisesRegex(hbbp.InvalidArgumentError, 'enable_on_exec'):
            session(enable_on_exec=True)

    def test_goes_on_after_a_stop(self):
        running = session()
        for _ in range(2):
            with running:
                support.work(0.05)
        first = running.profile().info()
        running.start()
        support.work(0.1)
        running.stop()
        self.assertGreater(running.profile().info().samples, first.samples)

    def test_stops_when_the_body_raises(self):
        running = session()
        with self.assertRaisesRegex(KeyError, 'mine'):
            with running:
                raise KeyError('mine')
        self.assertFalse(running.is_running)

    def test_body_may_stop_it_or_close_it(self):
        with session() as running:
            running.stop()
        with session() as running:
            running.close()
        self.assertTrue(running.is_closed)
        self.assertIn('closed', repr(running))

    def test_wrong_times_are_errors(self):
        running = session()
        with self.assertRaises(hbbp.InvalidStateError) as caught:
            running.stop()
        self.assertEqual(caught.exception.status, hbbp.Status.ERROR_INVALID_STATE)
        with running, self.assertRaises(RuntimeError):
            running.start()
        running.close()
        running.close()
        with self.assertRaisesRegex(hbbp.InvalidStateError, 'session was closed'):
            running.profile()

    def test_wrong_options_are_errors(self):
        with self.assertRaisesRegex(ValueError,
                                    "'pebs' is not a name of SourceKind, which are .*'swbt'"):
            hbbp.Session('pebs')
        with self.assertRaisesRegex(hbbp.InvalidArgumentError, 'period'):
            hbbp.Session(period=1, frequency_hz=1)
        with self.assertRaises(hbbp.NotFoundError) as caught:
            hbbp.Session(event='no-such-event-at-all')
        self.assertIn('no-such-event-at-all', caught.exception.message)
        with self.assertRaises(TypeError):
            hbbp.Session(period='often')

    def test_slices(self):
        with session(slice_ns=50_000_000) as running:
            support.work(0.3)
        profile = running.profile()
        slices = profile.slices()
        self.assertGreaterEqual(len(slices), 4)
        self.assertEqual(sum(each.samples for each in slices), profile.info().samples)
        self.assertEqual(profile.select_slice(1).info().samples, slices[1].samples)

    def test_branches_are_traced_in_software(self):
        if not hbbp.capabilities().has('branch_tracing'):
            self.skipTest('no branch_tracing here')
        with hbbp.Session('swbt', period=support.PERIOD_NS) as running:
            # A burst in thirty or so sees the end of a loop.
            support.work(seconds=1.5)
        profile = running.profile()
        source = profile.sources()[0]
        self.assertEqual(source.kind, hbbp.SourceKind.SWBT)
        self.assertGreater(source.taken_branches, 100)
        self.assertGreater(len(profile.branches()), 10)
        # A loop whose exits were not observed has no trip count.
        loops = profile.loops().top(20, 'own_instructions')
        self.assertGreater(max(loop.trip_count for loop in loops), 1)

    def test_whole_bursts_are_kept(self):
        if not hbbp.capabilities().has('branch_tracing'):
            self.skipTest('no branch_tracing here')
        with hbbp.Session('swbt', period=support.PERIOD_NS, kept_burst_bytes=1 << 20) as running:
            support.work(seconds=0.5)
        profile = running.profile()
        info = profile.info()
        # A burst with a gap is kept in parts.
        parts = info.kept_bursts + info.bursts_not_kept
        self.assertGreaterEqual(parts, info.samples)
        self.assertLess(parts, 2 * info.samples)
        text = io.BytesIO()
        profile.analyze().export('brstack', text)
        bursts = [line for line in text.getvalue().splitlines() if line.startswith(b' ')]
        self.assertGreater(len(bursts), 0)
        self.assertLessEqual(len(bursts), info.kept_bursts)

    def test_default_source_counts_the_event_that_is_named(self):
        with hbbp.Session('auto', event='page-faults', period=53) as running:
            pages = mmap.mmap(-1, 2000 * mmap.PAGESIZE)
            for page in range(2000):
                pages[page * mmap.PAGESIZE] = 1
            pages.close()
        source = running.profile().sources()[0]
        self.assertEqual((source.event, source.event_name), (hbbp.Event.OTHER, 'page-faults:u'))
        self.assertEqual((source.period, source.unit), (53, hbbp.Unit.EVENTS))
        self.assertGreater(source.samples, 5)
        with self.assertRaisesRegex(hbbp.UnsupportedError, 'context-switches'):
            hbbp.Session('auto', event='context-switches').start()

    def test_generated_code_has_its_name(self):
        # mov ecx, edi; dec ecx; jne to the dec; ret
        code = bytes.fromhex('89f9 ffc9 75fc c3')
        memory = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                           prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        running = session()
        running.add_code(address, len(code), name='spin')
        with self.assertRaises(hbbp.InvalidArgumentError):
            running.add_code(address, 0)
        with self.assertRaisesRegex(ValueError, '3 bytes for a size of 4'):
            running.add_code(address, 4, code=b'abc')
        with running:
            ctypes.CFUNCTYPE(None, ctypes.c_uint)(address)(400_000_000)
        block = running.profile().blocks().top(1, 'count')[0]
        self.assertEqual((block.function_name, block.instruction_count), ('spin', 2))

    def test_blocks_of_data(self):
        with session() as running:
            running.add_data(0x10000, 64, name='block')
            running.add_data(0x10000, 64)
            for refused in ({'size': 0}, {'size': 64, 'name': ''}):
                with self.assertRaises(hbbp.InvalidArgumentError):
                    running.add_data(0x10000, **refused)

    def test_log_tells_in_lines(self):
        messages = []
        with session(log=lambda level, message: messages.append((level, message)),
                     log_level='debug') as running:
            support.work(0.1)
        self.assertTrue(messages)
        for level, message in messages:
            self.assertIsInstance(level, hbbp.LogLevel)
            self.assertTrue(message and '\n' not in message, message)
        running.close()

    def test_a_log_that_cannot_be_called_is_refused(self):
        with self.assertRaisesRegex(TypeError, 'log: 3 cannot be called'):
            session(log=3)

    def test_its_log_neither_starts_nor_stops_a_session(self):
        refused = []

        def log(level, message):
            for call in (running.start, running.stop):
                try:
                    call()
                except hbbp.InvalidStateError as error:
                    refused.append('log' in str(error))

        running = session(log=log)
        with running:
            pass
        self.assertGreaterEqual(len(refused), 4)
        self.assertTrue(all(refused))

    def test_its_log_closes_a_session(self):
        """The log runs in the worker, which reports ever longer periods; the session is gone with it."""
        done = support.python(
            'import gc, hbbp, threading\n'
            'def log(level, message):\n'
            '    global session\n'
            '    if threading.current_thread() is threading.main_thread(): return\n'
            '    if session is None or not is_started: return\n'
            '    kept, session = session, None\n'
            '    kept.close()\n'
            '    assert kept.is_closed\n'
            '    del kept\n'
            '    gc.collect()\n'
            '    print("closed")\n'
            'is_started = False\n'
            'session = hbbp.Session("ebs", event="task-clock", period=20000, log=log,\n'
            '                       max_overhead=0.0001)\n'
            'del log\n'
            'session.start()\n'
            'is_started = True\n'
            'while session is not None: sum(range(1000))\n'
            'import os, time\n'
            'for _ in range(1000):\n'
            '    if len(os.listdir("/proc/self/task")) == 1: break\n'
            '    time.sleep(0.01)\n'
            'print("end")\n')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, 'closed\nend\n', ''))

    def test_fork_while_a_log_waits_for_the_interpreter(self):
        done = support.python(
            'import faulthandler, hbbp, os, threading, time\n'
            'faulthandler.dump_traceback_later(60, exit=True)\n'
            'in_log = threading.Event()\n'
            'def log(level, message):\n'
            '    if threading.current_thread() is threading.main_thread(): return\n'
            '    in_log.set()\n'
            '    time.sleep(0.5)\n'
            'session = hbbp.Session("ebs", event="task-clock", period=20000, log=log,\n'
            '                       max_overhead=0.0001)\n'
            'session.start()\n'
            'in_log.clear()\n'
            'while not in_log.is_set(): sum(range(1000))\n'
            'stopper = threading.Thread(target=session.stop)\n'
            'stopper.start()\n'
            'time.sleep(0.1)\n'
            'child = os.fork()\n'
            'if child == 0: os._exit(0)\n'
            'os.waitpid(child, 0)\n'
            'stopper.join()\n'
            'print("end")\n')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, 'end\n', ''))

    def test_process_ends_while_a_session_logs(self):
        done = support.python(
            'import hbbp\n'
            'session = hbbp.Session("ebs", log=lambda level, message: None, log_level="debug")\n'
            'session.start()\n'
            'sum(range(1000000))\n'
            'print("end")\n')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, 'end\n', ''))

    def test_chosen_threads(self):
        ids, go = [], threading.Event()

        def wait_and_work(_):
            ids.append(threading.get_native_id())
            go.wait()
            support.work(0.15)

        def profile(_):
            while len(ids) < 2:
                time.sleep(0.001)
            with session(threads=ids[:1]) as running:
                go.set()
                support.work(0.1)
                time.sleep(0.3)
            profiles.append(running.profile())

        profiles = []
        support.run_in_threads(lambda i: (wait_and_work, wait_and_work, profile)[i](i), 3)
        sampled = {thread.tid for thread in profiles[0].threads() if thread.samples}
        self.assertEqual(sampled, {ids[0]})

    def test_budgets(self):
        with self.assertRaisesRegex(hbbp.InvalidArgumentError, 'max_memory'):
            session(max_memory=1000)
        with self.assertRaisesRegex(hbbp.InvalidArgumentError, 'max_overhead'):
            session(max_overhead=2.0)
        with session(max_overhead=0.5, max_memory=64 << 20) as running:
            support.work(0.1)
        info = running.info()
        self.assertGreaterEqual(info.period_factor, 1)
        self.assertGreater(info.cpu_ns, 0)
        self.assertTrue(0 < info.memory_bytes <= 64 << 20)

    def test_two_sessions_at_once(self):
        with session() as one:
            with hbbp.Session('ebs', event='cpu-clock', period=support.PERIOD_NS) as other:
                support.work()
        for profile in (one.profile(), other.profile()):
            self.assertGreater(profile.info().samples, 20)

    def test_another_process_is_sampled(self):
        child = os.fork()
        if child == 0:
            support.work(100)
            os._exit(0)
        try:
            with session(pid=child) as running:
                while running.info().samples < 20:  # the test has a time limit
                    time.sleep(0.02)
            profile = running.profile()
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)
        self.assertEqual({thread.pid for thread in profile.threads() if thread.samples}, {child})


@support.needs_events
class LeakTest(unittest.TestCase):

    def test_thousands_of_sessions_leave_nothing(self):
        def some(count):
            for _ in range(count):
                with session() as running:
                    pass
                running.profile().info()
            gc.collect()

        some(200)
        before = descriptors(), tasks(), resident_bytes()
        some(2000)
        self.assertEqual((descriptors(), tasks()), before[:2])
        self.assertLess(resident_bytes() - before[2], 2 << 20)

    def test_profiles_leave_nothing(self):
        profile = support.fed_profile()

        def some(count):
            for _ in range(count):
                part = hbbp.merge([profile, profile])
                part.blocks().to_numpy() if 'numpy' in sys.modules else part.blocks()[0]
                part.mix('module,function')
                part.pivot('function', 'mnemonic')
                part.annotate()
            gc.collect()

        some(100)
        before = resident_bytes()
        some(1000)
        self.assertLess(resident_bytes() - before, 2 << 20)

    def test_closing_frees_at_once(self):
        descriptors_before = descriptors()
        running = session()
        running.start()
        self.assertGreater(descriptors(), descriptors_before)
        running.close()
        self.assertEqual(descriptors(), descriptors_before)

    def test_last_reference_frees_and_warns(self):
        descriptors_before = descriptors()
        running = session()
        running.start()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            del running
            gc.collect()
        self.assertEqual([each.category for each in caught], [ResourceWarning])
        self.assertEqual(descriptors(), descriptors_before)

    def test_failed_sessions_leave_nothing(self):
        for _ in range(3):
            with self.assertRaises(hbbp.Error):
                hbbp.Session(period=1, frequency_hz=1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            gc.collect()
        self.assertEqual(caught, [])


@support.needs_events
class ThreadTest(unittest.TestCase):

    def test_one_session_by_many_threads(self):
        running = session()
        counts = []

        def use(number):
            for _ in range(30):
                try:
                    (running.start, running.stop)[number % 2]()
                except hbbp.InvalidStateError:
                    pass
                counts.append(running.profile().info().samples)
                running.info()

        support.run_in_threads(use, 4)
        self.assertEqual(len(counts), 120)

    def test_closing_while_others_read(self):
        profile = support.fed_profile()
        begun = threading.Barrier(4)
        closed = []

        def use(number):
            begun.wait()
            if number == 0:
                time.sleep(0.02)
                profile.close()
                return
            try:
                while True:
                    self.assertEqual(len(profile.blocks()), 2)
                    self.assertAlmostEqual(profile.mix().total, 35000)
            except hbbp.InvalidStateError as error:
                closed.append(str(error))

        support.run_in_threads(use, 4)
        self.assertEqual(closed, ['the profile was closed'] * 3)

    def test_threads_share_one_analysis(self):
        profile, found = support.fed_profile(), []
        begun = threading.Barrier(4)

        def use(number):
            begun.wait()
            found.append(profile.analysis())

        support.run_in_threads(use, 4)
        self.assertEqual({id(each) for each in found}, {id(profile.analysis())})

    def test_other_threads_run_while_the_library_works(self):
        # No thread releases the interpreter's lock because of time: only calls of the library do.
        gate, ran = threading.Lock(), []
        gate.acquire()

        def wait():
            with gate:
                ran.append(True)

        thread = threading.Thread(target=wait)
        thread.start()
        old = sys.getswitchinterval()
        sys.setswitchinterval(1000)
        try:
            gate.release()
            for _ in range(1000):
                hbbp.capabilities()
                if ran:
                    break
            self.assertEqual(ran, [True])
        finally:
            sys.setswitchinterval(old)
            thread.join()


@support.needs_events
class ForkTest(unittest.TestCase):

    def child(self, function):
        """Runs a function in a child made by fork; it must return true."""
        pid = os.fork()
        if pid == 0:
            status = 3
            try:
                status = 0 if function() else 1
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(status)
        return os.waitpid(pid, 0)[1]

    def test_child_has_a_stopped_session(self):
        with session() as running:
            support.work(0.05)

            def in_child():
                if running.is_running or running.info().samples:
                    return False
                running.close()
                with session() as own:
                    support.work(0.1)
                return own.profile().info().samples > 5 and \
                    own.profile().info().pid == os.getpid()

            self.assertEqual(self.child(in_child), 0)
            support.work(0.05)
        self.assertGreater(running.profile().info().samples, 10)

    def test_fork_while_other_threads_use_handles(self):
        profile = support.fed_profile()
        stop = threading.Event()

        def read(_):
            while not stop.is_set():
                profile.info()

        threads = [threading.Thread(target=read, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(20):
                self.assertEqual(self.child(lambda: profile.info().samples == 35), 0)
        finally:
            stop.set()
            for thread in threads:
                thread.join()


if __name__ == '__main__':
    support.main(__name__)
