"""Tests hbbp record with any event: it is counted, or refused with the reason before the program runs."""
import record_support
from record_support import needs_root, program

PAGES = 100_000
PERIOD = 97  # a prime, so that it is taken as it is


class RecordEventsTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        self.marker = self.directory / 'marker'

    def refused_before_the_program_runs(self, *options):
        message = self.refused('record', '-o', self.file, *options, '--', 'touch', self.marker)
        self.assertFalse(self.marker.exists())
        self.assertFalse(self.file.exists())
        self.assert_no_parts()
        return message

    def states(self):
        return {row['name']: row['state'] for row in self.rows('doctor')}

    def skip_without_sigtrap(self):
        if self.states()['sigtrap'] != 'supported':
            self.skipTest('no perf events with sigtrap here')

    def skip_with_pmu(self):
        if self.states()['hardware_instructions'] == 'supported':
            self.skipTest('this machine has a PMU')

    def record_faults(self, *options, milliseconds=0):
        result = self.run_tool('record', *options, '-o', self.file, '--', program('faults'), PAGES,
                               milliseconds)
        self.assertEqual(result.returncode, 0, result)
        self.assert_no_parts()
        return result

    def share_of(self, function):
        rows = self.rows('mix', '--by', 'function', self.file)
        total = sum(row['instructions'] for row in rows)
        return sum(row['instructions'] for row in rows if row['function'] == function) / total

    # Bursts of branch tracing --------------------------------------------------------------------

    def test_page_faults_start_bursts(self):
        self.skip_without_sigtrap()
        # Short bursts make few faults of their own, which count too.
        self.record_faults('--source', 'swbt', '--burst', 2, '-e', 'page-faults', '-c', PERIOD,
                           milliseconds=300)
        source, = self.info()['sources']
        self.assertEqual((source['kind'], source['event'], source['event_name']),
                         ('swbt', 'other', 'page-faults:u'))
        self.assertEqual((source['period'], source['unit']), (PERIOD, 'events'))
        self.assertIn('perf event page-faults', source['method'])
        self.assertGreater(source['bursts'] * PERIOD, 0.8 * PAGES)
        # Time is spent elsewhere.
        self.assertGreater(self.share_of('TouchPages'), 0.5)
        listing = self.run_tool('mix', self.file).stdout
        self.assertIn('the source counts events, so counts are proportional to these', listing)

    def test_default_source_takes_any_event(self):
        self.skip_without_sigtrap()
        self.skip_with_pmu()
        self.record_faults('-e', 'page-faults', '-c', PERIOD)
        source, = self.info()['sources']
        self.assertEqual((source['kind'], source['event_name']), ('swbt', 'page-faults:u'))
        self.assertGreater(source['bursts'], 100)

    def test_default_period_of_an_unknown_event_is_said(self):
        self.skip_without_sigtrap()
        self.record_faults('--source', 'swbt', '-e', 'page-faults')
        source, = self.info()['sources']
        self.assertEqual(source['period'], 997)
        self.assertIn('997 page-faults, since no period was asked for', source['note'])
        self.assertGreater(source['counters']['samples'], 0.8 * PAGES / 997)

    def test_names_of_libpfm4_are_events_of_branch_tracing_too(self):
        self.skip_without_sigtrap()
        result = self.run_tool('record', '--source', 'swbt', '-e', 'perf::minor-faults', '-c', PERIOD,
                               '-o', self.file, '--', program('faults'), PAGES, 0)
        if 'libpfm4' in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result)
        source, = self.info()['sources']
        self.assertEqual(source['event_name'], 'perf::minor-faults:u')
        self.assertGreater(source['bursts'], 100)

    def test_samples_and_bursts_of_one_event(self):
        self.skip_without_sigtrap()
        self.record_faults('--source', 'ebs,swbt', '-e', 'page-faults', '-c', PERIOD)
        ebs, swbt = self.info()['sources']
        self.assertEqual((ebs['event_name'], swbt['event_name']), ('page-faults:u',) * 2)
        self.assertGreater(ebs['samples'], 100)
        self.assertGreater(swbt['bursts'], 100)

    # Samples -------------------------------------------------------------------------------------

    def test_period_of_an_event_of_the_kernel_is_kept(self):
        self.record_faults('--source', 'ebs', '-e', 'page-faults', '-c', PERIOD)
        source, = self.info()['sources']
        self.assertAlmostEqual(source['samples'] * PERIOD / PAGES, 1, delta=0.1)

    @needs_root
    def test_events_of_the_kernel_alone_need_the_kernel(self):
        for source in ('auto', 'ebs', 'swbt'):
            message = self.refused_before_the_program_runs('--source', source, '-e', 'context-switches')
            self.assertIn('context-switches', message)
            self.assertIn('--kernel', message)
        result = self.run_tool('record', '--source', 'ebs', '--kernel', '-e', 'context-switches', '-c', 1,
                               '-o', self.file, '--', 'sh', '-c', 'sleep 0.01; sleep 0.01')
        self.assertEqual(result.returncode, 0, result)

    # Refusals ------------------------------------------------------------------------------------

    def test_events_that_the_machine_does_not_have(self):
        self.skip_with_pmu()
        for source in ('auto', 'ebs', 'swbt', 'ebs,swbt'):
            for event in ('cache-misses', 'branch-misses', 'r20c4'):
                message = self.refused_before_the_program_runs('--source', source, '-e', event)
                self.assertRegex(message, r'perf_event_open\(' + event + r'\): E[A-Z]+; this machine')

    def test_taken_branches_by_name(self):
        self.skip_with_pmu()
        message = self.refused_before_the_program_runs('--source', 'swbt', '-e', 'taken-branches')
        self.assertIn('taken-branches', message)

    def test_frequency_of_what_branch_tracing_has_no_frequency_of(self):
        for event in ('page-faults', 'instructions', 'cycles'):
            message = self.refused_before_the_program_runs('--source', 'swbt', '-e', event, '-F', 100)
            self.assertIn(event, message)
            self.assertIn('-c', message)

    def test_frequency_is_a_period_of_a_clock(self):
        for options in ((), ('--source', 'swbt'), ('--source', 'swbt', '-e', 'cpu-clock')):
            result = self.run_tool('record', *options, '-F', 500, '-o', self.file, '--', program('ends'),
                                   'return', 300)
            self.assertEqual(result.returncode, 0, result)
            source = self.info()['sources'][0]
            if source['kind'] == 'lbr' or source['frequency_hz']:
                self.assertEqual(source['frequency_hz'], 500)
                continue
            self.assertLessEqual(source['period'], 2_000_000)
            self.assertGreater(source['period'], 1_999_000)

    def test_frequency_of_any_event_is_that_of_samples(self):
        self.skip_with_pmu()
        self.record_faults('-e', 'page-faults', '-F', 500, milliseconds=300)
        source, = self.info()['sources']
        self.assertEqual((source['kind'], source['frequency_hz']), ('ebs', 500))
        self.assertIn('no swbt: software branch tracing cannot take page-faults at a frequency',
                      source['note'])

    def test_too_few_events_are_not_the_fault_of_the_program(self):
        result = self.record_faults('--source', 'ebs', '-e', 'page-faults', '-c', 100 * PAGES)
        self.assertIn('no samples: it had fewer than', result.stderr)
        self.assertNotIn('too brief', result.stderr)

    def test_advice_is_a_period(self):
        self.skip_without_sigtrap()
        result = self.record_faults('--source', 'swbt', '-e', 'page-faults')
        advised = [int(line.split('-c ')[1].split()[0]) for line in result.stderr.splitlines()
                   if 'so few bursts' in line]
        for period in advised:
            self.assertGreater(period, 0)


if __name__ == '__main__':
    record_support.main(RecordEventsTest)
