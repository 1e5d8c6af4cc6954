"""Compares trip counts of a known program with exact counts, and tests slices of time of one with two
phases."""
import csv
import json
import os
import pathlib
import shutil
import subprocess

import record_support
from record_support import program

ROUNDS = 2_000_000
FEW_ROUNDS = 200
# This is allowed beyond standard errors, which are known to 18 % themselves.
TOLERANCE = 0.02
SIGMAS = 5
PHASE_MS = 600
SLICE_MS = 50
# Slices at the bounds of a phase contain both phases.
MOST_MIXED = 4


# Loops over switches, each with entries of a table of its own.
CASES = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) void tick(void) { __asm__ volatile(""); }
#define CASES(k) \
  case 0: r += 3 * k; r ^= r >> 7; break; \
  case 2: r ^= r << 3; r += k; break; \
  case 3: r *= 7; r -= i * k; break; \
  case 4: r -= i; r |= 5 * k; break; \
  case 5: r = r >> 1 | k; break; \
  case 6: r += i * k; r ^= r << 1; break; \
  case 8: r -= i * 5; r ^= r >> k; break;
"""
SWITCHES = {
    # The base of the first table is loaded in front of the loop, and lost at the call.
    'three': ("""
#define MORE(k) CASES(k) case 1: r += r >> 3; r ^= 99 * k; break; case 7: r -= i * 3; r ^= r >> k; break;
long run(const unsigned char *p, const int *q, long n) {
  long r = 1;
  tick();
  for (long i = 0; i < n; i++) switch (p[i]) { MORE(1) default: r += r << 5; r ^= 11; break; }
  tick();
  for (long i = 0; i < n; i++) switch (p[i]) { MORE(2) case 9: r = r * r + 15; break; default: r ^= 91; break; }
  tick();
  for (long i = 0; i < n; i++) switch (p[i]) { MORE(3) case 10: r = r * r + 17; break; default: r ^= 191; break; }
  return r + q[0];
}""", 3),
    # The index is itself an entry of an array.
    'indexed': ("""
long run(const unsigned char *p, const int *q, long n) {
  long r = 1;
  for (long i = 0; i < n; i++) switch (q[i]) { CASES(1) default: return r + p[0]; }
  return r;
}""", 1),
    # Holes in the table lead behind the function.
    'holes': ("""
