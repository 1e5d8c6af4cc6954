"""Tests hbbp simd on a program whose vector code callgrind and objdump know."""
import csv
import io
import json
import os
import pathlib
import shutil
import subprocess

import count_support
import record_support
import vector_program

LACKEY = pathlib.Path(os.environ['HBBP_BUILT_EXAMPLES']) / 'lackey_blocks'
COUNTED = ('--where', f'function in ({", ".join(vector_program.FUNCTIONS)})')
WIDTHS = (64, 128, 256, 512)


def share(counted, part, whole=lambda function, instruction: True):
    of_whole = sum(count for function, instruction, count in counted if whole(function, instruction))
    return sum(count for function, instruction, count in counted
               if whole(function, instruction) and part(function, instruction)) / of_whole


class SimdTest(record_support.RecordTest):

    def simd(self, *arguments):
        return self.rows('simd', self.file, *arguments)

    def record_all_functions(self, program, wanted=vector_program.FUNCTIONS):
        """Records for longer and longer, until there are bursts in all functions: how many depends on the machine."""
        for rounds in (50_000, 200_000, 800_000, 3_200_000):
            result = self.run_tool('record', '--source', 'swbt', '-e', 'task-clock', '-c', record_support.PERIOD_NS, '-o',
                                   self.file, '--', program, rounds)
            self.assertEqual(result.returncode, 0, result)
            functions = {row['function'] for row in self.simd('--by', 'function')}
            if functions >= set(wanted):
                return
        self.fail(f'no bursts in some functions: {functions}')

    def count_exactly(self, program):
        """Writes a profile of exact counts, of the trace of valgrind's lackey; returns what callgrind counts."""
        if shutil.which('valgrind') is None:
            self.skipTest('no valgrind')
        done = subprocess.run([LACKEY, self.file, program, '3'], capture_output=True, text=True, cwd=self.directory,
                              timeout=record_support.TIMEOUT_S, env=dict(count_support.ENVIRONMENT, LD_BIND_NOW='1'))
        self.assertEqual(done.returncode, 0, done)
        return vector_program.count(program, 3)

    def test_shares_are_those_of_callgrind_and_objdump(self):
        program = vector_program.build(self.directory, 'vectors', vector_program.VECTORS)
        counted = self.count_exactly(program)
        rows = {(row['group'], row['name']): row for row in self.simd(*COUNTED)}
        for bits in WIDTHS:
            self.assertAlmostEqual(rows['width', f'{bits}-bit']['share'],
                                   share(counted, lambda _, each: each.vector_bits == bits), places=12)
        self.assertGreater(rows['width', '256-bit']['share'], 0.05)
        for name, is_packed in (('packed', True), ('scalar', False)):
            expected = share(counted, lambda _, each: each.is_packed == is_packed, lambda _, each: each.computes)
            self.assertAlmostEqual(rows['floating-point', name]['share'], expected, places=12)
            self.assertGreater(expected, 0.1)
        # All of these are FMA, by four doubles, eight floats or one.
        lanes = {'vfmadd': 2}
        flops = {name: 0 for name in ('packed', 'scalar')}
        for _, each, executions in counted:
            if each.computes:
                self.assertTrue(each.mnemonic.startswith(tuple(lanes)), each.mnemonic)
                lane_count = 1 if not each.is_packed else 4 if each.mnemonic.endswith('d') else 8
                flops['packed' if each.is_packed else 'scalar'] += 2 * lane_count * executions
        for name, expected in flops.items():
            self.assertAlmostEqual(rows['flops', name]['value'] / expected, 1, places=12)
        for element, letter in (('double', 'd'), ('single', 's')):
            expected = share(counted, lambda _, each: each.mnemonic.endswith(letter), lambda _, each: each.is_packed)
            self.assertAlmostEqual(rows['element', element]['share'], expected, places=12)

    def test_functions_are_those_of_callgrind_and_objdump(self):
        program = vector_program.build(self.directory, 'vectors', vector_program.VECTORS)
        counted = self.count_exactly(program)
        rows = {row['function']: row for row in self.simd('--by', 'function', *COUNTED)}
        computing = [each for each in counted if each[1].computes]
        for name in vector_program.FUNCTIONS:
            row = rows[name]
            self.assertAlmostEqual(row['share'], share(counted, lambda function, _: function == name), places=12)
            of_function = [each for each in counted if each[0] == name]
            self.assertAlmostEqual(row['packed_share'], share(of_function, lambda _, each: each.is_packed), places=12)
            self.assertAlmostEqual(row['packed_256_share'],
                                   share(of_function, lambda _, each: each.vector_bits == 256), places=12)
            self.assertAlmostEqual(row['scalar_floating_point_share'], share(
                computing, lambda function, each: function == name and not each.is_packed), places=12)
        self.assertEqual([rows[name]['packed_of_floating_point'] for name in vector_program.FUNCTIONS], [1, 1, 0, None])

    def test_what_is_not_vector_code_comes_first(self):
        program = vector_program.build(self.directory, 'vectors', vector_program.VECTORS)
        self.record_all_functions(program)
        functions = self.simd('--by', 'function')
        self.assertEqual(functions[0]['function'], 'Recurrence')
        self.assertEqual(functions[0]['packed_of_floating_point'], 0)
        rows = {row['function']: row for row in functions}
        # Nearly all that these execute is in loops of seven instructions, of which three are packed, whatever their counts.
        for name in ('Triad', 'Single'):
            self.assertAlmostEqual(rows[name]['packed_share'], 3 / 7, delta=0.1)
            self.assertEqual(rows[name]['packed_256_share'], rows[name]['packed_share'])
            self.assertEqual(rows[name]['packed_of_floating_point'], 1)
        loops = self.simd('--by', 'loop,function', '--top', '1')
        self.assertEqual([(loop['function'], loop['packed_of_floating_point']) for loop in loops], [('Recurrence', 0)])

        scalar = vector_program.build(self.directory, 'scalar', vector_program.SCALAR)
        self.record_all_functions(scalar)
        rows = {row['function']: row for row in self.simd('--by', 'function')}
        self.assertEqual([rows[name]['packed_of_floating_point'] for name in vector_program.FUNCTIONS], [0, 0, 0, None])

    def test_masked_code_is_that_of_objdump(self):
        """valgrind does not know AVX-512, but one loop is nearly all that the program executes."""
        program = vector_program.build(self.directory, 'masked', vector_program.MASKED, vector_program.MASKED_SOURCE,
                                       needs=('avx512f', 'avx512vl'))
        loop = vector_program.last_loop(program, 'Masked')
        self.record_all_functions(program, ['Masked'])
        row, = (row for row in self.simd('--by', 'function') if row['function'] == 'Masked')
        for key, pattern in (('packed_512_share', '%zmm'), ('masked_share', '{%k')):
            expected = sum(pattern in text for text in loop) / len(loop)
            self.assertGreater(expected, 0.1, loop)
            self.assertAlmostEqual(row[key], expected, delta=0.03)
        self.assertEqual(row['packed_of_floating_point'], 1)
        masking = {row['name']: row['share'] for row in self.simd() if row['group'] == 'masking'}
        self.assertGreater(masking['merging'] + masking['zeroing'], 0.1)

    def test_the_summary_is_that_of_mix(self):
        """Counts and errors of both come from other sums."""
        program = vector_program.build(self.directory, 'vectors', vector_program.VECTORS)
        self.record_all_functions(program)
        for where in ([], ['--where', 'function != Integer']):
            ratios = {row['name']: row for row in self.rows('mix', self.file, '--summary', *where)}
            rows = {(row['group'], row['name']): row for row in self.simd(*where)}
            for bits in WIDTHS:
                ratio, row = ratios[f'packed-{bits}-bit'], rows['width', f'{bits}-bit']
                self.assertAlmostEqual(row['share'], ratio['value'], places=9)
                self.assertAlmostEqual(row['share_error'], ratio['standard_error'], places=9)
            widths = [row['share'] for (group, _), row in rows.items() if group == 'width']
            self.assertAlmostEqual(sum(widths), 1, places=9)
            # Each function is a part of its own program.
            for row in self.simd('--by', 'function', *where):
                name = row['function']
                one = {each['name']: each for each in self.rows(
                    'mix', self.file, '--summary', '--where', f'function = {name}')}
                self.assertAlmostEqual(row['packed_share'], one['packed']['value'], places=9)
                # The former is a difference of variances in single precision.
                self.assertAlmostEqual(row['packed_share_error'], one['packed']['standard_error'], places=4)

    def test_formats_and_refusals(self):
        program = vector_program.build(self.directory, 'vectors', vector_program.VECTORS)
        self.record_all_functions(program)
        table = self.run_tool('simd', self.file, '--by', 'function')
        self.assertRegex(table.stdout.splitlines()[0], r'^ *share +scalar FP +std. error +packed of FP .* function$')
        comma = self.run_tool('simd', self.file, '--by', 'function', '--format', 'csv')
        rows = list(csv.DictReader(io.StringIO(comma.stdout)))
        self.assertEqual(set(rows[0]), set(self.simd('--by', 'function')[0]))
        summary = self.run_tool('simd', self.file, '--format', 'json')
        self.assertIn('unit', json.loads(summary.stdout))
        self.assertEqual(self.refused('simd', self.file, '--top', '3'), 'hbbp simd: --top is for --by\n')
        self.assertIn("no key is called 'functoin'; did you mean 'function'?",
                      self.refused('simd', self.file, '--by', 'functoin'))
        self.assertIn("condition: column 1: no key 'widht'", self.refused('simd', self.file, '--where', 'widht = 3'))


record_support.main(SimdTest)
