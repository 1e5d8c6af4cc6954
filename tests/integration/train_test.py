"""Tests hbbp train: labels, trees, and messages about bad input."""
import csv
import json
import pathlib
import random
import shutil
import subprocess
import sys
import unittest

import record_support
from record_support import program

FEATURES = ['length', 'bytes', 'biased', 'ebs_count', 'ebs_error', 'streams_count', 'streams_error',
            'long_latency_share', 'memory_share', 'call_share', 'division_share', 'previous_length',
            'next_length', 'taken_ratio']
HEADER = ['program', 'module', 'function', 'address', 'truth', 'ebs', 'streams', 'weight',
          'label'] + FEATURES
SCRIPTS = pathlib.Path(record_support.TOOL).parent / 'train'


def python_with_sklearn():
    for python in (sys.executable, 'python3', '/usr/bin/python3'):
        path = shutil.which(python)
        if path and subprocess.run([path, '-c', 'import sklearn'], capture_output=True).returncode == 0:
            return path
    return None


PYTHON = python_with_sklearn()
needs_sklearn = unittest.skipUnless(PYTHON, 'no python3-sklearn')


def row(name, index, length, is_streams_closer, truth=100, **others):
    values = dict.fromkeys(FEATURES, 0)
    values.update(program=name, module='/bin/' + name, function='f', address=hex(index * 16),
                  truth=truth, ebs=truth * (2 if is_streams_closer else 1),
                  streams=truth * (1 if is_streams_closer else 2), weight=truth * length,
                  label='streams' if is_streams_closer else 'ebs', length=length, bytes=length * 4)
    values.update(others)
    return [values[name] for name in HEADER]


def short_blocks_by_streams(programs=6, blocks=40):
    """Streams are right up to 10 instructions, samples above."""
    rows = []
    for name in range(programs):
        for index in range(blocks):
            length = index % 20 + 1
            rows.append(row(f'p{name}', index, length, length <= 10, truth=50 + index, bytes=4))
    return rows


