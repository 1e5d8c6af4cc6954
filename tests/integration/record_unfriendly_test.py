"""Tests programs that remove what a profiler depends on, or that would notice it."""
import os
import shutil
import subprocess

import record_support
from record_support import NOBODY, PERIOD_NS, TOOL, needs_root, program, reported


class RecordUnfriendlyTest(record_support.RecordTest):

    def check(self, how, *arguments):
        self.assert_whole(self.record(program('unfriendly'), how, 200, *arguments))

    def test_closes_all_descriptors(self):
        self.check('closefrom')

    def test_overwrites_all_descriptors(self):
        self.check('overwrite')

    def test_shell_redirections(self):
        script = self.directory / 'redirect.sh'
        script.write_text('i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done\n'
                          'exec 3>3 4>4 5>5 6>6 7>7 8>8 9>9\n'
                          'for f in 3 4 5 6 7 8 9; do ( echo child >&$f ); eval "echo own >&$f"\n'
                          'done; cat 3 4 5 6 7 8 9\n')
        result = self.record('sh', script)
        self.assertEqual(result.stdout, 'child\nown\n' * 7)

    def descriptors(self, *arguments):
        command = [program('unfriendly'), *map(str, arguments)]
        plain = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, check=True).stdout
        kept = [line for line in plain.splitlines() if not line[0].isdigit()]
        profiled = self.record(*command).stdout
        self.assertEqual([line for line in profiled.splitlines() if not line[0].isdigit()], kept)

    def test_sees_no_foreign_descriptors(self):
        self.descriptors('list', 200)

    def test_gets_the_numbers_that_it_expects(self):
        self.descriptors('numbers', 10)

    def test_starts_without_standard_input(self):
        result = self.record('sh', '-c', f'exec "{program("unfriendly")}" numbers 10 <&-')
        self.assertIn('opened 0\nopened 3\n', result.stdout)

    def test_end_of_file_of_a_closed_pipe(self):
        self.check('pipe')

    def test_lowers_its_limit_of_descriptors(self):
        self.check('nofile')

    @needs_root
    def test_drops_privileges(self):
        self.check('setuid')

    @needs_root
    def test_changes_its_root_directory(self):
        jail = self.directory / 'jail'
        jail.mkdir()
        self.check('chroot', jail)
        self.assertEqual(list(jail.iterdir()), [])

    def test_changes_directory_and_mask(self):
        self.check('chdir')

    def test_clears_its_environment(self):
        self.check('clearenv')

    def test_has_handlers_of_its_own(self):
        self.check('signals')

    def test_keeps_errno(self):
        self.check('errno')

    def test_unloads_and_removes_its_plugins(self):
        plugins = []
        for name in ('one.so', 'two.so', 'three.so'):
            plugins.append(self.directory / name)
            shutil.copy(program('plugin.so'), plugins[-1])
        self.record(program('plugins'), *plugins)
        samples = {module['name'].rsplit('/')[-1]: module for module in self.info()['modules']}
        for plugin in plugins:
            module = samples[plugin.name]
            self.assert_close(module['samples'], 200)
            self.assertEqual(module['code'], 'profile')
        self.assertEqual(self.info()['sources'][0]['unexplained'], 0)

    def test_output_is_the_same(self):
        text = self.directory / 'text'
        text.write_text('\n'.join(str(i * i) for i in range(100000)))
        commands = [['bzip2', '-c', text], ['sort', '-r', text], ['md5sum', text],
                    ['perl', '-ne', 'print if /77/', text]]
        tried = 0
        for command in commands:
            if shutil.which(command[0]) is None:
                continue
            tried += 1
            plain = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
            profiled = subprocess.run([TOOL, 'record', '-o', self.file, *command],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
            self.assertEqual(profiled.stdout, plain)
        self.assertGreater(tried, 0)

    def test_standard_streams_are_those_of_the_program(self):
        process = subprocess.run([TOOL, 'record', '-o', self.file, 'sh', '-c',
                                  'cat; echo to-stderr >&2'], input=b'\0\xffbytes',
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=record_support.TIMEOUT_S)
        self.assertEqual(process.stdout, b'\0\xffbytes')
        first = process.stderr.splitlines()[0]
        self.assertEqual(first, b'to-stderr')

    @needs_root
    def test_many_processes_of_a_user_with_little_locked_memory(self):
        self.let_everybody_in()
        command = [TOOL, 'record', '-e', 'task-clock', '-c', str(PERIOD_NS), '-o', str(self.file), '--', 'sh', '-c',
                   f'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "{program("ends")}" return 600 & done;'
                   'wait']
        if subprocess.run([program('ends'), 'return', '0'], user=NOBODY, group=NOBODY,
                          stdout=subprocess.DEVNULL).returncode != 0:
            self.skipTest('the build directory is closed to other users')
        result = subprocess.run(command, cwd=self.directory, user=NOBODY, group=NOBODY,
                                extra_groups=[], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=record_support.TIMEOUT_S)
        self.assertEqual(result.returncode, 0, result)
        worked = reported(result.stdout)
        self.assertEqual(len(worked), 12)
        for child, milliseconds in worked.items():
            self.assertIn(child, self.children(), result.stderr)
            self.assert_close(self.milliseconds(self.children()[child]), milliseconds)

    def test_arguments_are_passed_on_as_they_are(self):
        words = ['a b', '', '--', '-o', '*', "it's", 'ünï', '--help']
        result = self.record('printf', '[%s]', *words)
        self.assertEqual(result.stdout, ''.join(f'[{word}]' for word in words))
        result = self.run_tool('record', '-o', self.file, 'printf', '[%s]', '--', 'x', '-c', '3')
        self.assertEqual(result.stdout, '[--][x][-c][3]')

    def test_output_in_a_directory_with_spaces(self):
        directory = self.directory / 'a b: c'
        directory.mkdir()
        self.file = directory / 'my profile'
        self.assert_whole(self.record(program('ends'), 'return', 200))

    def test_symbolic_link_stays_one(self):
        target = self.directory / 'target'
        target.write_text('')
        self.file.symlink_to(target)
        self.record(program('ends'), 'return', 50)
        self.assertTrue(self.file.is_symlink())
        self.assertGreater(target.stat().st_size, 0)
        self.assertTrue(os.path.samefile(self.file, target))


if __name__ == '__main__':
    record_support.main(RecordUnfriendlyTest)
