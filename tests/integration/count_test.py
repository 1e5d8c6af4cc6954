"""Tests hbbp count: every executed instruction, of every thread and process."""
import os
import pty
import shutil
import subprocess

import count_support
import record_support
from count_support import Counts
from record_support import program

INSTRUCTIONS_OF_EXACT = 4110


class CountTest(record_support.RecordTest):

    def count(self, *command, status=0, options=(), **run_options):
        result = self.run_tool('count', '-o', self.file, *options, '--', *command,
                               env=count_support.ENVIRONMENT, timeout=record_support.TIMEOUT_S, **run_options)
        self.assertEqual(result.returncode, status, result)
        return result

    def counted(self, what, **options):
        path = program('counted')
        self.count(path, what, **options)
        return os.path.realpath(path), count_support.symbols(path)['loop']

    def loops(self, path, loop, file=None):
        """Returns how often the loop of the program ran: its two instructions must have equal counts."""
        counts = Counts(file or self.file).modules[path]
        self.assertEqual(counts[loop], counts[loop + 3])
        return counts[loop]

    def test_known_number(self):
        path = program('exact')
        result = self.count(path)
        self.assertIn('4,110 instructions of 1 process with 1 thread', result.stderr)
        counts = Counts(self.file)
        self.assertEqual(counts.total(), INSTRUCTIONS_OF_EXACT)
        self.assertEqual(list(counts.modules), [os.path.realpath(path)])
        symbols = count_support.symbols(path)
        of = counts.of(path)
        self.assertEqual(of[symbols['_start']], 1)
        self.assertEqual(of[symbols['loop']], 1000)
        # The code is lea, lea, mov, then rep movsb: its 100 iterations are one execution.
        self.assertEqual(of[symbols['copies'] + 7 + 7 + 5], 10)
        self.assertEqual(of[symbols['odd']], 10)
        self.assertEqual(counts.functions[os.path.realpath(path)]['odd'], 35)
        self.assertEqual(counts.header['totals'], str(INSTRUCTIONS_OF_EXACT))
        self.assertEqual(counts.header['cmd'], path)

    def test_threads(self):
        path, loop = self.counted('threads')
        self.assertEqual(self.loops(path, loop), 4 * 500)

    def test_fork_has_a_file_of_its_own(self):
        path, loop = self.counted('forks')
        self.assertEqual(self.loops(path, loop), 30)
        children = self.children()
        self.assertEqual(len(children), 1)
        self.assertEqual(self.loops(path, loop, *children.values()), 70)

    def test_vfork_and_exec(self):
        path, loop = self.counted('execs')
        # It runs 30 times before its own exec, and 100 times after it, with another load address.
        self.assertEqual(self.loops(path, loop), 130)
        self.assertEqual([self.loops(path, loop, file) for file in self.children().values()],
                         [100])

    def test_exec_by_another_thread_than_the_first(self):
        path, loop = self.counted('thread_execs')
        self.assertEqual(self.loops(path, loop), 500 + 30 + 100)
        self.assertEqual(self.children(), {})

    def test_stopped_and_continued(self):
        path, loop = self.counted('stops')
        self.assertEqual([self.loops(path, loop, file) for file in self.children().values()], [70])

    def test_signals(self):
        path, loop = self.counted('signals')
        self.assertEqual(self.loops(path, loop), 30)
        handler = count_support.symbols(path)['Handler']
        self.assertEqual(Counts(self.file).modules[path][handler], 8 + 3)

    def test_generated_code(self):
        self.counted('generated')
        self.assertEqual(sum(Counts(self.file).modules['???'].values()), 10 * 2 + 10 * 3)

    def test_killed_program(self):
        self.counted('killed', status=128 + 9)
        self.assertGreater(Counts(self.file).total(), 1000)

    def test_exit_status_is_the_program_s(self):
        self.count('sh', '-c', 'exit 7', status=7)

    def test_real_programs(self):
        for command in (['true'], ['echo', 'x']):
            result = self.count(*command)
            self.assertEqual(result.stdout, subprocess.run(
                command, capture_output=True, text=True, check=True).stdout)
            self.assertGreater(Counts(self.file).total(), 10000)

    def test_same_number_twice(self):
        # The C library's random start-up is excluded: the kernel's data differs in each run.
        totals = []
        for _ in range(2):
            self.count(program('exact'))
            totals.append(self.file.read_text().split('positions:')[1])
        self.assertEqual(totals[0], totals[1])

    def test_annotate_opens_it(self):
        if shutil.which('callgrind_annotate') is None:
            self.skipTest('no callgrind_annotate')
        self.count(program('exact'))
        result = subprocess.run(['callgrind_annotate', self.file], capture_output=True, text=True,
                                check=True)
        self.assertRegex(result.stdout, r'4,110 \(100.0%\)  PROGRAM TOTALS')
        self.assertRegex(result.stdout, r' 7[03] \( 1.\d\d%\)  \?\?\?:copies')

    def test_too_many_instructions(self):
        message = self.refused('count', '-o', self.file, '--max-instructions', 3000,
                               program('exact'))
        self.assertIn('executed more than 3000 instructions', message)
        self.assertIn('valgrind', message)
        self.assertFalse(self.file.exists())
        self.count(program('exact'), options=['--max-instructions', INSTRUCTIONS_OF_EXACT])

    def test_no_such_program(self):
        message = self.refused('count', '-o', self.file, '--', '/no/such/program')
        self.assertIn('cannot start /no/such/program: No such file', message)

    def test_output_that_cannot_be_written(self):
        message = self.refused('count', '-o', '/no/such/directory/out', program('exact'))
        self.assertIn('/no/such/directory', message)

    def test_refused_ptrace(self):
        path = record_support.PROGRAMS / 'refuse_perf'
        result = subprocess.run(
            [path, '1', '--ptrace', record_support.TOOL, 'count', '-o', self.file,
             program('exact')], capture_output=True, text=True, timeout=record_support.TIMEOUT_S)
        if result.returncode == record_support.SKIPPED:
            self.skipTest('no seccomp filters')
        self.assertEqual(result.returncode, 2, result)
        self.assertIn('ptrace: Operation not permitted: a seccomp filter forbids it',
                      result.stderr)
        self.assertIn('--cap-add=SYS_PTRACE', result.stderr)

    def test_progress_on_a_terminal(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(record_support.TOOL, ['hbbp', 'count', '--max-instructions', '10000000',
                                           '-o', str(self.file), 'echo'])
        text = b''
        while True:
            try:
                text += os.read(terminal, 4096)
            except OSError:
                break
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertRegex(text.decode(), r'\[\.{40}\] [0-9,]+ instructions, [0-9,]+ a second')

    def test_against_callgrind(self):
        if shutil.which('valgrind') is None:
            self.skipTest('no valgrind')
        path = program('exact')
        self.count(path)
        ours = Counts(self.file).of(path)
        file = self.directory / 'callgrind'
        count_support.valgrind('callgrind', '--dump-instr=yes', '--skip-plt=no',
                               f'--callgrind-out-file={file}', program=[path])
        theirs = Counts(file).of(path)
        symbols = count_support.symbols(path)
        # Callgrind counts iterations of rep movsb, and one more for its end.
        rep = symbols['copies'] + 7 + 7 + 5
        self.assertEqual(theirs[rep], 10 * 101)
        theirs[rep] = 10
        # It does not count the block in which a program exits: mov, xor, syscall.
        for address in (0, 5, 7):
            self.assertEqual(theirs[symbols['end'] + address], 0)
            theirs[symbols['end'] + address] = 1
        self.assertEqual(+ours, +theirs)


if __name__ == '__main__':
    record_support.main(CountTest)
