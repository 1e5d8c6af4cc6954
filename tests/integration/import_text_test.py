"""Tests hbbp import on text of perf script that perf writes here, from files and pipes, and on cut pipes."""
import os
import pty
import re
import shutil
import subprocess

import recording_builder as built
import record_support

STACK = [(0x400030, 0x400010), (0x400030, 0x400020)]


class ImportTextTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        self.recording = self.directory / 'perf.data'
        self.text = self.directory / 'perf.txt'

    def record(self, sample_type=built.SAMPLE_TYPE):
        """Makes a recording of two processes, of which the later one has more samples, with call chains."""
        event = built.Event(11, built.CYCLES, 'cycles:u', sample_type=sample_type | built.BRANCH_STACK | built.CALLCHAIN,
                            branch_kinds=built.ANY_BRANCH | built.USER_BRANCHES, period=2000)
        chain = [2**64 - 512, 0x400010, 0x400055]
        self.recording.write_bytes(built.file(
            [event], [event.mapping(7, 0x400000, 0x1000, '/opt/server'),
                      event.mapping(1001, 0x600000, 0x1000, '/opt/client'),
                      event.sample(0x400010, 7, 10, 2000, chain=chain, branches=STACK),
                      *(event.sample(0x600010, 1001, 20 + number, 3000, chain=chain[:1] + [0x600010],
                                     branches=[(0x600030, 0x600010), (0x600030, 0x600020)]) for number in range(3))]))

    def write_text(self, *options):
        if shutil.which('perf') is None:
            self.skipTest('no perf')
        script = subprocess.run(['perf', 'script', '-i', self.recording, '--show-mmap-events', *options],
                                capture_output=True, text=True, check=True)
        self.text.write_text(script.stdout)

    def import_it(self, file, **options):
        result = self.run_tool('import', '-o', self.file, file, **options)
        self.assertEqual(result.returncode, 0, result)
        return self.info()

    def check_processes(self, info):
        source, = info['sources']
        self.assertEqual((source['kind'], source['samples'], source['unmapped']), ('lbr', 4, 0), info)
        self.assertEqual({thread['pid']: thread['samples'] for thread in info['thread_list']}, {7: 1, 1001: 3})
        return source

    def test_processes_of_samples_with_call_chains(self):
        self.record()
        for fields in ('comm,pid,tid,time,event,ip,brstack', 'comm,pid,tid,time,period,event,ip,sym,brstack',
                       'comm,pid,time,event,ip,brstack', 'pid,ip,brstack'):
            self.write_text('-F', fields)
            with self.subTest(fields):
                self.check_processes(self.import_it(self.text))

    def test_processes_behind_their_names(self):
        """Without a time or an event no word ends in a colon, and a process must not be taken for a period."""
        self.record()
        for fields in ('comm,pid,ip,brstack', 'comm,pid,tid,ip,brstack'):
            self.write_text('-F', fields, '-G')
            with self.subTest(fields):
                source = self.check_processes(self.import_it(self.text))
                self.assertEqual(source['smallest_period'], source['largest_period'])
                self.assertIn('it has no periods', source['note'])

    def test_processes_without_mappings_are_not_periods(self):
        """A process that was forked has no mappings in the text."""
        stack = '0x400030/0x400010/P/-/-/0 0x400030/0x400020/P/-/-/0'
        self.text.write_text('PERF_RECORD_MMAP2 7/7: [0x400000(0x1000) @ 0 08:01 77 5]: r-xp /opt/server\n'
                             f'7 400010 {stack}\n\n9 400010 {stack}\n\n7 400010 {stack}\n')
        info = self.import_it(self.text)
        source, = info['sources']
        self.assertEqual((source['smallest_period'], source['largest_period']), (0, 0), source)
        self.assertEqual({thread['pid']: thread['samples'] for thread in info['thread_list']}, {7: 2, 9: 1})

    def test_samples_that_do_not_say_their_process_are_reported(self):
        self.record()
        for fields, is_said in (('ip,brstack', True), ('pid,ip,brstack', False)):
            self.write_text('-F', fields, '-G')
            source, = self.import_it(self.text)['sources']
            self.assertEqual('4 samples do not say their process, and were taken for those of one, but the text has '
                             'mappings of 2: perf script -F pid,ip,brstack says it' in source['note'], is_said, source)

    def test_periods_are_read_with_and_without_an_event(self):
        self.record()
        for options in (['-F', 'comm,pid,tid,time,period,event,ip,brstack'], ['-F', 'pid,tid,time,period,ip,brstack', '-G'],
                        ['-F', 'pid,tid,period,ip,brstack', '-G'], ['-F', 'pid,period,ip,brstack', '-G']):
            self.write_text(*options)
            with self.subTest(options):
                source = self.check_processes(self.import_it(self.text))
                self.assertEqual((source['smallest_period'], source['largest_period']), (2000, 3000))
        self.write_text('-F', 'period,ip,brstack', '-G')
        source, = self.import_it(self.text)['sources']
        self.assertEqual((source['smallest_period'], source['largest_period']), (2000, 3000))

    def test_text_comes_from_pipes_too(self):
        self.record()
        self.write_text('-F', 'comm,pid,tid,time,period,event,ip,brstack')
        with self.text.open() as text:
            self.check_processes(self.import_it('-', stdin=text))
        pipe = self.directory / 'pipe'
        os.mkfifo(pipe)
        with subprocess.Popen(['cp', self.text, pipe]):
            self.check_processes(self.import_it(pipe))
        with subprocess.Popen(['cat', self.text], stdout=subprocess.PIPE) as text:
            self.check_processes(self.import_it('-', stdin=text.stdout))

    def test_text_of_many_blocks(self):
        line = '7/7 400010 0x400030/0x400010/P/-/-/0 0x400030/0x400020/P/-/-/0\n'
        times = 3 * 2**20 // len(line)
        self.text.write_text('PERF_RECORD_MMAP2 7/7: [0x400000(0x1000) @ 0 08:01 77 5]: r-xp /opt/server\n' + line * times)
        source, = self.import_it(self.text)['sources']
        self.assertEqual((source['samples'], source['unmapped'], source['counters']), (times, 0, {}))

    def test_progress_is_shown_on_a_terminal(self):
        line = '7/7 400010 0x400030/0x400010/P/-/-/0 0x400030/0x400020/P/-/-/0\n'
        self.text.write_text(line * (8 * 2**20 // len(line)))
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(record_support.TOOL, [record_support.TOOL, 'import', '-o', str(self.file), str(self.text)])
        shown = b''
        while True:
            try:
                block = os.read(terminal, 65536)
            except OSError:  # the end of a terminal
                break
            shown += block
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, shown)
        percentages = [int(number) for number in re.findall(rb'\[#*\.*\] +(\d+) %', shown)]
        self.assertEqual(percentages, sorted(set(percentages)))
        self.assertGreater(len(percentages), 4)
        self.assertEqual(percentages[-1], 100)
        self.assertIn(b'\r\x1b[K', shown)

    def test_a_pipe_that_is_cut_before_its_first_event_is_refused(self):
        event = built.Event(11, built.CYCLES, 'cycles:u')
        whole = built.pipe([event], [event.mapping(7, 0x400000, 0x1000, '/opt/server'), event.sample(0x400010, 7, 10)])
        for size in (16, 20, 30, 100):
            self.recording.write_bytes(whole[:size])
            message = self.refused('import', '-o', self.file, self.recording)
            self.assertIn('the recording ends before its first event; record again', message)
            self.assertFalse(self.file.exists())
        self.recording.write_bytes(whole)
        self.assertEqual(self.import_it(self.recording)['sources'][0]['samples'], 1)

    def peak_kib(self, rounds):
        """Returns the memory that an import of so many rounds of 4,000 samples took, from a pipe."""
        event = built.Event(11, built.CYCLES, 'cycles:u')
        samples = range(4000)
        pipe = built.pipe([event], [event.mapping(7, 0x400000, 0x1000, '/opt/server')])
        with subprocess.Popen([record_support.TOOL, 'import', '-o', self.file, '-'], stdin=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as tool:
            tool.stdin.write(pipe)
            for number in range(rounds):
                first = 10 + number * len(samples)
                tool.stdin.write(b''.join(event.sample(0x400000 + i % 64, 7, first + i) for i in samples) +
                                 built.record(built.FINISHED_ROUND, 0, b''))
            tool.stdin.close()
            _, status, usage = os.wait4(tool.pid, 0)
            tool.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(tool.returncode, 0)
        self.assertEqual(self.info()['sources'][0]['samples'], rounds * len(samples))
        return usage.ru_maxrss

    def test_memory_does_not_grow_with_the_recording(self):
        self.assertLess(self.peak_kib(120), self.peak_kib(10) + 4096)


if __name__ == '__main__':
    record_support.main(ImportTextTest)
