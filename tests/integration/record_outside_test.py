"""Tests hbbp record from outside, on running processes and on programs that nothing can be loaded
into."""
import json
import os
import random
import resource
import signal
import subprocess
import time

import record_support
from record_support import PERIOD_NS, program, reported

# Soaks have 1000.
KILLS = int(os.environ.get('HBBP_KILLS', 20))


class RecordOutsideTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        why = record_support.why_not_permitted()
        if why:
            self.skipTest(why)

    def outside(self, *command, options=(), status=0):
        result = self.run_tool('record', '--outside', '--source', 'ebs', '-e', 'task-clock', '-c', PERIOD_NS, *options,
                               '-o', self.file, '--', *command)
        self.assertEqual(result.returncode, status, result)
        return result

    def busiest(self):
        modules = [module for module in self.info()['modules'] if module['samples']]
        return max(modules, key=lambda module: module['samples'])

    def functions(self):
        return [row['function'] for row in self.rows('blocks', self.file)]

    def test_command(self):
        result = self.outside(program('ends'), 'return', 300, 5, status=5)
        (pid, worked), = reported(result.stdout).items()
        info = self.info()
        self.assertEqual(info['pid'], pid)
        self.assertTrue(info['command'].endswith('ends return 300 5'), info['command'])
        self.assert_close(self.milliseconds(), worked)
        self.assertEqual(os.path.basename(self.busiest()['name']), 'ends')
        self.assertIn('Work', ' '.join(self.functions()))

    def test_modules_are_those_of_the_command(self):
        self.outside(program('ends'), 'return', 200)
        modules = [module['name'] for module in self.info()['modules']]
        self.assertEqual(len([name for name in modules if name.endswith('/ends')]), 1, modules)
        self.assertEqual([name for name in modules if os.path.basename(name) == 'hbbp'], [])
        self.assertEqual(len(modules), len(set(modules)), modules)

    def test_the_child_is_not_sampled_before_it_executes_the_command(self):
        # Until then it looks for the command in many directories.
        path = ':'.join([f'/no/{number}' for number in range(10_000)] + [os.path.dirname(program('ends_static'))])
        result = self.run_tool('record', '--outside', '--source', 'ebs', '-e', 'task-clock', '-c', 20_000, '-o', self.file,
                               '--', 'ends_static', 'return', 50, env={**os.environ, 'PATH': path})
        self.assertEqual(result.returncode, 0, result)
        sampled = {os.path.basename(module['name']) for module in self.info()['modules'] if module['samples']}
        self.assertLessEqual(sampled, {'ends_static', '[vdso]'})
        self.assertIn('ends_static', sampled)

    def test_modules_of_branches_are_listed_once(self):
        result = self.run_tool('record', '--outside', '--source', 'swbt', '-c', 1_000_000, '-o', self.file, '--',
                               program('ends'), 'return', 300)
        self.assertEqual(result.returncode, 0, result)
        modules = [module['name'] for module in self.info()['modules']]
        self.assertEqual(len([name for name in modules if name.endswith('/ends')]), 1, modules)
        self.assertEqual(len(modules), len(set(modules)), modules)

    def test_nothing_is_loaded_into_it(self):
        result = self.outside('sh', '-c', 'cat /proc/$$/maps; echo "[$LD_PRELOAD]"')
        self.assertNotIn('hbbp', result.stdout)
        self.assertIn('[]', result.stdout)

    def test_static_program(self):
        result = self.outside(program('ends_static'), 'return', 300)
        self.assert_close(self.milliseconds(), sum(reported(result.stdout).values()))
        self.assertEqual(os.path.basename(self.busiest()['name']), 'ends_static')
        self.assertIn('Work', ' '.join(self.functions()))

    def test_threads_of_it(self):
        worked = reported(self.outside(program('threads'), 'shares', 100).stdout)
        info = self.info()
        del worked[info['pid']]
        samples = {thread['tid']: thread['samples'] for thread in info['thread_list']}
        self.assertEqual(len(worked), 3)
        for tid, milliseconds in worked.items():
            self.assert_close(samples[tid], milliseconds)

    def test_program_that_is_not_there(self):
        result = self.run_tool('record', '--outside', '-o', self.file, '--', './no-such-program')
        self.assertEqual(result.returncode, 2)
        self.assertIn('no-such-program', result.stderr)
        self.assertFalse(self.file.exists())

    def test_duration_of_a_command(self):
        result = self.outside(program('ends'), 'return', 900, options=('--duration', '0.3'))
        self.assertGreater(sum(reported(result.stdout).values()), 800)
        # It is wall-clock time, in which others may have run.
        self.assertLess(self.milliseconds(), 500)
        self.assertGreater(self.milliseconds(), 50)

    # A process that runs ------------------------------------------------------------------------

    def worker(self, milliseconds):
        return self.start(program('ends'), 'return', str(milliseconds))

    def start(self, *command):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.1)
        return process

    def observe(self, process, *options):
        return ('record', '--source', 'ebs', '-e', 'task-clock', '-c', PERIOD_NS, '-o', self.file, '--pid', process.pid,
                *options)

    def test_process_for_a_while(self):
        process = self.worker(20_000)
        result = self.run_tool(*self.observe(process, '--duration', '1.5'))
        self.assertEqual(result.returncode, 0, result)
        self.assertIn(f'process {process.pid}', result.stderr)
        self.assertIsNone(process.poll())
        # It is CPU time, which other processes may use too.
        self.assertGreater(self.milliseconds(), 150)
        self.assertLess(self.milliseconds(), 1_700)
        self.assertIn('Work', ' '.join(self.functions()))

    def test_process_to_its_end(self):
        process = self.worker(700)
        result = self.run_tool(*self.observe(process))
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(process.wait(), 0)
        self.assertGreater(self.milliseconds(), 200)

    def test_interrupt_ends_the_profile_and_not_the_process(self):
        process = self.worker(20_000)
        tool = subprocess.Popen([record_support.TOOL, *map(str, self.observe(process))],
                                stderr=subprocess.PIPE, text=True)
        record_support.wait_until_caught(tool.pid, signal.SIGINT)
        self.wait_until_it_works(process.pid, seconds=0.5)
        tool.send_signal(signal.SIGINT)
        _, err = tool.communicate(timeout=record_support.TIMEOUT_S)
        self.assertEqual(tool.returncode, 0, err)
        self.assertIsNone(process.poll())
        self.assertGreater(self.milliseconds(), 100)

    # Branch tracing -----------------------------------------------------------------------------

    def trace(self, process, *options):
        return ('record', '--source', 'swbt', '-o', self.file, '--pid', process.pid, *options)

    def check_branches(self, process, function):
        result = self.run_tool(*self.trace(process, '--duration', '1.5'))
        self.assertEqual(result.returncode, 0, result)
        self.assertIsNone(process.poll())
        self.assertIn(function, ' '.join(self.functions()))
        source = self.info()['sources'][0]
        self.assertEqual(source['kind'], 'swbt')
        self.assertGreater(source['taken_branches'], 100)

    def test_branches_of_a_process_that_runs(self):
        self.check_branches(self.worker(20_000), 'Work')

    def test_branches_of_a_process_that_makes_no_system_calls(self):
        self.check_branches(self.start(program('two_loops'), '1000000000'), 'ShortBlocks')

    def test_process_that_is_always_in_system_calls(self):
        process = self.start('dd', 'if=/dev/zero', 'of=/dev/null', 'bs=64M')
        result = self.run_tool(*self.trace(process, '--duration', '1'))
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stderr, 'no samples: [0-9]+ times? when one was due, it was in a system call')
        self.assertRegex(result.stderr, '[0-9]+ stops? found a thread in a system call, and 0 began a burst')

    def test_period_that_is_too_short_is_said_to_be_longer(self):
        process = self.worker(20_000)
        result = self.run_tool(*self.trace(process, '-c', 250_000, '--duration', '0.3'))
        self.assertEqual(result.returncode, 0, result)
        self.assertIn('note: a burst each millisecond, which is as often as threads are stopped', result.stderr)

    def test_branches_are_those_that_the_process_takes(self):
        process = self.worker(20_000)
        result = self.run_tool(*self.trace(process, '--mode', 'verify', '--duration', '1.5'))
        self.assertEqual(result.returncode, 0, result)
        self.assertIsNone(process.poll())
        trace = self.info()['sources'][0]
        self.assertGreater(trace['verified_branches'], 100)
        self.assertEqual(trace['disagreements'], 0)

    def test_samples_and_branches_at_once(self):
        process = self.worker(20_000)
        result = self.run_tool('record', '--source', 'ebs,swbt', '-e', 'task-clock', '-c', 2_000_000, '-o', self.file,
                               '--pid', process.pid, '--duration', '1.5')
        self.assertEqual(result.returncode, 0, result)
        self.assertIsNone(process.poll())
        ebs, swbt = self.info()['sources']
        self.assertEqual((ebs['kind'], swbt['kind']), ('ebs', 'swbt'))
        self.assertGreater(ebs['samples'], 20)
        self.assertGreater(swbt['taken_branches'], 100)
        self.assertLess(ebs['unmapped'], 0.1 * ebs['samples'])
        for estimator in ('ebs', 'streams', 'flow'):
            functions = [row['function'] for row in self.rows('mix', self.file, '--by', 'function', '--estimator', estimator)]
            self.assertIn('Work', ' '.join(functions[:3]), estimator)

    def test_branches_of_a_static_program_keep_its_status(self):
        result = self.run_tool('record', '--source', 'swbt', '-o', self.file, '--', program('ends_static'), 'return', '700')
        self.assertEqual(result.returncode, int(subprocess.run([program('ends_static'), 'return', '1'],
                                                               stdout=subprocess.DEVNULL).returncode), result)
        self.assertIn('Work', ' '.join(self.functions()))

    def test_code_between_short_system_calls_is_said_to_be_seen_too_rarely(self):
        result = self.run_tool('record', '--outside', '--source', 'swbt', '-c', '1000000', '-o', self.file, '--', 'dd',
                               'if=/dev/zero', 'of=/dev/null', 'bs=1', 'count=3000000')
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stderr, 'stops found a thread in a system call, and [0-9,]+ began a burst')

    def run_outside(self, what, *options):
        return self.run_tool('record', '--outside', '--source', 'swbt', '-c', '1000000', *options, '-o', self.file, '--',
                             program('outside'), what, timeout=30)

    def test_process_ends_and_executes_while_a_thread_is_stopped(self):
        """The threads that are stopped then are killed, and are to be waited for."""
        for what in ('ends', 'executes'):
            for _ in range(10):
                result = self.run_outside(what, '--burst', '65536')
                self.assertEqual(result.returncode, 7, result)

    def test_thread_that_executes_a_program_is_let_go(self):
        """It takes the number of the first thread, and would never get a signal again."""
        for _ in range(5):
            result = self.run_outside('executes-in-thread')
            self.assertEqual(result.returncode, 5, result)

    def test_system_calls_with_time_limits_go_on(self):
        self.assertEqual(self.run_outside('plays').returncode, 0)

    def test_time_before_a_thread_executes_a_program_counts_once(self):
        self.assertEqual(self.run_outside('phases').returncode, 0)
        rows = json.loads(self.run_tool('mix', '--by', 'function', '--format', 'json', self.file).stdout)['rows']
        shares = {row['function']: row['share'] for row in rows}
        self.assertGreater(shares['FirstPhase'], 0.6, shares)
        self.assertLess(shares['FirstPhase'], 0.9, shares)

    def test_time_of_page_faults_is_not_that_of_code(self):
        """Where a fault takes 10 us, a loop with one each seven instructions would have 20,000 times as many."""
        if not os.access('/proc/self/pagemap', os.R_OK):
            self.skipTest('no /proc/self/pagemap')
        pages = 200_000
        result = self.run_tool('record', '--outside', '--source', 'swbt', '-c', 1_000_000, '-o', self.file, '--',
                               program('new_pages'), pages, 1)
        self.assertEqual(result.returncode, 0, result)
        if self.info()['sources'][0]['bursts'] < 100:
            self.skipTest('page faults take too little time')
        rows = {row['function']: row['instructions'] for row in self.rows('mix', self.file, '--by', 'function')}
        self.assertGreater(rows['WithNewPages'], 7 * pages / 20)
        self.assertLess(rows['WithNewPages'], 7 * pages * 20)

    def test_steps_are_not_seen(self):
        for what in ('ignores', 'looks'):
            with self.subTest(what):
                self.assertEqual(self.run_outside(what, '--mode', 'verify').returncode, 0)
                trace = self.info()['sources'][0]
                self.assertEqual((trace['disagreements'], trace['counters'].get('registers-disagree', 0)), (0, 0))

    def test_many_threads_are_observed_with_few_descriptors(self):
        result = self.run_tool('record', '--outside', '--source', 'swbt', '-c', '1000000', '-o', self.file, '--',
                               program('outside'), 'threads',
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
        self.assertEqual(result.returncode, 0, result)
        self.assertIn('SecondPhase', ' '.join(self.functions()))

    def test_a_suspended_recorder_holds_no_thread(self):
        process = self.worker(60_000)
        tool = subprocess.Popen([record_support.TOOL, *map(str, self.trace(process, '-c', '1000000', '--burst', '65536'))],
                                stderr=subprocess.DEVNULL, start_new_session=True)
        # By default the signal does nothing to a process that no shell could let go on.
        record_support.wait_until_caught(tool.pid, signal.SIGTSTP)
        for _ in range(5):
            tool.send_signal(signal.SIGTSTP)
            self.wait_for_state(tool.pid, 'T')
            self.wait_for_state(process.pid, 'RS')
            tool.send_signal(signal.SIGCONT)
            time.sleep(0.1)
        self.wait_until_it_works(process.pid, seconds=1)
        tool.send_signal(signal.SIGINT)
        self.assertEqual(tool.wait(), 0)
        self.assertGreater(self.info()['sources'][0]['bursts'], 20)

    def wait_until_it_works(self, pid, seconds):
        """Waits until the process has used so much CPU time, which on a busy machine takes long."""
        def used():
            with open(f'/proc/{pid}/stat') as stat:
                fields = stat.read().rpartition(') ')[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
        end = used() + seconds
        while used() < end:
            time.sleep(0.01)

    def wait_for_state(self, pid, states):
        deadline = time.monotonic() + 10
        while self.state(pid) not in states:
            self.assertLess(time.monotonic(), deadline, self.state(pid))
            time.sleep(0.01)

    def state(self, pid):
        with open(f'/proc/{pid}/stat') as stat:
            return stat.read().rpartition(') ')[2][0]

    def test_process_survives_the_end_of_its_tracer(self):
        process = self.worker(20_000 + 1000 * KILLS)
        for _ in range(KILLS):
            tool = subprocess.Popen([record_support.TOOL, *map(str, self.trace(process, '-c', '1000000'))],
                                    stderr=subprocess.DEVNULL)
            # A tool takes some 20 ms until it stops threads.
            time.sleep(random.uniform(0.02, 0.12))
            tool.kill()
            tool.wait()
        self.assertIsNone(process.poll())
        self.assertIn(self.state(process.pid), 'RS')


if __name__ == '__main__':
    record_support.main(RecordOutsideTest)
