"""Tests that recordings of real hardware, fed record by record, give the same profile as their
import."""
import json
import os
import pathlib
import random
import struct
import unittest

import feed
import perf_data_parts
import profile_parts
import record_support

RECORDINGS = ['autofdo/test.lbr', 'autofdo/propeller_sample.perfdata',
              'autofdo/hierarchical_discriminator_test.x86_64.perf.data',
              'ibs/zen2_rome.ibs.perf.data', 'ibs/zen4_genoa.ibs.perf.data',
              'linux-perf-data/sleep.data', 'quipper/*']

ATTR_BYTES = 112
SAMPLE_TYPE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 8 | 1 << 11  # IP, TID, TIME, PERIOD, BRANCH_STACK
SAMPLE_ID_ALL, ANY_BRANCH = 1 << 18, 1 << 3
INSTRUCTIONS = 3


class FeedTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        self.feed = None

    def tearDown(self):
        if self.feed is not None:
            self.feed.close()

    def recordings(self):
        root = pathlib.Path(os.environ.get('HBBP_TEST_DATA', ''))
        paths = [path for pattern in RECORDINGS for path in sorted(root.glob(pattern))]
        if len(paths) < len(RECORDINGS):
            raise unittest.SkipTest('no recordings (HBBP_TEST_DATA)')
        return paths

    def feed_in_pieces(self, records, seed):
        """Feeds pieces that end anywhere; the rest of each is fed again with the next."""
        chooser, rest = random.Random(seed), b''
        data = b''.join(records)
        at = 0
        while at < len(data):
            size = chooser.choice([1, 7, 100, 4096, 65536, 1 << 20])
            piece, at = rest + data[at:at + size], at + size
            consumed, error = self.feed.add_records(piece)
            rest = piece[consumed:]
            if error is not None:
                return error
        return None

    def profile_of_fed(self, path):
        recording = perf_data_parts.PerfData(path)
        self.feed = feed.Feed(host=b'another', cpu_id=recording.cpu_id.encode())
        for event in recording.events:
            self.feed.add_source(event.ids, perf_attr=event.attr,
                                    perf_attr_size=len(event.attr),
                                    event_name=event.name.encode() if event.name else None)
        for file, build_id in recording.build_ids.items():
            self.feed.add_events(feed.Event(
                kind=feed.BUILD_ID, name=file.encode(errors='surrogateescape'), build_id=build_id,
                build_id_size=len(build_id)))
        error = self.feed_in_pieces(recording.records, seed=path.name)
        self.feed.flush()
        fed = self.directory / 'fed.data'
        self.feed.save(fed)
        self.feed.close()
        self.feed = None
        return profile_parts.Profile(fed), error

    def test_recordings_give_the_same_as_imported(self):
        branches = 0
        for path in self.recordings():
            with self.subTest(path.name):
                result = self.run_tool('import', '-o', self.file, path)
                self.assertEqual(result.returncode, 0, result)
                imported = profile_parts.Profile(self.file)
                fed, error = self.profile_of_fed(path)
                self.assertEqual(fed.sources, imported.sources)
                self.assertEqual(fed.counts, imported.counts)
                self.assertEqual(fed.branches, imported.branches)
                branches += len(fed.branches)
                self.assertEqual(fed.duration_ns, imported.duration_ns)
                self.assertEqual(fed.pid, imported.pid)
                self.assertEqual(error is not None, 'zero_size_sample' in path.name, error)
        self.assertGreater(branches, 1000)

    def blocks(self):
        result = self.run_tool('blocks', '--format', 'json', self.file)
        self.assertEqual(result.returncode, 0, result)
        return json.loads(result.stdout)['rows']

    def test_decoded_samples_give_the_same_as_their_records(self):
        chooser = random.Random(1)
        stacks = [[(0x400000 + chooser.randrange(64), 0x400000 + chooser.randrange(64))
                   for _ in range(chooser.randrange(17))] for _ in range(500)]
        attr = struct.pack('<IIQQQQQIIQQQ', 0, ATTR_BYTES, 1, 1000, SAMPLE_TYPE, 0, SAMPLE_ID_ALL, 0,
                           0, 0, 0, ANY_BRANCH).ljust(ATTR_BYTES, b'\0')
        profiles = []
        for is_decoded in (False, True):
            self.feed = feed.Feed(order=is_decoded)
            mapping = feed.Event(kind=feed.MAPPING, pid=7, tid=7, time_ns=1, address=0x400000,
                                 size=0x1000, name=b'/opt/server')
            self.feed.add_events(mapping)
            if is_decoded:
                sources = [self.feed.add_source(kind=kind, event=INSTRUCTIONS, period=1000,
                                                   event_name=b'instructions', include_kernel=1)
                           for kind in (feed.EBS, feed.LBR)]
            else:
                self.feed.add_source([1], perf_attr=attr, perf_attr_size=len(attr))
            for time, stack in enumerate(stacks, 10):
                if is_decoded:
                    branches = (feed.Branch * len(stack))(*((*pair, 0) for pair in stack))
                    sample = feed.Sample(time_ns=time, ip=0x400010, period=time, pid=7, tid=7)
                    self.feed.add_samples(sources[0], [sample])
                    sample.branches, sample.branch_count = branches, len(stack)
                    self.feed.add_samples(sources[1], [sample])
                else:
                    entries = b''.join(struct.pack('<QQQ', *pair, 0) for pair in stack)
                    body = struct.pack('<QIIQQQ', 0x400010, 7, 7, time, time, len(stack)) + entries
                    record = struct.pack('<IHH', 9, 2, 8 + len(body)) + body
                    self.assertEqual(self.feed.add_records(record), (len(record), None))
            self.feed.flush()
            self.feed.save(self.file)
            self.feed.close()
            self.feed = None
            profiles.append(profile_parts.Profile(self.file))
        of_records, of_decoded = profiles
        self.assertGreater(len(of_records.branches), 1000)
        self.assertEqual(of_decoded.sources, of_records.sources)
        self.assertEqual(of_decoded.counts, of_records.counts)
        self.assertEqual(of_decoded.branches, of_records.branches)

    def test_blocks_of_generated_code_that_was_replaced(self):
        self.feed = feed.Feed()
        source = self.feed.add_source(kind=feed.EBS, event=INSTRUCTIONS, period=1000)
        loop, nops = bytes.fromhex('31c0ffc875fcc3'), bytes.fromhex('9090c3')
        for time, name, code in ((10, b'old', loop), (20, b'new', nops)):
            self.feed.add_events(feed.Event(kind=feed.CODE, pid=7, time_ns=time, address=0x7000,
                                                size=len(code), code=code, name=name))
        self.feed.add_samples(source, [feed.Sample(time_ns=time, ip=0x7000 + offset, pid=7)
                                           for time, offset in ((12, 2), (13, 4), (25, 1))])
        self.feed.flush()
        self.feed.save(self.file)
        rows = {(row['function'], row['start'], row['instructions'], round(row['count']))
                for row in self.blocks()}
        self.assertEqual(rows, {('old', '0x7002', 2, 1000), ('new', '0x7000', 3, 333)})


record_support.main(FeedTest)
