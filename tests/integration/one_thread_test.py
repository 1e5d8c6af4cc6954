"""Tests that the C library believes of a program what it would without the profiler: that it has one thread, as long
as it has. Then the thread of the profiler may use nothing that the C library does not lock meanwhile: the program ends
where it allocates."""
import os
import shutil
import subprocess
import unittest

import record_support
from record_support import NOBODY, needs_root, program

EBS = ('--source', 'ebs', '-e', 'task-clock', '-c', 1_000_000)
SOURCES = {
    'ebs': EBS,
    'lookahead': ('--source', 'swbt', '-e', 'task-clock', '-c', 1_000_000),
    'breakpoint': ('--source', 'swbt', '--mode', 'breakpoint', '-e', 'task-clock', '-c', 10_000_000),
    'verify': ('--source', 'swbt', '--mode', 'verify', '-e', 'task-clock', '-c', 10_000_000),
    'both': ('--source', 'ebs,swbt', '-e', 'task-clock', '-c', 1_000_000),
}


def has_belief():
    """Before 2.36 the C library does not go by what it says of it."""
    release = os.confstr('CS_GNU_LIBC_VERSION').split()[1]
    return tuple(map(int, release.split('.'))) >= (2, 36)


@unittest.skipUnless(has_belief(), 'needs glibc 2.36')
class OneThreadTest(record_support.RecordTest):

    def plugins(self):
        plugins = [self.directory / f'plugin{i}.so' for i in range(5)]
        for plugin in plugins:
            shutil.copy(program('plugin.so'), plugin)
        return plugins

    def check(self, how, *arguments, sources=SOURCES):
        command = [program('one_thread'), how, *map(str, arguments)]
        plain = subprocess.run(command, capture_output=True, text=True,
                               timeout=record_support.TIMEOUT_S)
        self.assertEqual(plain.returncode, 0, plain)
        for name in sources:
            with self.subTest(name):
                if name in ('breakpoint', 'verify') and record_support.why_no_breakpoints():
                    continue
                result = self.run_tool('record', *SOURCES[name], '-o', self.file, '--', *command)
                self.assertEqual(result.returncode, 0, result)
                yield name, plain.stdout, result.stdout

    def check_same(self, *arguments, **options):
        for _, plain, recorded in self.check(*arguments, **options):
            self.assertEqual(recorded, plain)

    def test_alone(self):
        for name, plain, recorded in self.check('alone', *self.plugins()):
            self.assertEqual(recorded, plain)
            self.assertIn('at last: 1 1', recorded)
            sources = self.info()['sources']
            self.assertGreater(sum(source['samples'] for source in sources), 0, name)

    def test_alone_in_little_memory(self):
        command = ('sh', '-c', f'ulimit -v 900000; exec {program("one_thread")} alone')
        result = self.run_tool('record', *SOURCES['lookahead'], '-o', self.file, '--', *command)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn('at last: 1 1', result.stdout)

    def test_child(self):
        self.check_same('fork')

    def test_daemon(self):
        self.check_same('daemon', sources=('ebs', 'lookahead'))

    def test_thread(self):
        self.check_same('thread')

    def test_threads_that_handlers_of_fork_start(self):
        self.check_same('threads_in_fork', sources=('ebs', 'lookahead'))

    @needs_root
    def test_worker_follows_a_user_that_is_changed_directly(self):
        for _, _, recorded in self.check('user_directly', sources=('ebs', 'lookahead')):
            lines = recorded.splitlines()
            users = '\t'.join(['Uid:'] + 4 * [str(NOBODY)])
            self.assertEqual([line for line in lines if line.startswith('Uid:')], 2 * [users])
            self.assertEqual(lines[-2:], ['root again: -1', 'at last: 1 1'])

    @needs_root
    def test_program_with_threads_changes_its_user(self):
        for name, _, recorded in self.check('user_of_threads'):
            lines = recorded.splitlines()
            self.assertEqual(lines[-1], 'at last: 0 0')
            users = '\t'.join(['Uid:'] + 4 * [str(NOBODY)])
            self.assertEqual([line for line in lines if line.startswith('Uid:')], 3 * [users])
            self.assertGreater(sum(source['samples'] for source in self.info()['sources']), 0, name)

    @needs_root
    def test_what_the_new_user_cannot_read_is_not_copied_into_the_profile(self):
        """Each checkpoint would take as long as its files are large."""
        hidden = self.directory / 'hidden'
        hidden.mkdir(mode=0o700)
        copy = shutil.copy(program('one_thread'), hidden)
        for name in ('ebs', 'lookahead'):
            result = self.run_tool('record', *SOURCES[name], '-o', self.file, '--', copy, 'user_of_threads')
            self.assertEqual(result.returncode, 0, result)
            self.assertLess(self.file.stat().st_size, os.stat(copy).st_size, name)

    def test_child_of_vfork_changes_its_user(self):
        self.check_same('user_in_vfork', sources=('ebs', 'lookahead'))

    @needs_root
    def test_errors_behind_another_root_directory(self):
        self.check_same('chroot', sources=('ebs', 'lookahead'))

    def test_functions_of_the_c_library_are_replaced(self):
        """By ones that allocate, which the profiler's thread calls, too."""
        for name in ('ebs', 'lookahead'):
            script = 'LD_PRELOAD="$LD_PRELOAD $0" exec "$1" alone'
            command = ('sh', '-c', script, program('replaced.so'), program('one_thread'))
            result = self.run_tool('record', *SOURCES[name], '-o', self.file, '--', *command)
            self.assertEqual(result.returncode, 0, result)
            self.assertIn('at last: 0 0', result.stdout)

    @needs_root
    def test_all_threads_change_their_user(self):
        for _, _, recorded in self.check('user'):
            lines = recorded.splitlines()
            self.assertEqual(lines[-1], 'at last: 1 1')
            users = '\t'.join(['Uid:'] + 4 * [str(NOBODY)])
            self.assertEqual([line for line in lines if line.startswith('Uid:')], 2 * [users])
            groups = '\t'.join(['Gid:'] + 4 * [str(NOBODY)])
            self.assertEqual([line for line in lines if line.startswith('Gid:')], 2 * [groups])
            more = [line.split() for line in lines if line.startswith('Groups:')]
            self.assertEqual(more, 2 * [['Groups:', str(NOBODY)]])


if __name__ == '__main__':
    record_support.main(OneThreadTest)