class TrainTest(record_support.RecordTest):

    def labels(self, rows, name='labels.csv', header=HEADER):
        path = self.directory / name
        with open(path, 'w', newline='') as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows)
        return path

    def train(self, *arguments, **options):
        output = self.directory / 'tree.json'
        result = self.run_tool('train', *arguments, '-o', output, timeout=record_support.TIMEOUT_S, **options)
        self.assertEqual(result.returncode, 0, result)
        return json.loads(output.read_text()), result

    def record_both(self):
        """Makes a profile with samples and streams, and its truth."""
        if shutil.which('valgrind') is None:
            self.skipTest('no valgrind')
        truth = self.directory / 'truth'
        command = [program('split'), '30000']
        subprocess.run(['valgrind', '--tool=callgrind', '--dump-instr=yes',
                        f'--callgrind-out-file={truth}', *command], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=record_support.TIMEOUT_S)
        parts = []
        for source in ('ebs', 'swbt'):
            parts.append(self.directory / source)
            result = self.run_tool('record', '--source', source, '-e', 'task-clock', '-c', 500_000, '-o', parts[-1], '--', *command)
            self.assertEqual(result.returncode, 0, result)
        both = self.directory / 'both.hbbp'
        self.assertEqual(self.run_tool('merge', *parts, '-o', both).returncode, 0)
        return both, truth, parts

    @needs_sklearn
    def test_tree_finds_what_was_put_into_the_labels(self):
        tree, result = self.train(self.labels(short_blocks_by_streams()))
        self.assertEqual(tree['nodes'], [{'feature': 'length', 'threshold': 10.5, 'yes': 1, 'no': 2},
                                         {'class': 'streams'}, {'class': 'ebs'}])
        for errors in tree['training']['block_error_held_out'].values():
            self.assertEqual(errors['trained'], 0)
            self.assertEqual(errors['oracle'], 0)
            self.assertGreater(errors['published'], 0.2)
            # Half of the blocks by number, with a weight that grows with their length.
            self.assertAlmostEqual(errors['ebs'] + errors['streams'], 1)
            self.assertLess(errors['ebs'], errors['streams'])
        self.assertIn('| length | 100.00 % |', result.stdout)
        self.assertIn('length <= 10.5?', result.stdout)

    @needs_sklearn
    def test_library_counts_by_the_tree(self):
        both, truth, parts = self.record_both()
        for only, closer in (('ebs', False), ('streams', True)):
            labels = self.labels([row('p', index, index + 1, closer) for index in range(8)])
            self.train(labels)
            result = self.run_tool('blocks', both, '--estimator', self.directory / 'tree.json',
                                   '--format', 'json')
            self.assertEqual(result.returncode, 0, result)
            part = parts[0 if only == 'ebs' else 1]
            source = {'ebs': 'ebs', 'streams': 'swbt'}[only]
            alone = {(block['module'], block['start']) for block in self.rows('blocks', part)}
            for block in json.loads(result.stdout)['rows']:
                if block['count'] > 0 and (block['module'], block['start']) in alone:
                    self.assertEqual(block['source'], source, block)

    @needs_sklearn
    def test_same_labels_in_another_order_are_the_same_tree(self):
        rng = random.Random(1)
        rows = [row(f'p{index % 5}', index, rng.randint(1, 40), rng.random() < 0.6,
                    truth=rng.lognormvariate(0, 2), taken_ratio=rng.random(), memory_share=rng.random())
                for index in range(600)]
        self.train(self.labels(rows), '--leaves', 12, '--min-samples', 5)
        first = (self.directory / 'tree.json').read_bytes()
        rng.shuffle(rows)
        files = [self.labels(rows[:300], 'a.csv'), self.labels(rows[300:], 'b.csv')]
        tree, _ = self.train(*files, '--leaves', 12, '--min-samples', 5)
        self.assertEqual((self.directory / 'tree.json').read_bytes(), first)
        self.assertGreater(len(tree['nodes']), 5)

    @needs_sklearn
    def test_tree_of_fewer_leaves_is_the_beginning_of_a_larger_one(self):
        script = '''
import sys; sys.path.insert(0, sys.argv[1])
import numpy, labelled_blocks, learning
blocks = labelled_blocks.read([sys.argv[2]])
learning.add_weights(blocks)
large = learning.fit(blocks, learning.Settings(24, 3, "executions"))
prefixes = learning.classes_by_leaves(large, blocks.features, (1, 2, 3, 5, 8, 13, 24))
for leaves, classes in prefixes.items():
    nodes, _ = learning.learn(blocks, learning.Settings(leaves, 3, "executions"))
    assert (learning.decision_tree.classes(nodes, blocks.features) == classes).all(), leaves
assert len(set(map(bytes, prefixes.values()))) > 3
'''
        rng = random.Random(2)
        rows = [row('p', index, rng.randint(1, 40), rng.random() < 0.5, truth=rng.lognormvariate(0, 2),
                    memory_share=rng.random(), taken_ratio=rng.random()) for index in range(500)]
        result = subprocess.run([PYTHON, '-B', '-c', script, SCRIPTS, self.labels(rows)],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    @needs_sklearn
    def test_held_out_programs_are_not_learned_from(self):
        rows = short_blocks_by_streams()
        # This program is the opposite: it would ruin the tree, and is all wrong by it.
        rows += [row('odd', index, index % 20 + 1, index % 20 + 1 > 10, truth=1000, bytes=4)
                 for index in range(40)]
        tree, _ = self.train(self.labels(rows), '--hold-out', 'odd', '--drawing',
                             self.directory / 'tree.svg', '--report', self.directory / 'report.md')
        self.assertEqual(tree['nodes'][0]['threshold'], 10.5)
        self.assertNotIn('odd', tree['training']['programs'])
        self.assertEqual(tree['training']['block_error_held_out']['odd']['trained'], 1)
        self.assertIn('Programs that were held out', (self.directory / 'report.md').read_text())
        drawing = (self.directory / 'tree.svg').read_text()
        self.assertIn('length \u2264 10.5', drawing)
        self.assertTrue(drawing.endswith('</svg>\n'))

    @needs_sklearn
    def test_one_class_is_one_leaf(self):
        tree, result = self.train(self.labels([row('p', index, 3, True) for index in range(9)]))
        self.assertEqual(tree['nodes'], [{'class': 'streams'}])
        self.assertIn('streams is closer in all blocks', result.stderr)
        self.assertIn('one program alone', result.stderr)

    @needs_sklearn
    def test_bad_labels_are_reported_by_line(self):
        good = row('p', 1, 3, True)

        def with_value(column, value):
            changed = list(good)
            changed[HEADER.index(column)] = value
            return changed

        cases = [
            ([good, row('p', 1, 4, False)], 'labels.csv:3: block 0x10 of /bin/p in program p was already in'),
            ([with_value('ebs', 'nan')], 'labels.csv:2: ebs is nan'),
            ([with_value('length', 'x')], "labels.csv:2: length is 'x', not a number"),
            ([with_value('truth', '-1')], 'labels.csv:2: truth is -1, less than 0'),
            ([with_value('taken_ratio', 'inf')], 'labels.csv:2: taken_ratio is inf'),
            ([with_value('label', 'lbr')], "labels.csv:2: label is 'lbr', neither ebs nor streams"),
            ([with_value('program', '')], 'labels.csv:2: program is empty'),
            ([good[:-1]], 'labels.csv:2: 22 fields, where the header has 23'),
            ([], 'labels.csv: no blocks, only a header'),
            ([row('p', 1, 3, True, truth=0)], 'no block ran'),
        ]
        for rows, message in cases:
            with self.subTest(message):
                error = self.refused('train', self.labels(rows), '-o', self.directory / 'tree.json')
                self.assertIn(message, error)
        headless = self.labels([good[:-1]], header=HEADER[:-1])
        self.assertIn('labels.csv:1: no column taken_ratio',
                      self.refused('train', headless, '-o', self.directory / 'tree.json'))
        empty = self.directory / 'empty.csv'
        empty.write_text('')
        self.assertIn('empty.csv: empty', self.refused('train', empty, '-o', self.directory / 'x'))
        binary = self.directory / 'binary.csv'
        binary.write_bytes(bytes(range(256)))
        self.refused('train', binary, '-o', self.directory / 'x')
        self.assertFalse((self.directory / 'tree.json').exists())

    @needs_sklearn
    def test_bad_options_are_reported(self):
        labels = self.labels(short_blocks_by_streams(2))
        output = self.directory / 'tree.json'
        for options, message in [
                (['--leaves', '0'], '--leaves: 0 is not a number from 1 to 256'),
                (['--leaves', 'many'], 'many is not a number'),
                (['--min-samples', '-3'], '-3'),
                (['--weights', 'heavy'], 'heavy'),
                (['--hold-out', 'q'], 'no program q in the labels; there are: p0, p1'),
                (['--hold-out', 'p0,p1'], 'none is left to learn from'),
                (['--no-weights', '--weights', 'executions'], 'exclude each other')]:
            with self.subTest(options):
                self.assertIn(message, self.refused('train', labels, '-o', output, *options))
        self.assertIn('No such file', self.refused('train', labels, '-o', '/nowhere/tree.json'))

    def test_without_scikit_learn_the_package_is_named(self):
        # The check runs before any script.
        (self.directory / 'sitecustomize.py').write_text(
            "import sys; sys.path[:] = [path for path in sys.path if 'packages' not in path]\n")
        error = self.refused('train', self.labels([row('p', 1, 3, True)]), '-o', self.directory / 'x',
                             env={'PATH': '/usr/bin:/bin', 'PYTHONPATH': str(self.directory)})
        self.assertIn('install the Debian package python3-sklearn', error)

    def test_without_python_the_package_is_named(self):
        error = self.refused('train', self.labels([row('p', 1, 3, True)]), '-o', self.directory / 'x',
                             env={'PATH': str(self.directory)})
        self.assertIn('python3 cannot be started', error)
        self.assertIn('python3-sklearn', error)

    def test_options_of_labels(self):
        for options, message in [
                ([], '-o FILE says where the tree goes'),
                (['-o', 'x'], 'there are no labels to learn from'),
                (['--profile', 'a'], 'as many --truth as --profile'),
                (['--profile', 'a', '--truth', 'b'], '--labels FILE says'),
                (['--labels', 'c'], '--labels needs a --profile'),
                (['--profile', 'a', '--truth', 'b', '--program', 'p', '--program', 'q', '--labels', 'c'],
                 '--program is needed for every --profile'),
                (['--profile', 'a', '--truth', 'b', '--labels', 'c'], 'a: ')]:
            with self.subTest(options):
                self.assertIn(message, self.refused('train', *options))

    def test_labels_of_a_live_profile(self):
        both, truth, parts = self.record_both()
        labels = self.directory / 'labels.csv'
        result = self.run_tool('train', '--profile', both, '--truth', truth, '--program', 'split',
                               '--labels', labels)
        self.assertEqual(result.returncode, 0, result)
        with open(labels, newline='') as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]), HEADER)
        own = [found for found in rows if found['module'].endswith('/split')]
        sums = {column: sum(float(found[column]) * float(found['length']) for found in own)
                for column in ('truth', 'ebs', 'streams')}
        self.assertGreater(sums['truth'], 1e6)
        self.assertAlmostEqual(sums['ebs'] / sums['truth'], 1)
        self.assertAlmostEqual(sums['streams'] / sums['truth'], 1)
        for found in rows:
            off = {name: abs(float(found[name]) - float(found['truth'])) for name in ('ebs', 'streams')}
            self.assertEqual(found['label'], 'ebs' if off['ebs'] < off['streams'] else 'streams', found)
            self.assertAlmostEqual(float(found['weight']), float(found['truth']) * float(found['length']))
        heaviest = max(own, key=lambda found: float(found['weight']))
        self.assertIn(heaviest['function'], ('ThreeQuarters', 'OneQuarter', 'main', 'Work'), heaviest)
        error = self.refused('train', '--profile', parts[0], '--truth', truth, '--labels', labels)
        self.assertIn('was observed both by samples', error)


if __name__ == '__main__':
    record_support.main(TrainTest)
