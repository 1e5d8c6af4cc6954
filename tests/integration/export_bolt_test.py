#!/usr/bin/env python3
"""Tests profiles for BOLT by what reads them: llvm-bolt, which optimises a program by them, and perf2bolt."""
import os
import re
import shutil
import subprocess

import export_support
import record_support
from export_support import run

# Two files have a static function of the same name; a jump table; calls between, to and from libraries; a loop around
# calls, to the return of which other code jumps.
MAIN = '''#include <stdio.h>
#include <stdlib.h>
int other(int value);

__attribute__((noinline)) static int step(int value) {
  if (value % 64 == 0) return value * 3;
  return value + 1;
}
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) int scale(int value) { return value * 7 + 1; }
int again(int value) __attribute__((alias("scale")));

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 6000000, numbers[500];
  long sum = 0;
  for (int i = 0; i < rounds; i++) {
    sum += step(i) + again(i);
    sum += i % 3 != 0 ? other(i) : rand() % 7;
    if (i % 2000 != 0) continue;
    for (int j = 0; j < 500; j++) numbers[j] = (j * 7919 + i) % 503;
    qsort(numbers, 500, sizeof(int), compare);
    sum += numbers[3];
  }
  printf("%ld\\n", sum);
  return 0;
}
'''
OTHER = '''__attribute__((noinline)) static int step(int value) {
  switch (value % 7) {
    case 0: return 3;
    case 1: return value * 5;
    case 2: return value ^ 77;
    case 3: return value / 3;
    case 4: return value - 9;
    case 5: return value | 5;
  }
  return 11;
}
int other(int value) {
  int sum = step(value);
  for (int i = 0; i < value % 5; i++) sum += step(sum);
  return sum;
}
'''
# Virtual calls, and exceptions that two functions catch.
THROWER = '''#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>
struct Shape {
  virtual ~Shape() {}
  virtual long area(long side) const = 0;
};
struct Square : Shape {
  long area(long side) const override { return side * side; }
};
struct Round : Shape {
  long area(long side) const override {
    if (side % 64 == 7) throw std::runtime_error("seven");
    return side * 3;
  }
};
struct Guard {
  long *open;
  explicit Guard(long *open) : open(open) { ++*open; }
  __attribute__((noinline)) ~Guard() { --*open; }
};
__attribute__((noinline)) static long guarded(const Shape &shape, long side, long *open) {
  Guard guard(open);
  return shape.area(side) + *open;
}
__attribute__((noinline)) static long measure(const std::vector<Shape *> &all, long i, long *open) {
  try {
    return guarded(*all[i % all.size()], i, open);
  } catch (const std::runtime_error &error) {
    return error.what()[0];
  }
}
int main(int argc, char **argv) {
  std::vector<Shape *> all = {new Square, new Round, new Square};
  long sum = 0, open = 0;
  for (long i = 0, rounds = argc > 1 ? atol(argv[1]) : 3000000; i < rounds; i++) sum += measure(all, i, &open);
  std::printf("%ld %ld\\n", sum, open);
}
'''
PIE = ('-fPIE', '-pie')
FIXED = ('-fno-pie', '-no-pie')
RELOCATIONS = '-Wl,--emit-relocs'


