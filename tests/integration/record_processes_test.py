"""Tests hbbp record on several processes from outside: lists of them, their children, control groups, containers."""
import contextlib
import os
import pathlib
import signal
import subprocess
import time

import record_support
from record_support import PERIOD_NS, TOOL, program

LONG_MS = 20_000


class RecordProcessesTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        why = record_support.why_not_permitted()
        if why:
            self.skipTest(why)

    def start(self, *command, **options):
        """A process group that is killed at the end of the test."""
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, start_new_session=True, **options)

        def end():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.addCleanup(end)
        return process

    def worker(self, milliseconds=LONG_MS):
        return self.start(program('ends'), 'return', milliseconds)

    def observe(self, *options, source=('--source', 'ebs', '-e', 'task-clock', '-c', PERIOD_NS), status=0):
        result = self.run_tool('record', '-o', self.file, *source, *options)
        self.assertEqual(result.returncode, status, result)
        return result

    def functions(self, file):
        return ' '.join(row['function'] for row in self.rows('blocks', file))

    def test_several_processes(self):
        first, second = self.worker(), self.worker()
        time.sleep(0.2)
        result = self.observe('--pid', f'{first.pid},{second.pid},{first.pid}', '--duration', '1.5')
        self.assertIn('1 other process', result.stderr)
        self.assertEqual(self.info()['pid'], first.pid)
        self.assertEqual(list(self.children()), [second.pid])
        for file in (self.file, self.children()[second.pid]):
            self.assertIn('Work', self.functions(file))
            self.assertGreater(self.milliseconds(file), 100)
        self.assertIsNone(first.poll())
        self.assertIsNone(second.poll())

    def test_branches_of_several_processes(self):
        workers = [self.worker(), self.worker()]
        time.sleep(0.2)
        self.observe('--pid', ','.join(str(worker.pid) for worker in workers), '--duration', '2',
                     source=('--source', 'swbt', '-c', '5000000'))
        for file in (self.file, self.children()[workers[1].pid]):
            self.assertGreater(self.info(file)['sources'][0]['taken_branches'], 100)
            self.assertIn('Work', self.functions(file))

    def test_one_profile_of_several_processes(self):
        workers = [self.worker(), self.worker()]
        time.sleep(0.2)
        self.observe('--pid', ','.join(str(worker.pid) for worker in workers), '--duration', '1', '--merge')
        self.assertEqual(self.children(), {})
        self.assertEqual({thread['pid'] for thread in self.info()['thread_list']}, {worker.pid for worker in workers})

    def test_a_process_that_ends_before_the_others(self):
        brief, longer = self.worker(700), self.worker(1_500)
        self.observe('--pid', f'{brief.pid},{longer.pid}')
        self.assertGreater(self.milliseconds(), 100)
        self.assertGreater(self.milliseconds(self.children()[longer.pid]), self.milliseconds())

    def test_children_that_run_and_that_are_born(self):
        shell = self.start('sh', '-c', f'{program("ends")} return {LONG_MS} & sleep 1; {program("ends")} return {LONG_MS} & wait')
        time.sleep(0.3)
        self.observe('--pid', shell.pid, '--children', '--duration', '3')
        found = self.children()
        self.assertEqual(len(found), 2, found)
        for file in found.values():
            self.assertIn('Work', self.functions(file))

    def test_children_are_not_observed_without_a_request(self):
        shell = self.start('sh', '-c', f'{program("ends")} return {LONG_MS} & wait')
        time.sleep(0.3)
        self.observe('--pid', shell.pid, '--duration', '0.7')
        self.assertEqual(self.children(), {})

    def test_children_of_a_command_from_outside(self):
        for source in (('--source', 'ebs', '-c', PERIOD_NS), ('--source', 'swbt', '-c', '5000000')):
            with self.subTest(source=source):
                command = f'{program("ends_static")} return 900; (exec {program("ends")} return 900); exit 5'
                self.observe('--outside', '--children', '--', 'sh', '-c', command, source=source, status=5)
                found = self.children()
                self.assertEqual(len(found), 2, found)
                for file in found.values():
                    self.assertIn('Work', self.functions(file))

    def test_control_group(self):
        group = self.make_group()
        inner = group / 'inner'
        inner.mkdir()
        self.addCleanup(inner.rmdir)
        # The last shell of the group ends, and the group is empty.
        join = f'echo $$ > {inner}/cgroup.procs && {program("ends")} return 900; {program("ends")} return 900; true'
        process = self.start('sh', '-c', join)
        self.wait_for(lambda: (inner / 'cgroup.procs').read_text() != '')
        result = self.observe('--cgroup', group.name, '--merge')
        self.assertEqual(process.wait(), 0)
        self.assertIn('Work', self.functions(self.file))
        workers = {thread['pid'] for thread in self.info()['thread_list'] if thread['samples']} - {process.pid}
        self.assertEqual(len(workers), 2, result.stderr)
        self.assertIn(f'no process in {group}', self.refused('record', '-o', self.file, '--cgroup', group))

    def make_group(self):
        mounts = [line.split() for line in pathlib.Path('/proc/self/mounts').read_text().splitlines()]
        for mount in (words[1] for words in mounts if words[2] == 'cgroup2'):
            group = pathlib.Path(mount) / f'hbbp-test-{os.getpid()}'
            with contextlib.suppress(OSError):
                group.mkdir()
                self.addCleanup(group.rmdir)
                return group
        self.skipTest('no control group can be made here')

    @record_support.needs_root
    def test_files_of_a_container(self):
        """The program is at a path that only its own mount namespace has."""
        inside = self.directory / 'inside'
        inside.mkdir()
        script = (f'mount -t tmpfs tmpfs {inside} && cp {program("ends")} {inside}/contained && '
                  f'exec {inside}/contained return {LONG_MS}')
        process = self.start('unshare', '-m', 'sh', '-c', script)
        self.wait_for(lambda: process.poll() is not None or
                      os.readlink(f'/proc/{process.pid}/exe').endswith('contained'))
        if process.poll() is not None:
            self.skipTest('no mount namespace can be made here')
        self.observe('--pid', process.pid, '--duration', '1')
        process.kill()
        process.wait()
        self.assertFalse((inside / 'contained').exists())
        self.assertIn('Work', self.functions(self.file))

    def test_bad_input(self):
        process = self.worker()
        for options, message in (
                (('--pid', '1,x'), "'x' is not the id of a process"),
                (('--pid', f'{process.pid},'), "'' is not the id of a process"),
                (('--pid', f'{process.pid},99999999'), '99999999: No such process'),
                (('--cgroup', 'no-such-group-of-hbbp'), 'no-such-group-of-hbbp'),
                (('--cgroup', 'x', '--pid', process.pid), '--pid and --cgroup'),
                (('--cgroup', 'x', '--', 'true'), 'not both'),
                (('--children', '--', 'true'), '--children goes with'),
                (('--children', '--cgroup', 'x'), '--children goes with')):
            with self.subTest(options=options):
                self.assertIn(message, self.refused('record', '-o', self.file, *options))
                self.assertFalse(self.file.exists())

    def test_profilers_leave_themselves_out(self):
        shell = self.start('sh', '-c', f'{TOOL} record --pid $$ --children --duration 1 -o {self.file}; true',
                           stderr=subprocess.DEVNULL)
        self.assertEqual(shell.wait(), 0)
        self.assertEqual(self.children(), {})


if __name__ == '__main__':
    record_support.main(RecordProcessesTest)
