"""Tests hbbp import on recordings of several events: each counts on its own."""
import re
import shutil
import struct
import subprocess

import recording_builder as built
import record_support

PID = 7
PROGRAM = '''
__attribute__((noinline)) int work(int n) { return n * 3 + 1; }
int main(int count, char **words) {
  int sum = 0;
  for (int i = 0; i < 60000000; ++i) sum += work(sum ^ i);
  return sum == 1;
}
'''


def counter(value, number, lost=None):
    """Makes a value of PERF_SAMPLE_READ in a group, with its id."""
    return struct.pack('<QQ', value, number) + (b'' if lost is None else struct.pack('<Q', lost))


class ImportEventsTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        self.recording = self.directory / 'perf.data'

    def import_it(self, *arguments):
        result = self.run_tool('import', '-o', self.file, self.recording, *arguments)
        self.assertEqual(result.returncode, 0, result)
        return result.stderr

    def record_by_perf(self, *options):
        if shutil.which('perf') is None or shutil.which('cc') is None:
            self.skipTest('no perf, or no compiler')
        source, program = self.directory / 'program.c', self.directory / 'program'
        source.write_text(PROGRAM)
        subprocess.run(['cc', '-O1', '-o', program, source], check=True)
        recorded = subprocess.run(['perf', 'record', '-q', *options, '-o', self.recording, program],
                                  capture_output=True, text=True)
        if recorded.returncode != 0:
            self.skipTest(f'perf does not record here: {recorded.stderr}')

    def record_two(self):
        """Makes a recording of instructions, one sample of 10,000, and of cycles, three of 4,000."""
        library, work = record_support.build_library(self)
        instructions = built.Event(11, built.INSTRUCTIONS, 'instructions:u', period=10000)
        cycles = built.Event(12, built.CYCLES, 'cycles:u', period=4000)
        self.recording.write_bytes(built.file(
            [cycles, instructions],
            [cycles.mapping(PID, 0x400000, 0x8000, str(library)),
             instructions.sample(work, PID, 10, 10000),
             *(cycles.sample(work, PID, 20 + number, 4000) for number in range(3))]))

    def test_events_are_not_added_up(self):
        self.record_two()
        self.import_it()
        row, = self.rows('blocks', self.file)
        self.assertEqual(row['count'] * row['instructions'], 10000)
        listing = self.run_tool('blocks', self.file).stdout
        self.assertIn('note: blocks are counted by ebs of instructions:u; ebs of cycles:u would count '
                      'something else, and is not added (--event NAME chooses)', listing)
        self.assertNotIn('mixed', listing)
        self.assertEqual({source['event_name']: source['is_other_event'] for source in self.info()['sources']},
                         {'cycles:u': True, 'instructions:u': False})
        self.assertIn('not counted: another event is', self.run_tool('info', self.file).stdout)

    def test_the_event_that_counts_is_chosen(self):
        self.record_two()
        self.import_it()
        for name in ('cycles', 'cycles:u'):
            row, = self.rows('blocks', self.file, '--event', name, '--also', 'instructions:u')
            self.assertEqual((row['count'] * row['instructions'], row['instructions:u']), (12000, 10000))
        row, = self.rows('blocks', self.file, '--also', 'cycles:u')
        self.assertEqual(row['cycles:u'], 12000)
        self.assertEqual(self.refused('mix', self.file, '--event', 'branches'),
                         "hbbp mix: no samples of event 'branches'; the profile has samples of: "
                         'instructions:u, cycles:u\n')

    def test_other_events_are_columns_of_functions_too(self):
        self.record_two()
        self.import_it()
        by = ['mix', self.file, '--by', 'module,function', '--also', 'cycles:u', '--also', 'instructions']
        row, = self.rows(*by)
        self.assertEqual((row['function'], row['instructions'], row['cycles:u']), ('work', 10000, 12000))
        self.assertEqual(row['instructions_event'], 10000)
        row, total = self.rows(*by, '--totals', '--top', '1')
        self.assertEqual((row['cycles:u'], total['cycles:u']), (12000, 12000))
        row, = self.rows(*by, '--where', 'function = work')
        self.assertEqual(row['cycles:u'], 12000)
        # The cycles are shared out among the instructions of the block.
        rows = self.rows('mix', self.file, '--also', 'cycles:u')
        self.assertEqual(sum(row['cycles:u'] for row in rows), 12000)
        self.assertGreater(len(rows), 1)
        listing = self.run_tool('mix', self.file, '--by', 'function', '--also', 'cycles:u').stdout
        self.assertRegex(listing.splitlines()[0], r'instructions .*share +cycles:u +function')
        for words, message in ((['--columns', 'thread'], '--also is a column itself, and not for --columns'),
                               (['--summary'], '--also is not for --summary')):
            self.assertEqual(self.refused('mix', self.file, '--also', 'cycles', *words), f'hbbp mix: {message}\n')
        self.assertIn("no samples of event 'branches'", self.refused('mix', self.file, '--also', 'branches'))

    def test_profiles_of_different_units_are_not_merged(self):
        self.record_two()
        self.import_it()
        other, merged = self.directory / 'other.hbbp', self.directory / 'merged.hbbp'
        library, work = record_support.build_library(self)
        clock = built.Event(13, 1, 'task-clock:u', built.SOFTWARE)
        self.recording.write_bytes(built.file(
            [clock], [clock.mapping(PID, 0x400000, 0x8000, str(library)), clock.sample(work, PID, 10)]))
        shutil.move(self.file, other)
        self.import_it()
        for words in (['merge', '-o', merged, other, self.file], ['mix', other, self.file]):
            message = self.refused(*words)
            self.assertIn(f'{other} counts cycles, instructions and {self.file} nanoseconds', message)
        self.assertFalse(merged.exists())

    def test_events_without_samples_do_not_matter(self):
        library, work = record_support.build_library(self)
        instructions = built.Event(11, built.INSTRUCTIONS, 'instructions:u', period=10000)
        dummy = built.Event(12, built.DUMMY, 'dummy:HG', built.SOFTWARE, period=1)
        self.recording.write_bytes(built.file(
            [instructions, dummy], [dummy.mapping(PID, 0x400000, 0x8000, str(library)),
                                    instructions.sample(work, PID, 10, 10000)]))
        self.import_it()
        listing = self.run_tool('blocks', self.file, '--format', 'json')
        self.assertIn('"unit": "instructions"', listing.stdout)
        self.assertNotIn('are not numbers of executions', listing.stdout)

    def sums_of_perf(self):
        """Returns the sum of the periods of each event, as perf reads the recording."""
        if shutil.which('perf') is None:
            self.skipTest('no perf')
        script = subprocess.run(['perf', 'script', '-i', self.recording, '-F', 'event,period'], capture_output=True,
                                text=True, check=True)
        sums = {}
        for period, event in (line.split() for line in script.stdout.splitlines()):
            sums[event.rstrip(':')] = sums.get(event.rstrip(':'), 0) + int(period)
        return sums

    def counted(self, event):
        result = self.run_tool('mix', self.file, '--event', event, '--format', 'json')
        return record_support.json.loads(result.stdout)['total_instructions']

    def test_the_members_of_a_group_have_the_deltas_of_their_counters(self):
        library, work = record_support.build_library(self)
        for lost in (None, 0):
            form = built.FORMAT_GROUP | built.FORMAT_ID | (0 if lost is None else built.FORMAT_LOST)
            layout = {'sample_type': built.SAMPLE_TYPE | built.READ, 'read_format': form}
            cycles = built.Event(11, built.CYCLES, 'cycles:uS', period=1000, **layout)
            instructions = built.Event(12, built.INSTRUCTIONS, 'instructions:uS', period=0, **layout)
            values = [(1000, 800), (2500, 800), (2500, 2000), (4000, 2100)]
            self.recording.write_bytes(built.file(
                [cycles, instructions],
                [cycles.mapping(PID, 0x400000, 0x8000, str(library)),
                 *(cycles.sample(work, PID, 10 + number,
                                 read=struct.pack('<Q', 2) + counter(a, 11, lost) + counter(b, 12, lost))
                   for number, (a, b) in enumerate(values))]))
            self.import_it()
            self.assertEqual({source['event']: source['samples'] for source in self.info()['sources']},
                             {'cycles': 3, 'instructions': 3})
            row, = self.rows('blocks', self.file, '--also', 'cycles')
            self.assertEqual((row['count'] * row['instructions'], row['cycles']), (2100, 4000))
            self.assertEqual(self.sums_of_perf(), {'cycles:uS': 4000, 'instructions:uS': 2100})

    def test_samples_that_a_group_lost_are_lost_of_each_member(self):
        library, work = record_support.build_library(self)
        layout = {'sample_type': built.SAMPLE_TYPE | built.READ,
                  'read_format': built.FORMAT_GROUP | built.FORMAT_ID | built.FORMAT_LOST}
        cycles = built.Event(11, built.CYCLES, 'cycles:uS', period=1000, **layout)
        instructions = built.Event(12, built.INSTRUCTIONS, 'instructions:uS', period=0, **layout)
        self.recording.write_bytes(built.file(
            [cycles, instructions],
            [cycles.mapping(PID, 0x400000, 0x8000, str(library)),
             *(cycles.sample(work, PID, 10 + number,
                             read=struct.pack('<Q', 2) + counter(value, 11, lost) + counter(value // 2, 12, 0))
               for number, (value, lost) in enumerate([(1000, 0), (5000, 3), (6000, 3), (9000, 5)]))]))
        report = self.import_it()
        self.assertIn('ebs of cycles:uS: 4 samples, lost 5,', report)
        self.assertEqual({source['event_name']: source['lost'] for source in self.info()['sources']},
                         {'cycles:uS': 5, 'instructions:uS': 5})
        # What was lost is in the next value of the counter.
        self.assertEqual(self.counted('cycles'), 9000)

    def test_groups_may_be_of_an_event_that_has_no_samples_itself(self):
        """The values of a hostile recording are of another event than the sample, and of impossible times."""
        library, work = record_support.build_library(self)
        layout = {'sample_type': built.SAMPLE_TYPE | built.READ,
                  'read_format': built.FORMAT_TIMES | built.FORMAT_GROUP | built.FORMAT_ID | built.FORMAT_LOST}
        cycles = built.Event(11, built.CYCLES, 'cycles:uS', period=1000, **layout)
        instructions = built.Event(12, built.INSTRUCTIONS, 'instructions:uS', period=0, **layout)
        for times in ((0, 0), (2**64 - 1, 1)):
            self.recording.write_bytes(built.file(
                [cycles, instructions],
                [cycles.mapping(PID, 0x400000, 0x8000, str(library)),
                 *(cycles.sample(work, PID, 10 + number, read=struct.pack('<3Q', 1, *times) + counter(value, 12, 3))
                   for number, value in enumerate((1000, 2**63)))]))
            self.import_it()
            by_event = {source['event_name']: source for source in self.info()['sources']}
            self.assertEqual((by_event['instructions:uS']['samples'], by_event['instructions:uS']['lost']), (2, 3))

    def test_samples_with_values_of_unknown_counters_are_of_their_event(self):
        library, work = record_support.build_library(self)
        layout = {'sample_type': built.SAMPLE_TYPE | built.READ, 'read_format': built.FORMAT_GROUP | built.FORMAT_ID}
        cycles = built.Event(11, built.CYCLES, 'cycles:uS', period=1000, **layout)
        self.recording.write_bytes(built.file(
            [cycles], [cycles.mapping(PID, 0x400000, 0x8000, str(library)),
                       *(cycles.sample(work, PID, 10 + number, read=struct.pack('<Q', 1) + counter(9000, 99))
                         for number in range(3))]))
        self.import_it()
        self.assertEqual(self.counted('cycles'), 3000)

    def test_a_group_that_is_held_back_is_corrected_as_its_kernel_does_it(self):
        """Ticks of 4 ms, of which the kernel stops the first event after 1 ms, and since Linux 6.16 the others too."""
        library, work = record_support.build_library(self)
        layout = {'sample_type': built.SAMPLE_TYPE | built.READ, 'read_format': built.FORMAT_GROUP | built.FORMAT_ID}
        cycles = built.Event(11, built.CYCLES, 'cycles:uS', period=1000, **layout)
        instructions = built.Event(12, built.INSTRUCTIONS, 'instructions:uS', period=0, **layout)
        for release, is_stopped in (('6.15.9-tiny', False), ('6.16.0-tiny', True), ('7.0-tiny', True)):
            records, value, microsecond = [cycles.mapping(PID, 0x400000, 0x8000, str(library))], 0, 1000
            for tick in range(1, 201):
                start = tick * 4000
                for number in range(20):
                    value += 1000
                    records.append(cycles.sample(work, PID, (start + 50 * number) * microsecond, read=struct.pack('<Q', 2) +
                                                 counter(value, 11) + counter(value // 2, 12)))
                records += [cycles.throttle((start + 1000) * microsecond),
                            cycles.throttle((start + 4000) * microsecond, is_throttled=False)]
            self.recording.write_bytes(built.file([cycles, instructions], records,
                                                  {built.OS_RELEASE: built.padded(release)}))
            report = self.import_it()
            self.assertEqual(report.count('sampling was held back 200 times, for 75 % of the time'), 1 + is_stopped)
            # The first gap and the last one have no samples on both sides.
            self.assertAlmostEqual(self.counted('cycles') / (200 * 80 * 1000), 1, delta=0.01)
            expected = 200 * (80 if is_stopped else 20) * 500
            self.assertAlmostEqual(self.counted('instructions') / expected, 1, delta=0.01)

    def test_perf_loses_samples_of_a_group(self):
        # Samples with a part of the stack fill a buffer of one page soon, at a rate that any machine stands.
        self.record_by_perf('-m', '1', '-e', '{task-clock:u,cpu-clock:u}:S', '-c', '100000', '--call-graph', 'dwarf,1024')
        self.import_it()
        # It may wait for its addr2line for ever.
        report = subprocess.run(['perf', 'report', '--stdio', '--no-call-graph', '--no-inline', '-i', self.recording],
                                capture_output=True, text=True)
        lost = int(re.search(r'Total Lost Samples: (\d+)', report.stdout)[1])
        if lost == 0:
            self.skipTest('perf lost nothing')
        self.assertEqual([source['lost'] for source in self.info()['sources']], [lost, lost])

    def test_perf_records_a_group_of_clocks(self):
        self.record_by_perf('-e', '{task-clock,cpu-clock}:S', '-c', '1000000')
        self.import_it()
        sums = self.sums_of_perf()
        self.assertEqual(len(sums), 2)
        self.assertGreater(min(sums.values()), 0)
        by_event = {source['event_name']: source for source in self.info()['sources']}
        self.assertEqual(set(by_event), set(sums))
        for event, total in sums.items():
            self.assertGreater(by_event[event]['samples'], 0)
            self.assertAlmostEqual(self.counted(event) / total, 1, delta=0.2)

    def test_periods_of_a_clock_follow_from_its_frequency(self):
        self.record_by_perf('-e', 'task-clock:u', '-F', '500', '--no-period')
        self.import_it()
        source, = self.info()['sources']
        self.assertEqual((source['smallest_period'], source['largest_period'], source['unit']),
                         (2000000, 2000000, 'nanoseconds'))

    def test_without_periods_a_frequency_gives_shares(self):
        library, work = record_support.build_library(self)
        event = built.Event(11, built.INSTRUCTIONS, 'instructions:u', period=4000, flags=built.FREQUENCY,
                            sample_type=built.SAMPLE_TYPE & ~built.PERIOD)
        self.recording.write_bytes(built.file(
            [event], [event.mapping(PID, 0x400000, 0x8000, str(library)),
                      *(event.sample(work, PID, 10 + number) for number in range(3))]))
        self.assertIn('samples have no periods, and were taken by a frequency, so that counts are shares and not '
                      'numbers: record without --no-period', self.import_it())
        source, = self.info()['sources']
        self.assertEqual((source['unit'], source['event_name']), ('events', 'instructions:u'))
        listing = self.run_tool('blocks', self.file).stdout
        self.assertIn('counts are proportional to these', listing)

    def test_perf_records_a_frequency_without_periods(self):
        self.record_by_perf('-e', 'page-faults:u', '-F', '1000', '--no-period')
        self.assertIn('counts are shares and not numbers: record without --no-period', self.import_it())
        source, = self.info()['sources']
        self.assertGreater(source['samples'], 0)
        self.assertEqual((source['unit'], source['period_mode'], source['smallest_period'], source['largest_period']),
                         ('events', 'frequency', 1, 1))

    def test_perf_records_two_clocks(self):
        """Each has the time of the program, and their sum is twice that."""
        self.record_by_perf('-e', 'task-clock:u,cpu-clock:u', '-c', '1000003')
        self.import_it()
        samples = {source['event']: source['samples'] for source in self.info()['sources']}
        for event in ('task-clock', 'cpu-clock'):
            self.assertLessEqual(self.counted(event), samples[event] * 1000003 * 1.001)


if __name__ == '__main__':
    record_support.main(ImportEventsTest)
