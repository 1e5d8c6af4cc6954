#!/usr/bin/env python3
"""Tests that profiles contain what was fed, and that the package and the command agree on a profile."""
import collections
import ctypes
import enum
import gc
import io
import math
import os
import pathlib
import unittest
import weakref

import hbbp
from hbbp import _abi, _annotate, _host

import support

STREAMS = support.ROOT / 'tests' / 'fuzz' / 'corpus' / 'profile_file' / 'file_of_streams'


def interrupt(done, everything):
    raise KeyboardInterrupt


class FedTest(support.DirectoryTest):
    """A profile of a loop of two instructions and a return, sampled by instructions."""

    def setUp(self):
        super().setUp()
        self.profile = support.fed_profile(loop_samples=30, return_samples=5, period=1000)

    def test_counts_are_what_was_fed(self):
        loop, ending = self.profile.blocks()
        self.assertEqual((loop.start, loop.end, loop.instruction_count),
                         (support.LOOP_ADDRESS, support.LOOP_ADDRESS + 4, 2))
        self.assertEqual((loop.count, loop.samples), (30 * 1000 / 2, 30))
        self.assertAlmostEqual(loop.standard_error, 1000 * math.sqrt(30) / 2)
        self.assertEqual((ending.count, ending.instructions), (5000, 5000))
        self.assertEqual((loop.source, loop.is_biased), (hbbp.SourceKind.EBS, False))
        self.assertEqual(loop.function_name, 'hot')
        self.assertEqual(self.profile.functions()[0].instructions, 35000)

    def test_hottest_come_first(self):
        loop, ending = self.profile.blocks()
        for by in hbbp.Order.INSTRUCTIONS, 'executions', 'samples':
            self.assertEqual(list(self.profile.hottest_blocks(by=by)), [loop, ending])
        self.assertEqual(list(self.profile.hottest_blocks(1)), [loop])
        self.assertEqual(list(self.profile.hottest_blocks(0)), [])
        self.assertEqual(list(self.profile.hottest_functions()), list(self.profile.functions()))
        self.assertEqual(self.profile.hottest_functions()[0].demangled_name, 'hot')
        with self.assertRaises(hbbp.InvalidArgumentError):
            self.profile.hottest_functions(by='executions')

    def test_info_and_sources(self):
        info = self.profile.info()
        self.assertEqual((info.command, info.samples, info.lost), ('fed', 35, 0))
        source, = self.profile.sources()
        self.assertEqual((source.kind, source.event, source.unit, source.period),
                         (hbbp.SourceKind.EBS, hbbp.Event.INSTRUCTIONS, hbbp.Unit.INSTRUCTIONS, 1000))
        result, = self.profile.analysis().sources()
        self.assertEqual((result.kind, result.samples, result.unexplained, result.superseded),
                         (hbbp.SourceKind.EBS, 35, 0, 0))
        self.assertEqual(self.profile.caveats(), [])
        thread, = self.profile.threads()
        self.assertEqual((thread.pid, thread.tid, thread.samples), (support.PID, support.PID, 35))
        reasons = self.profile.analysis().unexplained_reasons(0)
        self.assertIn('no-code', [reason.name for reason in reasons])
        self.assertEqual(sum(reason.value for reason in reasons), 0)
        index = self.profile.blocks()[0].module
        module = self.profile.modules()[index]
        self.assertEqual((module.kind, module.build_id, module.samples),
                         (hbbp.ModuleKind.ANONYMOUS, '', 35))
        found = self.profile.analysis().modules()[index]
        self.assertEqual((found.kind, found.code, found.path, found.problem, found.samples),
                         (module.kind, hbbp.CodeState.PROFILE, module.path, '', 35))

    def test_functions_of_one_name_can_be_one_row(self):
        addresses = (support.LOOP_ADDRESS, support.LOOP_ADDRESS + 4096)
        with hbbp.Feed(order='as-added') as feed:
            feed.add_events([support.generated_code()._replace(address=address)
                              for address in addresses])
            source = feed.add_source('ebs', 'instructions', period=1000)
            feed.add_samples(source, [
                hbbp.FeedSample(ip=address, pid=support.PID, tid=support.PID, time_ns=1_000_000)
                for address in addresses])
            feed.flush()
            profile = feed.profile()
        apart = profile.pivot('function')
        self.assertEqual([row[0].text for row in apart.rows], ['hot', 'hot'])
        joined = profile.pivot('function', join_names=True)
        self.assertEqual([row[0].text for row in joined.rows], ['hot'])
        self.assertEqual(joined.cell(0).value, 2000)
        row, = hbbp.diff(self.profile, profile, 'function', absolute=True)
        self.assertEqual((row.before, row.after), (35000, 2000))
        self.assertEqual(row.after_error, joined.cell(0).standard_error)

    def test_mix(self):
        mix = self.profile.mix()
        self.assertEqual({row.mnemonic: row.instructions for row in mix},
                         {'dec': 15000, 'jne': 15000, 'ret': 5000})
        self.assertEqual(mix.total, 35000)
        row = self.profile.mix(['function', 'thread'])[0]
        self.assertEqual((row.function, row.thread, row.module, row.mnemonic, row.function_name),
                         (0, 0, None, '', 'hot'))
        with self.assertRaisesRegex(ValueError, "'line' is not a key of mixes"):
            self.profile.mix('line')

    def test_pivot(self):
        pivot = self.profile.pivot('mnemonic', 'function', 'instructions,bytes',
                                   where='mnemonic != ret')
        self.assertEqual([row[0].text for row in pivot.rows], ['dec', 'jne'])
        self.assertEqual(pivot.columns[0][0].name, 'hot')
        self.assertEqual(pivot.cell(0, 0, 'bytes').value, 30000)
        self.assertEqual(pivot.total().value, 30000)
        self.assertEqual(pivot.cell(1).share, 0.5)
        everything = self.profile.pivot('', top=1)
        self.assertEqual((everything.rows, everything.total().value), ([()], 35000))
        top = self.profile.pivot(top=1)
        self.assertEqual((len(top), top.row_count_in_all), (1, 3))
        with self.assertRaises(IndexError):
            top.cell(1)
        with self.assertRaisesRegex(hbbp.InvalidArgumentError, 'mnemonic'):
            self.profile.pivot('mnemonics')
        with self.assertRaisesRegex(hbbp.InvalidArgumentError, 'column'):
            self.profile.pivot(where='mnemonic !')
        address, = self.profile.pivot('address', where='mnemonic = ret').rows
        self.assertEqual(address[-1].number, support.LOOP_ADDRESS + 4)

    def test_taxonomy(self):
        self.assertIn('stack', hbbp.Taxonomy().groups()['groups'])
        own = hbbp.Taxonomy('[round]\nturn: mnemonic in (dec, jne)\nend: mnemonic = ret\n')
        self.assertEqual(own.groups(), {'round': ['turn', 'end']})
        pivot = self.profile.pivot('round', taxonomy=own)
        own.close()
        self.assertEqual([(row[0].text, pivot.cell(i).value) for i, row in enumerate(pivot.rows)],
                         [('turn', 30000), ('end', 5000)])
        with self.assertRaises(hbbp.InvalidStateError):
            self.profile.pivot('round', taxonomy=own)
        with self.assertRaisesRegex(hbbp.InvalidArgumentError, 'line|1:'):
            hbbp.Taxonomy('nonsense')
        with self.assertRaises(hbbp.NotFoundError):
            hbbp.Taxonomy.load('/nowhere/groups')

    def test_ratios(self):
        ratios = {ratio.name: ratio for ratio in self.profile.ratios()}
        self.assertGreater(len(ratios), 5)
        shares = [ratio for ratio in ratios.values() if 'branch' in ratio.name and ratio.is_known]
        self.assertTrue(shares)

    def test_annotate(self):
        listing = self.profile.annotate()
        self.assertEqual([(line.text.split()[0], line.count, line.loop_depth) for line in listing],
                         [('dec', 15000, 1), ('jne', 15000, 1), ('ret', 5000, 0)])
        self.assertEqual(listing, self.profile.annotate('hot'))
        self.assertEqual(listing, self.profile.annotate(self.profile.functions()[0]))
        with self.assertRaisesRegex(hbbp.NotFoundError, "did you mean 'hot'"):
            self.profile.annotate('ho')
        with self.assertRaisesRegex(hbbp.NotFoundError, 'no function has a count in libm'):
            self.profile.annotate(module='libm.so.6')

    def test_exports(self):
        formats = {each.name: each for each in hbbp.export_formats()}
        self.assertEqual((formats['llvm'].is_of_one_module, formats['profgen'].is_of_one_module), (False, True))
        analysis = self.profile.analysis()
        first = support.LOOP_ADDRESS
        expected = f'2\n{first:x}-{first + 2:x}:15000\n{first + 4:x}-{first + 4:x}:5000\n0\n'.encode()
        path = self.directory / 'out.profgen'
        self.assertEqual(analysis.export('profgen', path), [])
        self.assertEqual(path.read_bytes(), expected)
        whole = io.BytesIO()
        analysis.export('profgen', whole, module=self.profile.modules()[analysis.blocks()[0].module].path)
        self.assertEqual(whole.getvalue(), expected)
        with self.assertRaisesRegex(hbbp.InvalidArgumentError, 'llvm, '):
            analysis.export('lvm', path)
        with self.assertRaisesRegex(hbbp.NotFoundError, 'fdebug-info-for-profiling'):
            analysis.export('llvm', self.directory / 'none')
        self.assertFalse((self.directory / 'none').exists())

        class Full(io.BytesIO):
            def write(self, content):
                raise OSError('full')

        with self.assertRaisesRegex(OSError, 'full'):
            analysis.export('profgen', Full())

    def test_code(self):
        analysis = self.profile.analysis()
        block = analysis.blocks()[0]
        self.assertEqual(analysis.find_block(block.module, block.start + 2), block)
        self.assertEqual(analysis.decode(block.module, block.start).mnemonic, 'dec')
        branch = analysis.disassemble(block.module, block.start + 2)
        self.assertEqual((branch.target, branch.flow, branch.length),
                         (block.start, hbbp.Flow.CONDITIONAL, 2))
        self.assertIsNone(analysis.disassemble(block.module, block.start).target)
        with self.assertRaises(LookupError):
            analysis.decode(99, 0)
        with self.assertRaises(hbbp.UnsupportedError):
            analysis.lines_of(block.module, block.start)

    def test_numbers_that_c_does_not_hold(self):
        module = self.profile.blocks()[0].module
        analysis = self.profile.analysis()
        for refused in (lambda: analysis.decode(module + 2**32, support.LOOP_ADDRESS),
                        lambda: analysis.decode(module, -1),
                        lambda: self.profile.select_slice(2**64),
                        lambda: support.fed_profile(period=-1),
                        lambda: support.fed_profile(tid=2**32),
                        lambda: hbbp.Session(period=2**70)):
            with self.assertRaisesRegex(ValueError, '[0-9] is out of range'):
                refused()

    def test_loops(self):
        loop, = self.profile.loops()
        self.assertEqual((loop.header, loop.depth, loop.parent, loop.own_instructions),
                         (support.LOOP_ADDRESS, 1, None, 30000))
        self.assertEqual(self.profile.loops().of_blocks, [0, None])

    def test_analyses(self):
        usual = self.profile.analysis()
        self.assertIs(usual, self.profile.analysis())
        self.assertEqual(usual.info().estimator, hbbp.Estimator.EBS)
        by_flow = self.profile.analyze('flow')
        self.assertEqual(by_flow.info().estimator, hbbp.Estimator.FLOW)
        self.assertEqual(usual.info().estimator, hbbp.Estimator.EBS)
        tree = self.profile.analyze('tree')
        self.assertEqual(tree.info().estimator, hbbp.Estimator.TREE)
        with self.assertRaises(hbbp.BadFormatError):
            self.profile.analyze('tree', tree='{"nonsense": 1}')
        with self.assertRaises(hbbp.InvalidArgumentError):
            self.profile.analyze('flow', tree='{}')
        with self.assertRaisesRegex(ValueError, 'not a name of Estimator'):
            self.profile.analyze('best')
        for options in ({'event': 'nonsense'}, {'root': '/nonexistent'}, {'moved_files': {'none': '/bin/true'}}):
            with self.assertRaises(hbbp.NotFoundError):
                self.profile.analyze(**options)
        self.assertIn('length', hbbp.block_feature_names())
        self.assertEqual(hbbp.count_interval(7, 0), (7, 7))
        low, high = hbbp.count_interval(100, 50)
        self.assertTrue(20 < low < 25 and 380 < high < 400, (low, high))
        self.assertIn('by flow, 2 blocks', repr(by_flow))
        by_flow.close()
        self.assertIn('closed', repr(by_flow))
        with self.assertRaisesRegex(hbbp.InvalidStateError, 'the analysis was closed'):
            by_flow.blocks()

    def test_an_analysis_needs_no_profile(self):
        analysis = self.profile.analyze()
        blocks = self.profile.blocks()
        self.profile.close()
        self.assertEqual(analysis.blocks(), blocks)
        self.assertEqual(analysis.caveats(), [])
        self.assertEqual(analysis.mix().total, 35000)
        self.assertEqual(len(analysis.annotate()), 3)
        analysis.close()
        self.assertEqual(blocks[0].function_name, 'hot')

    def test_the_kept_analysis_goes_with_the_profile(self):
        analysis = weakref.ref(self.profile.analysis())
        self.assertIsNotNone(analysis())
        self.profile.close()
        gc.collect()
        self.assertIsNone(analysis())

    def test_kernel_files(self):
        self.assertTrue(self.profile.analyze(kernel=hbbp.KernelFiles()).blocks())
        with self.assertRaises(hbbp.NotFoundError):
            self.profile.analyze(kernel=hbbp.KernelFiles(vmlinux='/nowhere/vmlinux'))

    def test_work_is_cancelled_and_reports(self):
        cancel, analysis = hbbp.Cancel(), self.profile.analyze()
        cancel.set()
        for work in (self.profile.analyze, analysis.mix, analysis.pivot, analysis.ratios,
                     analysis.loops, lambda **how: hbbp.merge([self.profile], **how),
                     lambda **how: self.profile.select(tid=support.PID, **how)):
            with self.assertRaises(hbbp.CancelledError):
                work(cancel=cancel)
            work(progress=lambda done, everything: None)
        with self.assertRaises(KeyboardInterrupt):
            self.profile.analyze(progress=interrupt)

    def test_features_of_the_library(self):
        self.assertTrue(hbbp.feature('analysis'))
        self.assertFalse(hbbp.feature('no such thing'))

    def test_merge_and_select(self):
        other = support.fed_profile(loop_samples=10, return_samples=0, tid=4712)
        both = hbbp.merge([self.profile, other])
        self.assertEqual(both.info().samples, 45)
        self.assertEqual(both.select_thread(4712).info().samples, 10)
        self.assertEqual(both.select(tid=4712).info().samples, 10)
        with self.assertRaises(hbbp.InvalidArgumentError):
            both.select()
        self.assertEqual([block.count for block in both.select_thread(support.PID).blocks()],
                         [15000, 5000])
        with self.assertRaises(hbbp.NotFoundError):
            both.select_thread(1)
        with self.assertRaises(hbbp.InvalidArgumentError):
            hbbp.merge([])

    def test_merge_one_by_one(self):
        other = support.fed_profile(loop_samples=10, return_samples=0, tid=4712)
        self.assertEqual(self.profile.info().recordings, 1)
        for threads, expected in (True, {support.PID, 4712}), (False, {0}):
            merger = hbbp.Merger(threads=threads, slices=False)
            merger.add(self.profile)
            merger.add(other)
            both = merger.finish()
            self.assertEqual(both.info().samples, 45)
            self.assertEqual(both.info().recordings, 2)
            self.assertEqual({thread.tid for thread in both.threads()}, expected)
            with self.assertRaises(hbbp.InvalidStateError):
                merger.add(other)
        with self.assertRaises(hbbp.InvalidStateError):
            hbbp.Merger().finish()
        cancel = hbbp.Cancel()
        cancel.set()
        with self.assertRaises(hbbp.CancelledError):
            hbbp.Merger().add(other, cancel=cancel)

    def test_diff(self):
        after = support.fed_profile(loop_samples=30, return_samples=20)
        diff = hbbp.diff(self.profile, after)
        ret = diff[0]
        self.assertEqual(ret.labels, ('ret',))
        self.assertAlmostEqual(ret.before, 5 / 35)
        self.assertAlmostEqual(ret.after, 20 / 50)
        self.assertTrue(0 < ret.p < 0.05, ret)
        absolute = hbbp.diff(self.profile, after, ['function', 'mnemonic'], absolute=True)
        self.assertEqual(absolute[0].labels, ('hot', 'ret'))
        self.assertEqual(absolute[0].change, 15000)
        same = hbbp.diff(self.profile, self.profile)
        self.assertEqual([(row.change, row.p) for row in same], [(0, 1)] * 3)

    def test_closed_profile(self):
        blocks = self.profile.blocks()
        with self.profile as profile:
            pass
        self.assertIn('closed', repr(profile))
        self.assertEqual(blocks[0].function_name, 'hot')
        for use in (profile.blocks, profile.mix, profile.info, profile.annotate):
            with self.assertRaises(hbbp.InvalidStateError):
                use()

    def test_streams(self):
        with hbbp.Feed(order='as-added', slice_ns=1_000_000) as feed:
            feed.add_events([support.generated_code()])
            source = feed.add_source('lbr', 'taken-branches', period=100)
            back = (support.LOOP_ADDRESS + 2, support.LOOP_ADDRESS, 0)
            feed.add_samples(source, [
                hbbp.FeedSample(pid=support.PID, tid=support.PID, branches=[back] * 5)])
            feed.flush()
            profile = feed.profile()
        branch, = profile.branches()
        self.assertEqual((branch.from_address, branch.to_address),
                         (support.LOOP_ADDRESS + 2, support.LOOP_ADDRESS))
        self.assertEqual(profile.blocks()[0].count, 100)
        self.assertEqual(profile.loops()[0].trip_basis, hbbp.TripBasis.UNKNOWN)


