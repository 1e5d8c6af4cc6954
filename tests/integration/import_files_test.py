"""Tests that hbbp import finds the files of a recording, by the options that say where they are."""
import os
import shutil
import subprocess

import recording_builder as built
import record_support

PID = 7


class ImportFilesTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        if shutil.which('cc') is None:
            self.skipTest('no compiler')
        self.recording = self.directory / 'perf.data'
        self.library = self.directory / 'here' / 'opt' / 'lib.so'
        self.library.parent.mkdir(parents=True)
        self.build_library(self.library)

    def build_library(self, path, build_id=''):
        source = self.directory / 'lib.c'
        source.write_text('int work(int n) { while (n > 9) n -= 3; return n; }\n')
        subprocess.run(['cc', '-shared', '-nostdlib', '-O1', f'-Wl,--build-id{build_id}', '-o', path, source], check=True)

    def work(self):
        """Returns the address of the function in its file."""
        symbols = subprocess.run(['nm', self.library], capture_output=True, text=True, check=True).stdout
        address, = (int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(' work'))
        return address

    def loop_branch(self):
        """Returns the last jump of the function, which leads back, and its target."""
        code = subprocess.run(['objdump', '-d', self.library], capture_output=True, text=True, check=True).stdout
        words = [line.split() for line in code.splitlines() if '\tj' in line]
        source = words[-1][0].rstrip(':')
        target, = (words[-1][i + 1] for i, word in enumerate(words[-1]) if word.startswith('j'))
        return f'0x{source}/0x{target}/P/-/-/0'

    def build_id(self):
        """Returns the build ID of the library."""
        notes = subprocess.run(['readelf', '-n', self.library], capture_output=True, text=True, check=True).stdout
        text, = (line.split()[-1] for line in notes.splitlines() if 'Build ID' in line)
        return bytes.fromhex(text)

    def record(self, path='/opt/lib.so', build_id=None, entry=built.build_id):
        """Makes a recording of three samples in the library, which was at `path`."""
        event = built.Event(11, built.INSTRUCTIONS, 'instructions:u')
        features = {} if build_id is None else {built.BUILD_ID: entry(path, build_id)}
        self.recording.write_bytes(built.file(
            [event], [event.mapping(PID, 0x400000, 0x8000, path),
                      *(event.sample(0x400000 + self.work(), PID, 10 + number) for number in range(3))], features))

    def import_it(self, *arguments, recording='perf.data', **options):
        result = self.run_tool('import', '-o', self.file, recording, *arguments, **options)
        self.assertEqual(result.returncode, 0, result)
        return result.stderr

    def samples_in_blocks(self):
        """Returns them as seen from another directory than that of the import."""
        listing = self.run_tool('blocks', self.file, '--format', 'json', cwd='/')
        self.assertEqual(listing.returncode, 0, listing)
        rows = record_support.json.loads(listing.stdout)['rows']
        return sum(row['count'] * row['instructions'] for row in rows)

    def test_relative_paths_lead_there_from_any_directory(self):
        self.record()
        for words in (['--symfs', 'here'], ['--symfs', './here/'], ['--file', 'lib.so=here/opt/lib.so'],
                      ['--file', '/opt/lib.so=./here/opt/lib.so']):
            self.import_it(*words)
            self.assertEqual(self.samples_in_blocks(), 3000, words)

    def test_a_relative_binary_is_that_of_a_text(self):
        text = self.directory / 'perf.txt'
        text.write_text(f'{self.work():x} {self.loop_branch()} {self.loop_branch()}\n')
        self.import_it('--binary', 'here/opt/lib.so', recording='perf.txt')
        module, = (module for module in self.info()['modules'] if module['samples'])
        self.assertEqual((module['name'], module['code']), (str(self.library), 'file'))
        self.assertGreater(self.samples_in_blocks(), 0)

    def test_the_cache_of_perf_is_searched_by_build_id(self):
        home = self.directory / 'home'
        text = self.build_id().hex()
        kept = home / '.debug' / '.build-id' / text[:2] / text[2:] / 'elf'
        kept.parent.mkdir(parents=True)
        self.record('/opt/lib.so', self.build_id())
        shutil.move(self.library, kept)
        self.library = kept
        environment = {**os.environ, 'HOME': str(home)}
        message = self.import_it(env=environment)
        self.assertIn(f'/opt/lib.so: took {kept}, which has its build ID', message)
        self.assertEqual(self.samples_in_blocks(), 3000)

    def test_the_cache_of_perf_is_where_its_configuration_says(self):
        home, cache = self.directory / 'home', self.directory / 'cache'
        home.mkdir()
        text = self.build_id().hex()
        kept = cache / '.build-id' / text[:2] / text[2:] / 'elf'
        kept.parent.mkdir(parents=True)
        self.record('/opt/lib.so', self.build_id())
        shutil.move(self.library, kept)
        self.library = kept
        environment = {**os.environ, 'HOME': str(home)}
        self.assertIn('are in files that are not here', self.import_it(env=environment))
        config, other = home / '.perfconfig', self.directory / 'perfconfig'
        config.write_text(f'[buildid]\n\tdir = {cache} # of all projects\n')
        self.assertIn(f'/opt/lib.so: took {kept}, which has its build ID', self.import_it(env=environment))
        other.write_text('[buildid]\ndir = none\n')
        environment['PERF_CONFIG'] = str(other)
        self.assertIn('are in files that are not here', self.import_it(env=environment))
        (self.directory / 'none').symlink_to('cache')
        self.assertIn('which has its build ID', self.import_it(env=environment))

    def test_build_ids_of_8_and_16_bytes_with_and_without_padding(self):
        recorded = '/opt/lib.so'
        for size in (8, 16):
            build_id = bytes(range(1, size + 1))
            self.build_library(self.library, f'=0x{build_id.hex()}')
            home = self.directory / f'home{size}'
            kept = home / '.debug' / '.build-id' / '01' / build_id.hex()[2:]
            (kept / 'elf').parent.mkdir(parents=True)
            shutil.copy(self.library, kept / 'elf')
            for entry in (built.build_id, built.old_build_id):
                self.record(recorded, build_id, entry)
                for words, environment in (([f'--file={recorded}={self.library}'], {}), (['--symfs=here'], {}),
                                           ([], {'HOME': str(home)})):
                    message = self.import_it(*words, env={**os.environ, **environment})
                    self.assertNotIn('other build IDs', message)
                    self.assertEqual(self.samples_in_blocks(), 3000, (size, entry, words))
                    module, = (module for module in self.info()['modules'] if module['samples'])
                    self.assertEqual((module['build_id'], module['problem']), (build_id.hex(), ''))
            # A longer one of the same beginning is another.
            self.record(recorded, build_id + b'\1')
            self.assertIn('other build IDs', self.import_it(f'--file={recorded}={self.library}'))

    def test_perf_puts_what_it_records_into_its_cache(self):
        if shutil.which('perf') is None:
            self.skipTest('no perf')
        program, moved = self.directory / 'program', self.directory / 'moved'
        home, cache = self.directory / 'home', self.directory / 'cache'
        home.mkdir()
        (home / '.perfconfig').write_text(f'[buildid]\ndir = {cache}\n')
        source = self.directory / 'program.c'
        source.write_text('int main(void) { for (volatile int i = 0; i < 100000000; ++i); return 0; }\n')
        subprocess.run(['cc', '-O1', '-Wl,--build-id', '-o', program, source], check=True)
        environment = {**os.environ, 'HOME': str(home)}
        recorded = subprocess.run(['perf', 'record', '-q', '-e', 'cpu-clock:u', '-o', self.recording, program],
                                  capture_output=True, text=True, env=environment)
        if recorded.returncode != 0:
            self.skipTest(f'perf does not record here: {recorded.stderr}')
        shutil.move(program, moved)
        message = self.import_it(env=environment)
        self.assertRegex(message, f'{program}: took {cache}/.build-id/.*/elf, which has its')
        self.assertGreater(self.samples_in_blocks(), 0)

    def test_a_flat_directory_is_searched_by_build_id_and_else_by_name(self):
        flat = self.directory / 'flat'
        flat.mkdir()
        shutil.move(self.library, flat / 'lib.so')
        self.library = flat / 'lib.so'
        for build_id, by in ((self.build_id(), 'build ID'), (None, 'name')):
            self.record('/opt/lib.so', build_id)
            self.assertIn(f'took {self.library}, which has its {by}', self.import_it('--symfs', flat))
            self.assertEqual(self.samples_in_blocks(), 3000)

    def test_later_commands_find_the_files_too(self):
        self.record('/opt/lib.so', self.build_id())
        self.import_it()
        self.assertEqual(self.samples_in_blocks(), 0)
        ways = (['--symfs', 'here'], ['--file', 'lib.so=here/opt/lib.so'], ['--file', '/opt/lib.so=here/opt/lib.so'])
        for words in ways:
            row, = self.rows('blocks', self.file, *words)
            self.assertEqual(row['count'] * row['instructions'], 3000, words)
            result = self.run_tool('info', self.file, '--format', 'json', *words)
            module, = (module for module in record_support.json.loads(result.stdout)['modules'] if module['samples'])
            self.assertEqual((module['name'], module['code']), ('/opt/lib.so', 'file'))
        for command in ('mix', 'annotate', 'loops'):
            self.assertEqual(self.run_tool(command, self.file, *ways[0]).returncode, 0)
        self.assertIn('none: not a directory with the files of a profile',
                      self.refused('mix', self.file, '--symfs', 'none'))
        self.assertIn('server: not the path or name of any file of the profile',
                      self.refused('blocks', self.file, '--file', 'server=/bin/true'))

    def test_one_of_two_profiles_has_the_file(self):
        old = self.directory / 'old.hbbp'
        self.record('/usr/lib/lib.so', self.build_id())
        self.import_it()
        shutil.move(self.file, old)
        self.record('/opt/lib.so', self.build_id())
        self.import_it()
        for files in ((old, self.file), (self.file, old)):
            rows = {row['module']: (row['before'], row['after'])
                    for row in self.rows('diff', *files, '--by', 'module', '--absolute', '--file',
                                         '/opt/lib.so=here/opt/lib.so')}
            self.assertEqual(rows, {'lib.so': (0, 3000) if files[0] == old else (3000, 0)})
            self.run_tool('compare', *files, '--file', '/opt/lib.so=here/opt/lib.so', '--format', 'json')
            for command in ('diff', 'compare'):
                message = self.refused(command, *files, '--file', '/opt/lib.so=here/opt/lib.so', '--file', 'server=/bin/true')
                self.assertIn('server: not the path or name of any file of these profiles', message)


if __name__ == '__main__':
    record_support.main(ImportFilesTest)
