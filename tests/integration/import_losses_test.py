"""Tests that hbbp import says what of a recording it leaves out, how much, why, and what helps."""
import recording_builder as built
import record_support

PID = 7
STACK = [(0x400030, 0x400010), (0x400030, 0x400020)]


class ImportLossesTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        self.recording = self.directory / 'perf.data'

    def import_it(self, *arguments):
        """Returns the lines that the command prints, without its name."""
        result = self.run_tool('import', '-o', self.file, self.recording, *arguments)
        self.assertEqual(result.returncode, 0, result)
        lines = result.stderr.splitlines()
        self.assertTrue(all(line.startswith('hbbp import: note: ') for line in lines), lines)
        return [line.removeprefix('hbbp import: note: ') for line in lines]

    def record_stacks(self, branch_kinds):
        """Makes a recording of two samples of user code with branch stacks."""
        event = built.Event(11, built.INSTRUCTIONS, 'instructions:u', branch_kinds=branch_kinds,
                            sample_type=built.SAMPLE_TYPE | built.BRANCH_STACK)
        self.recording.write_bytes(built.file(
            [event], [event.mapping(PID, 0x400000, 0x1000, '/opt/server'),
                      *(event.sample(0x400010, PID, 10 + number, branches=STACK) for number in range(2))]))

    def test_stacks_that_perf_inject_makes_of_traces_are_streams(self):
        for kinds in (built.HW_INDEX, built.HW_INDEX | built.USER_BRANCHES):
            self.record_stacks(kinds)
            lines = self.import_it()
            self.assertFalse([line for line in lines if 'left out' in line], lines)
            ebs, lbr = self.info()['sources']
            self.assertEqual((lbr['kind'], lbr['samples'], ebs['counters']), ('lbr', 2, {}))

    def test_stacks_of_some_kinds_of_branches_are_reported(self):
        self.record_stacks(built.ANY_CALL | built.ANY_RETURN | built.HW_INDEX | built.USER_BRANCHES)
        self.assertIn('2 branch stacks left out: they have only the kinds any_call,any_ret, so no streams lie '
                      'between their entries: record with -j any', self.import_it())


if __name__ == '__main__':
    record_support.main(ImportLossesTest)
