#!/usr/bin/env python3
"""Tests HBBP_OUTPUT and HBBP_OPTIONS: who writes which file, and who does not.

usage: environment_test.py ENVIRONMENT_HOST LIBRARY COMMAND
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HOST, LIBRARY, COMMAND = sys.argv[1:4]
NOBODY = 65534
SECONDS = 120


class EnvironmentTest(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix='hbbp-environment-')
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def run_with(self, *words, output='out.hbbp', status=0, **environment):
        """Returns the lines on stderr."""
        variables = {**os.environ, **environment}
        if output is not None:
            variables['HBBP_OUTPUT'] = output
        done = subprocess.run(words, cwd=self.directory, env=variables, capture_output=True, text=True,
                              timeout=SECONDS)
        self.assertEqual(done.returncode, status, done)
        return [line for line in done.stderr.splitlines() if line.startswith('hbbp')]

    def files(self):
        return sorted(path.name for path in self.directory.iterdir())

    def info(self, name='out.hbbp'):
        done = subprocess.run([COMMAND, 'info', self.directory / name, '--format', 'json'],
                              capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)

    def test_program_is_profiled_until_its_end(self):
        self.assertEqual(self.run_with(HOST, 'work'), [])
        self.assertEqual(self.files(), ['out.hbbp'])
        info = self.info()
        self.assertIn('environment_host work', info['command'])
        self.assertGreater(sum(source['samples'] for source in info['sources']), 0)

    def test_nothing_happens_without_the_variable(self):
        self.assertEqual(self.run_with(HOST, 'work', output=None, HBBP_OPTIONS='nonsense'), [])
        self.assertEqual(self.run_with(HOST, 'work', output=''), [])
        self.assertEqual(self.files(), [])

    def test_options(self):
        self.assertEqual(self.run_with(
            HOST, 'work', HBBP_OPTIONS='source=swbt,period=2.000003M,period_mode=fixed,max_overhead=0.5'), [])
        source, = self.info()['sources']
        self.assertEqual((source['kind'], source['period']), ('swbt', 2000003))

    def test_wrong_options_are_named(self):
        for options, words in {'perid=3': ("'perid=3'", "did you mean 'period'"),
                               'source=ebs,period=3x': ("'period=3x'", 'not a number'),
                               'source=none': ("'source=none'", 'choose from auto, ebs'),
                               'period': ("'period'", 'NAME=VALUE'),
                               'event=no-such-event': ("'event=no-such-event'",),
                               'max_overhead=2': ('max_overhead', 'from 0 to 1')}.items():
            line, = self.run_with(HOST, 'work', HBBP_OPTIONS=options)
            self.assertIn('the program is not profiled: ', line)
            for word in words:
                self.assertIn(word, line)
        self.assertEqual(self.files(), [])

    def test_children_of_fork_write_nothing(self):
        self.assertEqual(self.run_with(HOST, 'fork'), [])
        self.assertEqual(self.files(), ['out.hbbp'])
        self.assertIn('environment_host fork', self.info()['command'])

    def test_programs_that_are_started_have_files_of_their_own(self):
        self.assertEqual(self.run_with(HOST, 'exec'), [])
        own, other = self.files()
        self.assertEqual(own, 'out.hbbp')
        self.assertEqual(other, f'out.hbbp.{self.info(other)["pid"]}')
        self.assertIn('environment_host exec', self.info(own)['command'])
        self.assertIn(' work', self.info(other)['command'])

    def test_name_has_the_process_id(self):
        self.assertEqual(self.run_with(HOST, 'exec', output='%p.of-%p'), [])
        self.assertEqual(len(self.files()), 2)
        for name in self.files():
            pid = self.info(name)['pid']
            self.assertEqual(name, f'{pid}.of-{pid}')

    def test_what_is_replaced_is_named(self):
        self.assertEqual(self.run_with(HOST, 'work'), [])
        line, = self.run_with(HOST, 'work')
        self.assertIn(f'replaced {self.directory}/out.hbbp', line)
        self.assertIn('%p', line)

    def test_file_is_where_the_program_was_started(self):
        self.assertEqual(self.run_with(HOST, 'chdir'), [])
        self.assertEqual(self.files(), ['out.hbbp'])

    def test_file_that_cannot_be_written_is_an_error(self):
        line, = self.run_with(HOST, 'work', output='missing/out.hbbp')
        self.assertIn('no profile was written: ', line)
        self.assertIn('missing', line)

    def test_killed_program_leaves_nothing(self):
        self.run_with(HOST, 'killed', status=-9)
        self.assertEqual(self.files(), [])

    def test_own_session_of_the_program_goes_first(self):
        line, = self.run_with(HOST, 'session', HBBP_OPTIONS='source=swbt')
        self.assertIn('the program starts a session of its own', line)
        self.assertEqual(self.files(), ['out.hbbp'])

    def test_record_goes_first(self):
        lines = self.run_with(COMMAND, 'record', '-o', 'recorded.hbbp', '--', HOST, 'work')
        self.assertIn('hbbp: HBBP_OUTPUT has no effect: hbbp record profiles the program', lines)
        self.assertEqual(self.files(), ['recorded.hbbp'])

    def test_library_is_loaded_later(self):
        self.assertEqual(self.run_with(
            sys.executable, '-c', f'import ctypes; ctypes.CDLL("{LIBRARY}"); sum(range(10_000_000))'), [])
        self.assertEqual(self.files(), ['out.hbbp'])

    @unittest.skipIf(os.geteuid() != 0, 'only root makes files of others')
    def test_privileged_programs_do_nothing(self):
        program = self.directory / 'privileged'
        shutil.copy(HOST, program)
        os.chmod(self.directory, 0o777)
        os.chown(program, NOBODY, NOBODY)
        os.chmod(program, 0o4755)
        self.assertEqual(self.run_with(str(program), 'work'), [])
        self.assertEqual(self.files(), ['privileged'])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
