"""Tests that software branch tracing does not disturb programs that depend on signals."""
import subprocess

import record_support
from record_support import PERIOD_NS, program

MODES = ('lookahead', 'breakpoint', 'verify')


class RecordSignalsTest(record_support.RecordTest):

    def same_in(self, mode, *command, period_ns=PERIOD_NS):
        """Checks output and exit status against a run without tracing; returns the source of the profile."""
        command = [str(word) for word in command]
        plain = subprocess.run(command, cwd=self.directory, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True, timeout=record_support.TIMEOUT_S)
        status = plain.returncode if plain.returncode >= 0 else 128 - plain.returncode
        result = self.run_tool('record', '--source', 'swbt', '--mode', mode, '-e', 'task-clock',
                               '-c', period_ns, '-o', self.file, '--', *command)
        self.assertEqual((result.returncode, result.stdout), (status, plain.stdout), result.stderr)
        source, = self.info()['sources']
        self.assertEqual(source['mode'], mode)
        return source

    def same(self, *command, min_bursts=1, **options):
        for mode in MODES:
            with self.subTest(mode):
                if mode != 'lookahead' and record_support.why_no_breakpoints():
                    self.skipTest(record_support.why_no_breakpoints())
                source = self.same_in(mode, *command, **options)
                self.assertGreaterEqual(source['bursts'], min_bursts, source)

    def test_handlers_that_return_to_the_fault(self):
        self.same(program('signals'), 'lazy', 25)

    def test_handlers_that_see_where_the_fault_was(self):
        self.same(program('signals'), 'blocked', 20)

    def test_exceptions_out_of_handlers(self):
        self.same(program('throws'), 15000)

    def test_storm_of_signals(self):
        self.same(program('signals'), 'storm', 4_000_000, period_ns=2 * PERIOD_NS)

    def test_timer_that_fires_while_the_profile_is_saved(self):
        for source in ('ebs', 'swbt'):
            with self.subTest(source):
                # In some runs the worker has saved it before the program waits for that.
                has_fired = False
                for _ in range(50):
                    result = self.run_tool('record', '--source', source, '-e', 'task-clock', '-o',
                                           self.file, '--', program('signals'), 'timer', 1000)
                    self.assertEqual(result.returncode, 0, result)
                    has_fired = has_fired or 'fired\n' in result.stderr
                    if has_fired:
                        break
                self.assertTrue(has_fired)

    def test_waits_for_a_blocked_trap(self):
        self.same(program('signals'), 'wait', 10_000_000)

    def test_waits_that_unblock_a_trap(self):
        self.same(program('signals'), 'masks', 5_000_000)

    def test_alternate_stacks_that_are_broken(self):
        self.same(program('signals'), 'broken_stacks', 1_000_000)

    def test_child_that_asks_for_a_tracer(self):
        self.same(program('forks'), 'traced', 300)

    def test_unshares_by_a_system_call(self):
        self.same(program('forks'), 'unshare', 50)

    def test_program_that_gets_its_system_calls(self):
        command = [program('signals'), 'dispatch', 5_000_000]
        plain = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if plain.returncode == 77:
            self.skipTest('the kernel dispatches no system calls')
        for source in ('ebs', 'swbt'):
            with self.subTest(source):
                result = self.run_tool('record', '--source', source, '-e', 'task-clock', '-o', self.file,
                                       '--', *command)
                self.assertEqual((result.returncode, result.stdout), (0, plain.stdout), result)
        self.assertIn('PR_SET_SYSCALL_USER_DISPATCH', result.stderr)

    def test_image_inherits_what_is_ignored_and_blocked(self):
        self.same(program('signals'), 'exec', 20_000_000)

    def test_a_trap_that_waits_comes_when_it_is_unblocked(self):
        self.same(program('signals'), 'unblock', 30, min_bursts=0)

    def test_children_of_vfork_that_unblock_signals(self):
        self.same(program('signals'), 'vforks', 3, min_bursts=0)

    def test_commands_of_a_shell_have_no_signal_blocked(self):
        shell = ['sh', '-c', f'{program("signals")} masked 1; true']
        self.same(*shell, min_bursts=0)

    def test_samples_at_exec_do_not_end_the_next_image(self):
        self.same_in('lookahead', program('signals'), 'again', 60, period_ns=50_000)

    def test_masks_are_restored_behind_handlers(self):
        self.same(program('signals'), 'handlers', 20_000_000)

    def test_descriptor_of_a_blocked_trap(self):
        self.same(program('signals'), 'descriptor', 10_000_000, min_bursts=0)
        self.assertIn('signalfd', self.info()['sources'][0]['note'])

    def test_children_of_the_c_library_inherit_what_is_blocked(self):
        self.same(program('signals'), 'spawn', 20_000_000)

    def test_children_of_the_c_library_inherit_what_is_ignored(self):
        self.same(program('signals'), 'ignoring', 20_000_000)

    def test_process_that_shares_handlers(self):
        self.same(program('signals'), 'clone', 20_000_000)

    def test_older_functions_of_signals(self):
        self.same(program('signals'), 'ignore', 40_000_000)

    def filtered(self, source, action, function, end):
        """A program with a seccomp filter behaves as without the profiler, and has a profile."""
        command = [program('filters'), action, function, end]
        plain = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               text=True, timeout=25)
        if plain.returncode == 77:
            self.skipTest('no seccomp here')
        self.assertNotEqual(plain.stdout, '')
        status = plain.returncode if plain.returncode >= 0 else 128 - plain.returncode
        result = self.run_tool('record', '--source', source, '-e', 'task-clock', '-c', PERIOD_NS,
                               '-o', self.file, '--', *command)
        self.assertEqual((result.returncode, result.stdout), (status, plain.stdout), result.stderr)
        self.assertGreater(sum(each['samples'] for each in self.info()['sources']), 0)
        return result.stderr

    def ended_early(self, source, *cases):
        """Returns the cases in which sampling ended where the filter was set."""
        ended = []
        for case in cases:
            with self.subTest(case):
                if 'ended early: the program set a seccomp' in self.filtered(source, *case):
                    ended.append(case)
        return ended

    def test_seccomp_filter_ends_tracing(self):
        cases = (('kill', 'prctl', 'exit'), ('kill', 'syscall', '_exit'),
                 ('trap', 'libc_prctl', 'fault'), ('errno', 'syscall', 'exit'))
        self.assertEqual(self.ended_early('swbt', *cases), [*cases])

    def test_strict_filter_ends_tracing(self):
        cases = (('strict', 'prctl', 'thread'), ('strict', 'syscall', 'thread'))
        self.assertEqual(self.ended_early('swbt', *cases), [*cases])

    def test_seccomp_filter_of_an_image_before(self):
        for source in ('ebs', 'swbt'):
            self.ended_early(source, ('kill', 'prctl', 'exec'))

    def test_seccomp_filter_of_all_threads(self):
        case = ('all', 'syscall', 'exit')
        for source in ('ebs', 'swbt', 'ebs,swbt'):
            self.assertEqual(self.ended_early(source, case), [case])

    def test_seccomp_filter_of_a_thread_leaves_the_worker_alone(self):
        self.assertEqual(self.ended_early('ebs', ('kill', 'prctl', 'exit'),
                                          ('strict', 'syscall', 'thread')), [])

    def test_seccomp_filter_that_refuses_system_calls_is_noticed_by_handlers(self):
        self.assertIn('ended early: the program set a seccomp',
                      self.filtered('swbt', 'errno', 'kernel', 'thread'))

    def rings(self, how, rounds):
        result = self.run_tool('record', '-o', self.file, '--', program('rings'), how, rounds)
        if result.returncode == record_support.SKIPPED:
            self.skipTest('no io_uring here')
        self.assertEqual(result.returncode, 0, result)
        source, = self.info()['sources']
        return result.stdout, source['method']

    def test_waits_for_a_ring_of_io_uring_are_not_interrupted(self):
        # A process that switches so often is sampled by timers otherwise, whose signals end such waits.
        for how in 'wait', 'submit':
            output, method = self.rings(how, 150_000)
            self.assertEqual(output, '0 interrupted\n')
            self.assertNotIn('CPU-time timers', method)

    def test_timers_give_way_to_a_ring_of_io_uring(self):
        _, method = self.rings('late', 300_000)
        if 'io_uring' not in method:
            self.assertNotIn('CPU-time timers', method)
            self.skipTest('no timers here: ' + method)


if __name__ == '__main__':
    record_support.main(RecordSignalsTest)
