"""Tests hbbp merge of many profiles: lists, directories, files that are not profiles, memory, and that the sum does not
depend on how it was made."""
import os
import resource
import shutil
import subprocess

import record_support
from record_support import TOOL, program

COPIES = 3000


class MergeTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        self.profiles = self.directory / 'profiles'
        self.profiles.mkdir()
        self.sum = self.directory / 'sum.data'

    def record_some(self, number):
        """Records `number` profiles by bursts; returns their paths."""
        for i in range(number):
            self.record(program('loops'), 'trips', '3000', period_ns=200_000,
                        options=('--source', 'swbt'))
            self.file.rename(self.profiles / f'{i}.data')
        return [self.profiles / f'{i}.data' for i in range(number)]

    def record(self, *command, period_ns, options):
        result = self.run_tool('record', *options, '-e', 'task-clock', '-c', period_ns, '-o', self.file, '--', *command)
        self.assertEqual(result.returncode, 0, result)

    def merge(self, *arguments, output=None, **options):
        result = self.run_tool('merge', '-o', output or self.sum, *arguments, **options)
        self.assertEqual(result.returncode, 0, result)
        return result

    def blocks(self, file=None):
        """{block: numbers} of a profile."""
        rows = self.rows('blocks', file or self.sum)
        return {(row['module'], row['start']): (row['count'], row['standard_error']) for row in rows}

    def assert_same_blocks(self, one, other):
        one, other = self.blocks(one), self.blocks(other)
        self.assertEqual(one.keys(), other.keys())
        self.assertGreater(len(one), 3)
        for block, (count, error) in one.items():
            self.assertAlmostEqual(count, other[block][0], delta=1e-5 * count)
            self.assertAlmostEqual(error, other[block][1], delta=1e-3 * error)

    def test_order_and_grouping_make_no_difference(self):
        paths = self.record_some(6)
        self.merge(*paths)
        at_once = self.directory / 'at_once.data'
        self.sum.rename(at_once)
        self.assertEqual(self.info(at_once)['recordings'], 6)
        self.assertEqual(self.info(paths[0])['recordings'], 1)
        self.assertIn('sum of    6 recordings', self.run_tool('info', at_once).stdout)

        self.merge(*reversed(paths))
        self.assert_same_blocks(self.sum, at_once)

        self.merge(paths[0], paths[1])
        for path in paths[2:]:
            self.merge(self.sum, path)
        self.assertEqual(self.info(self.sum)['recordings'], 6)
        self.assert_same_blocks(self.sum, at_once)

        halves = [self.directory / 'first', self.directory / 'second']
        self.merge(*paths[:2], output=halves[0])
        self.merge(*paths[2:], output=halves[1])
        self.merge(*halves)
        self.assert_same_blocks(self.sum, at_once)

        self.merge('--no-threads', *paths)
        self.assertEqual([thread['tid'] for thread in self.info(self.sum)['thread_list']], [0])
        self.assert_same_blocks(self.sum, at_once)

    def test_lists_and_directories(self):
        paths = self.record_some(3)
        (self.profiles / 'day').mkdir()
        shutil.move(paths[2], self.profiles / 'day' / 'with a\nline')
        paths[2] = self.profiles / 'day' / 'with a\nline'
        (self.profiles / '.hidden').write_text('no profile')
        (self.profiles / 'link').symlink_to(self.profiles)
        samples = sum(source['samples'] for path in paths for source in self.info(path)['sources'])

        def merged():
            info = self.info(self.sum)
            self.assertEqual(sum(source['samples'] for source in info['sources']), samples)
            self.sum.unlink()
        self.merge(self.profiles)
        merged()
        listed = self.directory / 'list'
        listed.write_text(f'{paths[0]}\n\n{paths[1]}\n')
        self.merge('--files-from', listed, paths[2])
        merged()
        with open(listed, encoding='utf-8') as names:
            self.merge('--files-from', '-', paths[2], stdin=names)
        merged()
        listed.write_bytes(b'\0'.join(str(path).encode() for path in paths))
        self.merge('-0', '--files-from', listed)
        merged()
        # The sum is in the directory, and is not added to itself.
        inside = self.profiles / 'all.data'
        for _ in range(2):
            self.merge(self.profiles, output=inside)
        inside.rename(self.sum)
        merged()

    def test_bad_files_are_refused_or_skipped_by_name(self):
        paths = self.record_some(2)
        self.merge(*paths)
        expected = self.info(self.sum)
        damaged = self.profiles / 'damaged'
        content = bytearray(paths[0].read_bytes())
        content[-3] ^= 1
        damaged.write_bytes(content)
        foreign = self.profiles / 'foreign'
        foreign.write_text('not a profile')
        cut = self.profiles / 'short'
        cut.write_bytes(paths[0].read_bytes()[:1000])
        missing = self.directory / 'missing'
        self.assertIn(str(damaged), self.refused('merge', '-o', self.sum, self.profiles))
        result = self.merge('--skip-bad', self.profiles, missing)
        self.assertIn('2 profiles, ', result.stdout)
        self.assertIn('; skipped 4; ', result.stdout)
        notes = result.stderr.splitlines()
        self.assertEqual(len(notes), 4)
        for bad in damaged, foreign, cut, missing:
            self.assertEqual(sum(str(bad) in note for note in notes), 1, notes)
        self.assertEqual([source['samples'] for source in self.info(self.sum)['sources']],
                         [source['samples'] for source in expected['sources']])
        result = self.run_tool('merge', '--skip-bad', foreign)
        self.assertEqual(result.returncode, 2)
        self.assertIn('none of the files', result.stderr)

    def test_nothing_to_merge(self):
        self.assertIn('--files-from', self.refused('merge'))
        self.assertIn('there are no files', self.refused('merge', self.profiles))
        self.assertIn('/none', self.refused('merge', '--files-from', '/none'))

    def test_memory_and_descriptors_do_not_go_by_the_number_of_profiles(self):
        path, = self.record_some(1)
        names = self.directory / 'names'

        def peak(number):
            names.write_text(f'{path}\n' * number)

            def limit():
                resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
            with subprocess.Popen([TOOL, 'merge', '--files-from', names, '-o', self.sum], preexec_fn=limit,
                                  stdout=subprocess.DEVNULL) as process:
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = status
            self.assertEqual(status, 0)
            self.assertEqual(self.info(self.sum)['recordings'], number)
            return usage.ru_maxrss
        few, many = peak(COPIES // 10), peak(COPIES)
        # Lists are added up when 65,536 branches are new, which few profiles may not have.
        self.assertLess(many, few + 40_000)


record_support.main(MergeTest)
