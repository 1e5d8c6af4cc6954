"""What the command says of a profile with streams: one that is made for the fuzzers, so that every
number is known."""
import pathlib

import record_support

PROFILE = (pathlib.Path(__file__).parents[1] / 'fuzz' / 'corpus' / 'profile_file' /
           'file_of_streams')


class StreamProfileTest(record_support.RecordTest):

    def listing(self, *arguments):
        result = self.run_tool(*arguments)
        self.assertEqual(result.returncode, 0, result)
        return result.stdout

    def test_info_as_json(self):
        source = self.info(PROFILE)['sources'][2]
        expected = {
            'kind': 'swbt', 'event': 'task-clock', 'period': 1000000, 'unit': 'nanoseconds',
            'samples': 3, 'bursts': 31, 'taken_branches': 32, 'breakpoints': 33,
            'lookahead_instructions': 34, 'decoded_instructions': 35, 'handler_ns': 36,
            'verified_branches': 37, 'disagreements': 38, 'lost': 23, 'throttled': 24,
            'unmapped': 1, 'unexplained': 6, 'mode': 'lookahead',
            'rung': 'timers: no perf events here',
            'counters': {'system-call': 41, 'unreadable-memory': 42},
            'unexplained_reasons': {'no-code': 1, 'undecodable': 1, 'leaves-module': 1,
                                    'backwards': 1, 'passes-branch': 1, 'not-a-branch': 1}}
        self.assertEqual({key: source[key] for key in expected}, expected)

    def test_info_of_another_source_has_the_same_keys(self):
        ebs, _, swbt = self.info(PROFILE)['sources']
        self.assertEqual(ebs.keys(), swbt.keys())
        self.assertEqual((ebs['bursts'], ebs['mode'], ebs['counters']), (0, '', {}))

    def test_info_as_text(self):
        text = self.listing('info', PROFILE)
        for part in ('lookahead; timers: no perf events here', '32 taken in 31 bursts',
                     '33 breakpoints', '34 instructions interpreted', '35 decoded',
                     '37 branches, 38 of them wrong', 'system-call 41', 'unreadable-memory 42',
                     'not-a-branch 1', '6 streams fit no path'):
            self.assertIn(part, text)

    def test_info_as_csv(self):
        lines = self.listing('info', '--format', 'csv', PROFILE).splitlines()
        names, values = lines[0].split(','), lines[3].split(',')
        row = dict(zip(names, values))
        self.assertEqual(len(names), len(values))
        self.assertEqual((row['bursts'], row['trace_mode'], row['disagreements']),
                         ('31', 'lookahead', '38'))

    def test_blocks(self):
        rows = {row['start']: row for row in self.rows('blocks', PROFILE)}
        self.assertEqual({row['source'] for row in rows.values()}, {'swbt'})
        self.assertEqual(rows['0x7004']['count'], 2000)
        self.assertEqual(rows['0x7008']['count'], 2750)

    def test_mix(self):
        rows = {row['mnemonic']: row['instructions'] for row in self.rows('mix', PROFILE)}
        self.assertEqual(rows['dec'], 2750)
        self.assertEqual(rows['ret'], 750)

    def test_mix_by_thread(self):
        rows = {row['thread']: row['instructions']
                for row in self.rows('mix', '--by', 'thread', PROFILE)}
        whole = sum(row['instructions'] for row in self.rows('mix', PROFILE))
        self.assertEqual(sum(rows.values()), whole)
        # Two streams around the loop of five instructions.
        self.assertEqual(rows[1235], 2 * 250 * 5)

    def test_several_files_add_up(self):
        rows = {row['start']: row for row in self.rows('blocks', PROFILE, PROFILE)}
        self.assertEqual(rows['0x7004']['count'], 4000)

    def test_compare_with_itself(self):
        text = self.listing('compare', '--format', 'csv', PROFILE, PROFILE)
        self.assertIn('anonymous', text)


if __name__ == '__main__':
    record_support.main(StreamProfileTest)
