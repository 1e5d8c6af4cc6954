"""Tests the command on a profile with streams: it is made for the fuzzers, so that every number is
known."""
import json
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
            'method': 'timers: no perf events here',
            'extent_in_events': False,
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

    def test_estimators(self):
        for estimator in ('auto', 'streams'):
            rows = self.rows('blocks', '--estimator', estimator, PROFILE)
            self.assertEqual({row['source'] for row in rows}, {'swbt'})
        by_samples = self.rows('blocks', '--estimator', 'ebs', PROFILE)
        self.assertEqual({row['source'] for row in by_samples}, {'ebs'})
        # The published tree applies: all blocks are short.
        by_tree = {row['start']: row for row in self.rows('blocks', '--estimator', 'tree', PROFILE)}
        self.assertEqual(by_tree['0x7008']['count'], 2750)
        by_flow = self.rows('blocks', '--estimator', 'flow', PROFILE)
        self.assertEqual({row['source'] for row in by_flow}, {'combined'})
        text = self.listing('blocks', '--estimator', 'tree', PROFILE)
        self.assertIn('as a decision tree says block by block', text)

    def test_a_tree_of_a_file(self):
        tree = self.directory / 'tree.json'
        tree.write_text(json.dumps({'format': 'hbbp-tree', 'version': 1, 'nodes': [
            {'feature': 'length', 'threshold': 18, 'yes': 1, 'no': 2}, {'class': 'ebs'},
            {'class': 'streams'}]}))
        by_tree = self.rows('mix', '--estimator', tree, PROFILE)
        by_samples = {row['mnemonic']: row for row in self.rows('mix', '--estimator', 'ebs', PROFILE)}
        for row in by_tree:
            if row['instructions'] != 0:
                self.assertEqual(row['instructions'], by_samples[row['mnemonic']]['instructions'])
        tree.write_text('{"format": "hbbp-tree", "version": 1, "nodes": [{"class": "pebs"}]}')
        result = self.run_tool('mix', '--estimator', tree, PROFILE)
        self.assertEqual(result.returncode, 2)
        self.assertIn(f'{tree}: decision tree: node 0: class "pebs"; there are: ebs, streams',
                      result.stderr)
        result = self.run_tool('mix', '--estimator', 'best', PROFILE)
        self.assertEqual(result.returncode, 2)
        self.assertIn('--estimator: neither auto, ebs, streams, tree, flow nor a file: best',
                      result.stderr)

    def test_merge(self):
        merged = self.directory / 'merged.hbbp'
        text = self.listing('merge', '-o', merged, PROFILE, PROFILE)
        self.assertIn('2 profiles', text)
        rows = {row['start']: row for row in self.rows('blocks', merged)}
        self.assertEqual(rows['0x7004']['count'], 4000)
        self.assertEqual(self.run_tool('merge', '-o', merged, self.directory / 'none').returncode, 2)

    def test_compare_with_itself(self):
        text = self.listing('compare', '--format', 'csv', PROFILE, PROFILE)
        self.assertIn('anonymous', text)


if __name__ == '__main__':
    record_support.main(StreamProfileTest)
