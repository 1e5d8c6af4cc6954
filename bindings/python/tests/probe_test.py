#!/usr/bin/env python3
"""Tests productions on bursts: of a feed, whose instructions are known, and of this process."""
import gc
import subprocess
import sys
import threading
import unittest
import weakref
import zlib

import hbbp

import support

# A loop with a call: call CALLEE; jmp CALLER. The callee: nop; ret.
CALLER, CALLEE = 0x7000, 0x7010
CODE = {'caller': (CALLER, bytes.fromhex('e80b000000 ebf9')), 'callee': (CALLEE, bytes.fromhex('90c3'))}
TO_CALLEE, TO_CALLER, BACK = (CALLER, CALLEE, 0), (CALLEE + 1, CALLER + 5, 0), (CALLER + 5, CALLER, 0)
PERIOD = 1000


def burst(rounds, extent):
    """Makes a burst of rounds of four instructions, each of whose streams weighs PERIOD / extent."""
    return hbbp.FeedSample(pid=support.PID, tid=support.PID, time_ns=100 * rounds, extent=extent,
                           branches=[BACK, *[TO_CALLEE, TO_CALLER, BACK] * rounds])


def profiles(*bursts, **options):
    """Returns a profile for each burst, with those before it."""
    found = []
    with hbbp.Feed(order='as-added', **{'kept_burst_bytes': 1 << 16, **options}) as feed:
        feed.add_events([hbbp.FeedEvent(hbbp.FeedEventKind.CODE, pid=support.PID, address=address,
                                        size=len(code), code=code, name=name)
                         for name, (address, code) in CODE.items()])
        source = feed.add_source('swbt', 'instructions', period=PERIOD)
        for each in bursts:
            feed.add_samples(source, [each])
            feed.flush()
            found.append(feed.profile())
    return found


