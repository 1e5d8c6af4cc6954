"""However a program ends: its profile is there, and its exit status is that of hbbp record."""
import os
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
        result = self.record(program('ends'), 'pthread_exit', 300)
        info = self.assert_whole(result)
        self.assertEqual(info['command'].split()[1:], ['pthread_exit', '300'])
        self.assertEqual(info['threads'], 2)

    def test_underscore_exit_in_handler_that_interrupted_malloc(self):
        begin = time.monotonic()
        for _ in range(20):
            self.record(program('ends'), 'handler', 5, status=5)
        self.assertLess(time.monotonic() - begin, 20)

    def check_killed(self, *arguments, status):
        result = self.record(program('ends'), *arguments, status=status)
        self.assertIn('killed by', result.stderr)
        return result

    def test_abort(self):
        self.check_killed('abort', 400, status=128 + signal.SIGABRT)
        self.assertGreater(self.milliseconds(), 50)

    def test_killed_after_seconds_of_work(self):
        result = self.check_killed('raise', 3000, int(signal.SIGKILL),
                                   status=128 + signal.SIGKILL)
        self.assertGreater(self.milliseconds(), 0.5 * max(reported(result.stdout).values()))

    def signal_when_ready(self, send):
        """Runs a program that works and then waits; `send` gets the process of hbbp record."""
        process = subprocess.Popen(
            [TOOL, 'record', '-e', 'task-clock', '-c', str(PERIOD_NS), '-o', self.file, program('ends'), 'wait', '300'],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        pid = int(process.stdout.readline().split()[0])
        time.sleep(2.5)  # longer than it is between checkpoints
        send(process, pid)
        out, err = process.communicate(timeout=20)
        self.assert_no_parts()
        self.assert_close(self.milliseconds(), 300)
        self.assertIn('killed by', err)
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
                                  '3'], stdout=subprocess.DEVNULL, stderr=writer, timeout=20)
        os.close(writer)
        self.assertEqual(process.returncode, 3)
        self.assert_no_parts()
        self.info()


if __name__ == '__main__':
    record_support.main(RecordEndsTest)
