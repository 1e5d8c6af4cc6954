"""Tests that however a program ends, its profile exists, and its exit status is that of hbbp record."""
import os
import pathlib
import re
import signal
import subprocess
import time

import record_support
from record_support import PERIOD_NS, TOOL, program, reported


class RecordEndsTest(record_support.RecordTest):

    def check_end(self, how, status):
        result = self.record(program('ends'), how, 300, status, status=status)
        self.assert_whole(result)
        return result

    def test_return(self):
        self.check_end('return', 0)

    def test_exit(self):
        self.check_end('exit', 3)

    def test_underscore_exit(self):
        self.check_end('_exit', 255)

    def test_capital_exit(self):
        self.check_end('_Exit', 4)

    def test_quick_exit(self):
        self.check_end('quick_exit', 5)

    def test_work_of_exit_handlers_counts(self):
        self.check_end('atexit', 6)

    def test_exit_while_other_threads_run(self):
        for _ in range(5):
            self.record(program('ends'), 'threads', 50, 7, status=7)
            self.assertEqual(self.info()['threads'], 4)

    def test_main_thread_ends_before_others(self):
        for how in 'pthread_exit', 'thrd_exit', 'cancelled':
            with self.subTest(how):
                result = self.record(program('ends'), how, 300)
                info = self.assert_whole(result)
                self.assertEqual(info['command'].split()[1:], [how, '300'])
                self.assertEqual(info['threads'], 2)

    def test_underscore_exit_in_handler_that_interrupted_malloc(self):
        for _ in range(20):
            self.record(program('ends'), 'handler', 5, status=5)

    def check_killed(self, *arguments, status):
        result = self.record(program('ends'), *arguments, status=status)
        self.assertIn('killed by', result.stderr)
        return result

    def test_abort(self):
        # So long that even a busy machine gives the worker time for a second checkpoint.
        self.check_killed('abort', 1500, status=128 + signal.SIGABRT)
        self.assertGreater(self.milliseconds(), 50)

    def test_crash_in_the_first_100_milliseconds(self):
        # A busy machine may not let the worker run in so short a time.
        for _ in range(50):
            self.check_killed('raise', 80, int(signal.SIGSEGV), status=128 + signal.SIGSEGV)
            if self.milliseconds() >= 15:
                return
        self.fail('never was anything counted')

    def test_killed_after_seconds_of_work(self):
        result = self.check_killed('raise', 3000, int(signal.SIGKILL),
                                   status=128 + signal.SIGKILL)
        self.assertGreater(self.milliseconds(), 0.5 * max(reported(result.stdout).values()))

    def check_unsaved(self, *arguments, status):
        """It ends before any count is saved, which the counts of the profile show."""
        plain = subprocess.run([program('ends'), *map(str, arguments)], stdout=subprocess.DEVNULL)
        self.assertEqual(plain.returncode, -(status - 128) if status > 128 else status)
        for source in ('ebs', 'swbt'):
            result = self.run_tool('record', '--source', source, '-o', self.file, program('ends'),
                                   *arguments)
            self.assertEqual(result.returncode, status, result)
            self.assertIn('missing', result.stderr)
            self.assert_no_parts()
            self.info()

    def test_early_end_by_a_system_call(self):
        self.check_unsaved('exit_group', 5, 0, status=0)
        self.check_unsaved('exit_group', 5, 9, status=9)

    def test_early_abort(self):
        self.check_unsaved('abort', 5, status=128 + signal.SIGABRT)

    def test_early_kill(self):
        self.check_unsaved('raise', 5, int(signal.SIGKILL), status=128 + signal.SIGKILL)

    def test_early_segmentation_fault(self):
        self.check_unsaved('raise', 5, int(signal.SIGSEGV), status=128 + signal.SIGSEGV)

    def check_same_status(self, *arguments):
        command = [program('ends'), *map(str, arguments)]
        plain = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
        self.assertNotEqual(plain, 99)
        self.record(*command, status=128 - plain if plain < 0 else plain)
        return plain

    def test_only_thread_ends_by_the_system_call_of_threads(self):
        self.assertEqual(self.check_same_status('thread_exit', 200, 7), 7)
        self.assertGreater(self.milliseconds(), 0)

    def test_main_thread_ends_by_the_system_call_of_threads_before_others(self):
        self.check_same_status('thread_exit_before_others', 10, 7)
        self.check_same_status('thread_exit_soon_before_others', 10, 7)

    def test_another_thread_is_the_last_and_ends_by_the_system_call_of_threads(self):
        for milliseconds in (10, 11):
            self.check_same_status('thread_exit_after_others', milliseconds, 7)

    def test_main_thread_is_killed_alone(self):
        self.check_same_status('strict', 200)

    def test_killed_after_exec(self):
        result = self.run_tool('record', '-o', self.file, '--', 'sh', '-c',
                               'exec /bin/sh -c "kill -9 $$"')
        self.assertEqual(result.returncode, 128 + signal.SIGKILL, result)

    def child_of(self, process, command):
        """Returns the process id of the program that the command runs, once it does."""
        deadline = time.monotonic() + record_support.TIMEOUT_S
        while time.monotonic() < deadline:
            for path in pathlib.Path('/proc').glob('[0-9]*'):
                try:
                    parent = int((path / 'stat').read_text().rsplit(')', 1)[1].split()[1])
                    words = (path / 'cmdline').read_bytes().split(b'\0')
                except OSError:
                    continue
                if parent == process.pid and words[0].decode() == command:
                    return int(path.name)
        self.fail(f'{command} does not run')

    def test_program_is_killed_at_any_moment(self):
        readable = 0
        for delay_ms in (0, 0, 1, 2, 4, 8, 15, 30, 60, 90, 110, 150, 250, 400):
            self.file.unlink(missing_ok=True)
            process = subprocess.Popen(
                [TOOL, 'record', '--source', 'swbt', '-o', self.file, program('ends'), 'return',
                 '3000'], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            child = self.child_of(process, program('ends'))
            time.sleep(delay_ms / 1000)
            os.kill(child, signal.SIGKILL)
            _, err = process.communicate(timeout=record_support.TIMEOUT_S)
            self.assertIn('killed by SIGKILL', err)
            if 'was not run' in err:
                self.assertEqual(process.returncode, 2, err)
            else:
                self.assertEqual(process.returncode, 128 + signal.SIGKILL, err)
            if self.file.exists():
                self.info()
                readable += 1
            else:
                self.assertRegex(err, 'was not run|left no profile')
            self.assertLessEqual({path.name for path in self.directory.iterdir()}, {self.file.name})
        self.assertGreater(readable, 0)

    def test_command_is_killed_at_any_moment(self):
        done = self.directory / 'done'
        finished = 0
        for delay_ms in (0, 1, 2, 3, 4, 6, 8, 12, 20, 40, 80, 150, 300):
            for path in self.directory.iterdir():
                path.unlink()
            process = subprocess.Popen(
                [TOOL, 'record', '--source', 'ebs', '-o', self.file, '--', 'sh', '-c',
                 f'"{program("ends")}" exit 200 5; echo $? >"{done}.new"; mv "{done}.new" "{done}"'],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(delay_ms / 1000)
            process.kill()
            _, err = process.communicate(timeout=record_support.TIMEOUT_S)  # until no process has it open
            if done.exists():
                finished += 1
                self.assertEqual(done.read_text(), '5\n')
                self.info()
                if process.returncode == -signal.SIGKILL and 'wrote' not in err:
                    self.assertIn('the program has ended since', err)
            else:
                self.assertNotIn('has ended since', err)
                self.assertFalse(self.file.exists())
            names = {path.name for path in self.directory.iterdir()} - {'done'}
            self.assertEqual({name for name in names if not name.startswith('out.data')}, set())
            self.assert_no_parts()
        self.assertGreater(finished, 0)

    def processes_of(self, command):
        found = []
        for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
            try:
                if path.read_bytes().split(b'\0')[:-1] == [os.fsencode(word) for word in command]:
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found

    def recording(self):
        """A recording that has something to lose; (process, id of the program)."""
        process = subprocess.Popen(
            [TOOL, 'record', '-e', 'task-clock', '-c', str(PERIOD_NS), '-o', self.file, program('ends'), 'return',
             '20000'], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        child = self.child_of(process, program('ends'))
        self.wait_for(lambda: any(self.directory.glob('*.parts-*/*/*.partial')))
        time.sleep(2.5)  # longer than the interval between checkpoints
        return process, child

    def test_process_group_is_killed(self):
        process, _ = self.recording()
        os.killpg(process.pid, signal.SIGKILL)
        _, err = process.communicate(timeout=record_support.TIMEOUT_S)  # until no process has it open
        self.assertIn(f'the profiles written are: {self.file}\n', err)
        self.assertGreater(self.milliseconds(), 50)
        self.assert_no_parts()

    def test_all_processes_are_killed(self):
        process, child = self.recording()
        result = self.run_tool('info', self.file)
        self.assertEqual(result.returncode, 2, result)
        self.assertIn(f'; hbbp record, process {process.pid}, writes it when it ends', result.stderr)
        with_keeper = self.processes_of(process.args)
        self.assertEqual(len(with_keeper), 2)
        for pid in *with_keeper, child:
            os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=record_support.TIMEOUT_S)
        result = self.run_tool('info', self.file)
        self.assertEqual(result.returncode, 2, result)
        directory = re.search('; what was recorded is in (.*): hbbp merge -o FILE', result.stderr).group(1)
        merged = self.directory / 'merged'
        result = self.run_tool('merge', '-o', merged, *pathlib.Path(directory).glob('*.partial'))
        self.assertEqual(result.returncode, 0, result)
        self.assertGreater(self.milliseconds(merged), 50)

    def test_file_is_recorded_again_while_the_program_of_a_killed_command_runs(self):
        process, child = self.recording()
        process.kill()
        process.wait()
        result = self.run_tool('info', self.file)
        self.assertIn('; hbbp record was killed, and its process hbbp-keeper writes it', result.stderr)
        again = self.run_tool('record', '-o', self.file, program('ends'), 'exit', '10', '6')
        self.assertEqual(again.returncode, 6, again)
        stored = self.file.read_bytes()
        os.kill(child, signal.SIGTERM)
        _, err = process.communicate(timeout=record_support.TIMEOUT_S)  # until no process has it open
        self.assertIn(f'the profiles written are: {self.file}.{child}\n', err)
        self.assertEqual(self.file.read_bytes(), stored)
        self.assertGreater(self.milliseconds(f'{self.file}.{child}'), 50)
        self.assert_no_parts()

    def test_what_killed_runs_left_is_removed(self):
        ended = subprocess.Popen(['true'])
        ended.wait()
        abandoned = self.directory / f'out.data.parts-{ended.pid}'
        abandoned.mkdir()
        (abandoned / 'random').mkdir()
        (abandoned / 'random' / '1.2.partial').write_text('')
        in_use = self.directory / f'out.data.parts-{os.getpid()}'
        in_use.mkdir()
        self.run_tool('record', '-o', self.file, 'true')
        self.assertFalse(abandoned.exists())
        self.assertTrue(in_use.exists())

    def signal_when_ready(self, send):
        """Runs a program that works and then waits; `send` gets the process of hbbp record.

        What checkpoints may cost is limited, so that a machine where they take long has the last one late."""
        for seconds in (2.5, 10, 40):
            process = subprocess.Popen(
                [TOOL, 'record', '-e', 'task-clock', '-c', str(PERIOD_NS), '-o', self.file, program('ends'), 'wait',
                 '300'], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
            pid = int(process.stdout.readline().split()[0])
            time.sleep(seconds)
            send(process, pid)
            out, err = process.communicate(timeout=record_support.TIMEOUT_S)
            self.assert_no_parts()
            self.assertIn('killed by', err)
            if self.milliseconds() > 240:
                break
        self.assert_close(self.milliseconds(), 300)
        return process.returncode

    def test_terminated(self):
        status = self.signal_when_ready(lambda process, pid: os.kill(pid, signal.SIGTERM))
        self.assertEqual(status, 128 + signal.SIGTERM)

    def test_termination_of_the_command_reaches_the_program(self):
        status = self.signal_when_ready(lambda process, pid: process.terminate())
        self.assertEqual(status, 128 + signal.SIGTERM)

    def test_interrupt_of_the_terminal(self):
        status = self.signal_when_ready(lambda process, pid: os.killpg(process.pid, signal.SIGINT))
        self.assertEqual(status, 128 + signal.SIGINT)

    def test_reader_of_the_summary_goes_away(self):
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.run([TOOL, 'record', '-o', self.file, program('ends'), 'return', '10',
                                  '3'], stdout=subprocess.DEVNULL, stderr=writer, timeout=record_support.TIMEOUT_S)
        os.close(writer)
        self.assertEqual(process.returncode, 3)
        self.assert_no_parts()
        self.info()


if __name__ == '__main__':
    record_support.main(RecordEndsTest)
