#!/usr/bin/env python3
"""Tests profiles in callgrind's format by what reads them: callgrind_annotate, and hbbp compare, which reads it as truth."""
import collections
import json
import re

import export_support
import record_support
from export_support import run

CXX = '''#include <algorithm>
#include <cstdio>
#include <vector>

namespace shop {
template <typename T> struct Bag {
  std::vector<T> things;
  long sum() const {
    long all = 0;
    for (const T &thing : things) all += thing;
    return all;
  }
};
__attribute__((noinline)) long serve(Bag<int> &bag, long rounds) {
  long all = 0;
  for (long i = 0; i < rounds; ++i) {
    std::rotate(bag.things.begin(), bag.things.begin() + 1, bag.things.end());
    all += bag.sum();
  }
  return all;
}
}  // namespace shop

int main() {
  shop::Bag<int> bag;
  for (int i = 0; i < 1000; ++i) bag.things.push_back(i % 13);
  std::printf("%ld\\n", shop::serve(bag, 200000));
}
'''

# What phases call is shared between them; main calls each once, and one by a pointer. All works on the result before it, so
# that the same code takes the same time everywhere.
PHASES = '''#include <stdio.h>
#include <stdlib.h>
typedef unsigned long number;
static number hash(number x) {
  for (int i = 0; i < 20; i++) x = x * 6364136223846793005u + (x >> 7);
  return x;
}
static number twice(number x) { return hash(hash(x) + 1); }
static number middle(number x) {
  number all = 0;
  for (int i = 0; i < 10; i++) all += x % 3 == 0 ? twice(all) : hash(all + x);
  return all;
}
static number first_phase(number rounds) {
  number all = 0;
  for (number i = 0; i < rounds; i++) all += middle(all + i);
  return all;
}
static number second_phase(number rounds) {
  number all = 0;
  for (number i = 0; i < rounds; i++) {
    if (i % 4 == 0) all += middle(all + i);
    all += hash(all + i);
  }
  return all;
}
static number pointed_to(number rounds) {
  number all = 0;
  for (number i = 0; i < 4 * rounds; i++) all += twice(all + i);
  return all;
}
static number (*volatile pointer)(number) = pointed_to;

int main(int argc, char **argv) {
  number rounds = strtoul(argv[1], 0, 10);
  printf("%lu %lu %lu\\n", first_phase(rounds), second_phase(rounds), pointer(rounds));
  return argc - 2;
}
'''


def number(text):
    return int(text.replace(',', ''))