class FeedErrorsTest(unittest.TestCase):

    def test_records_and_errors(self):
        feed = hbbp.Feed()
        with self.assertRaises(hbbp.InvalidStateError):
            feed.add_perf_records(b'')
        with self.assertRaises(hbbp.InvalidArgumentError):
            feed.add_samples(7, [hbbp.FeedSample(ip=1)])
        with self.assertRaises(hbbp.InvalidArgumentError):
            feed.add_source('truth', 'instructions')
        # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, PERF_SAMPLE_IP | PERF_SAMPLE_TID
        attr = bytearray(136)
        attr[0:4] = (1).to_bytes(4, 'little')
        attr[4:8] = (136).to_bytes(4, 'little')
        attr[8:16] = (1).to_bytes(8, 'little')
        attr[16:24] = (1000).to_bytes(8, 'little')
        attr[24:32] = (3).to_bytes(8, 'little')
        feed.add_source(perf_attr=bytes(attr))
        record = (9).to_bytes(4, 'little') + (1).to_bytes(2, 'little') + (24).to_bytes(2, 'little')
        record += (0x1234).to_bytes(8, 'little') + (1).to_bytes(4, 'little') * 2
        self.assertEqual(feed.add_perf_records(bytearray(record + record[:9])), 24)
        feed.end_round()
        feed.flush()
        self.assertEqual(feed.profile().sources()[0].unmapped, 1)
        with self.assertRaises(hbbp.BadFormatError):
            feed.add_perf_records(b'\0' * 16)


