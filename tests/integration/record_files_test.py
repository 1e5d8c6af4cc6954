"""Profiles that are damaged, and programs that are no longer those that were recorded."""
import random
import re
import shutil
import signal
import sys

import record_support
from record_support import program

READERS = (('info',), ('mix',), ('blocks',))


class RecordFilesTest(record_support.RecordTest):

    def recorded(self):
        """A copy of a program, with a profile of it."""
        copy = self.folder / 'copy'
        shutil.copy(program('ends'), copy)
        self.record(copy, 'return', 200)
        return copy

    def every_reader_refuses(self, file, *words):
        for reader in READERS:
            message = self.refused(*reader, file)
            for word in (str(file), *words):
                self.assertIn(word, message)
        self.assertIn(str(file), self.refused('compare', self.file, file))
        self.assertIn(str(file), self.refused('compare', file, self.file))

    def test_no_such_file(self):
        self.recorded()
        self.every_reader_refuses(self.folder / 'none', 'No such file')

    def test_a_folder(self):
        self.recorded()
        self.every_reader_refuses(self.folder)

    def test_foreign_file(self):
        self.every_reader_refuses(self.recorded(), 'not a profile')

    def test_empty_file(self):
        self.recorded()
        empty = self.folder / 'empty'
        empty.write_bytes(b'')
        self.every_reader_refuses(empty)

    def test_truncated_files(self):
        self.recorded()
        content = self.file.read_bytes()
        part = self.folder / 'part'
        for size in sorted({7, 8, 12, 31, 32, 100, len(content) // 2, len(content) - 1}):
            part.write_bytes(content[:size])
            self.refused('info', part)
        self.every_reader_refuses(part)

    def test_damaged_files(self):
        self.recorded()
        content = self.file.read_bytes()
        damaged = self.folder / 'damaged'
        draw = random.Random(1)
        for _ in range(40):
            position = draw.randrange(len(content))
            changed = bytearray(content)
            changed[position] ^= 1 << draw.randrange(8)
            damaged.write_bytes(changed)
            self.refused('info', damaged)

    def test_truth_that_is_none(self):
        copy = self.recorded()
        self.assertIn('callgrind', self.refused('compare', self.file, '--truth', copy))
        self.refused('compare', self.file, '--truth', self.folder / 'none')
        self.refused('compare', self.file)

    def check_unexplained(self, code):
        info = self.info()
        source, = info['sources']
        self.assertGreater(source['samples'], 100)
        self.assertGreater(source['unexplained'], 0.9 * source['samples'])
        module, = [module for module in info['modules'] if module['name'].endswith('/copy')]
        self.assertEqual(module['code'], code)
        self.assertNotEqual(module['problem'], '')
        for reader in ('mix', 'blocks'):
            listing = self.run_tool(reader, self.file)
            self.assertEqual(listing.returncode, 0, listing)
            self.assertIn('could not be read', listing.stdout)

    def test_program_removed(self):
        self.recorded().unlink()
        self.check_unexplained('missing')

    def test_program_replaced(self):
        copy = self.recorded()
        copy.unlink()
        shutil.copy(program('forks'), copy)
        self.check_unexplained('mismatch')

    def test_program_moved_away_while_it_runs(self):
        copy = self.folder / 'copy'
        shutil.copy(program('ends'), copy)
        self.record('sh', '-c', f'(sleep 0.2; rm "{copy}") & exec "{copy}" return 600')
        source, = self.info()['sources']
        self.assertEqual(source['unexplained'], 0)

    def record_script(self, *lines, **options):
        """Python code, in whose hands the parts are: `part` is that of its own process."""
        start = ('import os, pathlib, shutil, signal',
                 'parts = pathlib.Path(os.environ["HBBP_PRELOAD_FOLDER"])',
                 'part, = parts.glob(f"{os.getpid()}.*.partial")')
        return self.record(sys.executable, '-c', '\n'.join(start + lines), **options)

    def test_loss_is_reckoned_without_the_times_of_files(self):
        result = self.record_script('os.utime(part, (1e9, 1e9))', 'os.kill(os.getpid(), signal.SIGKILL)',
                                    status=128 + signal.SIGKILL)
        value, unit = re.search(r'its last ([0-9.,]+) (\w+) are missing', result.stderr).groups()
        self.assertIn(unit, ('ns', 'us', 'ms', 's'))
        self.assertLess(float(value.replace(',', '')), 100_000)

    def test_of_two_parts_of_an_image_the_longer_one_counts_whatever_the_times_of_files(self):
        self.record_script(
            'first = part.read_bytes()',
            'while part.read_bytes() == first: pass',
            f'shutil.copy(part, "{self.folder}/later")',
            'earlier = part.with_suffix(".hbbp")',
            'earlier.write_bytes(first)',
            'os.utime(earlier, (4e9, 4e9))',
            'os.kill(os.getpid(), signal.SIGKILL)', status=128 + signal.SIGKILL)
        self.assertGreaterEqual(self.info()['duration_ns'],
                                self.info(self.folder / 'later')['duration_ns'])


if __name__ == '__main__':
    record_support.main(RecordFilesTest)