class ProbeTest(unittest.TestCase):

    def setUp(self):
        self.first, self.both = profiles(burst(3, 10), burst(2, 20))

    def test_rows_have_the_fields_of_their_table(self):
        with hbbp.Probe('pairs: proc_call => count(function, target), null\n'
                        'returns: return => count(pc, pc, size), null\n') as probe:
            self.assertEqual(probe.run(self.both), 2)
            row, = probe.rows()
            self.assertEqual((row.function_name, row.target_name), ('caller', 'callee'))
            self.assertEqual((row.estimate, row.share, row.records), (3 * 100 + 2 * 50, 1, 5))
            location = probe.locate(row.target)
            self.assertEqual((location.name, location.address, location.function),
                             ('callee', CALLEE, CALLEE))
            returned, = probe.rows('returns')
            self.assertEqual(returned._fields,
                             ('pc', 'pc_name', 'pc_again', 'pc_again_name', 'size', 'estimate',
                              'share', 'records'))
            self.assertEqual(returned.pc_again_name, 'callee+0x1')
            self.assertEqual([each.name for each in probe.fields('pairs')], ['function', 'target'])
            self.assertEqual(probe.fields()[1].kind, hbbp.ProbeFieldKind.CODE)
            table = probe.tables()[0]
            self.assertEqual((table.kind, table.name, table.records, table.estimate),
                             (hbbp.ProbeTableKind.COUNTS, 'pairs', 5, 400))
            self.assertEqual([each.firings for each in probe.productions()], [5, 5])
            info = probe.info()
            self.assertEqual((info.bursts, info.instructions, info.skipped_streams), (2, 20, 0))
            self.assertTrue(info.counts_executions)
            with self.assertRaises(hbbp.NotFoundError):
                probe.locate(1)
            self.assertEqual(probe.name(0), '')
            with self.assertRaisesRegex(hbbp.InvalidArgumentError, "no table 'pair'; there are pairs, returns"):
                probe.rows('pair')
            with self.assertRaisesRegex(hbbp.InvalidArgumentError, 'table 2 of 2'):
                hbbp._library.check('hbbp_probe_copy_rows', probe._handle._pointer, 2, 0, 0, 8, None,
                                    hbbp._library.ctypes.c_size_t())
        self.assertIn('callee', str(row))
        with self.assertRaises(hbbp.InvalidStateError):
            probe.rows()

    @support.needs('numpy')
    def test_columns_are_arrays(self):
        with hbbp.Probe('pairs: proc_call => count(function, target), null') as probe:
            probe.run(self.both.analysis())
            array = probe.rows().to_numpy()
        self.assertEqual(array['records'].tolist(), [5])
        self.assertEqual(array['estimate'].dtype, 'f8')
        self.assertEqual(array['target_name'].tolist(), ['callee'])

    def test_unknown_reuse_is_none(self):
        with hbbp.Probe('p: return => count(stride, reuse), null') as probe:
            self.assertEqual([kind.name for kind in probe.fields().column('kind')], ['SIGNED', 'REUSE'])
            self.assertEqual(probe._cells(hbbp.ProbeFieldKind.SIGNED, 2**64 - 8), (-8,))
            self.assertEqual(probe._cells(hbbp.ProbeFieldKind.REUSE, 2**64 - 1), (None,))

    def test_later_profiles_add_their_new_bursts(self):
        with hbbp.Probe('pairs: proc_call => count(function, target), null') as probe:
            following = probe.run(self.first)
            self.assertEqual(following, 1)
            self.assertEqual(probe.rows()[0].estimate, 300)
            following = probe.run(self.both, following)
            self.assertEqual(probe.rows()[0].estimate, 400)
            self.assertEqual(probe.run(self.both, following), 2)
            self.assertEqual(probe.rows()[0].estimate, 400)
            with self.assertRaisesRegex(hbbp.InvalidArgumentError, '2 whole bursts'):
                probe.run(self.both, 3)

    def test_streams(self):
        profile, = profiles(burst(20, 10))
        with hbbp.Probe('all: branch || return => trace(pc), null', min_stream_length=2) as probe:
            probe.run(profile)
            streams = probe.streams('all')
            self.assertEqual(len(probe.rows('all')), 0)
            self.assertGreater(sum(stream.share for stream in streams), 0.7)
            for stream in streams:
                self.assertEqual(len(stream.values), stream.length)
                self.assertEqual(stream.values[:-2], stream.values[2:])
                self.assertEqual({probe.locate(pc).address for pc, in stream.values},
                                 {CALLEE + 1, CALLER + 5})

    def test_handler(self):
        calls = []
        with hbbp.Probe('never: mnemonic = div => null, null\n'
                        'p: proc_call => call(target, caller), null', handler=calls.append) as probe:
            probe.run(self.both)
            call = calls[-1]
            self.assertEqual(len(calls), 5)
            self.assertEqual((call.production, call.table, call.thread), (1, 0, 0))
            self.assertEqual(call.values, (call.target, None))
            self.assertEqual(probe.name(call.pc), 'caller')
            self.assertEqual(probe.name(call.target), 'callee')
            self.assertEqual((call.flow, call.taken, call.next), (hbbp.Flow.CALL, True, call.target))
            self.assertEqual((call.burst, call.time_ns, call.weight), (1, 200, 50))
            self.assertEqual(probe.tables()[0].kind, hbbp.ProbeTableKind.CALLS)
            self.assertEqual((probe.tables()[0].records, probe.tables()[0].unknown), (5, 5))

    def test_handler_stops_bursts(self):
        names = []

        def stop(call):
            names.append(probe.name(call.target))
            return len(names) == 2

        with hbbp.Probe('use framework\np: proc_call && sample_flag && !burst_flag => call, null',
                        handler=stop) as probe:
            probe.run(self.both)
        self.assertEqual(names, ['callee'] * 4)  # two of the first burst, and all of the second

    def test_what_a_handler_raises_ends_the_run(self):
        calls = []

        def fail(call):
            calls.append(call)
            if call.burst == 0:
                raise ValueError('of the handler')

        with hbbp.Probe('p: proc_call => call, null', handler=fail) as probe:
            with self.assertRaisesRegex(ValueError, 'of the handler'):
                probe.run(self.both)
            self.assertEqual(len(calls), 1)
            self.assertEqual(probe.next_burst, 1)
            self.assertEqual(probe.run(self.both, probe.next_burst), 2)
            self.assertEqual(len(calls), 3)

    def test_progress_and_cancellation(self):
        progress = []
        cancel = hbbp.Cancel()
        with hbbp.Probe('p: proc_call => null, null') as probe:
            probe.run(self.both, progress=lambda done, everything: progress.append(everything))
            self.assertEqual(set(progress), {2})
            cancel.set()
            with self.assertRaises(hbbp.CancelledError):
                probe.run(self.both, cancel=cancel)

    def test_options(self):
        for options, reason in (({'productions': 'p: proc_cal => null, null'},
                                 "line 1, column 4: no key 'proc_cal'; did you mean 'proc_call'"),
                                ({'sample_freq': 2**63}, 'sample_freq'),
                                ({'sample_freq': -1}, 'sample_freq: -1 is out of range'),
                                ({'min_stream_length': 1}, 'min_stream_length'),
                                ({'min_stream_heat': 2.0}, 'min_stream_heat')):
            with self.assertRaisesRegex(hbbp.InvalidArgumentError, reason):
                hbbp.Probe(**{'productions': 'use call-pairs', **options})
        with self.assertRaises(TypeError):
            hbbp.Probe('use call-pairs', handler=7)
        with hbbp.Probe('p: own = calls => count(pc), null', is_exhaustive=True,
                        taxonomy=hbbp.Taxonomy('[own]\ncalls: category = call\n')) as probe:
            probe.run(self.both)
            self.assertEqual(probe.rows()[0].records, 5)
            self.assertTrue(probe.info().is_exhaustive)
        for name in hbbp.builtin_productions():
            hbbp.Probe(f'use {name}').close()

    def test_refused_profiles(self):
        without, = profiles(burst(3, 10), kept_burst_bytes=0)
        with hbbp.Probe('p: return => count(pc), null') as probe:
            with self.assertRaisesRegex(hbbp.NotFoundError, 'kept_burst_bytes'):
                probe.run(without)
        with hbbp.Probe('p: load => count(address), null') as probe:
            with self.assertRaisesRegex(hbbp.UnsupportedError, 'keep_accesses'):
                probe.run(self.first)
        with hbbp.Probe('p: entry => count(rdx), null') as probe:
            with self.assertRaisesRegex(hbbp.UnsupportedError, 'keep_values'):
                probe.run(self.first)
        with self.assertRaisesRegex(ValueError, "'rax' is not a value"):
            hbbp.Session('swbt', kept_burst_bytes=1 << 20, keep_values=['rdx', 'rax'])
        hbbp.Session('swbt', kept_burst_bytes=1 << 20, keep_values=['divisor', 'rdx']).close()

    def test_nothing_keeps_a_probe_alive(self):
        probe = hbbp.Probe('p: proc_call => call, null', handler=lambda call: probe.name(call.pc) == '')
        probe.run(self.both)
        gone = weakref.ref(probe)
        del probe
        gc.collect()
        self.assertIsNone(gone())

    @support.needs_events
    def test_program_that_probes_itself(self):
        with hbbp.Session('swbt', period=support.PERIOD_NS, kept_burst_bytes=1 << 20) as session:
            for _ in range(100):
                support.work(0.05)
                if session.profile().info().kept_bursts >= 5:
                    break
        called = []
        with hbbp.Probe('use hot-methods\np: proc_call => call, null', handler=called.append) as probe:
            self.assertGreaterEqual(probe.run(session.profile()), 5)
            self.assertGreater(sum(row.share for row in probe.rows('methods')), 0.999)
            self.assertTrue(any(row.function_name for row in probe.rows('methods')))
            self.assertEqual(len(called), probe.tables()[1].records)
        self.assertGreater(len(called), 0)

    @support.needs_events
    def test_worker_follows_a_session(self):
        data = b''.join(b'%d' % (i * i) for i in range(100_000))
        threads, names = set(), set()

        def handler(call):
            threads.add(threading.get_ident())
            names.add(probe.name(call.pc))

        with hbbp.Session('swbt', period=support.PERIOD_NS, kept_burst_bytes=1 << 20) as session, \
                hbbp.Probe('use hot-methods\np: proc_call => call, null', handler=handler) as probe:
            probe.start(session, 20)
            self.assertRaises(hbbp.InvalidStateError, probe.start, session)
            self.assertRaises(hbbp.InvalidStateError, probe.info)
            for _ in range(500):
                zlib.compress(data)  # it releases the lock that the handler needs
                if len(names) > 3:
                    break
            session.stop()
            probe.stop()
            self.assertRaises(hbbp.InvalidStateError, probe.stop)
            self.assertEqual(len(threads), 1)
            self.assertNotIn(threading.get_ident(), threads)
            self.assertGreater(len(names), 3)
            self.assertEqual(probe.info().bursts, session.profile().info().kept_bursts)
        with hbbp.Session('swbt', period=support.PERIOD_NS, kept_burst_bytes=1 << 20) as session, \
                hbbp.Probe('p: proc_call => call, null', handler=lambda call: 1 // 0) as probe:
            support.work(0.3)
            probe.start(session)
            self.assertRaises(ZeroDivisionError, probe.stop)
        idle = hbbp.Session('swbt', kept_burst_bytes=1 << 20)
        with hbbp.Probe('use hot-methods') as probe:
            probe.start(idle)
            self.assertRaises(hbbp.NotFoundError, probe.stop)
            probe.start(idle)
            idle.close()  # the worker still has it

    @support.needs_events
    def test_worker_may_be_in_a_handler_when_the_probe_is_closed(self):
        data = b''.join(b'%d' % (i * i) for i in range(100_000))
        with hbbp.Session('swbt', period=support.PERIOD_NS, kept_burst_bytes=1 << 20) as session:
            for _ in range(5):
                called = threading.Event()
                refused, not_refused = [], []

                def handler(call):
                    called.set()
                    probe.name(call.pc)
                    for function in probe.stop, probe.close:
                        try:
                            function()
                            not_refused.append(function)
                        except hbbp.InvalidStateError:
                            refused.append(function)

                with hbbp.Probe('p: proc_call => call, null', handler=handler) as probe:
                    probe.start(session, 1)
                    while not called.is_set():
                        zlib.compress(data)
                self.assertFalse(not_refused)
                self.assertGreater(len(refused), 1)
                self.assertTrue(probe.is_closed)
            probe = hbbp.Probe('p: proc_call => call, null', handler=lambda call: called.set() or 1 // 0)
            called.clear()
            probe.start(session, 1)
            while not called.is_set():
                zlib.compress(data)
            probe.close()  # what the handler raised is dropped
            self.assertTrue(probe.is_closed)

    @support.needs_events
    def test_program_may_end_with_a_worker(self):
        program = """if True:
            import hbbp, threading, zlib
            called = threading.Event()
            session = hbbp.Session('swbt', period=1_000_000, kept_burst_bytes=1 << 20)
            session.start()
            hbbp.Probe('p: proc_call => call, null', handler=lambda call: called.set()).start(session, 1)
            while not called.is_set():
                zlib.compress(bytes(1_000_000))
            print('called')
            """
        result = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, timeout=100)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, 'called\n', ''))


if __name__ == '__main__':
    support.main(__name__)