class FilesTest(support.DirectoryTest):

    def test_saved_and_loaded(self):
        path = self.directory / 'fed.hbbp'
        profile = support.fed_profile()
        profile.save(path)
        self.assertEqual(hbbp.load(path).blocks(), profile.blocks())
        self.assertEqual(hbbp.load(str(path)).mix(), profile.mix())

    def test_errors(self):
        with self.assertRaises(hbbp.NotFoundError) as caught:
            hbbp.load(self.directory / 'nothing')
        self.assertEqual(caught.exception.status, hbbp.Status.ERROR_NOT_FOUND)
        self.assertIn('nothing', str(caught.exception))
        with self.assertRaises(hbbp.BadFormatError):
            hbbp.load(__file__)
        with self.assertRaises(hbbp.BadFormatError):
            hbbp.import_recording(__file__)
        with self.assertRaisesRegex(ValueError, 'byte 0'):
            hbbp.load('a\0b')
        with self.assertRaises(TypeError):
            hbbp.load(3.5)

    def test_names_that_are_not_utf8(self):
        path = os.fsencode(self.directory) + b'/\xff.hbbp'
        support.fed_profile(command='\udcff').save(os.fsdecode(path))
        self.assertEqual(hbbp.load(os.fsdecode(path)).info().command, '\\xff')

    def test_cut_files_are_errors(self):
        whole = STREAMS.read_bytes()
        path = self.directory / 'cut'
        for size in range(0, len(whole), max(1, len(whole) // 40)):
            path.write_bytes(whole[:size])
            with self.assertRaises(hbbp.Error):
                hbbp.load(path)


class HostTest(support.DirectoryTest):
    """Tests the functions and flags that a host passes to feeds and to imports."""

    SAMPLES = 40_000

    def fed(self, **options):
        feed = hbbp.Feed(order='as-added', **options)
        source = feed.add_source('ebs', 'instructions', period=1000)
        feed.add_events([hbbp.FeedEvent(hbbp.FeedEventKind.MAPPING, pid=7, address=1 << 20,
                                         size=1 << 28, name='/no/such/program')])
        feed.add_samples(source, [
            hbbp.FeedSample(ip=(1 << 20) + 16 * i, pid=7, tid=7) for i in range(self.SAMPLES)])
        return feed

    def test_memory_of_a_feed(self):
        messages = []
        feed = self.fed(max_memory=1 << 20, log_level='error',
                        log=lambda level, message: messages.append((level, message)))
        info, source = feed.info(), feed.profile().sources()[0]
        self.assertTrue(0 < info.dropped < self.SAMPLES)
        self.assertTrue(info.memory_bytes <= info.peak_memory_bytes <= 1 << 20)
        self.assertEqual(source.samples + info.dropped, self.SAMPLES)
        self.assertIn('no memory for', source.note)
        self.assertTrue(messages)
        self.assertEqual({level for level, _ in messages}, {hbbp.LogLevel.ERROR})
        with self.assertRaisesRegex(hbbp.InvalidArgumentError, 'max_memory'):
            hbbp.Feed(max_memory=1)

    def test_snapshot_can_be_cancelled(self):
        feed, cancel, calls = self.fed(), hbbp.Cancel(), []
        cancel.set()
        with self.assertRaises(hbbp.CancelledError):
            feed.profile(cancel=cancel)
        cancel.clear()
        profile = feed.profile(cancel=cancel, progress=lambda *where: calls.append(where))
        self.assertEqual(profile.info().samples, self.SAMPLES)
        self.assertEqual(calls[-1][0], calls[-1][1])
        with self.assertRaises(KeyboardInterrupt):
            feed.profile(progress=interrupt)

    def test_memory_of_an_import(self):
        path, messages = self.directory / 'script.txt', []
        stacks = 20_000
        with path.open('w') as text:
            text.write('PERF_RECORD_MMAP2 7/7: [0x400000(0x40000000) @ 0 08:01 42 1]: r-xp /no\n')
            for at in range(0x400000, 0x400000 + 256 * stacks, 256):
                text.write(f' {at:x} {at:#x}/{at + 64:#x}/P/-/-/0 {at + 16:#x}/{at + 32:#x}/P/-/-/0\n')
        whole = hbbp.import_recording(path).sources()[0]
        self.assertEqual(whole.samples, stacks)
        source = hbbp.import_recording(
            path, max_memory=1 << 20,
            log=lambda level, message: messages.append(message)).sources()[0]
        self.assertTrue(0 < source.samples < stacks)
        self.assertIn('counts are too low', source.note)
        self.assertTrue(any('were dropped: no memory' in message for message in messages), messages)
        with self.assertRaisesRegex(hbbp.InvalidArgumentError, 'max_memory'):
            hbbp.import_recording(path, max_memory=1)


class RecordingTest(support.DirectoryTest):

    def test_import_tells_how_far_it_is(self):
        calls = []
        profile = hbbp.import_recording(
            support.recording('autofdo/test.lbr'),
            moved_files={'test.binary': support.recording('autofdo/test.binary')},
            progress=lambda done, everything: calls.append((done, everything)))
        self.assertTrue(calls)
        self.assertEqual(profile.sources()[0].samples, 9232)
        self.assertEqual(len(profile.loops().of_blocks), len(profile.blocks()))
        with self.assertRaisesRegex(ZeroDivisionError, 'division'):
            hbbp.import_recording(support.recording('autofdo/test.lbr'),
                                  progress=lambda done, everything: 1 // 0)

    def test_import_and_analysis_can_be_cancelled(self):
        path = support.recording('autofdo/test.lbr')
        moved = {'test.binary': support.recording('autofdo/test.binary')}
        cancel = hbbp.Cancel()
        cancel.set()
        self.assertTrue(cancel.is_set())
        with self.assertRaises(hbbp.CancelledError) as caught:
            hbbp.import_recording(path, cancel=cancel)
        self.assertEqual(caught.exception.status, hbbp.Status.ERROR_CANCELLED)
        cancel.clear()
        profile = hbbp.import_recording(path, moved_files=moved, cancel=cancel)
        cancel.set()
        with self.assertRaises(hbbp.CancelledError):
            profile.analyze(cancel=cancel)
        with self.assertRaises(KeyboardInterrupt):
            profile.analyze(progress=interrupt)
        calls = []
        profile.analyze(progress=lambda done, everything: calls.append(done))
        self.assertTrue(calls)
        self.assertTrue(profile.blocks())

    def test_an_interrupt_is_not_lost_to_another_error(self):
        def fail(work):
            work._obj.progress(1, 2, None)
            raise OSError

        with self.assertRaises(KeyboardInterrupt):
            _host.run_long(fail, interrupt, None)

    def test_ibs(self):
        profile = hbbp.import_recording(support.recording('ibs/zen4_genoa.ibs.perf.data'))
        self.assertEqual(profile.sources()[0].kind, hbbp.SourceKind.IBS)
        self.assertTrue(profile.ibs_buckets())
        events = {row.event for row in profile.analysis().ibs_sums()}
        self.assertTrue(any(event.startswith('op-') for event in events), events)
        sums = profile.analysis().ip_sums()
        self.assertEqual(sum(row.samples for row in sums),
                         sum(source.samples - source.unmapped for source in profile.sources()))
        load, = profile.analysis().ibs_latencies()
        self.assertEqual(load[2:], ('local-dram', 0xffffffff81143526, 448, 512, 1))
        other, = profile.analysis().ibs_objects()
        self.assertEqual(other, (hbbp.IbsObjectKind.OTHER, None, '[other memory]', None, 0, 1, 1, 0, 1, 476, 1, 0))
        for table in (profile.analysis().ibs_sums(), profile.ibs_buckets(), profile.ibs_lines()):
            self.assertEqual(len(list(table)), len(table))

    def recorded(self):
        path = self.directory / 'lbr.hbbp'
        hbbp.import_recording(
            support.recording('autofdo/propeller_sample.perfdata'),
            moved_files={'propeller_sample.bin': support.recording('autofdo/propeller_sample.bin')},
        ).save(path)
        return path

    def test_says_what_the_command_says(self):
        path = self.recorded()
        profile = hbbp.load(path)
        expected = support.command('blocks', path, '--top', 30)
        self.assertEqual(len(expected['rows']), min(30, len(profile.blocks())))
        for found, row in zip(profile.blocks().top(30, 'instructions'), expected['rows']):
            self.assertAlmostEqual(found.count, row['count'], delta=1e-6 * found.count)
        mnemonics = {row['mnemonic']: row for row in support.command('mix', path)['rows']}
        pivot = profile.pivot()
        self.assertEqual(len(pivot), len(mnemonics))
        for i, row in enumerate(pivot.rows):
            self.assertAlmostEqual(pivot.cell(i).value, mnemonics[row[0].text]['instructions'],
                                   delta=1e-6 * pivot.cell(i).value)
        loops = support.command('loops', path)['rows']
        self.assertEqual(len(profile.loops()), len(loops))

    def test_diff_says_what_the_command_says(self):
        path = self.recorded()
        other = self.directory / 'other.hbbp'
        hbbp.import_recording(
            support.recording('autofdo/propeller_sample.perfdata'),
            moved_files={'propeller_sample.bin': support.recording('autofdo/propeller_sample.bin')},
        ).select_thread(max(hbbp.load(path).threads(), key=lambda thread: thread.samples).tid
                        ).save(other)
        for options in ({}, {'absolute': True}, {'by': 'module,function'}):
            arguments = ['--absolute'] if options.get('absolute') else []
            arguments += ['--by', options['by']] if 'by' in options else []
            expected = support.command('diff', path, other, *arguments)['rows']
            found = hbbp.diff(hbbp.load(path), hbbp.load(other), **options)
            self.assertEqual(len(found), len(expected))
            by_labels = {row.labels: row for row in found}
            for row in expected:
                labels = tuple(row[key] for key in options.get('by', 'mnemonic').split(','))
                mine = by_labels[labels]
                for name in ('before', 'before_error', 'after', 'after_error', 'change'):
                    self.assertAlmostEqual(getattr(mine, name), row[name],
                                           delta=1e-9 + 1e-6 * abs(row[name]))
                self.assertEqual(mine.p is None, row['p'] is None)

    def test_names_of_functions_need_no_parameters(self):
        for name, without in (
                ('a::f(int, b<c>)', 'a::f'), ('main', 'main'), ('f() [clone .isra.0] [clone .cold]', 'f'),
                ('a::(anonymous namespace)::f(int) const', 'a::(anonymous namespace)::f'),
                ('(anonymous namespace)::f(void (*)(int)) const &', '(anonymous namespace)::f'),
                ('A::operator()(int) volatile &&', 'A::operator()'), ('A::operator()', 'A::operator()'),
                ('main::{lambda(int)#1}::operator()(int) const', 'main::{lambda(int)#1}::operator()'),
                ('odd)', 'odd)'), ('', '')):
            self.assertEqual(_annotate.without_parameters(name), without)

    def test_annotate_says_what_the_command_says(self):
        path = self.recorded()
        expected = support.command('annotate', path, '--function', 'main')
        self.assertTrue(expected)
        listing = hbbp.load(path).annotate('main')
        texts = {int(row['address'], 0) if isinstance(row['address'], str) else row['address']: row
                 for row in expected['rows'] if row.get('address') is not None}
        self.assertEqual({line.address for line in listing}, set(texts))

    def test_annotate_begins_generated_code_where_something_ran(self):
        """The bounds of its functions are unknown, and zeros surround the code."""
        memory = bytes(64) + support.LOOP_CODE + bytes(64)
        address = support.LOOP_ADDRESS + 64
        for name, first, length in ((None, address, 3), ('named', support.LOOP_ADDRESS, 67)):
            with hbbp.Feed(order='as-added') as feed:
                feed.add_events([hbbp.FeedEvent(
                    hbbp.FeedEventKind.CODE, pid=support.PID, address=support.LOOP_ADDRESS,
                    size=len(memory), code=memory, name=name)])
                source = feed.add_source('ebs', 'instructions', period=1000)
                feed.add_samples(source, [hbbp.FeedSample(ip=ip, pid=support.PID, tid=1)
                                           for ip in (address, address + 2, address + 4)])
                feed.flush()
                profile = feed.profile()
            listing = profile.annotate()
            self.assertEqual((listing[0].address, len(listing)), (first, length))
            self.assertEqual([line.text for line in listing if line.count],
                             ['dec ecx', f'jne {address:#x}', 'ret'])
            profile.save(self.directory / 'generated.hbbp')
            expected = support.command('annotate', self.directory / 'generated.hbbp')
            self.assertEqual([(int(row['address'], 16), row['instruction'], row['count'] or 0)
                              for row in expected['rows']],
                             [(line.address, line.text, line.count) for line in listing])


    def test_lock_that_code_jumps_over_is_part_of_an_instruction(self):
        code = bytes.fromhex('7401' 'f00fb10f' 'ffc0' 'c3')
        with hbbp.Feed(order='as-added') as feed:
            feed.add_events([hbbp.FeedEvent(
                hbbp.FeedEventKind.CODE, pid=support.PID, address=support.LOOP_ADDRESS,
                size=len(code), code=code, name='add')])
            source = feed.add_source('ebs', 'instructions', period=1000)
            feed.add_samples(source, [
                hbbp.FeedSample(ip=support.LOOP_ADDRESS + offset, pid=support.PID, tid=1)
                for offset in (0, 2, 2, 3, 6, 8)])
            feed.flush()
            profile = feed.profile()
        listing = [(line.text, line.count) for line in profile.annotate()]
        self.assertEqual([(text.split()[0], count) for text, count in listing],
                         [('je', 1000), ('lock', 2000), ('cmpxchg', 1000), ('inc', 1000), ('ret', 1000)])
        profile.save(self.directory / 'lock.hbbp')
        expected = support.command('annotate', self.directory / 'lock.hbbp')
        self.assertEqual([(row['instruction'], row['count']) for row in expected['rows']], listing)
        mix = support.command('mix', self.directory / 'lock.hbbp', '--by', 'mnemonic,lock')
        counts = {(row['mnemonic'], row['lock']): row['instructions'] for row in mix['rows']}
        self.assertEqual(counts, {('je', 'no'): 1000, ('cmpxchg', 'yes'): 2000, ('cmpxchg', 'no'): 1000,
                                  ('inc', 'no'): 1000, ('ret', 'no'): 1000})


class ArrayTest(unittest.TestCase):

    def setUp(self):
        self.profile = support.fed_profile()

    @support.needs('numpy')
    def test_numpy(self):
        import numpy
        blocks = self.profile.blocks()
        array = blocks.to_numpy()
        self.assertEqual(array.dtype.names, blocks.columns)
        self.assertEqual(array['count'].tolist(), [15000, 5000])
        self.assertEqual(array['start'].dtype, numpy.uint64)
        self.assertEqual(array['source'].tolist(), ['ebs', 'ebs'])
        self.assertEqual(array['function_name'].tolist(), ['hot', 'hot'])
        self.assertEqual((array['count'] * array['instruction_count']).sum(), 35000)
        self.assertEqual(blocks.top(1, 'count').to_numpy().tolist(), array[:1].tolist())
        self.assertEqual(self.profile.loops().to_numpy()['parent'].tolist(), [-1])
        self.assertEqual(self.profile.branches().to_numpy().shape, (0,))
        self.assertEqual(self.profile.analysis().block_features().shape, (2,))
        self.assertEqual(self.profile.analysis().block_features()['length'].tolist(), [2, 1])
        pivot = self.profile.pivot('mnemonic', 'function').to_numpy()
        self.assertEqual(pivot[['mnemonic', 'function', 'instructions']].tolist(),
                         [('dec', 'hot', 15000), ('jne', 'hot', 15000), ('ret', 'hot', 5000)])
        diff = hbbp.diff(self.profile, self.profile, 'function,mnemonic').to_numpy()
        self.assertEqual(diff['mnemonic'].tolist(), ['dec', 'jne', 'ret'])
        for table in (self.profile.modules(), self.profile.sources(), self.profile.mix('function'),
                      self.profile.annotate(), hbbp.capabilities(), self.profile.ratios()):
            self.assertEqual(len(table.to_numpy()), len(table))

    @support.needs('numpy')
    def test_arrays_are_as_rows(self):
        for table in (self.profile.blocks(), self.profile.loops(), self.profile.functions(),
                      self.profile.threads()):
            array = table.to_numpy()
            for name in table.columns:
                expected = [str(value) if isinstance(value, enum.Enum) else
                            -1 if value is None else value for value in table.column(name)]
                self.assertEqual(array[name].tolist(), expected, name)

    @support.needs('pandas')
    def test_pandas(self):
        frame = self.profile.blocks().to_pandas()
        self.assertEqual(list(frame.columns), list(self.profile.blocks().columns))
        self.assertEqual(frame.groupby('function_name')['count'].sum().to_dict(), {'hot': 20000})
        loops = self.profile.loops().to_pandas()
        self.assertTrue(loops['parent'].isna().all())
        pivot = self.profile.pivot('function,mnemonic', 'category').to_pandas()
        self.assertEqual(pivot.loc[('hot', 'ret')].sum(), 5000)
        self.assertEqual(pivot.columns.names, ['category', 'value'])
        shares = self.profile.pivot().to_pandas('share')
        self.assertAlmostEqual(shares['instructions'].sum(), 1)
        self.assertEqual(len(self.profile.pivot(where='mnemonic = nop').to_pandas()), 0)
        diff = hbbp.diff(self.profile, self.profile).to_pandas()
        self.assertEqual(diff['mnemonic'].tolist(), ['dec', 'jne', 'ret'])
        self.assertEqual(self.profile.mix('thread').to_pandas()['module'].isna().all(), True)
        for table in (self.profile.modules(), self.profile.sources(), self.profile.annotate()):
            self.assertEqual(len(table.to_pandas()), len(table))

    def test_without_numpy(self):
        done = support.python(
            'import sys\n'
            'sys.modules["numpy"] = sys.modules["pandas"] = None\n'
            f'sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n'
            'import support\n'
            'blocks = support.fed_profile().blocks()\n'
            'print(blocks[0].count, len(list(blocks)))\n'
            'try:\n'
            '    blocks.to_pandas()\n'
            'except ImportError as error:\n'
            '    print(error)\n')
        self.assertIn('15000.0 2\nthis needs pandas: install the Debian package python3-pandas',
                      done.stdout, done)


class TableTest(unittest.TestCase):

    def test_rows_of_structs(self):
        blocks = support.fed_profile().blocks()
        self.assertEqual(blocks[-1], blocks[1])
        self.assertEqual(list(blocks[:1]), [blocks[0]])
        self.assertEqual(list(blocks), [blocks[0], blocks[1]])
        with self.assertRaises(IndexError):
            blocks[2]
        self.assertEqual(blocks.where(lambda block: block.count < 10000)[0], blocks[1])
        self.assertEqual(blocks.column('samples'), [30, 5])

    def test_text(self):
        profile = support.fed_profile()
        text = str(profile.mix())
        self.assertRegex(text, r'mnemonic +instructions +standard_error +share\n')
        self.assertRegex(text, r'dec +15,000 +[\d,]+ +42.86 %\n')
        self.assertIn('0x10000', str(profile.blocks()))
        self.assertIn('1 of 3 rows; 35,000 instructions in all', str(profile.pivot(top=1)))
        self.assertIn('35 samples', repr(profile))

    def test_listings_say_what_they_are_not(self):
        with hbbp.Feed(order='as-added') as feed:
            source = feed.add_source('ebs', 'task-clock', period=1000)
            feed.add_events([
                support.generated_code(),
                hbbp.FeedEvent(hbbp.FeedEventKind.LOST, pid=support.PID, source=source, count=3)])
            feed.add_samples(source, [hbbp.FeedSample(ip=ip, pid=support.PID, tid=1)
                                       for ip in (support.LOOP_ADDRESS, 0x777)])
            feed.flush()
            profile = feed.profile()
        self.assertEqual(profile.caveats(), [
            '3 samples were lost: the kernel had no room',
            '1 samples or branches were in no known mapping',
            'the source counts nanoseconds, so counts are proportional to these and no numbers of '
            'executions'])
        for listing in (profile.mix(), profile.pivot(), profile.blocks(), profile.functions(),
                        profile.annotate()):
            self.assertTrue(str(listing).endswith('no numbers of executions'), listing)
            self.assertIn('note: 3 samples were lost', listing._repr_html_())

    def test_listings_say_what_bursts_of_a_clock_weigh_by(self):
        branch = (support.LOOP_ADDRESS + 2, support.LOOP_ADDRESS, 0)
        for extent, note in ((0, 'the source counts nanoseconds'),
                             (20, 'counts rest on a model of how long code takes')):
            with hbbp.Feed(order='as-added') as feed:
                source = feed.add_source('swbt', 'task-clock', period=1000)
                feed.add_events([support.generated_code()])
                feed.add_samples(source, [hbbp.FeedSample(pid=support.PID, tid=1, extent=extent,
                                                          branches=[branch] * 3)])
                feed.flush()
                profile = feed.profile()
            self.assertEqual(profile.sources()[0].extent_in_events, extent != 0)
            said, = profile.caveats()
            self.assertTrue(said.startswith(note), said)

    def test_listings_say_if_stacks_of_cycles_could_not_be_weighed_by_them(self):
        for cycles in (0, 20):
            branch = (support.LOOP_ADDRESS + 2, support.LOOP_ADDRESS, cycles << 4)
            with hbbp.Feed(order='as-added') as feed:
                source = feed.add_source('lbr', 'cycles', period=1000)
                feed.add_events([support.generated_code()])
                feed.add_samples(source, [hbbp.FeedSample(pid=support.PID, tid=1,
                                                          branches=[branch] * 3)])
                feed.flush()
                profile = feed.profile()
            self.assertEqual(profile.sources()[0].extent_in_events, cycles != 0)
            self.assertEqual(any('counts cycles, so counts are proportional' in each
                                 for each in profile.caveats()), cycles == 0)

    def test_listings_warn_of_samples_that_are_not_precise(self):
        for name, is_said in (('ex_ret_instr:u', True), (None, False)):
            with hbbp.Feed(order='as-added') as feed:
                source = feed.add_source('ebs', 'instructions', period=1000, event_name=name)
                feed.add_events([support.generated_code()])
                feed.add_samples(source, [hbbp.FeedSample(ip=support.LOOP_ADDRESS, pid=support.PID,
                                                          tid=1)])
                feed.flush()
                profile = feed.profile()
            self.assertEqual(any(f'samples of {name} are not precise' in each
                                 for each in profile.caveats()), is_said)

    def test_values_of_newer_libraries(self):
        source = hbbp.SourceKind(99)
        self.assertEqual((str(source), int(source)), ('unknown-99', 99))
        block = _abi.hbbp_block(source=98, struct_size=ctypes.sizeof(_abi.hbbp_block))
        from hbbp._lists import row
        self.assertEqual(str(row(hbbp.rows.Block, block, module_name='', function_name='').source),
                         'unknown-98')

    def test_names_of_choices(self):
        self.assertEqual(hbbp.SourceKind.of('ebs-and-swbt'), hbbp.SourceKind.EBS_AND_SWBT)
        self.assertEqual(hbbp.SourceKind.of('EBS_AND_SWBT'), 7)
        self.assertEqual(f'{hbbp.SourceKind.LBR:>5}', '  lbr')

    def test_errors_travel(self):
        import pickle
        try:
            hbbp.load('/nowhere/profile')
        except hbbp.NotFoundError as error:
            again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), again.status, again.message),
                         (hbbp.NotFoundError, hbbp.Status.ERROR_NOT_FOUND, str(again)))

    def test_demangle(self):
        self.assertEqual(hbbp.demangle('_ZN1a1fEi'), 'a::f(int)')
        self.assertEqual(hbbp.demangle('main'), 'main')


class CorpusTest(unittest.TestCase):
    """Tests that for any contents of a file, every list is read or an error is raised."""

    def test_everything_of_every_profile(self):
        outcomes = collections.Counter()
        for path in sorted(STREAMS.parent.iterdir()):
            try:
                profile = hbbp.load(path)
            except hbbp.Error as error:
                outcomes[error.status] += 1
                continue
            outcomes['loaded'] += 1
            for read in (profile.info, profile.sources, profile.threads, profile.modules,
                         profile.functions, profile.blocks, profile.branches, profile.loops,
                         profile.slices, profile.analysis().ibs_sums, profile.ibs_lines, profile.mix,
                         profile.analysis().modules, profile.analysis().sources):
                str(read())
        self.assertGreater(outcomes['loaded'], 0)


if __name__ == '__main__':
    support.main(__name__)
