"""Tests hbbp record --max-overhead and --max-memory."""
import subprocess

import record_support
from record_support import program

SHORT_NS = 100_000
EBS = ('--source', 'ebs', '-e', 'task-clock')
SWBT = ('--source', 'swbt', '-e', 'task-clock')


class RecordBudgetTest(record_support.RecordTest):

    def samples(self, *options, milliseconds=1500):
        result = self.run_tool('record', *options, '-c', SHORT_NS, '-o', self.file, '--',
                               program('ends'), 'return', milliseconds)
        self.assertEqual(result.returncode, 0, result)
        source, = self.info()['sources']
        return source['samples'], source['note'], result.stderr

    def check_overhead(self, *options):
        free, note, _ = self.samples(*options)
        self.assertNotIn('periods were', note)
        limited, note, err = self.samples(*options, '--max-overhead', '0.1%')
        self.assertLess(5 * limited, free)
        return note, err

    def test_overhead_of_branch_tracing(self):
        self.check_overhead(*SWBT)

    def test_overhead_of_samples(self):
        for options in (EBS, ('--outside', *EBS)):
            with self.subTest(options):
                note, err = self.check_overhead(*options)
                self.assertIn('periods were up to', note)
                self.assertIn('note: periods were up to', err)
                self.assertNotIn('the profiles cover', err)

    def test_overhead_of_a_process_that_runs(self):
        worker = subprocess.Popen([program('ends'), 'return', '100000'], stdout=subprocess.DEVNULL)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        samples = []
        for options in ((), ('--max-overhead', '0.001')):
            result = self.run_tool('record', '--pid', worker.pid, '--duration', '1', *EBS, '-c', SHORT_NS, *options,
                                   '-o', self.file)
            self.assertEqual(result.returncode, 0, result)
            source, = self.info()['sources']
            samples.append((source['samples'], source['note']))
        self.assertNotIn('periods were', samples[0][1])
        self.assertIn('periods were up to', samples[1][1])

    def test_little_memory(self):
        code = self.directory / 'code.c'
        code.write_text(''.join(f'int f{i}(int x) {{ for (int i = 0; i < x; ++i) x ^= i * {i}; return x; }}\n'
                                for i in range(300)))
        options = (*SWBT, '-c', 500_000, '-o', self.file)
        command = ('gcc', '-O2', '-c', code, '-o', self.directory / 'code.o')
        result = self.run_tool('record', *options, '--max-memory', '1MiB', '--', *command)
        if 'gcc' in result.stderr and result.returncode == 127:
            self.skipTest('no compiler')
        self.assertEqual(result.returncode, 0, result)
        # Processes share no memory, and in the output the first that has too little stands for all.
        self.assertRegex(result.stderr, r'note: (process \d+ \(\w+\): )?no memory for \d+ samples')
        compilers = [info for info in map(self.info, self.children().values()) if 'cc1' in info['command'].split()[0]]
        self.assertTrue(compilers)
        for info in compilers:
            self.assertRegex(info['sources'][0]['note'], r'no memory for \d+ samples')
        result = self.run_tool('record', *options, '--max-memory', '1G', '--', *command)
        self.assertEqual(result.returncode, 0, result)
        self.assertNotIn('no memory', result.stderr)

    def test_values_that_are_none(self):
        for option, value, words in (
                ('--max-overhead', '2', '--max-overhead: 2 is more than 1, which is 100 %'),
                ('--max-overhead', '150%', '--max-overhead: 150% is more than 1'),
                ('--max-overhead', '0', 'less than 0.000001'),
                ('--max-overhead', 'little', '--max-overhead: little is not a share, such as 1% or 0.01'),
                ('--max-overhead', 'nan', 'is not a share'),
                ('--max-memory', '1M', '--max-memory: 1M is less than 1MiB (1048576 bytes)'),
                ('--max-memory', '0', 'less than 1MiB'),
                ('--max-memory', '64MB', '--max-memory: 64MB is not a number of bytes, such as 64M'),
                ('--max-memory', '-1G', '--max-memory: -1G is not a number of bytes')):
            with self.subTest(f'{option} {value}'):
                self.assertIn(words, self.refused('record', option, value, '-o', self.file, '--', 'true'))
                self.assertFalse(self.file.exists())


if __name__ == '__main__':
    record_support.main(RecordBudgetTest)
