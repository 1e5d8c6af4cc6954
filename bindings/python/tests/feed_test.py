#!/usr/bin/env python3
"""Tests feeding samples, one by one and as arrays of numpy."""
import ctypes
import os
import unittest

import hbbp

import support

LOOP = support.LOOP_ADDRESS
RETURN = LOOP + 4
BACK = (LOOP + 2, LOOP, 0)
CALLED = (0x900, LOOP, 0)
BRANCH = [('from', 'u8'), ('to', 'u8'), ('flags', 'u8')]


class FeedTest(unittest.TestCase):

    def feed(self, samples, kind='ebs', event='instructions', **options):
        with hbbp.Feed(order='as-added', slice_ns=1_000_000) as feed:
            feed.add_events([support.generated_code()])
            source = feed.add_source(kind, event, period=100, **options)
            feed.add_samples(source, samples)
            feed.flush()
            return feed.profile()

    def assert_same(self, one, other):
        for read in ('blocks', 'branches', 'threads', 'slices', 'sources'):
            self.assertEqual(list(getattr(one, read)()), list(getattr(other, read)()), read)
        self.assertEqual(one.analysis().ibs_sums(), other.analysis().ibs_sums())
        self.assertGreater(one.info().samples, 0)

    def refused(self, samples, reason, error=TypeError, **options):
        with self.assertRaisesRegex(error, reason):
            self.feed(samples, **options)


class ProcessTest(unittest.TestCase):

    def test_process_is_as_proc_shows_it(self):
        libc = ctypes.CDLL(None)
        address = ctypes.cast(libc.getpid, ctypes.c_void_p).value
        with hbbp.Feed() as feed:
            feed.process()
            source = feed.add_source('ebs', 'instructions', period=1000)
            feed.add_samples(source, [hbbp.FeedSample(ip=address, pid=os.getpid(), tid=os.getpid(), time_ns=1)])
            feed.flush()
            profile = feed.profile()
            with self.assertRaises(hbbp.InvalidArgumentError):
                feed.process(2 ** 31)
        self.assertEqual(profile.info().unmapped, 0)
        sampled, = (module for module in profile.modules() if module.samples)
        self.assertIn('libc', sampled.path)
        with open('/proc/self/comm') as name:
            self.assertEqual(profile.threads()[0].name, name.read().strip())


class DataTest(unittest.TestCase):

    def test_blocks_of_data(self):
        # IBS_OP_CTL, _RIP, _DATA, _DATA2, _DATA3 (a load with an address), _LINADDR
        def load(time_ns):
            return hbbp.FeedSample(ip=LOOP, pid=support.PID, tid=7, time_ns=time_ns,
                                   ibs_registers=[1 << 18, LOOP, 0, 0, 1 << 17 | 1, 0x10020, 0])

        def data(time_ns, name):
            return hbbp.FeedEvent(hbbp.FeedEventKind.DATA, pid=support.PID, time_ns=time_ns, address=0x10000, size=64,
                                  name=name)

        feed = hbbp.Feed()
        source = feed.add_source(hbbp.SourceKind.IBS, hbbp.Event.UOPS, ibs=hbbp.IbsKind.OP, period=1000)
        feed.add_events([support.generated_code(), data(10, 'first'), data(20, 'second'), data(30, None)])
        feed.add_samples(source, [load(time_ns) for time_ns in (15, 20, 25, 30)])
        feed.flush()
        objects = feed.profile().analysis().ibs_objects()
        self.assertEqual({row.name: (row.kind, row.loads) for row in objects},
                         {'first': (hbbp.IbsObjectKind.BLOCK, 1), 'second': (hbbp.IbsObjectKind.BLOCK, 2),
                          '[other memory]': (hbbp.IbsObjectKind.OTHER, 1)})


class OneByOneTest(FeedTest):

    def test_any_iterable_is_taken(self):
        samples = [hbbp.FeedSample(ip=LOOP, pid=support.PID, tid=1)] * 3
        self.assert_same(self.feed(iter(samples)), self.feed(samples))
        self.assertEqual(self.feed([]).info().samples, 0)

    def test_numbers_out_of_range(self):
        for name, number in (('ip', -1), ('ip', 2**64), ('pid', 2**32), ('ibs_capabilities', -1)):
            self.refused([hbbp.FeedSample(**{name: number})], f'{name}: {number} is out of range',
                         hbbp.InvalidArgumentError)
        self.refused([hbbp.FeedSample(branches=[(1, 2, -3)])], '-3 is out of range',
                     hbbp.InvalidArgumentError)

    def test_no_numbers(self):
        self.refused([hbbp.FeedSample(ip='main')], "integers, not FeedSample.*'main'")
        self.refused([hbbp.FeedSample(branches=[(1, 2)])], r'a branch is \(from, to, flags\)',
                     ValueError)


