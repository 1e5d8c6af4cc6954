#!/usr/bin/env python3
"""Tests sources of the host as parts of a session."""
import gc
import os
import threading
import time
import unittest
import warnings
import weakref

import hbbp

import support


class Loop(hbbp.Source):
    """Adds samples of generated code of this process."""

    name = 'device'

    def __init__(self, in_drain=5, fail=None):
        self.calls, self.in_drain, self.fail = [], in_drain, fail
        self.feed = None
        self.source = None
        self.drained = threading.Event()

    def called(self, name):
        self.calls.append(name)
        if self.fail and self.fail[0] == name:
            raise self.fail[1]

    def add(self, feed, count):
        feed.add_samples(self.source, [hbbp.FeedSample(
            ip=support.LOOP_ADDRESS, pid=os.getpid(), tid=support.PID)] * count)

    def start(self, feed):
        self.called('start')
        self.feed = feed
        self.source = feed.add_source('ebs', 'instructions', period=1000)
        feed.add_events([support.generated_code()._replace(pid=os.getpid())])

    def drain(self, feed):
        self.called('drain')
        self.add(feed, self.in_drain)
        self.drained.set()
        return True

    def stop(self, feed):
        self.called('stop')
        self.add(feed, 2)


class Pushed(Loop):
    """A source whose samples are added by threads of the host."""

    drain = hbbp.Source.drain


class SourceTest(unittest.TestCase):

    def test_samples_come_from_the_source(self):
        source = Loop()
        session = hbbp.Session('external')
        session.add_source(source)
        for _ in range(2):
            source.drained.clear()
            with session:
                self.assertTrue(source.drained.wait(60))
        self.assertEqual(source.calls, ['start', 'drain', 'stop'] * 2)
        profile = session.profile()
        info, = profile.sources()
        self.assertEqual((info.kind, info.event, info.samples),
                         (hbbp.SourceKind.EBS, hbbp.Event.INSTRUCTIONS, 14))
        self.assertEqual([block.count for block in profile.blocks()], [14 * 1000 / 2])
        self.assertEqual(profile.blocks()[0].function_name, 'hot')

    def test_any_thread_adds_until_the_end(self):
        source = Pushed()
        session = hbbp.Session('external')
        session.add_source(source)
        with session:
            support.run_in_threads(lambda number: source.add(source.feed, 10), 4)
            with self.assertRaises(hbbp.InvalidStateError):
                source.feed.profile()
            with self.assertRaises(hbbp.InvalidStateError):
                source.feed.info()
        self.assertEqual(session.profile().info().samples, 42)
        with self.assertRaisesRegex(hbbp.InvalidStateError, 'was stopped'):
            source.add(source.feed, 1)

    def test_what_start_raises_is_raised(self):
        failure = OSError('no such device')
        source = Loop(fail=('start', failure))
        session = hbbp.Session('external')
        session.add_source(source)
        with self.assertRaisesRegex(hbbp.IoError, 'device.*no such device') as caught:
            session.start()
        self.assertIs(caught.exception.__cause__, failure)
        self.assertFalse(session.is_running)
        self.assertEqual(source.calls, ['start'])
        source.fail = None
        with session:
            self.assertTrue(source.drained.wait(60))
        self.assertEqual(session.profile().info().samples, 7)

    def test_what_stop_raises_is_raised_and_the_session_is_stopped(self):
        logged = []
        failure = KeyError('lost')
        source = Loop(fail=('stop', failure))
        session = hbbp.Session('external', log=lambda level, message: logged.append(message))
        session.add_source(source)
        session.start()
        self.assertTrue(source.drained.wait(60))
        with self.assertRaisesRegex(hbbp.Error, "device: stop: KeyError: 'lost'") as caught:
            session.stop()
        self.assertIs(caught.exception.__cause__, failure)
        self.assertFalse(session.is_running)
        self.assertTrue(any("KeyError: 'lost'" in message for message in logged), logged)
        self.assertIn("KeyError: 'lost'", session.profile().sources()[0].note)

    def test_what_drain_raises_is_logged(self):
        logged, seen = [], threading.Event()

        def log(level, message):
            logged.append(message)
            if 'not ready' in message:
                seen.set()

        source = Loop(fail=('drain', hbbp.BusyError(hbbp.Status.ERROR_BUSY, 'not ready')))
        session = hbbp.Session('external', log=log)
        session.add_source(source)
        with session:
            self.assertTrue(seen.wait(60), logged)

    def test_wrong_times_are_errors(self):
        source = Loop()
        session = hbbp.Session('external')
        session.add_source(source)
        with session, self.assertRaises(hbbp.InvalidStateError):
            session.add_source(Loop())

    def test_a_source_ends_with_its_session(self):
        source = Loop()
        known = weakref.ref(source)
        session = hbbp.Session('external')
        session.add_source(source)
        session.start()
        self.assertTrue(source.drained.wait(60))
        calls = source.calls
        session.close()
        self.assertEqual(calls[-1], 'stop')
        del source, session
        gc.collect()
        self.assertIsNone(known())

    def test_a_session_goes_in_its_own_source(self):
        released = threading.Event()

        class Holder(Loop):
            session = None

            def drain(self, feed):
                released.wait(60)
                with warnings.catch_warnings():
                    warnings.simplefilter('ignore')
                    self.session = None
                return super().drain(feed)

        source = Holder()
        known = weakref.ref(source)
        session = source.session = hbbp.Session('external')
        session.add_source(source)
        session.start()
        del session
        released.set()
        calls = source.calls
        del source
        for _ in range(6000):
            gc.collect()
            if known() is None:
                break
            time.sleep(0.01)
        self.assertIsNone(known())
        self.assertEqual(calls, ['start', 'drain', 'stop'])

    def test_numbers_are_not_cut(self):
        with self.assertRaisesRegex(hbbp.InvalidArgumentError, 'threads'):
            hbbp.Session('ebs', threads=[2**32 + os.getpid()])
        with self.assertRaisesRegex(hbbp.InvalidArgumentError, 'perf_ids'):
            hbbp.Feed().add_source(perf_attr=bytes(64), perf_ids=[2**64 + 1])

    def test_process_ends_while_a_source_runs(self):
        done = support.python(
            'import hbbp\n'
            'class Nothing(hbbp.Source):\n'
            '    def start(self, feed): feed.add_source("ebs", "instructions", period=1)\n'
            '    def drain(self, feed): pass\n'
            '    def stop(self, feed): print("stopped")\n'
            'session = hbbp.Session("external")\n'
            'session.add_source(Nothing())\n'
            'session.start()\n'
            'print("end")\n')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, 'end\nstopped\n', ''))


if __name__ == '__main__':
    support.main(__name__)
