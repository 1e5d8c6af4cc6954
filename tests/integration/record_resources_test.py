"""Tests that programs get the resources that they need of the kernel, in each mode of branch tracing."""
import shutil
import signal
import subprocess
import sys

import record_support
from record_support import NOBODY, SKIPPED, TOOL, needs_root, program

PERIOD_NS = 1_000_000
MODES = ('lookahead', 'verify', 'breakpoint')


class RecordResourcesTest(record_support.RecordTest):

    def plain(self, *arguments, **options):
        command = [program('resources'), *map(str, arguments)]
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=record_support.TIMEOUT_S, **options)
        if result.returncode == SKIPPED:
            self.skipTest('this machine has none of it')
        self.assertEqual(result.returncode, 0, result)
        return result.stdout

    def traced(self, mode, *arguments, status=0, **options):
        if mode != 'lookahead' and record_support.why_no_breakpoints():
            self.skipTest(record_support.why_no_breakpoints())
        result = self.run_tool('record', '--source', 'swbt', '--mode', mode, '-e', 'task-clock',
                               '-c', PERIOD_NS, '-o', self.file, '--', program('resources'),
                               *arguments, timeout=record_support.TIMEOUT_S, **options)
        self.assertEqual(result.returncode, status, result)
        return result

    def assert_traced(self):
        [source] = self.info()['sources']
        self.assertGreater(source['counters']['samples'], 0, source)

    def check(self, *arguments, **options):
        plain = self.plain(*arguments, **options)
        for mode in MODES:
            with self.subTest(mode):
                self.assertEqual(self.traced(mode, *arguments, **options).stdout, plain)
                self.assert_traced()

    def check_as_unprivileged(self, *arguments):
        self.let_everybody_in()
        self.check(*arguments, user=NOBODY, group=NOBODY, extra_groups=[])

    def test_provides_its_own_pages(self):
        self.check('pages', 5)

    def test_uses_all_descriptors(self):
        self.check('descriptors', 5_000)

    def test_locks_its_memory(self):
        self.check('lock')

    @needs_root
    def test_locks_its_memory_within_a_limit(self):
        self.check_as_unprivileged('lock')

    def test_ends_threads_with_small_stacks(self):
        self.check('stacks', 300)

    def test_overflows_its_stack(self):
        for how in ('overflow', 'overflow-nodefer'):
            plain = subprocess.run([program('resources'), how])
            self.assertEqual(plain.returncode, -signal.SIGSEGV)
            for mode in MODES:
                with self.subTest(how=how, mode=mode):
                    self.traced(mode, how, status=128 + signal.SIGSEGV)
                    self.assert_traced()

    def test_has_another_time(self):
        if not shutil.which('faketime'):
            self.skipTest('no faketime here')
        for offset in ('-15d', '+15d', '2000-01-01 00:00:00'):
            for source in ('swbt', 'ebs'):
                with self.subTest(offset=offset, source=source):
                    result = self.run_tool(
                        'record', '--source', source, '-e', 'task-clock', '-c', PERIOD_NS, '-o',
                        self.file, '--', 'faketime', '-f', offset, 'sh', '-c',
                        'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done')
                    self.assertEqual(result.returncode, 0, result)
                    [shell] = self.children().values()
                    [found] = self.info(shell)['sources']
                    self.assertGreater(found['samples'] + found['taken_branches'], 0, found)
                    self.assertEqual(found['unmapped'], 0, found)
                    modules = self.rows('mix', shell, '--by', 'module')
                    self.assertNotIn('[unknown]', str(modules))
                    shell.unlink()

    def test_has_little_address_space(self):
        script = 'print(sum(i * i for i in range(1000000)))'
        command = ['sh', '-c', 'ulimit -v 120000; exec "$@"', 'sh', TOOL, 'record', '--source',
                   'swbt', '-e', 'task-clock', '-c', str(PERIOD_NS), '-o', str(self.file), '--',
                   sys.executable, '-c', script]
        result = subprocess.run(command, capture_output=True, text=True, cwd=self.directory)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(result.stdout, f'{sum(i * i for i in range(1000000))}\n')
        self.assert_traced()

    def test_limits_its_address_space_while_it_runs(self):
        """Tables that were reserved before are given back, so that the program has what it has alone."""
        limits = {'setrlimit': 'resource.setrlimit(resource.RLIMIT_AS, (limit, limit))',
                  'prlimit': 'resource.prlimit(0, resource.RLIMIT_AS, (limit, limit))'}
        for source in ('ebs', 'swbt'):
            for name, limited in limits.items():
                script = (f'import resource; limit = 128 << 20; {limited}; memory = bytearray(48 << 20); '
                          'print(len(memory), sum(i * i for i in range(2000000)))')
                with self.subTest(source=source, function=name):
                    plain = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True,
                                           check=True)
                    result = self.run_tool('record', '--source', source, '-e', 'task-clock', '-c', PERIOD_NS,
                                           '-o', self.file, '--', sys.executable, '-c', script)
                    self.assertEqual(result.returncode, 0, result)
                    self.assertEqual(result.stdout, plain.stdout)
                    [found] = self.info(self.file)['sources']
                    self.assertGreater(found['samples'] + found['taken_branches'], 0, found)

    def test_limits_the_size_of_its_files_while_it_runs(self):
        """What was sampled before is kept, and why there is no more."""
        script = ('import resource; print(sum(i * i for i in range(2000000))); '
                  'resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); print(sum(i * i for i in range(500000)))')
        plain = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True, check=True)
        for source in ('ebs', 'swbt'):
            with self.subTest(source):
                result = self.run_tool('record', '--source', source, '-e', 'task-clock', '-c', PERIOD_NS,
                                       '-o', self.file, '--', sys.executable, '-c', script)
                self.assertEqual((result.returncode, result.stdout), (0, plain.stdout), result.stderr)
                [found] = self.info(self.file)['sources']
                self.assertGreater(found['samples'] + found['taken_branches'], 0, found)
                self.assertIn('RLIMIT_FSIZE', result.stderr)

    def test_forked_child_limits_its_address_space(self):
        """It has tables of its own, and those of its parent, which are of no use to it."""
        script = ('import os, resource, sys; sum(i * i for i in range(1000000)); child = os.fork()\n'
                  'if child == 0:\n'
                  '    limit = 160 << 20; resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n'
                  '    memory = bytearray(48 << 20); sum(i * i for i in range(1000000)); os._exit(len(memory) >> 20)\n'
                  'sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))')
        for source in ('ebs', 'swbt'):
            with self.subTest(source=source):
                result = self.run_tool('record', '--source', source, '-e', 'task-clock', '-c', PERIOD_NS,
                                       '-o', self.file, '--', sys.executable, '-c', script)
                self.assertEqual(result.returncode, 48, result)
                [child] = self.children().values()
                [found] = self.info(child)['sources']
                self.assertGreater(found['samples'] + found['taken_branches'], 0, found)
                child.unlink()

    # Limits of the command ----------------------------------------------------------------------

    def test_no_file_may_grow(self):
        result = subprocess.run(['sh', '-c', 'ulimit -f 0; exec "$0" "$@"', TOOL, 'record', '-o', self.file, '--',
                                 program('ends'), 'return', '50'],
                                capture_output=True, text=True, timeout=record_support.TIMEOUT_S)
        self.assertEqual((result.returncode, result.stdout), (2, ''), result)
        self.assertIn('File too large', result.stderr)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_files_may_grow_too_little_for_a_profile(self):
        result = subprocess.run(['sh', '-c', 'ulimit -f 8; exec "$0" "$@"', TOOL, 'record', '-c', '250000', '-o', self.file, '--',
                                 program('ends'), 'return', '500'],
                                capture_output=True, text=True, timeout=record_support.TIMEOUT_S)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn('File too large', result.stderr)
        self.assertRegex(result.stderr, 'exit status 0, and its last .* are missing')
        self.assertNotIn('by a system call', result.stderr)

    def test_signal_of_a_file_that_grows_too_large_is_the_programs(self):
        for options in (), ('--outside', '--source', 'ebs'):
            result = self.run_tool('record', *options, '-o', self.file, '--', 'sh', '-c', 'kill -XFSZ $$')
            self.assertEqual(result.returncode, 128 + signal.SIGXFSZ, result)

    def test_program_that_cannot_be_profiled_is_not_said_to_be_brief(self):
        result = self.run_tool('record', '--source', 'ebs', '-e', 'task-clock', '-o', self.file, '--', 'sh', '-c',
                               'ulimit -n 4; exec "$0" return 400', program('ends'))
        self.assertRegex(result.stderr, 'no samples, but it used [0-9.]+ ms of user CPU time')


if __name__ == '__main__':
    record_support.main(RecordResourcesTest)
