"""Tests hbbp top on real programs: by a pipe and on a terminal."""
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import record_support
from record_support import TOOL, program

# Each loop takes seconds.
ROUNDS = 60_000_000


class TopTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        why = record_support.why_not_permitted()
        if why:
            self.skipTest(why)

    def start(self, *command):
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.1)
        return process

    def views(self, process, *options):
        """Returns a list of the lines of each view, and what was said on stderr."""
        result = self.run_tool('top', '--pid', process.pid, *options)
        self.assertEqual(result.returncode, 0, result)
        self.assertNotIn('\x1b', result.stdout)
        return [view.splitlines() for view in result.stdout.split('\n\n')], result.stderr

    def hottest(self, view):
        begin = next(number for number, line in enumerate(view) if line.split()[-1:] == ['function'])
        return view[begin + 1].split()[-1]

    def test_views_follow_the_program_to_its_end(self):
        process = self.start(program('two_loops'), ROUNDS)
        views, said = self.views(process, '-d', '0.4')
        self.assertEqual(process.wait(), 0)
        self.assertGreater(len(views), 2)
        self.assertEqual(self.hottest(views[0]), 'ShortBlocks')
        self.assertEqual(self.hottest(views[-1]), 'LongBlocks')
        self.assertIn('has ended', said)

    def test_view_has_functions_loops_and_mix(self):
        process = self.start(program('two_loops'), 20 * ROUNDS)
        for source in ('ebs', 'swbt'):
            with self.subTest(source=source):
                views, _ = self.views(process, '-d', '1', '-n', '2', '--top', '3', '--source', source)
                self.assertEqual(len(views), 2)
                text = '\n'.join(views[1])
                self.assertRegex(views[1][0], f'^{process.pid} .two_loops., .* of a CPU$')
                self.assertRegex(views[1][1], f'^{source}: [0-9,]+ (samples|bursts) of task-clock')
                self.assertRegex(text, r'(?m)^ *100.00 % .* ShortBlocks$')
                self.assertRegex(text, r'(?m)^ *share +std. error +trip count .* loop +function$')
                self.assertRegex(text, r'(?m)^100.00 % .* base$')

    def test_interrupt_ends_the_view_and_not_the_process(self):
        process = self.start(program('two_loops'), 20 * ROUNDS)
        tool = subprocess.Popen([TOOL, 'top', '--pid', str(process.pid), '-d', '100'], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        record_support.wait_until_caught(tool.pid, signal.SIGINT)
        time.sleep(1)
        tool.send_signal(signal.SIGINT)
        out, err = tool.communicate(timeout=record_support.TIMEOUT_S)
        self.assertEqual(tool.returncode, 0, err)
        self.assertIn('ShortBlocks', out)
        self.assertIsNone(process.poll())

    def test_terminal(self):
        process = self.start(program('two_loops'), 20 * ROUNDS)
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ['TERM'] = 'xterm'
            os.execv(TOOL, [TOOL, 'top', '-p', str(process.pid), '-d', '0.5'])
        self.addCleanup(os.close, terminal)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 12, 60, 0, 0))
        before = termios.tcgetattr(terminal)
        shown = self.read(terminal, lambda text: text.count('ShortBlocks') > 1)
        frame = shown.rpartition('\x1b[H')[2]
        lines = re.sub(r'\x1b\[[0-9;?]*[a-zA-Z]', '', frame).split('\r\n')
        self.assertLessEqual(len(lines), 12, frame)
        self.assertLessEqual(max(map(len, lines)), 60, frame)
        os.write(terminal, b'q')
        self.read(terminal, lambda text: False)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertEqual(termios.tcgetattr(terminal), before)
        self.assertIsNone(process.poll())

    def read(self, terminal, is_enough):
        """Returns what is written to the terminal until it is enough, or nothing has it open."""
        text = ''
        deadline = time.monotonic() + record_support.TIMEOUT_S
        while not is_enough(text) and time.monotonic() < deadline:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            with contextlib.suppress(OSError):
                text += os.read(terminal, 65536).decode()
                continue
            break
        return text

    def test_bad_input(self):
        process = self.start(program('two_loops'), 20 * ROUNDS)
        for options, message in (((), '--pid PID is missing'),
                                 (('-p', '99999999'), '99999999: No such process'),
                                 (('-p', process.pid, '-d', '0'), '--delay')):
            with self.subTest(options=options):
                self.assertIn(message, self.refused('top', *options))


if __name__ == '__main__':
    record_support.main(TopTest)