class ExportCallgrindTest(export_support.ExportTest):

    def annotate(self, path, *options):
        self.need('callgrind_annotate')
        return run('callgrind_annotate', '--threshold=100', '--auto=no', *options, path, cwd='/')

    def functions(self, said):
        """Returns {function: instructions} from the output of callgrind_annotate, of all files and modules."""
        sums = collections.Counter()
        for cost, name in re.findall(r'^ *([\d,]+) \( *[\d.]+%\)  [^:\n>]*:(.*?)(?: \[/.*\])?$', said, re.MULTILINE):
            sums[name] += number(cost)
        return sums

    def calls(self, said):
        """Returns {callee: (calls, cost)} from the output of callgrind_annotate --tree=calling."""
        found = {}
        for cost, name, calls in re.findall(r'^ *([\d,]+) \( *[\d.]+%\)  >   [^:\n]*:(.*?) \(([\d,]+)x\)', said, re.MULTILINE):
            before = found.get(name, (0, 0))
            found[name] = (before[0] + number(calls), before[1] + number(cost))
        return found

    def assert_same_functions(self, said, text):
        expected = collections.Counter()
        for row in self.rows('mix', self.file, '--by', 'function'):
            expected[row['function']] += row['instructions']
        mangled = [name for name in expected if name.startswith('_Z')]
        if mangled:
            for name, shown in zip(mangled, run('c++filt', *mangled).splitlines()):
                expected[shown] += expected.pop(name)
        found = self.functions(said)
        self.assertEqual(set(found), {name for name, instructions in expected.items() if instructions > 0})
        rounded = len(re.findall(r'^0x\w+ \d+ \d+$', text, re.MULTILINE))
        for name, cost in found.items():
            self.assertAlmostEqual(cost, expected[name], delta=rounded, msg=name)

    def assert_jumps_are_possible(self, text):
        """Checks that jumps are below the instruction that makes them, whose cost is how often it executed."""
        lines = text.splitlines()
        jumps = 0
        for before, line, after in zip(lines, lines[1:], lines[2:]):
            if re.fullmatch(r'0x\w+ \d+ \d+', line) and not before.startswith('calls='):
                address, _, cost = line.split()
            if match := re.fullmatch(r'jcnd=(\d+)/(\d+) 0x\w+ \d+', line):
                taken, executed = map(int, match.groups())
                self.assertEqual(after.split()[0], address)
                self.assertLessEqual(taken, executed)
                self.assertEqual(executed, int(cost))
                jumps += 1
        self.assertGreater(jumps, 0)

    def count_costs(self, text):
        """Returns {module: rounded costs of its instructions}."""
        names, costs, module = {}, collections.Counter(), None
        for line in text.splitlines():
            if match := re.fullmatch(r'(c?)ob=(\(\d+\))(?: (.*))?', line):
                # The first that is named may be that of a called function.
                name = names.setdefault(match[2], match[3])
                if not match[1]:
                    module = name
            elif re.fullmatch(r'0x\w+ \d+ \d+', line):
                costs[module] += 1
        return costs

    def check(self, *command):
        self.trace(*command)
        path = self.export('callgrind')
        said = self.annotate(path)
        text = path.read_text()
        self.costs = self.count_costs(text)
        total = self.instructions_of(said)
        self.assertEqual(re.findall(r'^totals: (\d+)$', text, re.MULTILINE), [str(total)])
        self.assert_same_functions(said, text)
        self.assert_jumps_are_possible(text)
        # hbbp reads the file as exact counts, by addresses: then it is right.
        result = self.run_tool('compare', self.file, '--truth', path, '--format', 'json')
        self.assertEqual(result.returncode, 0, result)
        modules = [row for row in json.loads(result.stdout)['modules'] if row.get('instructions_ref')]
        self.assertTrue(modules)
        return said, modules

    def assert_right(self, modules):
        for row in modules:
            # Where a burst of the loader is all that ran of it, half an execution of each instruction is much.
            tolerance = max(0.001, 0.5 * self.costs[row['name']] / row['instructions_ref'])
            self.assertLess(row['block_accuracy_error'], tolerance, row)
            self.assertLess(row['avg_weighted_error'], tolerance, row)

    def test_pie_and_its_library(self):
        said, modules = self.check(self.build('gcc', ('-O2', '-g', '-pie', '-fPIE')))
        self.assertRegex(said, r'choose\.c:step ')
        self.assertRegex(said, r'library\.c:(twice|library) ')
        self.assert_right(modules)

    def test_program_at_a_fixed_address(self):
        said, modules = self.check(self.build('gcc', ('-O2', '-g', '-no-pie')))
        self.assertRegex(said, r'choose\.c:step ')
        self.assert_right(modules)

    def test_inlined_code_is_of_its_own_file(self):
        self.need('g++')
        source = self.directory / 'shop.cc'
        source.write_text(CXX)
        run('g++', '-O2', '-g', '-o', self.directory / 'shop', source)
        said, modules = self.check(self.directory / 'shop')
        self.assertRegex(said, r'shop\.cc:shop::serve\(shop::Bag<int>&, long\)')
        self.assertRegex(said, r'stl_\w+\.h:shop::serve\(shop::Bag<int>&, long\)')
        self.assert_right(modules)

    def shares(self, path, total):
        """Returns {function: part of all instructions} by callgrind_annotate --inclusive=yes."""
        said = self.annotate(path, '--inclusive=yes')
        return {name: cost / total for name, cost in self.functions(said).items()}

    def instructions_of(self, said):
        return number(re.search(r'^\s*([\d,]+) \(100.0%\)\s+PROGRAM TOTALS', said, re.MULTILINE).group(1))

    def test_inclusive_costs(self):
        self.need('gcc', 'valgrind', 'callgrind_annotate')
        source = self.directory / 'phases.c'
        source.write_text(PHASES)
        program = self.directory / 'phases'
        run('gcc', '-O1', '-g', '-fno-inline', '-o', program, source)
        self.trace(program, 400_000)
        path = self.export('callgrind')
        exact = self.directory / 'exact'
        run('valgrind', '--tool=callgrind', '--dump-instr=yes', f'--callgrind-out-file={exact}', program, 400)
        measured = self.shares(exact, self.instructions_of(self.annotate(exact)))
        estimated = self.shares(path, self.instructions_of(self.annotate(path)))
        of_main = measured['main']
        self.assertAlmostEqual(estimated['main'], 1, delta=0.001)
        for name in ('middle', 'first_phase', 'second_phase', 'hash', 'pointed_to', 'twice'):
            self.assertAlmostEqual(estimated[name], measured[name] / of_main, delta=0.1, msg=name)
        calls = self.calls(self.annotate(path, '--tree=calling'))
        # Called once each, which no burst saw, from main.
        self.assertEqual(calls['first_phase'][0], 1)
        self.assertEqual(calls['second_phase'][0], 1)
        self.assertIn('\ndesc: Costs of calls: as by gprof', path.read_text())

    def test_samples_alone_have_direct_calls(self):
        program = self.build('gcc', ('-O2', '-g'))
        reason = record_support.why_not_permitted()
        if reason:
            self.skipTest(reason)
        result = self.run_tool('record', '--source', 'ebs', '-e', 'task-clock', '-c', 200_000, '-o', self.file, '--', program)
        self.assertEqual(result.returncode, 0, result)
        path = self.export('callgrind')
        calls = self.calls(self.annotate(path, '--tree=calling'))
        self.assertIn('step', calls)
        self.assertAlmostEqual(calls['step'][1], self.functions(self.annotate(path))['step'], delta=2)

    def test_only_one_module(self):
        program = self.build('gcc', ('-O2', '-g'))
        self.trace(program)
        text = self.export('callgrind', '--module', program.name).read_text()
        self.assertEqual(re.findall(r'^c?ob=.*$', text, re.MULTILINE), [f'ob=(1) {program}'])


if __name__ == '__main__':
    record_support.main(ExportCallgrindTest)
