"""hbbp mix and hbbp diff: any keys, values and conditions, of a program that was recorded."""
import csv
import io
import json
import shutil
import subprocess

import record_support

# Two functions of equal loops but for the division in the first one, by two threads.
SOURCE = r'''
#include <pthread.h>
#include <stdlib.h>
__attribute__((noinline)) double Divide(long end) {
  volatile double sum = 1;
  for (long i = 1; i < end; ++i) sum = sum / 1.0000001;
  return sum;
}
__attribute__((noinline)) double Multiply(long end) {
  volatile double sum = 1;
  for (long i = 1; i < end; ++i) sum = sum * 1.0000001;
  return sum;
}
static void* Run(void* end) {
  return Multiply(*(long*)end) > 0 ? end : 0;
}
int main(int argc, char** argv) {
  long divisions = atol(argv[1]), multiplications = atol(argv[2]);
  pthread_t thread;
  pthread_create(&thread, 0, Run, &multiplications);
  pthread_join(thread, 0);
  return Divide(divisions) < 0;
}
'''
MANY = 40_000_000


class MixTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        if shutil.which('gcc') is None:
            self.skipTest('no gcc')
        source = self.folder / 'floats.c'
        source.write_text(SOURCE)
        self.program = self.folder / 'floats'
        subprocess.run(['gcc', '-O1', '-pthread', '-o', self.program, source], check=True)

    def record_floats(self, divisions=MANY, multiplications=MANY, name='out.data'):
        self.file = self.folder / name
        self.record(self.program, divisions, multiplications)
        self.assertGreater(self.info()['sources'][0]['samples'], 20)
        return self.file

    def mix(self, *arguments):
        result = self.run_tool('mix', self.file, *arguments, '--format', 'json')
        self.assertEqual(result.returncode, 0, result)
        return json.loads(result.stdout)

    def test_every_key_adds_up_to_the_same_total(self):
        self.record_floats()
        total = self.mix()['total_instructions']
        self.assertGreater(total, 0)
        for key in ('process', 'thread', 'module', 'function', 'block', 'address', 'source',
                    'extension', 'category', 'packing', 'vector-bits', 'memory', 'operand-kinds',
                    'groups', 'traffic', 'width', 'flow', 'precision', 'thread,function,mnemonic'):
            with self.subTest(key):
                mix = self.mix('--by', key)
                self.assertAlmostEqual(mix['total_instructions'] / total, 1, places=9)
                self.assertAlmostEqual(sum(row['instructions'] for row in mix['rows']) / total, 1,
                                       places=9)
                self.assertAlmostEqual(sum(row['share'] for row in mix['rows']), 1, places=9)

    def test_columns_are_cells_of_rows(self):
        self.record_floats()
        cells = self.mix('--by', 'function', '--columns', 'mnemonic', '--totals')['rows']
        plain = {(row['function'], row['mnemonic']): row['instructions']
                 for row in self.mix('--by', 'function,mnemonic')['rows']}
        found = {(row['function'], row['mnemonic']): row['instructions'] for row in cells
                 if row['function'] is not None and row['mnemonic'] is not None}
        self.assertEqual(found, plain)
        totals = {row['function']: row['instructions'] for row in cells
                  if row['mnemonic'] is None}
        self.assertAlmostEqual(totals['Divide'] / sum(
            value for (function, _), value in plain.items() if function == 'Divide'), 1, places=9)
        self.assertAlmostEqual(totals[None] / sum(plain.values()), 1, places=9)
        # The same as a table of a spreadsheet.
        result = self.run_tool('mix', self.file, '--by', 'function', '--columns', 'mnemonic',
                               '--values', 'instructions', '--format', 'csv')
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        self.assertEqual({(row['function'], name): float(value) for row in rows
                          for name, value in row.items()
                          if name != 'function' and float(value) != 0}, plain)

    def test_conditions_and_groups(self):
        self.record_floats()
        divisions = self.mix('--by', 'mnemonic', '--where',
                             'function = Divide and category = divide')['rows']
        self.assertEqual([row['mnemonic'] for row in divisions], ['divsd'])
        every = self.mix('--by', 'function,mnemonic')['rows']
        self.assertEqual([row['instructions'] for row in every
                          if row['mnemonic'] == 'divsd' and row['function'] == 'Divide'],
                         [divisions[0]['instructions']])
        groups = self.folder / 'mine.txt'
        groups.write_text('[cost]\nslow: category = divide\nfloat: element = double\n')
        rows = {row['cost']: row['instructions'] for row in
                self.mix('--groups', groups, '--by', 'cost')['rows']}
        self.assertEqual(set(rows), {'slow', 'float', 'other'})
        self.assertAlmostEqual(rows['slow'] / divisions[0]['instructions'], 1, places=9)
        # What worked before there were expressions: any characters in the value.
        self.assertEqual(self.mix('--where', 'function=f(int, char)')['rows'], [])

    def test_values_follow_from_instructions(self):
        self.record_floats()
        row, = self.mix('--by', 'mnemonic', '--where', 'mnemonic = divsd', '--values',
                        'instructions,executions,bytes,read-bytes,written-bytes,flops')['rows']
        count = row['instructions']
        self.assertEqual(row['executions'], count)
        self.assertEqual(row['flops'], count)
        self.assertEqual(row['written_bytes'], 0)
        self.assertIn(row['read_bytes'], (0, 8 * count))
        self.assertGreaterEqual(row['bytes'], 4 * count)
        summary = {row['name']: row['value'] for row in self.mix('--summary')['rows']}
        self.assertAlmostEqual(summary['flops-double'], summary['flops'])
        self.assertGreater(summary['arithmetic-intensity'], 0)
        self.assertGreater(summary['scalar'], 0.1)
        self.assertEqual(summary['packed-512-bit'], 0)
        # IP samples know no taken branches.
        self.assertIsNone(summary['instructions-by-taken-branch'])

    def test_sorting_and_the_first_ones(self):
        self.record_floats()
        by_name = [row['mnemonic'] for row in self.mix('--sort', 'key')['rows']]
        self.assertEqual(by_name, sorted(by_name))
        by_error = [row['standard_error'] for row in self.mix('--sort', 'error')['rows']]
        self.assertEqual(by_error, sorted(by_error, reverse=True))
        by_bytes = self.mix('--sort', 'read-bytes', '--values', 'read-bytes', '--top', 2)
        self.assertEqual(len(by_bytes['rows']), 2)
        self.assertGreater(by_bytes['total_read_bytes'], 0)
        self.assertGreaterEqual(by_bytes['rows'][0]['read_bytes'], by_bytes['rows'][1]['read_bytes'])

    def test_errors_have_the_nearest_name(self):
        self.record_floats()
        groups = self.folder / 'bad.txt'
        groups.write_text('[cost]\nslow: category = devide\n')
        for arguments, expected in (
                (('--by', 'functoin'), "did you mean 'function'?"),
                (('--columns', 'extention'), "did you mean 'extension'?"),
                (('--by', 'group'), "did you mean 'groups'?"),
                (('--values', 'read_bytes'), "did you mean 'read-bytes'?"),
                (('--sort', 'instruction'), "did you mean 'instructions'?"),
                (('--where', 'catgory = divide'), "column 1: no key 'catgory'"),
                (('--where', 'category = divde'), "did you mean 'divide'?"),
                (('--where', 'category ='), 'column 11'),
                (('--where', 'function=Divide and modul = x'), "no key 'modul'"),
                (('--where', 'function=Divide or catgory = x'), "no key 'catgory'"),
                (('--where', 'function=f(int, char)', '--by', 'functoin'), 'functoin'),
                (('--summary', '--by', 'module'), '--by'),
                (('--summary', '--columns', 'module'), '--columns'),
                (('--summary', '--values', 'flops'), '--values'),
                (('--summary', '--sort', 'key'), '--sort'),
                (('--summary', '--top', '3'), '--top'),
                (('--summary', '--totals'), '--totals'),
                (('--by', 'module,module'), "--by: 'module' is there twice"),
                (('--by', ''), '--by'),
                (('--by', 'mnemonic,'), "--by: 'mnemonic,' has an empty name"),
                (('--by', 'module,,mnemonic'), '--by'),
                (('--columns', 'extension,'), '--columns'),
                (('--values', ''), '--values'),
                (('--values', 'instructions,'), '--values'),
                (('--values', 'flops,flops'), '--values'),
                (('--groups', groups), 'bad.txt: line 2, column 18'),
                (('--groups', self.folder / 'none.txt'), 'none.txt')):
            with self.subTest(arguments):
                self.assertIn(expected, self.refused('mix', self.file, *arguments))

    def diff(self, *arguments):
        result = self.run_tool('diff', *arguments, '--format', 'json')
        self.assertEqual(result.returncode, 0, result)
        return json.loads(result.stdout)

    def test_diff_finds_what_changed(self):
        before = self.record_floats(name='before.data')
        after = self.record_floats(divisions=1000, multiplications=3 * MANY, name='after.data')
        diff = self.diff(before, after, '--by', 'category')
        rows = {row['category']: row for row in diff['rows']}
        self.assertLess(rows['divide']['change'], 0)
        self.assertLess(rows['divide']['p'], 1e-3)
        self.assertAlmostEqual(sum(row['before'] for row in rows.values()), 1, places=9)
        self.assertAlmostEqual(sum(row['after'] for row in rows.values()), 1, places=9)
        changes = [abs(row['change']) for row in diff['rows']]
        self.assertEqual(changes, sorted(changes, reverse=True))
        functions = {row['function']: row for row in
                     self.diff(before, after, '--by', 'function', '--absolute')['rows']}
        self.assertGreater(functions['Multiply']['change'], 0)
        self.assertLess(functions['Divide']['change'], 0)
        for arguments, expected in (
                (('--by', 'categry'), "did you mean 'category'?"),
                (('--by', 'mnemonic,'), "--by: 'mnemonic,' has an empty name"),
                (('--value', 'flops,bytes'), '--value'),
                (('--value', ''), 'value')):
            with self.subTest(arguments):
                self.assertIn(expected, self.refused('diff', before, after, *arguments))

    def test_diff_of_a_profile_with_itself_is_nothing(self):
        self.record_floats()
        for row in self.diff(self.file, self.file, '--by', 'function,mnemonic')['rows']:
            self.assertEqual(row['change'], 0)
            self.assertEqual(row['p'], 1)


if __name__ == '__main__':
    record_support.main(MixTest)
