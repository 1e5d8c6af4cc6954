"""Tests hbbp assert and hbbp diff --fail-above on recorded programs: what is decided, and with which exit status."""
import json
import os
import pathlib
import shutil
import subprocess

import count_support
import record_support
import vector_program

LACKEY = pathlib.Path(os.environ['HBBP_BUILT_EXAMPLES']) / 'lackey_blocks'
ROUNDS = 100_000
EXACT_ROUNDS = 3


class GatesTest(record_support.RecordTest):

    def record_functions(self, name='vectors', options=vector_program.VECTORS, source='swbt'):
        """Records until there are samples in the functions that tests are of; returns the file."""
        program = vector_program.build(self.directory, name, options)
        file = self.directory / f'{name}.data'
        for factor in (1, 4, 16, 64):
            result = self.run_tool('record', '--source', source, '-e', 'task-clock', '-c', record_support.PERIOD_NS,
                                   '-o', file, '--', program, ROUNDS * factor)
            self.assertEqual(result.returncode, 0, result)
            functions = {row['function'] for row in self.rows('mix', file, '--by', 'function')}
            if functions >= set(vector_program.FUNCTIONS):
                return file
        self.fail(f'no samples in some functions: {functions}')

    def count_exactly(self):
        """Returns a profile of exact counts, of the trace of valgrind's lackey."""
        if shutil.which('valgrind') is None:
            self.skipTest('no valgrind')
        program = vector_program.build(self.directory, 'vectors', vector_program.VECTORS)
        file = self.directory / 'exact.data'
        done = subprocess.run([LACKEY, file, program, str(EXACT_ROUNDS)], capture_output=True, text=True,
                              cwd=self.directory, timeout=record_support.TIMEOUT_S,
                              env=dict(count_support.ENVIRONMENT, LD_BIND_NOW='1'))
        self.assertEqual(done.returncode, 0, done)
        return file

    def check(self, file, *assertions, status=0, options=()):
        result = self.run_tool('assert', file, *assertions, *options, '--format', 'json')
        self.assertEqual(result.returncode, status, result)
        return json.loads(result.stdout)['rows']

    def measure(self, file, quantity):
        row, = self.check(file, f'{quantity} >= 0')
        return row

    def test_the_interval_decides(self):
        """Limits are made of what was measured: how sure that is depends on the machine."""
        file = self.record_functions()
        for quantity in ('share(packing = packed)', 'instructions', 'executions(function = Triad)', 'flops',
                         'entries(function = Triad)', 'share(function = Triad) of (function in (Triad, Single))',
                         'arithmetic-intensity', 'memory-instructions(function != Triad)'):
            with self.subTest(quantity):
                row = self.measure(file, quantity)
                self.assertLess(row['low'], row['value'])
                self.assertLess(row['value'], row['high'])
                below, above = f'{0.99 * row["low"]:.15g}', f'{row["high"] * 1.01:.15g}'
                for text, outcome, status, strict in (
                        (f'{quantity} >= {below}', 'holds', 0, 0), (f'{quantity} < {above}', 'holds', 0, 0),
                        (f'{quantity} < {below}', 'fails', 1, 1), (f'{quantity} > {above}', 'fails', 1, 1),
                        (f'{quantity} <= {row["value"]:.15g}', 'undecided', 0, 3)):
                    if float(text.split()[-1]) > 1 and row['high'] <= 1:
                        continue
                    decided, = self.check(file, text, status=status)
                    self.assertEqual((decided['outcome'], decided['assertion']), (outcome, text))
                    self.check(file, text, status=strict, options=['--strict'])

    def test_one_that_fails_is_the_exit_status(self):
        file = self.record_functions()
        undecided = f'share(packing = packed) <= {self.measure(file, "share(packing = packed)")["value"]:.15g}'
        holds, fails = 'share(function = Triad) > 0', 'share(function = Triad) >= 100%'
        self.check(file, holds, undecided, fails, status=1)
        self.check(file, holds, undecided, fails, status=1, options=['--strict'])
        self.check(file, holds, undecided, status=3, options=['--strict'])
        result = self.run_tool('assert', file, holds, undecided, fails)
        self.assertEqual(result.returncode, 1)
        lines = result.stdout.splitlines()
        self.assertRegex(lines[0], r'^outcome +measured +std. error +95 % interval +assertion$')
        self.assertRegex(lines[1], r'^holds +\d+\.\d\d % +± \d+\.\d\d % +\d+\.\d\d % to \d+\.\d\d % +share\(function = Triad\) > 0$')
        self.assertTrue(lines[2].startswith('undecided '), lines)
        self.assertTrue(lines[3].startswith('fails '), lines)
        self.assertEqual(lines[4], '3 checked: 1 holds, 1 fails, 1 undecided')

    def test_assertions_are_read_from_a_file(self):
        file = self.record_functions()
        limits = self.directory / 'limits.txt'
        limits.write_text('# What must stay vector code\nshare(function = Triad) > 0\n\n  share(function = Single) > 0  \n')
        rows = self.check(file, options=['--from', limits])
        self.assertEqual([row['assertion'] for row in rows], ['share(function = Triad) > 0', 'share(function = Single) > 0'])
        self.assertEqual(len(self.check(file, 'share(function = main) < 100%', options=['--from', limits])), 3)
        self.assertIn('no.txt: No such file', self.refused('assert', file, '--from', 'no.txt'))
        self.assertIn('there are no assertions', self.refused('assert', file))

    def test_shares_and_errors_are_those_of_mix(self):
        """The errors of mix come from covariances of blocks, those of assert from three sums."""
        file = self.record_functions()
        ratios = {row['name']: row for row in self.rows('mix', file, '--summary')}
        for name, condition in (('packed', 'packing = packed'), ('memory-instructions', 'memory != none'),
                                ('packed-256-bit', 'packing = packed and vector-bits = 256')):
            for row in (self.measure(file, f'share({condition})'), self.measure(file, name)):
                self.assertAlmostEqual(row['value'], ratios[name]['value'], places=9)
                self.assertAlmostEqual(row['standard_error'], ratios[name]['standard_error'], places=5)
        whole = 'function in (Triad, Recurrence)'
        ratio, = (row for row in self.rows('mix', file, '--summary', '--where', whole) if row['name'] == 'packed')
        row = self.measure(file, f'share(packing = packed) of ({whole})')
        self.assertAlmostEqual(row['value'], ratio['value'], places=9)
        self.assertAlmostEqual(row['standard_error'], ratio['standard_error'], places=5)

    def test_numbers_are_those_of_callgrind(self):
        """The counts are exact; their errors are those of a feed of few bursts."""
        file = self.count_exactly()
        counted = vector_program.count(self.directory / 'vectors', EXACT_ROUNDS)
        of_triad = [(instruction, count) for function, instruction, count in counted if function == 'Triad']
        instructions = sum(count for _, count in of_triad)
        packed = sum(count for instruction, count in of_triad if instruction.is_packed)
        for quantity, expected in (
                ('instructions(function = Triad)', instructions), ('entries(function = Triad)', EXACT_ROUNDS),
                ('entries(function in (Triad, Single))', 2 * EXACT_ROUNDS), ('instructions(function = Nothing)', 0),
                ('share(packing = packed) of (function = Triad)', packed / instructions)):
            row = self.measure(file, quantity)
            self.assertAlmostEqual(row['value'], expected, places=9)
            self.assertLessEqual(row['low'], expected)
            self.assertGreaterEqual(row['high'], expected)

    def test_what_no_sample_saw_is_not_certain(self):
        file = self.record_functions()
        samples = sum(source['samples'] for source in self.info(file)['sources'])
        row = self.measure(file, 'share(function = Nothing)')
        self.assertEqual((row['value'], row['low']), (0, 0))
        self.assertAlmostEqual((1 - row['high']) ** samples, 0.025)
        self.check(file, 'share(function = Nothing) <= 0', status=3, options=['--strict'])
        self.assertIn("nothing matches 'function = Nothing'", self.run_tool('assert', file, 'share(function = Nothing) < 99%').stdout)
        self.assertGreater(self.measure(file, 'instructions(function = Nothing)')['high'], 0)
        # The program has no vectors of 64 bits, and no numbers of 16.
        row = self.measure(file, 'packed-64-bit')
        self.assertEqual((row['value'], row['low']), (0, 0))
        self.assertAlmostEqual((1 - row['high']) ** samples, 0.025)
        self.check(file, 'packed-64-bit <= 0', 'flops-half <= 0', status=3, options=['--strict'])

    def test_counts_that_are_up_to_a_factor_have_no_totals(self):
        file = self.record_functions(source='ebs')
        self.check(file, 'share(function = Triad) > 0', 'flops-by-instruction > 0')
        for quantity in ('instructions', 'executions(function = Triad)', 'entries(function = Triad)', 'bytes-read'):
            self.assertIn('counts of this profile are up to a factor', self.refused('assert', file, f'{quantity} > 0'))

    def test_errors_point_at_the_column(self):
        file = self.record_functions()
        for text, expected in (
                ('share(vector-bits >= 256 >= 20%', "column 6: ')' is missing for this '('"),
                ('share( vector-bit >= 256) >= 20%', "column 8: no key 'vector-bit'; did you mean 'vector-bits'?"),
                ('share(packing = packd) > 0', "column 17: no packing 'packd'; did you mean 'packed'?"),
                ('share(packing = packed) of (functon = f) > 0', "column 29: no key 'functon'; did you mean 'function'?"),
                ('share(packing = packed) of (function = f) > 0', 'column 29: nothing matches this condition'),
                ('shares(packing = packed) > 0', "column 1: nothing is called 'shares'; did you mean 'share'?"),
                ('share > 0', "column 6: a condition in parentheses must follow 'share'"),
                ('entries() > 0', "column 8: a condition in parentheses must follow 'entries'"),
                ('flops of (function = Triad) > 0', "column 11: only a share is 'of' something"),
                ('share(packing = packed) > 20', 'column 27: a share is at most 1, or 100%'),
                ('flops > 20%', "column 9: '%' is for shares only")):
            with self.subTest(text):
                self.assertTrue(self.refused('assert', file, text).startswith(f"hbbp assert: '{text}': {expected}"),
                                self.refused('assert', file, text))
        self.assertIn("share(function ~ *(*) < 1%': column 6: ')' is missing",
                      self.refused('assert', file, 'share(function ~ *(*) < 1%'))

    def test_names_with_any_characters_need_no_quotes(self):
        file = self.record_functions()
        row, = self.check(file, 'share(function = operator<(int, char)) of (function in (Triad, main)) <= 99%')
        self.assertEqual(row['value'], 0)

    def diff(self, *arguments, status=0):
        result = self.run_tool('diff', *arguments, '--format', 'json')
        self.assertEqual(result.returncode, status, result)
        return json.loads(result.stdout)

    def test_a_change_of_shares_fails(self):
        """Vector code is most of two functions of one program, and nothing of the other one."""
        vectors, scalar = self.record_functions(), self.record_functions('scalar', vector_program.SCALAR)
        diff = self.diff(vectors, scalar, '--by', 'packing', '--where', 'function in (Triad, Single)', '--fail-above', '2%',
                         status=1)
        self.assertEqual(diff['outcome'], 'above')
        self.assertEqual(diff['fail_above'], 0.02)
        rows = {row['packing']: row for row in diff['rows']}
        self.assertEqual(rows['packed']['outcome'], 'above')
        self.assertEqual(diff['rows_above'], sum(row['outcome'] == 'above' for row in rows.values()))
        self.diff(vectors, scalar, '--by', 'packing', '--where', 'function in (Triad, Single)', '--fail-above', '100%')
        table = self.run_tool('diff', vectors, scalar, '--by', 'packing', '--fail-above', '0')
        self.assertEqual(table.returncode, 1)
        self.assertRegex(table.stdout, r'\n\d above 0.00 %, \d undecided\n')

    def test_the_errors_of_both_profiles_decide(self):
        before, after = self.record_functions(), self.record_functions('again')
        for options in ((), ('--absolute',)):
            diff = json.loads(self.run_tool('diff', before, after, '--by', 'function', '--fail-above', '0.1%', *options,
                                            '--format', 'json').stdout)
            for row in diff['rows']:
                change, error = (row['change_of_total'], row['change_of_total_error']) if options else \
                    (row['change'], row['change_error'])
                low, high = abs(change) - 1.959964 * error, abs(change) + 1.959964 * error
                self.assertEqual(row['outcome'], 'above' if low > 0.001 else 'within' if high <= 0.001 else 'undecided')
            order = [('above', 'undecided', 'within').index(row['outcome']) for row in diff['rows']]
            self.assertEqual(order, sorted(order))
            self.assertEqual(diff['rows_undecided'], order.count(1))

    def test_totals_are_compared_as_numbers(self):
        before, twice = self.record_functions(), self.directory / 'twice.data'
        merged = self.run_tool('merge', '-o', twice, before, before)
        self.assertEqual(merged.returncode, 0, merged)
        for files, change in (((before, twice), 1), ((twice, before), -0.5)):
            # How far from each other these are in standard errors depends on the machine.
            wide = self.diff(*files, '--absolute', '--fail-above', '1e9')
            self.assertAlmostEqual(wide['total_change'], change, places=9)
            for row in wide['rows']:
                self.assertAlmostEqual(row['change_of_total'], row['change'] / wide['total_before'], places=9)
            reach = 1.959964 * wide['total_change_error']
            for limit, outcome in ((abs(change) + 1.01 * reach, 'within'), (abs(change), 'undecided'),
                                   (abs(change) - 1.01 * reach, 'above')):
                if limit > 0:
                    found = json.loads(self.run_tool('diff', *files, '--absolute', '--fail-above', f'{limit:.9f}', '--format',
                                                     'json').stdout)
                    self.assertEqual(found['total_outcome'], outcome)
        # Shares have not changed: what cannot be decided is not above.
        self.diff(before, twice, '--fail-above', '0')

    def test_errors_that_are_too_large_are_undecided(self):
        before = self.record_functions()
        row, = (row for row in self.diff(before, before, '--by', 'function', '--absolute')['rows'] if row['function'] == 'Triad')
        limit = f'{row["before_error"] / self.diff(before, before)["total_before"] / 10:.9f}'
        arguments = (before, before, '--by', 'function', '--absolute', '--fail-above', limit)
        self.assertEqual(self.diff(*arguments)['outcome'], 'undecided')
        self.diff(*arguments, '--strict', status=3)

    def test_limits_that_cannot_be_checked_are_refused(self):
        file, ebs = self.record_functions(), self.record_functions('ebs', source='ebs')
        for arguments, expected in (
                ((file, file, '--fail-above', '2x'), '--fail-above: 2x is not a share, such as 1% or 0.01'),
                ((file, file, '--strict'), '--strict is for --fail-above'),
                ((file, ebs, '--absolute', '--fail-above', '2%'), 'ebs.data are up to a factor: leave --absolute out'),
                ((file, file, '--where', 'function = Nothing', '--fail-above', '2%'),
                 'vectors.data has no instructions that match --where')):
            self.assertIn(expected, self.refused('diff', *arguments))


record_support.main(GatesTest)