@support.needs('numpy')
class ArrayTest(FeedTest):

    def samples(self, count, **fields):
        """Returns a structured array of samples with these fields, and `pid` and `tid`."""
        import numpy
        columns = {'pid': support.PID, 'tid': 7, **fields}
        formats = {'branches': (BRANCH, 3), 'ibs_registers': ('u8', 7), 'pid': 'u4', 'tid': 'u4',
                   'branch_count': 'u4'}
        samples = numpy.zeros(count, dtype=[(name, *formats[name]) if isinstance(
            formats.get(name), tuple) else (name, formats.get(name, 'u8')) for name in columns])
        for name, values in columns.items():
            samples[name] = values
        return samples

    def test_counts_are_those_of_samples_one_by_one(self):
        addresses = [LOOP] * 30 + [RETURN] * 5
        times = [1_000_000 * (i + 1) for i in range(len(addresses))]
        one_by_one = [hbbp.FeedSample(ip=ip, pid=support.PID, tid=7, time_ns=time, period=50)
                      for ip, time in zip(addresses, times)]
        samples = self.samples(len(addresses), ip=addresses, time_ns=times, period=50)
        self.assert_same(self.feed(samples), self.feed(one_by_one))
        self.assertEqual([block.count for block in self.feed(samples).blocks()], [750, 250])
        # A slice takes every other one; a second array has the same ones contiguously.
        self.assert_same(self.feed(samples[::2]), self.feed(one_by_one[::2]))
        self.assertEqual(self.feed(samples[:0]).info().samples, 0)

    def test_integers_of_any_type(self):
        import numpy
        samples = self.samples(9, ip=LOOP)
        narrow = samples.astype([('pid', 'i2'), ('tid', 'u1'), ('ip', 'i4')])
        self.assert_same(self.feed(narrow), self.feed(samples))
        frames = numpy.rec.fromarrays([samples['ip'], samples['pid'].astype('i8')],
                                      names='ip,pid')
        self.assertEqual(self.feed(frames).blocks()[0].count, 450)

    def test_branches(self):
        stacks = [[BACK, BACK, CALLED], [BACK, BACK, BACK]]
        one_by_one = [hbbp.FeedSample(pid=support.PID, tid=7, branches=stack) for stack in stacks]
        samples = self.samples(2, branches=stacks)
        of_branches = {'kind': 'lbr', 'event': 'taken-branches'}
        profile = self.feed(samples, **of_branches)
        self.assert_same(profile, self.feed(one_by_one, **of_branches))
        self.assertEqual({branch.from_address: branch.samples for branch in profile.branches()},
                         {LOOP + 2: 5, None: 1})

    def test_branches_of_several_lengths(self):
        stacks = [[BACK, BACK, BACK], [BACK, BACK]]
        one_by_one = [hbbp.FeedSample(pid=support.PID, tid=7, branches=stack) for stack in stacks]
        samples = self.samples(2, branch_count=[3, 2], branches=[stacks[0], [BACK, BACK, CALLED]])
        of_branches = {'kind': 'lbr', 'event': 'taken-branches'}
        self.assert_same(self.feed(samples, **of_branches), self.feed(one_by_one, **of_branches))

    def test_ibs_registers(self):
        # IBS_OP_CTL, _RIP, _DATA: an operation that retired 9 cycles after it was tagged.
        registers = [1 << 18, LOOP, 9 << 16, 0, 0, 0, 0]
        of_ibs = {'kind': 'ibs', 'event': 'uops', 'ibs': 'op'}
        one_by_one = [hbbp.FeedSample(ip=LOOP, pid=support.PID, tid=7, ibs_registers=registers)] * 4
        profile = self.feed(self.samples(4, ip=LOOP, ibs_registers=registers), **of_ibs)
        self.assert_same(profile, self.feed(one_by_one, **of_ibs))
        self.assertEqual({row.event: row.sum for row in profile.analysis().ibs_sums()},
                         {'op-samples': 4, 'op-tag-to-retire-cycles': 36})

    def test_what_is_no_array_of_samples(self):
        import numpy
        self.refused(numpy.zeros(3), 'a structured array of one dimension')
        self.refused(self.samples(4, ip=LOOP).reshape(2, 2), 'a structured array of one dimension')
        self.refused(self.samples(1, address=LOOP), 'a sample has no address; it has time_ns, ip')
        self.refused(numpy.zeros(1, dtype=[('ip', 'f8')]), 'ip .* is an integer, not float64')
        self.refused(numpy.zeros(1, dtype=[('ip', 'u8', 2)]), 'ip .* is an integer')
        self.refused(numpy.zeros(1, dtype=[('branches', 'u8', 3)]), 'branches of each sample')
        self.refused(numpy.zeros(1, dtype=[('ibs_registers', 'u4', 3)]), 'ibs_registers of each')

    def test_columns_out_of_range(self):
        import numpy
        for kind, number in (('i8', -1), ('i8', 2**32), ('u8', 2**40)):
            self.refused(numpy.array([(1,), (number,)], dtype=[('pid', kind)]),
                         f'pid: {number} is out of range', hbbp.InvalidArgumentError)

    def test_more_branches_than_there_is_room_for(self):
        self.refused(self.samples(1, branch_count=4, branches=[[BACK] * 3]),
                     'branch_count is 4, and there is room for 3 branches', ValueError)
        self.refused(self.samples(1, branch_count=1), 'room for 0 branches', ValueError)


# Only the subclasses that feed something are tests.
del FeedTest

if __name__ == '__main__':
    support.main(__name__)
