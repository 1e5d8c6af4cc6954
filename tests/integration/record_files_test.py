"""Tests damaged profiles, and programs that changed after they were recorded."""
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys

import record_support
from record_support import TOOL, program

READERS = (('info',), ('mix',), ('blocks',))
# The next checkpoint comes tens of milliseconds later, and would replace what a test plants.
AFTER_CHECKPOINT = ('checkpoint = part.stat().st_ino',
                    'while part.stat().st_ino == checkpoint: pass')


class RecordFilesTest(record_support.RecordTest):

    def recorded(self):
        """Makes a copy of a program, with a profile of it."""
        copy = self.directory / 'copy'
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
        self.every_reader_refuses(self.directory / 'none', 'No such file')

    def test_a_directory(self):
        self.recorded()
        self.every_reader_refuses(self.directory)

    def test_foreign_file(self):
        self.every_reader_refuses(self.recorded(), 'not a profile')

    def test_empty_file(self):
        self.recorded()
        empty = self.directory / 'empty'
        empty.write_bytes(b'')
        self.every_reader_refuses(empty)

    def test_truncated_files(self):
        self.recorded()
        content = self.file.read_bytes()
        part = self.directory / 'part'
        for size in sorted({7, 8, 12, 31, 32, 100, len(content) // 2, len(content) - 1}):
            part.write_bytes(content[:size])
            self.refused('info', part)
        self.every_reader_refuses(part)

    def test_damaged_files(self):
        self.recorded()
        content = self.file.read_bytes()
        damaged = self.directory / 'damaged'
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
        self.refused('compare', self.file, '--truth', self.directory / 'none')
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
        copy = self.directory / 'copy'
        shutil.copy(program('ends'), copy)
        self.record('sh', '-c', f'(sleep 0.2; rm "{copy}") & exec "{copy}" return 600')
        source, = self.info()['sources']
        self.assertEqual(source['unexplained'], 0)

    def record_script(self, *lines, **options):
        """Records Python code that accesses the parts: `part` is that of its own process."""
        start = ('import os, pathlib, shutil, signal',
                 'parts = pathlib.Path(os.environ["HBBP_PRELOAD_DIRECTORY"])',
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
            f'shutil.copy(part, "{self.directory}/later")',
            'earlier = part.with_suffix(".hbbp")',
            # A checkpoint removes it.
            'made = part.with_suffix(".made")',
            'made.write_bytes(first)',
            'os.utime(made, (4e9, 4e9))',
            *AFTER_CHECKPOINT,
            'made.rename(earlier)',
            'os.kill(os.getpid(), signal.SIGKILL)', status=128 + signal.SIGKILL)
        self.assertGreaterEqual(self.info()['duration_ns'],
                                self.info(self.directory / 'later')['duration_ns'])

    def test_an_earlier_profile_is_kept(self):
        old = pathlib.Path(f'{self.file}.old')
        for options in ((), ('--outside',)):
            with self.subTest(options):
                old.unlink(missing_ok=True)
                self.file.write_text('notes')
                for _ in range(2):
                    earlier = self.file.read_bytes()
                    self.assertFalse(old.exists())  # notes are not a profile
                    result = self.run_tool('record', '-o', self.file, *options, '--', program('ends'), 'return', 50)
                    self.assertEqual(result.returncode, 0, result)
                self.assertEqual(old.read_bytes(), earlier)
                self.assertEqual(old.stat().st_mode & 0o777, 0o600)

    def test_profiles_and_their_parts_are_for_one_user(self):
        modes = self.directory / 'modes'
        self.record_script('modes = [oct(path.stat().st_mode & 0o777)'
                           ' for path in (parts.parent, parts, part)]',
                           f'pathlib.Path("{modes}").write_text(" ".join(modes))')
        is_root = os.geteuid() == 0
        self.assertEqual(modes.read_text(),
                         '0o711 0o733 0o600' if is_root else '0o700 0o700 0o600')
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)

    def test_planted_directory_of_parts_is_not_used(self):
        victim = self.directory / 'victim'
        victim.mkdir()
        (victim / 'kept').touch()
        ended = subprocess.Popen(['true'])
        ended.wait()
        os.symlink(victim, f'{self.file}.parts-{ended.pid}')
        command = (f'ln -s "{victim}" "{self.file}.parts-$$" && '
                   f'exec "{TOOL}" record -o "{self.file}" true')
        result = subprocess.run(['sh', '-c', command], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2, result)
        self.assertIn('cannot write next to it', result.stderr)
        self.assertEqual([path.name for path in victim.iterdir()], ['kept'])

    def test_links_and_pipes_in_place_of_parts_are_not_opened(self):
        self.recorded()
        other = self.directory / 'other'
        self.file.rename(other)
        before = other.read_bytes()
        for plant in (f'planted.symlink_to("{other}")', 'os.mkfifo(planted)'):
            result = self.record_script('planted = part.with_suffix(".planted")', plant,
                                        *AFTER_CHECKPOINT,
                                        'planted.rename(part)',
                                        'os.kill(os.getpid(), signal.SIGKILL)',
                                        status=128 + signal.SIGKILL)
            self.assertIn('left no profile', result.stderr)
            self.assertFalse(self.file.is_symlink() or self.file.exists())
        self.assertEqual(other.read_bytes(), before)


if __name__ == '__main__':
    record_support.main(RecordFilesTest)
