#!/usr/bin/env python3
"""Tests profiles by pseudo-probes of a program that clang built, by what reads them: llvm-profdata, llvm-profgen, clang."""
import re

import export_support
import record_support
from export_support import run

CLANG = 'clang-19'
PROBES = ('-O2', '-g', '-fpseudo-probe-for-profiling')
# Virtual calls, calls that are inlined into several functions and merged, code that never runs.
CXX = r'''
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

struct Base {
  virtual ~Base() = default;
  virtual long run(long value) = 0;
};
struct Tripling : Base {
  long run(long value) override { return value * 3 + 1; }
};
struct Halving : Base {
  long run(long value) override { return value % 7 == 0 ? value / 2 : value + 5; }
};

__attribute__((noinline)) long run_all(std::vector<Base *> &all, long rounds) {
  long sum = 0;
  for (long i = 0; i < rounds; ++i) sum += all[i % 3]->run(i);
  return sum;
}

__attribute__((noinline)) void check(long value) {
  if (value == 123456789) throw std::string("bad");
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(int argc, char **argv) {
  Tripling first, third;
  Halving second;
  std::vector<Base *> all{&first, &second, &third};
  std::map<long, std::string> texts;
  long sum = 0;
  const int rounds = argc > 1 ? atoi(argv[1]) : 60;
  for (int round = 0; round < rounds; ++round) {
    sum += run_all(all, 300000);
    std::vector<int> numbers;
    for (int i = 0; i < 20000; ++i) numbers.push_back((i * 7919 + round) % 10007);
    std::sort(numbers.begin(), numbers.end());
    std::qsort(numbers.data(), numbers.size(), sizeof(int), compare);
    for (int i = 0; i < 2000; ++i) texts[numbers[i]] += char('a' + i % 26);
    for (int i = 0; i < 2000; ++i) check(numbers[i]);
    sum += texts.size();
  }
  std::printf("%ld\\n", sum);
}
'''


class Body:
    """A function of a profile as text: counts and calls by probe, and inlined functions."""

    def __init__(self, total, entries=0):
        self.total, self.entries = total, entries
        self.counts, self.calls, self.inlined = {}, {}, {}
        self.checksum = None


def read_profile(text):
    """Returns {function: Body} of a sample profile of LLVM."""
    functions, open_bodies = {}, []
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip(' '))
        line = line.strip()
        del open_bodies[depth:]
        if depth == 0:
            name, total, entries = line.rsplit(':', 2)
            functions[name] = Body(int(total), int(entries))
            open_bodies.append(functions[name])
            continue
        body = open_bodies[-1]
        if line.startswith('!CFGChecksum: '):
            body.checksum = int(line.split()[1])
            continue
        probe, rest = line.split(': ', 1)
        words = rest.split()
        if not words[0].isdigit():
            name, total = words[0].rsplit(':', 1)
            inlined = Body(int(total))
            body.inlined[probe, name] = inlined
            open_bodies.append(inlined)
            continue
        body.counts[probe] = int(words[0])
        body.calls[probe] = {name: int(count) for name, count in (word.rsplit(':', 1) for word in words[1:])}
    return functions