long run(const unsigned char *p, const int *q, long n) {
  long r = p[0];
  for (long i = 0; i < n; i++) {
    __asm__ volatile("" : "+r"(r));
    switch ((unsigned)q[i] ^ 1) { CASES(1) default: __builtin_unreachable(); }
  }
  return r;
}""", 1),
}
MAIN = """
int main(int argc, char **argv) {
  enum { kCount = 1 << 18 };
  static const unsigned char kCases[] = {0, 2, 3, 4, 5, 6, 8};
  static unsigned char bytes[kCount];
  static int numbers[kCount];
  unsigned state = 1;
  const int flip = atoi(argv[2]);
  for (int i = 0; i < kCount; ++i) {
    state = state * 1103515245 + 12345;
    bytes[i] = kCases[(state >> 16) % sizeof(kCases)];
    numbers[i] = bytes[i] ^ flip;
  }
  long sum = argc;
  for (int i = 0; i < atoi(argv[1]); ++i) sum += run(bytes, numbers, kCount);
  printf("%ld\\n", sum);
}
"""


def symbols(file):
    listing = subprocess.run(['nm', file], capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in listing.splitlines()]
    return {name: int(address, 16) for address, _, name in (w for w in words if len(w) == 3)}


class LoopsTest(record_support.RecordTest):

    def record_by(self, source, *command, options=()):
        result = self.run_tool('record', '--source', source, '-e', 'task-clock', *options, '-o', self.file, '--',
                               *command, timeout=record_support.TIMEOUT_S)
        self.assertEqual(result.returncode, 0, result)
        self.assert_no_parts()

    def loops(self, *options):
        result = self.run_tool('loops', self.file, '--format', 'json', *options)
        self.assertEqual(result.returncode, 0, result)
        return json.loads(result.stdout)

    def by_header(self, *options):
        """Returns {symbol: loop} of the program."""
        names = {address: name for name, address in symbols(program('loops')).items()}
        rows = self.loops('--module', 'loops', *options)['rows']
        return {names.get(int(row['header'], 16)): row for row in rows}

    def counts_by_callgrind(self):
        """Returns {symbol: executions} of the labels."""
        if shutil.which('valgrind') is None:
            self.skipTest('no valgrind')
        out = self.directory / 'callgrind.out'
        subprocess.run(['valgrind', '--tool=callgrind', '--dump-instr=yes', '--compress-pos=no',
                        '--compress-strings=no', f'--callgrind-out-file={out}', program('loops'),
                        'trips', str(FEW_ROUNDS)], check=True, capture_output=True, timeout=record_support.TIMEOUT_S)
        executed, inside = {}, False
        for line in out.read_text().splitlines():
            if line.startswith('fn='):
                inside = line[3:] in ('Nested', 'Varying')
            elif inside and line.startswith('0x'):
                address, _, number = line.split()
                # An address may be in several blocks of Valgrind.
                executed[int(address, 16)] = executed.get(int(address, 16), 0) + int(number)
        names = symbols(program('loops'))
        base = min(executed) - min(names['Nested'], names['Varying'])
        return {name: executed.get(address + base, 0) for name, address in names.items()}

    def assert_near(self, row, truth):
        slack = SIGMAS * row['trip_count_error'] + TOLERANCE * truth
        self.assertAlmostEqual(row['trip_count'], truth, delta=slack, msg=row)
        # A meaningless error, which is too large, would pass.
        self.assertLess(row['trip_count_error'], 0.25 * truth, row)

    def check_trips(self, loops, basis):
        counts = self.counts_by_callgrind()
        for name, calls in (('Nested', 'Nested'), ('Varying', 'Varying')):
            outer, inner = loops[name + 'Outer'], loops[name + 'Inner']
            self.assert_near(inner, counts[name + 'Inner'] / counts[name + 'Outer'])
            self.assert_near(outer, counts[name + 'Outer'] / counts[calls])
            self.assertEqual(inner['trip_basis'], basis)
            self.assertEqual((outer['depth'], inner['depth']), (1, 2))
            self.assertEqual(inner['parent'], outer['loop'])
            self.assertEqual((outer['blocks'], inner['blocks']), (3, 1))
            self.assertAlmostEqual(outer['instructions'],
                                   outer['own_instructions'] + inner['own_instructions'],
                                   delta=1e-6 * outer['instructions'])
        # By construction: of 4 * 7 + 3 instructions of an iteration, 28 are in the inner loop.
        share = loops['NestedInner']['instructions'] / loops['NestedOuter']['instructions']
        self.assertAlmostEqual(share, 28 / 31, delta=0.05)

    def test_trip_counts_by_branches(self):
        self.record_by('swbt', program('loops'), 'trips', ROUNDS, options=('-c', 200_000))
        loops = self.by_header()
        self.check_trips(loops, 'branches')
        # Counts of blocks of two nested loops carry the same information.
        inner = loops['NestedInner']
        self.assertAlmostEqual(inner['trip_count_by_counts'], 7,
                               delta=SIGMAS * inner['trip_count_by_counts_error'] + 0.35)
        region, = [row for row in loops.values() if row['irreducible']]
        self.assertEqual(region['function'], 'Irreducible')
        self.assertIsNone(region['trip_count'])
        self.assertGreater(region['instructions'], 0)
        only, = {row['function'] for row in self.loops('--function', 'Varying')['rows']}
        self.assertEqual(only, 'Varying')

    def check_switches(self, name, compiler, level, source):
        if shutil.which(compiler) is None:
            self.skipTest(f'no {compiler}')
        code, number = SWITCHES[name]
        text, built = self.directory / 'switches.c', self.directory / 'switches'
        text.write_text(CASES + code.replace('long run', '__attribute__((noinline)) long run') + MAIN)
        subprocess.run([compiler, level, '-o', built, text], check=True)
        # It lasts as long for any of them.
        self.record_by(source, built, 150 // number, int(name == 'holes'), options=('-c', 1_000_000))
        found = self.loops('--function', 'run')['rows']
        message = (name, compiler, level, source, found)
        if name == 'holes':  # clang enters the loop at a case: it is a cycle without a header
            self.assertEqual({row['irreducible'] for row in found}, {1}, message)
            self.assertEqual(found[0]['blocks'], 10, message)
            return
        self.assertEqual([row['depth'] for row in found], [1] * number, message)

    def test_loops_of_switches_are_those_of_the_source(self):
        # With -O2, gcc enters the third loop at two blocks.
        for name, compiler, level in (('three', 'gcc', '-O1'), ('indexed', 'gcc', '-O2'),
                                      ('indexed', 'clang-14', '-O2'), ('holes', 'clang-14', '-O2')):
            with self.subTest(name, compiler=compiler):
                self.check_switches(name, compiler, level, 'swbt')

    def test_switches_over_arrays_are_loops_to_samples(self):
        for compiler in ('gcc', 'clang-14'):
            with self.subTest(compiler):
                self.check_switches('indexed', compiler, '-O1', 'ebs')

    def check_turns(self, trips, *options):
        """Two loops run in turns, and iterations of one take sixteen times as long."""
        self.record_by('swbt', program('loops'), 'turns', trips, options=options)
        loops = self.by_header()
        for name in ('MultiplyLoop', 'DivideLoop', 'NestMultiply', 'NestDivide'):
            row = loops[name]
            slack = SIGMAS * row['trip_count_error'] + TOLERANCE * trips
            self.assertAlmostEqual(row['trip_count'], trips, delta=slack, msg=row)
            self.assertLess(row['trip_count_error'], 0.6 * trips, row)
        multiply, divide = loops['MultiplyLoop'], loops['DivideLoop']
        errors = [row['iterations_error'] / row['iterations'] for row in (multiply, divide)]
        self.assertAlmostEqual(multiply['iterations'] / divide['iterations'], 1,
                               delta=SIGMAS * sum(errors), msg=loops)

    def test_loops_that_are_longer_than_bursts(self):
        self.check_turns(1000, '-c', 200_000)

    def test_loops_that_bursts_often_leave(self):
        # By the time of the instructions of a burst, and not of its streams, they are 15 to 20 % off.
        self.check_turns(2000, '-c', 100_000, '--burst', 1000)

    def test_long_loops_in_long_bursts(self):
        self.check_turns(10_000, '-c', 500_000, '--burst', 4096)

    def test_short_loops_in_turns(self):
        self.check_turns(10, '-c', 200_000)

    def test_mix_by_loop_agrees(self):
        self.record_by('swbt', program('loops'), 'trips', ROUNDS // 4, options=('-c', 200_000))
        listed = self.loops()
        # All of a loop may be in a loop inside of it.
        rows = {(row['module'], row['header'], row['own_instructions'], row['own_instructions_error'])
                for row in listed['rows'] if row['own_instructions']}
        mix = json.loads(self.run_tool('mix', self.file, '--by', 'loop', '--format', 'json').stdout)
        outside = sum(row['instructions'] for row in mix['rows'] if row['loop'] == 'none')
        self.assertEqual({(row['module'], row['loop'], row['instructions'], row['standard_error'])
                          for row in mix['rows'] if row['loop'] != 'none'}, rows)
        self.assertAlmostEqual(listed['instructions_in_loops'] + outside, mix['total_instructions'],
                               delta=1e-6 * outside)
        by_csv = {}
        for command, key in (('loops', 'header'), ('mix --by loop', 'loop')):
            result = self.run_tool(*command.split(), self.file, '--format', 'csv')
            found = csv.DictReader(result.stdout.splitlines())
            own = 'own_instructions' if command == 'loops' else 'instructions'
            by_csv[command] = {(row['module'], row[key]): float(row[own])
                               for row in found if row[key] != 'none' and float(row[own])}
        self.assertEqual(by_csv['loops'], by_csv['mix --by loop'])
        self.assertEqual(len(by_csv['loops']), len(rows))

    def test_trip_counts_by_samples(self):
        # A clock does not count executions, so ratios of blocks are far off; but they exist.
        self.record_by('ebs', program('loops'), 'trips', 8 * ROUNDS, options=('-c', 100_000))
        loops = self.by_header()
        self.assertEqual(loops['NestedInner']['trip_basis'], 'counts')
        self.assertGreater(loops['NestedInner']['trip_count'], 1)
        self.assertGreater(loops['NestedInner']['trip_count_error'], 0)

    def test_listings(self):
        self.record_by('swbt', program('loops'), 'trips', ROUNDS // 4, options=('-c', 200_000))
        table = self.run_tool('loops', self.file, '--module', 'loops')
        self.assertEqual(table.returncode, 0, table)
        self.assertIn('Nested', table.stdout)
        self.assertIn('irreducible', table.stdout)
        result = self.run_tool('loops', self.file, '--format', 'csv', '--top', 2)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 3, result)
        self.assertTrue(lines[0].startswith('module,header,depth,blocks,entries'), result)
        nested = self.loops('--function', 'Nested', '--module', 'loops')
        self.assertEqual({row['function'] for row in nested['rows']}, {'Nested'})
        self.assertGreater(nested['loops'], len(nested['rows']))
        for choice, expected in (
                (('--function', 'Nestd'), "no function Nestd has a count; did you mean 'Nested'?"),
                (('--module', 'nosuch'), 'no module nosuch with counts; there are: '),
                (('--module', 'loops', '--function', 'missing'), 'no function missing has a count')):
            for command in ('loops', 'annotate'):
                self.assertIn(expected, self.refused(command, self.file, *choice))
        self.refused('phases', self.file)

    def phases(self, file=None):
        result = self.run_tool('phases', file or self.file, '--top', 6, '--format', 'json')
        self.assertEqual(result.returncode, 0, result)
        return json.loads(result.stdout)

    def leaders(self, phases):
        return [row['functions'].split(' ')[0] for row in phases['rows'] if row['instructions'] > 0]

    def check_phases(self, phases):
        leaders = self.leaders(phases)
        self.assertGreater(leaders.count('Multiply'), PHASE_MS / SLICE_MS / 2, phases)
        self.assertGreater(leaders.count('Divide'), PHASE_MS / SLICE_MS / 2, phases)
        # All samples of one phase come before all of the other.
        first = leaders.index('Divide')
        self.assertNotIn('Multiply', leaders[first + 1:], leaders)
        others = [name for name in leaders if name not in ('Multiply', 'Divide')]
        self.assertLessEqual(len(others), MOST_MIXED, leaders)
        for row in phases['rows']:
            if row['functions'].startswith('Divide 9'):
                self.assertIn('div ', row['mnemonics'])

    def check_sum(self, phases, *options):
        """Slices add up to the whole."""
        mix = self.run_tool('mix', self.file, '--format', 'json')
        whole = json.loads(mix.stdout)['total_instructions']
        self.assertAlmostEqual(sum(row['instructions'] for row in phases['rows']) +
                               phases['instructions_without_time'], whole, delta=1e-6 * whole)

    def test_phases_by_samples(self):
        self.record_by('ebs', program('loops'), 'phases', PHASE_MS,
                       options=('--time-quantum', f'{SLICE_MS}ms', '-c', 1_000_000))
        phases = self.phases()
        self.assertEqual(phases['slice_ns'], SLICE_MS * 1_000_000)
        info = json.loads(self.run_tool('info', self.file, '--format', 'json').stdout)
        self.assertEqual((info['slices'], info['slice_ns']),
                         (len(phases['rows']) + phases['empty_slices'], phases['slice_ns']))
        self.check_phases(phases)
        self.check_sum(phases)

    def test_phases_by_branches(self):
        self.record_by('swbt', program('loops'), 'phases', PHASE_MS,
                       options=('--time-quantum', f'{SLICE_MS}ms', '-c', 1_000_000))
        phases = self.phases()
        self.check_phases(phases)
        self.check_sum(phases)
        merged = self.directory / 'merged.data'
        result = self.run_tool('merge', '-o', merged, self.file, self.file)
        self.assertEqual(result.returncode, 0, result)
        twice = self.phases(merged)
        self.assertEqual(self.leaders(twice), self.leaders(phases))
        self.assertEqual([row['samples'] for row in twice['rows']],
                         [2 * row['samples'] for row in phases['rows']])

    def test_runs_begin_together(self):
        again = self.directory / 'again.data'
        for file in (again, self.file):
            result = self.run_tool('record', '--source', 'ebs', '-e', 'task-clock', '-c', 1_000_000, '--time-quantum',
                                   f'{SLICE_MS}ms', '-o', file, '--', program('loops'), 'phases', 200,
                                   timeout=record_support.TIMEOUT_S)
            self.assertEqual(result.returncode, 0, result)
        result = self.run_tool('merge', '-o', self.directory / 'both.data', again, self.file)
        self.assertEqual(result.returncode, 0, result)
        samples = {}
        for file in (again, self.file):
            for row in self.phases(file)['rows']:
                samples[row['slice']] = samples.get(row['slice'], 0) + row['samples']
        both = self.phases(self.directory / 'both.data')
        self.assertEqual({row['slice']: row['samples'] for row in both['rows']}, samples)

    def test_slices_in_which_nothing_ran_are_left_out(self):
        self.record_by('ebs', 'python3', '-c', 'import time\nsum(range(10**6))\ntime.sleep(1)\n'
                       'sum(range(10**6))', options=('--time-quantum', '10ms', '-c', 100_000))
        phases = self.phases()
        self.assertGreater(phases['empty_slices'], 50)
        for row in phases['rows']:
            self.assertGreater(row['samples'], 0)
            self.assertAlmostEqual(row['start_s'], row['slice'] * 0.01)
        table = self.run_tool('phases', self.file)
        self.assertIn('which are not listed', table.stdout + table.stderr)

    def test_slices_of_a_recording_of_perf(self):
        data = pathlib.Path(os.environ.get('HBBP_TEST_DATA', ''))
        recording = data / 'autofdo' / 'propeller_sample.perfdata'
        if not recording.exists():
            self.skipTest('no recordings')
        binary = recording.with_name('propeller_sample.bin')
        result = self.run_tool('import', recording, '--time-quantum', '100ms', '-o', self.file,
                               '--symfs', '/nonexistent', '--file', f'propeller_sample.bin={binary}')
        self.assertEqual(result.returncode, 0, result)
        phases = self.phases()
        self.assertGreater(len(phases['rows']), 10)
        self.assertEqual(phases['instructions_without_time'], 0)
        samples = sum(source['samples'] - source['unmapped'] for source in self.info()['sources'])
        self.assertEqual(sum(row['samples'] for row in phases['rows']), samples)

    def test_time_quanta_that_are_none(self):
        for text in ('5', 'ms', '10us', '1h', '-1s', '1e3ms'):
            line = self.refused('record', '--time-quantum', text, '--', 'true')
            self.assertIn('--time-quantum', line)


if __name__ == '__main__':
    record_support.main(LoopsTest)