class ExportBoltTest(export_support.ExportTest):

    def build_sorter(self, compiler, *options):
        self.need(compiler, 'llvm-bolt-16')
        main, other = self.directory / 'main.c', self.directory / 'other.c'
        main.write_text(MAIN)
        other.write_text(OTHER)
        program = self.directory / 'sorter'
        run(compiler, '-O2', *options, '-o', program, main, other)
        return program

    def perf2bolt(self, program, aggregated, is_stripped=False):
        """Returns the lines that perf2bolt makes of what it gets by -pa."""
        # BOLT is perf2bolt if that, without a version, is the name it is called by.
        tool = self.directory / 'perf2bolt'
        tool.symlink_to(os.path.realpath(shutil.which('llvm-bolt-16')))
        out = self.directory / 'theirs.fdata'
        done = subprocess.run([tool, '-pa', '-p', aggregated, '-o', out, program], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done)
        report = done.stdout + done.stderr
        mismatching, unknown = (
            re.findall(f'{problem}: (\\d+) \\((\\d+.\\d)%\\)', report)
            for problem in ('traces mismatching disassembled function contents', 'involving unknown regions'))
        self.assertEqual(mismatching, [(str(self.lazy_bindings(program, aggregated)), '0.0')], report)
        # The code that begins and ends programs is in no FDE, and some bursts begin there.
        self.assertEqual([share if is_stripped else number for number, share in unknown],
                         ['0.0' if is_stripped else '0'], report)
        return self.lines(out)

    def lazy_bindings(self, program, aggregated):
        """Returns how many streams are the head of .plt, which binds a function at its first call: code that BOLT does not have."""
        sections = run('readelf', '-SW', program)
        found = re.search(r' \.plt +PROGBITS +([0-9a-f]+)', sections)
        streams = (line.split() for line in aggregated.read_text().splitlines() if line[0] in 'Ff')
        return sum(int(words[3]) for words in streams if found is not None and int(words[1], 16) == int(found[1], 16))

    def lines(self, path):
        """Returns {(origin, target): count}; locations are (function, offset), or None outside of the program."""
        found = {}
        for line in path.read_text().splitlines():
            kind, name, offset, to_kind, to_name, to_offset, mispredictions, count = line.split()
            self.assertEqual(mispredictions, '0')
            ends = (None if kind == '0' else (name, offset), None if to_kind == '0' else (to_name, to_offset))
            self.assertNotIn(ends, found, line)
            found[ends] = int(count)
        return found

    def optimise(self, file, profile, *options, program=None):
        """Rewrites a file by the profile, which must fit it, and runs the program. Returns what llvm-bolt reports."""
        program = program or file
        expected = run(program, 100_000)
        done = subprocess.run(['llvm-bolt-16', file, '-o', file.with_suffix('.new'), '-data', profile,
                               '-reorder-blocks=ext-tsp', '-split-functions', *options], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done)
        report = done.stdout + done.stderr
        self.assertNotIn('stale', report)
        self.assertNotIn('invalid', report)
        profiled = re.search(r'BOLT-INFO: (\d+) out of \d+ functions in the binary .* non-empty execution profile', report)
        self.assertIsNotNone(profiled, report)
        self.assertGreaterEqual(int(profiled.group(1)), 4, report)
        # It leaves functions alone that the compiler has split.
        if 'split function detected on input' not in report:
            self.assertRegex(report, r'basic block reordering modified layout of [1-9]\d* functions')
        os.replace(file.with_suffix('.new'), file)
        self.assertEqual(run(program, 100_000), expected)
        return report

    def check(self, file, *names, program=None, options=('-reorder-functions=hfsort',), is_stripped=False):
        """Checks both formats of a file of a program, and that both have functions of these names."""
        self.trace(program or file)
        fdata, aggregated = (self.export(name, '--module', file.name) for name in ('bolt', 'bolt-pre'))
        ours, theirs = self.lines(fdata), self.perf2bolt(file, aggregated, is_stripped)
        self.assertEqual(set(ours), set(theirs))
        for ends, count in ours.items():
            # Of a sum of streams, each is rounded.
            self.assertAlmostEqual(count, theirs[ends], delta=20 + count / 1000, msg=ends)
        functions = {end[0] for ends in ours for end in ends if end is not None}
        self.assertLessEqual(set(names), functions)
        self.optimise(file, fdata, *options, program=program)
        return functions

    def check_sorter(self, compiler, *options):
        names = 'main', 'step/1', 'step/2', 'other', 'compare/1', 'rand@PLT'
        functions = self.check(self.build_sorter(compiler, *options, RELOCATIONS), *names)
        self.assertTrue({'scale', 'again'} & functions, functions)

    def build_thrower(self, compiler):
        self.need(compiler, 'llvm-bolt-16')
        source, program = self.directory / 'thrower.cc', self.directory / 'thrower'
        source.write_text(THROWER)
        run(compiler, '-O2', RELOCATIONS, '-o', program, source)
        return program

    def test_pie(self):
        self.check_sorter('gcc', *PIE)

    def test_program_at_a_fixed_address(self):
        self.check_sorter('gcc', *FIXED)

    def test_clang(self):
        self.check_sorter('clang-19', *PIE)

    def test_lld(self):
        self.need('ld.lld')
        self.check_sorter('clang-19', *FIXED, '-fuse-ld=lld')

    def test_first_segment_that_is_not_at_0(self):
        self.check_sorter('gcc', *PIE, '-Wl,-Ttext-segment=0x10000')

    def test_stripped_program(self):
        program = self.build_sorter('gcc', *PIE)
        run('strip', program)
        functions = self.check(program, 'rand@PLT', options=(), is_stripped=True)
        self.assertGreaterEqual(len([name for name in functions if name.startswith('__BOLT_FDE_FUNCat')]), 4, functions)

    def test_shared_library(self):
        self.need('gcc', 'llvm-bolt-16')
        program, library = self.directory / 'user', self.directory / 'libsorter.so'
        main, other = self.directory / 'main.c', self.directory / 'other.c'
        main.write_text(MAIN.replace('int main(', 'int sort_all('))
        other.write_text(OTHER)
        user = self.directory / 'user.c'
        user.write_text('int sort_all(int, char **);\nint main(int argc, char **argv) { return sort_all(argc, argv); }\n')
        run('gcc', '-O2', '-shared', '-fPIC', RELOCATIONS, '-o', library, main, other)
        run('gcc', '-o', program, user, library, f'-Wl,-rpath,{self.directory}')
        self.check(library, 'sort_all', 'step/1', 'other@PLT', program=program)

    def test_exceptions_and_virtual_calls_by_gcc(self):
        self.check(self.build_thrower('g++'), 'main', '_ZNK5Round4areaEl')

    def test_exceptions_and_virtual_calls_by_clang(self):
        self.check(self.build_thrower('clang++-19'), 'main', '_ZNK5Round4areaEl')

    def test_aggregated_streams_can_be_imported_again(self):
        program = self.build_sorter('gcc', *FIXED)
        self.trace(program)
        before = self.shares(self.file, program)
        self.assertGreaterEqual(len(before), 5)
        again = self.directory / 'again.data'
        aggregated = self.export('bolt-pre', '--module', program.name)
        result = self.run_tool('import', '--binary', program, aggregated, '-o', again)
        self.assertEqual(result.returncode, 0, result)
        after = self.shares(again, program)
        for name, share in before.items():
            self.assertAlmostEqual(share, after.get(name, 0), delta=0.01, msg=name)

    def shares(self, file, program):
        """Returns {function: its share of the program's instructions}."""
        rows = [row for row in self.rows('mix', file, '--by', 'module,function')
                if row['module'] == str(program) and '@plt' not in row['function']]
        total = sum(row['instructions'] for row in rows)
        return {row['function']: row['instructions'] / total for row in rows}

    def test_samples_alone_give_counts_of_blocks(self):
        reason = record_support.why_not_permitted()
        if reason:
            self.skipTest(reason)
        program = self.build_sorter('gcc', *PIE, RELOCATIONS)
        self.record(program, period_ns=200_000)
        notes = []
        profile = self.export('bolt', '--module', program.name, notes=notes)
        self.assertTrue(any('no_lbr' in note for note in notes), notes)
        self.assertTrue(profile.read_text().startswith('no_lbr\n1 '))
        self.assertIn('no branches were observed', self.refused('export', '--format', 'bolt-pre', self.file,
                                                                '--module', program.name))
        self.assertIn('basic samples', self.optimise(program, profile, '-reorder-functions=hfsort'))


if __name__ == '__main__':
    record_support.main(ExportBoltTest)
