"""Tests hbbp mix and hbbp diff with any keys, values and conditions, on a recorded program."""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess

import record_support

# Two threads run two functions with equal loops, except for the division in the first one.
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

# The same work is in two files of one name.
MAIN = r'''
#include <stdlib.h>
double Divide(long end);
double Multiply(long end);
int main(int argc, char** argv) {
  return Divide(atol(argv[1])) < 0 || Multiply(atol(argv[2])) < 0;
}
'''
UTIL = r'''
double %s(long end) {
  volatile double sum = 1;
  for (long i = 1; i < end; ++i) sum = sum %s 1.0000001;
  return sum;
}
'''

# A block of more instructions than rows are kept in memory.
LONG_BLOCK = r'''
#include <stdio.h>
#define MIX(n) x = x * 3 + n; y ^= x >> 3;
#define MIX8(n) MIX(n) MIX(n + 1) MIX(n + 2) MIX(n + 3) MIX(n + 4) MIX(n + 5) MIX(n + 6) MIX(n + 7)
#define MIX64(n) MIX8(n) MIX8(n + 8) MIX8(n + 16) MIX8(n + 24) MIX8(n + 32) MIX8(n + 40) MIX8(n + 48) MIX8(n + 56)
int main(void) {
  unsigned x = 1, y = 0;
  for (int i = 0; i < 200000; ++i) {
    MIX64(0) MIX64(64) MIX64(128) MIX64(192) MIX64(256) MIX64(320) MIX64(384) MIX64(448) MIX64(512) MIX64(576)
  }
  printf("%u\n", y);
}
'''


class MixTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        if shutil.which('gcc') is None:
            self.skipTest('no gcc')
        source = self.directory / 'floats.c'
        source.write_text(SOURCE)
        self.program = self.directory / 'floats'
        subprocess.run(['gcc', '-O1', '-pthread', '-o', self.program, source], check=True)

    def record_floats(self, divisions=MANY, multiplications=MANY, name='out.data', options=()):
        self.file = self.directory / name
        self.record(self.program, divisions, multiplications, options=options)
        self.assertGreater(self.info()['sources'][0]['samples'], 20)
        return self.file

    def mix(self, *arguments):
        result = self.run_tool('mix', self.file, *arguments, '--format', 'json')
        self.assertEqual(result.returncode, 0, result)
        return json.loads(result.stdout)

    def test_long_lists_are_whole(self):
        """Rows are written some at a time; together they are one list, in each format."""
        source, program = self.directory / 'long.c', self.directory / 'long'
        source.write_text(LONG_BLOCK)
        subprocess.run(['gcc', '-O1', '-o', program, source], check=True)
        self.file = self.directory / 'long.data'
        self.record(program)
        keys = '--by', 'address', '--columns', 'mnemonic'
        rows = json.loads(self.run_tool('mix', self.file, *keys, '--totals', '--format', 'json').stdout)
        totals = [row for row in rows['rows'] if row['address'] is None]
        cells = [row for row in rows['rows'] if row['address'] is not None and row['mnemonic'] is not None]
        addresses = {(row['module'], row['address']) for row in cells}
        self.assertGreater(len(addresses), 2000)
        self.assertEqual(len({(row['module'], row['address'], row['mnemonic']) for row in cells}), len(cells))
        self.assertAlmostEqual(sum(row['instructions'] for row in cells) / rows['total_instructions'], 1)
        whole = [row for row in totals if row['mnemonic'] is None]
        self.assertEqual([row['instructions'] for row in whole], [rows['total_instructions']])
        text = self.run_tool('mix', self.file, *keys, '--format', 'csv').stdout
        lines = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(text.count('address'), 1)
        self.assertEqual({(line['module'], line['address']) for line in lines}, addresses)
        self.assertEqual(len(lines), len(addresses))

    def test_a_table_takes_no_more_memory_than_other_formats(self):
        """Also of a program with many instructions and mnemonics, if all its rows are asked for."""
        compiler = subprocess.run(['gcc', '-print-prog-name=cc1'], capture_output=True, text=True, check=True).stdout.strip()
        if not pathlib.Path(compiler).is_absolute():
            self.skipTest('no cc1')
        source = self.directory / 'many.c'
        functions = ('double f%d(double x, int n) { for (int i = 0; i < n; ++i) x = x * %d + i / (x + n); return x; }\n'
                     % (i, i) for i in range(1500))
        source.write_text(''.join(functions))
        self.file = self.directory / 'cc1.data'
        self.record(compiler, '-quiet', '-O2', source, '-o', '/dev/null', period_ns=200_000)
        keys = '--by', 'address', '--columns', 'mnemonic'

        def peak_kib(*options):
            with subprocess.Popen([record_support.TOOL, 'mix', self.file, *options], stdout=subprocess.PIPE,
                                  text=True) as tool:
                lines = sum(1 for _ in tool.stdout)
                _, status, usage = os.wait4(tool.pid, 0)
                tool.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(tool.returncode, 0)
            return lines, usage.ru_maxrss
        rows, of_csv = peak_kib(*keys, '--format', 'csv')
        columns = len(self.mix()['rows'])
        lines, of_table = peak_kib(*keys, '--top', '100000000')
        self.assertGreater(lines, rows)
        _, of_first_rows = peak_kib(*keys)
        # All cells, each of at least 40 bytes, would not fit.
        slack_kib = 32_000
        self.assertGreater(rows * 3 * columns * 40 / 1024, 2 * slack_kib)
        self.assertLess(of_table, of_csv + slack_kib)
        self.assertLess(of_first_rows, of_csv + slack_kib)

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
        # The same cells are shown as a table of a spreadsheet.
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
        groups = self.directory / 'mine.txt'
        groups.write_text('[cost]\nslow: category = divide\nfloat: element = double\n')
        rows = {row['cost']: row['instructions'] for row in
                self.mix('--groups', groups, '--by', 'cost')['rows']}
        self.assertEqual(set(rows), {'slow', 'float', 'other'})
        self.assertAlmostEqual(rows['slow'] / divisions[0]['instructions'], 1, places=9)
        # The syntax before there were expressions still works: any characters in the value.
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
        rows = {row['name']: row for row in self.mix('--summary')['rows']}
        for row in rows.values():
            if row['value'] is None:
                self.assertIsNone(row['standard_error'])
            else:
                self.assertLessEqual(0, row['standard_error'])
        self.assertGreater(rows['flops']['standard_error'], 0)
        share = sum(row['share'] for row in self.mix('--by', 'memory')['rows']
                    if row['memory'] != 'none')
        self.assertAlmostEqual(rows['memory-instructions']['value'], share, places=9)
        self.assertLess(rows['memory-instructions']['standard_error'], share / 4)
        # IP samples have no taken branches.
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
        groups = self.directory / 'bad.txt'
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
                (('--groups', self.directory / 'none.txt'), 'none.txt')):
            with self.subTest(arguments):
                self.assertIn(expected, self.refused('mix', self.file, *arguments))

        for arguments, expected in (
                (('--values', 'shre'), "did you mean 'share'?"),
                (('--values', 'zzz'), 'choose from instructions, executions'),
                (('--sort', 'kex'), "did you mean 'key'?"),
                (('--where', 'source = swtb'), "no source 'swtb'; did you mean 'swbt'?"),
                (('--where', 'source = timer'), 'choose from none, ebs, lbr, ibs, swbt'),
                (('--by', 'zzzzzz'), 'choose from process, thread'),
                (('--where', 'groups = zzzzzz'), 'long-latency')):
            with self.subTest(arguments):
                self.assertIn(expected, self.refused('mix', self.file, *arguments))
        # A key that only another profile has is not an error.
        self.assertEqual(self.mix('--where', 'module = none.so')['rows'], [])
        self.assertTrue(any('nothing matches --where' in note
                            for note in self.notes('--where', 'module = none.so')))
        self.assertFalse(any('nothing matches --where' in note
                             for note in self.notes('--where', 'function = Divide')))

    def notes(self, *arguments):
        result = self.run_tool('mix', self.file, *arguments)
        self.assertEqual(result.returncode, 0, result)
        prefix = 'note: '
        return [line[len(prefix):] for line in result.stdout.splitlines()
                if line.startswith(prefix)]

    def notes_on_lines(self, key='line'):
        """Returns the notes about the program, not about libraries."""
        return [note for note in self.notes('--by', key) if note.startswith(f'{self.program}:')]

    def test_mixes_by_line_report_why_there_are_none(self):
        self.record_floats()
        for key in ('line', 'file', 'inlined', 'module,line'):
            note, = self.notes_on_lines(key)
            self.assertIn('no debug information', note)
            self.assertIn('compile with -g', note)
        self.assertEqual(self.notes_on_lines('function'), [])
        def says_why(*arguments):
            return any('no debug information' in note for note in self.notes(*arguments))

        self.assertTrue(says_why('--columns', 'file'))
        self.assertTrue(says_why('--summary', '--where', 'file = floats.c'))
        for condition in ('file = floats.c', 'function = main and not (line~"*:3")', 'inlined in (Divide, main)',
                          'file!="a b"', "function != 'a\"' and file != b", 'line\t= x', 'inlined in\t(main)'):
            self.assertTrue(says_why('--where', condition), condition)
        for condition in ('function = file', 'module = "a file = b"', "module = 'a file = b'",
                          'function ~ *line', 'function in (file, line)'):
            self.assertFalse(says_why('--where', condition), condition)

    def test_what_could_not_be_read_is_reported(self):
        in_slices = ('--time-quantum', '100ms')
        before = self.record_floats(name='before.data', options=in_slices).rename(self.directory / 'old.data')
        subprocess.run(['gcc', '-O2', '-pthread', '-o', self.program, self.directory / 'floats.c'], check=True)
        after = self.record_floats(name='after.data', options=in_slices)
        problem = f'code of floats could not be read: {self.program}: build ID'
        for command in (('mix', '--by', 'module'), ('mix', '--summary'), ('loops',), ('phases',)):
            for file, is_reported in ((before, True), (after, False)):
                result = self.run_tool(command[0], file, *command[1:])
                self.assertEqual(problem in result.stdout, is_reported, result)
        table = self.run_tool('diff', before, after, '--by', 'module').stdout
        self.assertIn(f'note: {before}: {problem}', table)
        self.assertNotIn(f'{after}: {problem}', table)
        self.assertIn(f'note: {problem}', self.run_tool('compare', before, before).stdout)
        exported = self.run_tool('export', before, '-o', self.directory / 'before.html').stderr
        self.assertIn(f'note: {problem}', exported)
        self.assertIn(f'note: {self.program}: no debug information', exported)
        self.assertNotIn('compile with -g', exported)
        # A note about both is printed once.
        self.assertIn(f'note: {before}, {after}: the source counts nanoseconds', table)
        self.assertEqual(table.count('the source counts'), 1, table)

    def test_diff_finds_debug_information_where_mix_does(self):
        if shutil.which('objcopy') is None:
            self.skipTest('no objcopy')
        subprocess.run(['gcc', '-g', '-O1', '-pthread', '-Wl,--build-id', '-o', self.program,
                        self.directory / 'floats.c'], check=True)
        file = self.record_floats()
        build_id = next(module['build_id'] for module in self.info()['modules']
                        if module['name'] == str(self.program))
        debug = self.directory / 'root/.build-id' / build_id[:2] / f'{build_id[2:]}.debug'
        debug.parent.mkdir(parents=True)
        subprocess.run(['objcopy', '--only-keep-debug', self.program, debug], check=True)
        subprocess.run(['objcopy', '--strip-debug', self.program], check=True)
        arguments = ('diff', file, file, '--by', 'line')
        self.assertIn(f'note: {file}, {file}: {self.program}: no debug information', self.run_tool(*arguments).stdout)
        found = self.run_tool(*arguments, '--debug-root', self.directory / 'root').stdout
        self.assertIn('floats.c:', found)
        self.assertNotIn(f'{self.program}: no debug', found)

    def test_mixes_by_line_report_which_debug_file_is_missing(self):
        if shutil.which('objcopy') is None:
            self.skipTest('no objcopy')
        separate = self.directory / 'floats.debug'
        subprocess.run(['gcc', '-g', '-O1', '-pthread', '-o', self.program,
                        self.directory / 'floats.c'], check=True)
        subprocess.run(['objcopy', '--only-keep-debug', self.program, separate], check=True)
        subprocess.run(['objcopy', '--strip-debug', f'--add-gnu-debuglink={separate}',
                        self.program], check=True)
        self.record_floats()
        self.assertEqual(self.notes_on_lines(), [])
        lines = {row['line'] for row in self.mix('--by', 'line')['rows']}
        self.assertTrue(any(line.startswith(f'{self.directory}/floats.c:') for line in lines), lines)
        separate.unlink()
        note, = self.notes_on_lines()
        self.assertIn('no debug information', note)
        self.assertIn(str(separate), note)

    def record_two_files(self, divisions, multiplications, name):
        sources = [self.directory / 'main.c', self.directory / 'a/util.c', self.directory / 'b/util.c']
        for source, text in zip(sources, (MAIN, UTIL % ('Divide', '/'), UTIL % ('Multiply', '*'))):
            source.parent.mkdir(exist_ok=True)
            source.write_text(text)
        subprocess.run(['gcc', '-g', '-O1', '-o', self.program, *sources], check=True)
        return self.record_floats(divisions, multiplications, name)

    def test_files_of_one_name_are_distinguished(self):
        before = self.record_two_files(MANY, MANY, 'before.data')
        paths = [str(self.directory / 'a/util.c'), str(self.directory / 'b/util.c')]
        rows = {row['file']: row['instructions'] for row in self.mix('--by', 'file')['rows']}
        self.assertTrue(set(paths) <= set(rows), rows)
        table = self.run_tool('mix', before, '--by', 'file').stdout
        for path in paths:
            self.assertIn(path, table)
        one = self.run_tool('mix', before, '--by', 'file', '--where', f'file = {paths[0]}').stdout
        self.assertIn('util.c', one)
        self.assertNotIn(paths[0], one)
        by_columns = ('mix', before, '--columns', 'file', '--values', 'share')
        for path in paths:
            self.assertIn(path, self.run_tool(*by_columns).stdout.splitlines()[0])
        only = (*by_columns, '--where', f'file = {paths[0]}')
        self.assertEqual(self.run_tool(*only).stdout.split()[:2], ['mnemonic', 'util.c'])
        self.assertEqual(self.run_tool(*only, '--format', 'csv').stdout.split()[0], f'mnemonic,{paths[0]}')
        after = self.record_two_files(1000, 2 * MANY, 'after.data')
        changes = {row['file']: row['change'] for row in
                   self.diff(before, after, '--by', 'file')['rows']}
        self.assertLess(changes[paths[0]], 0)
        self.assertGreater(changes[paths[1]], 0)
        # Each side has only one file of the name, so directories do not matter.
        changes = self.diff(before, after, '--by', 'file', '--where', f'file = {paths[1]}')['rows']
        self.assertEqual([row['file'] for row in changes], ['util.c'])

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
                (('--value', ''), 'value'),
                (('--tpo', '3'), "unknown option --tpo; did you mean '--top'?; see hbbp diff --help"),
                (('--whatever=3',), 'unknown option --whatever; see hbbp diff --help')):
            with self.subTest(arguments):
                self.assertIn(expected, self.refused('diff', before, after, *arguments))

    def test_help_tells_of_a_command(self):
        for command in ('mix', 'record'):
            self.assertEqual(self.run_tool('help', command).stdout, self.run_tool(command, '--help').stdout)
        self.assertIn('unknown command nothing', self.run_tool('help', 'nothing').stderr)
        self.assertIn("unknown command recrod; did you mean 'record'?", self.run_tool('recrod').stderr)
        self.assertIn('Commands:', self.run_tool('help').stdout)

    def test_help_is_as_wide_as_a_terminal(self):
        listed = re.search(r'Commands:\n(.*?)\n\n', self.run_tool('help').stdout, re.DOTALL).group(1)
        environment = {name: value for name, value in os.environ.items() if name != 'COLUMNS'}
        for command in (line.split()[0] for line in listed.splitlines()):
            with self.subTest(command):
                help_text = self.run_tool(command, '--help', env=environment).stdout
                self.assertEqual([line for line in help_text.splitlines() if len(line) > 100], [])
                wide = self.run_tool(command, '--help', env={**environment, 'COLUMNS': '10000'}).stdout
                self.assertEqual(re.sub(r'\s', '', help_text), re.sub(r'\s', '', wide))

    def test_default_file_and_standard_output(self):
        self.record_floats()
        directory = pathlib.Path(self.directory)
        default = directory / 'hbbp.data'
        self.assertIn('make it with hbbp record', self.run_tool('mix').stderr)
        summed = subprocess.run([record_support.TOOL, 'merge', '-o', '-', self.file], capture_output=True, check=True)
        default.write_bytes(summed.stdout)
        # What stdout is redirected to is written, and not replaced.
        redirected = directory / 'redirected'
        with redirected.open('wb') as out:
            out.write(b'before')
            out.flush()
            subprocess.run([record_support.TOOL, 'merge', '-o', '-', self.file], stdout=out, check=True)
            self.assertEqual(os.fstat(out.fileno()).st_ino, redirected.stat().st_ino)
        self.assertEqual(redirected.read_bytes(), b'before' + summed.stdout)
        for command in ('mix', 'report', 'info', 'blocks', 'annotate', 'loops'):
            with self.subTest(command):
                named = subprocess.run([record_support.TOOL, command, default.name], capture_output=True, cwd=directory,
                                       check=True)
                unnamed = subprocess.run([record_support.TOOL, command], capture_output=True, cwd=directory, check=True)
                self.assertEqual(named.stdout, unnamed.stdout)
        report = self.run_tool('report', default, '--format', 'csv').stdout
        self.assertEqual(report, self.run_tool('mix', default, '--by', 'module,function', '--format', 'csv').stdout)

    def test_diff_of_a_profile_with_itself_is_nothing(self):
        self.record_floats()
        for row in self.diff(self.file, self.file, '--by', 'function,mnemonic')['rows']:
            self.assertEqual(row['change'], 0)
            self.assertEqual(row['p'], 1)

    def test_diff_knows_the_errors_of_functions_of_one_name(self):
        """A function calls two static functions in turns: bursts contain both, so their errors are correlated."""
        parts = [self.directory / name for name in ('main.c', 'a.c', 'b.c')]
        parts[0].write_text('#include <stdlib.h>\nint A(int), B(int);\nint main(int count, char** words) {\n'
                            '  int sum = 0;\n  for (int i = atoi(words[1]); i > 0; --i) sum += A(i) + B(i);\n'
                            '  return sum == 1;\n}\n')
        for part, name in zip(parts[1:], 'AB'):
            part.write_text('static __attribute__((noinline)) int work(int n) {\n  int sum = 0;\n'
                            '  for (int i = 0; i < 5; ++i) sum += n ^ i;\n  return sum;\n}\n'
                            f'int {name}(int n) {{ return work(n); }}\n')
        subprocess.run(['gcc', '-O1', '-o', self.program, *parts], check=True)
        files = [self.directory / 'before.data', self.directory / 'after.data']
        for file in files:
            result = self.run_tool('record', '--source', 'swbt', '-e', 'task-clock', '-c', 1_000_000,
                                   '-o', file, '--', self.program, 10_000_000)
            if result.returncode != 0:
                self.skipTest(result.stderr)
        for key, value in (('function', 'work'), ('function,module', 'work')):
            rows = [row for row in self.diff(*files, '--by', key, '--absolute')['rows']
                    if row['function'] == value]
            self.assertEqual(len(rows), 1, rows)
            for file, side in zip(files, ('before', 'after')):
                whole, = self.rows('mix', file, '--by', 'module', '--where', f'function = {value}')
                self.assertAlmostEqual(rows[0][side], whole['instructions'])
                self.assertAlmostEqual(rows[0][f'{side}_error'], whole['standard_error'])
                of_both = [row['standard_error'] for row in self.rows('mix', file, '--by', 'function')
                           if row['function'] == value]
                self.assertEqual(len(of_both), 2)

    def test_diff_has_rows_without_p_last_by_significance(self):
        before = self.record_floats(divisions=2 * MANY, name='before.data')
        after = self.record_floats(name='after.data')
        rows = self.diff(before, after, '--by', 'function,mnemonic', '--sort',
                         'significance')['rows']
        are_known = [row['p'] is not None for row in rows]
        self.assertEqual(are_known, sorted(are_known, reverse=True))
        known = [row['p'] for row in rows if row['p'] is not None]
        self.assertEqual(known, sorted(known))


if __name__ == '__main__':
    record_support.main(MixTest)