class ExportProbesTest(export_support.ExportTest):

    def setUp(self):
        super().setUp()
        self.need(CLANG, 'llvm-profdata-19')

    def read_own(self, *options, notes=None):
        """Returns the profile as llvm-profdata reads it, and the path of the file."""
        path = self.export('llvm', *options, notes=notes)
        return read_profile(run('llvm-profdata-19', 'merge', '--sample', '--text', path)), path

    def named(self, functions, name):
        """Returns the only function of that name in C, which clang mangles if it is static."""
        found = [body for each, body in functions.items() if re.fullmatch(rf'{name}|_ZL\d+{name}\w*\.__uniq\.\d+', each)]
        self.assertEqual(len(found), 1, (name, list(functions)))
        return found[0]

    def assert_same(self, theirs, ours, name):
        """Checks the same counts but for rounding: they are sums of whole numbers there, and here of fractions."""
        self.assertEqual(theirs.checksum, ours.checksum, name)
        self.assertEqual(set(theirs.counts), set(ours.counts), name)
        for probe, count in theirs.counts.items():
            # A call that was counted more often than its block raises the count of its probe there.
            called = sum(theirs.calls[probe].values())
            self.assertAlmostEqual(max(ours.counts[probe], called), count, delta=20, msg=f'{name}: {probe}')
            # Calls of other modules have names here only.
            for callee, calls in theirs.calls[probe].items():
                self.assertAlmostEqual(ours.calls[probe][callee], calls, delta=20, msg=f'{name}: {probe}')
        self.assertAlmostEqual(theirs.total, ours.total, delta=200 + ours.total / 1000, msg=name)
        self.assertAlmostEqual(theirs.entries, ours.entries, delta=20, msg=name)
        self.assertEqual(set(theirs.inlined), set(ours.inlined), name)
        for key, body in theirs.inlined.items():
            self.assert_same(body, ours.inlined[key], f'{name} > {key}')

    def compare_with_profgen(self, program):
        """Traces a program and compares its profile with that of llvm-profgen, which is returned."""
        self.need('llvm-profgen-19')
        self.trace(program)
        theirs = self.directory / 'theirs.prof'
        run('llvm-profgen-19', f'--unsymbolized-profile={self.export("profgen", "--module", program.name)}',
            f'--binary={program}', '--format=text', '-o', theirs)
        theirs = read_profile(theirs.read_text())
        ours, _ = self.read_own('--module', program.name)
        # There, code of a merged call that did not run is a function without counts.
        self.assertEqual({name for name, body in theirs.items() if body.total > 0}, set(ours))
        for function, body in ours.items():
            self.assert_same(theirs[function], body, function)
        return ours

    def test_profgen_finds_the_same_counts(self):
        for name, options in (('pie', ()), ('fixed', ('-no-pie', )), ('lld', ('-fuse-ld=lld', ))):
            with self.subTest(name):
                self.need(*(['ld.lld'] if name == 'lld' else []))
                functions = self.compare_with_profgen(self.build(CLANG, (*PROBES, *options), name))
                main, step = self.named(functions, 'main'), self.named(functions, 'step')
                self.assertTrue(any('draw' in callee for _, callee in main.inlined))
                self.assertTrue(any(main.calls.values()))
                self.assertLess(main.entries, step.entries / 100)  # it was called once

    def test_profgen_finds_the_same_counts_in_cxx(self):
        source, program = self.directory / 'sorts.cc', self.directory / 'sorts'
        source.write_text(CXX)
        for name, options in (('plain', ()), ('sections', ('-ffunction-sections', '-Wl,--gc-sections'))):
            with self.subTest(name):
                run(CLANG, *PROBES, *options, '-o', program, source, '-lstdc++')
                functions = self.compare_with_profgen(program)
                self.assertTrue(any(body.inlined for body in functions.values()))
                run_all = next(body for name, body in functions.items() if 'run_all' in name)
                callees = set().union(*run_all.calls.values())
                self.assertTrue({'_ZN8Tripling3runEl', '_ZN7Halving3runEl'} <= callees, callees)

    def ratios(self, program, profile, *options):
        """Returns the ratios of branches that clang takes for the program by the profile, and what it reports."""
        code, messages = self.directory / 'code.ll', self.directory / 'messages'
        with open(messages, 'w') as stream:
            run(CLANG, *PROBES, f'-fprofile-sample-use={profile}', *options, '-S', '-emit-llvm', '-o', code,
                program.with_name('choose.c'), stderr=stream)
        pairs = re.findall(r'branch_weights", i32 (\d+), i32 (\d+)', code.read_text())
        ratios = [max(map(int, pair)) / max(min(map(int, pair)), 1) for pair in pairs]
        return ratios, messages.read_text()

    def test_clang_takes_the_weights(self):
        program = self.build(CLANG, PROBES)
        self.trace(program)
        functions, profile = self.read_own()
        self.assertIn('twice', ' '.join(functions))  # of the library
        binary = self.directory / 'binary.prof'
        run('llvm-profdata-19', 'merge', '--sample', '--extbinary', profile, '-o', binary)
        for path in (profile, binary):
            ratios, _ = self.ratios(program, path)
            self.assertTrue(any(40 < ratio < 100 for ratio in ratios), ratios)

    def test_clang_refuses_a_function_of_another_graph(self):
        program = self.build(CLANG, PROBES)
        self.trace(program)
        functions, profile = self.read_own()
        step = self.named(functions, 'step')
        stale = self.directory / 'stale.prof'
        stale.write_text(profile.read_text().replace(f'!CFGChecksum: {step.checksum}\n',
                                                     f'!CFGChecksum: {step.checksum + 1}\n'))
        # Without these options, clang 19 matches the calls of such functions, here all probes.
        options = ('-mllvm', '-salvage-stale-profile=false', '-mllvm', '-report-profile-staleness')
        for path, refused in ((profile, 0), (stale, 1)):
            ratios, messages = self.ratios(program, path, *options)
            self.assertRegex(messages, rf"\({refused}/\d+\) of functions' profile are invalid")
            self.assertEqual(any(40 < ratio < 100 for ratio in ratios), not refused, ratios)

    def test_a_stripped_program_has_the_probes_of_its_debug_file(self):
        program = self.build(CLANG, PROBES)
        debug = program.with_suffix('.debug')
        run('objcopy', '--only-keep-debug', program, debug)
        run('strip', '-R', '.pseudo_probe', '-R', '.pseudo_probe_desc', program)
        run('objcopy', f'--add-gnu-debuglink={debug}', program)
        self.trace(program)
        functions, _ = self.read_own('--module', 'choose')
        self.assertGreater(self.named(functions, 'step').entries, 0)

    def test_what_has_no_probes_is_left_out_and_named(self):
        program = self.build(CLANG, PROBES)
        run('gcc', '-O2', '-g', '-shared', '-fPIC', '-o', program.with_name('libchoose.so'), program.with_name('library.c'))
        self.trace(program)
        notes = []
        functions, _ = self.read_own(notes=notes)
        self.assertNotIn('library', functions)
        self.assertTrue(any('libchoose.so' in note and '--module' in note for note in notes), notes)
        lines, _ = self.read_own('--module', 'libchoose.so')
        self.assertIsNone(lines['library'].checksum)


if __name__ == '__main__':
    record_support.main(ExportProbesTest)
