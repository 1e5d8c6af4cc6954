#!/usr/bin/env python3
"""Tests profiles for pprof by go tool pprof, and those for speedscope by what its format demands."""
import collections
import json
import os
import pathlib
import re

import export_support
import record_support
from export_support import run

# Two threads; a template and a function with the same name in two namespaces are inlined or not; a class has two destructors
# of the same name, of which one deletes what the other, inlined there, has destroyed.
CXX = r'''
#include <cstdlib>
#include <thread>
#include <vector>

namespace first {
__attribute__((noinline)) long work(std::vector<long> &numbers, int) {
  long sum = 0;
  for (long &number : numbers) sum += number = number % 7 + sum;
  return sum;
}
}  // namespace first

namespace second {
template <typename Number>
inline __attribute__((always_inline)) Number mixed(Number number) {
  number ^= number >> 3;
  return number * 5;
}
__attribute__((noinline)) long work(std::vector<long> &numbers) {
  long sum = 0;
  for (long &number : numbers) sum += number = mixed(number) + mixed(sum);
  return sum;
}
}  // namespace second

struct Counted {
  virtual ~Counted() { --count; }
  static inline thread_local long count = 0;
};
__attribute__((noinline)) void destroy(Counted *counted) { delete counted; }

int main(int argc, char **argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : 40000;
  long sum = 0;
  std::thread other([rounds, &sum] {
    std::vector<long> numbers(1000, 3);
    for (long i = 0; i < rounds; i++) sum += second::work(numbers);
  });
  std::vector<long> numbers(1000, 5);
  long own = 0;
  for (long i = 0; i < rounds; i++) {
    own += first::work(numbers, 0);
    for (int j = 0; j < 20; j++) destroy(new Counted);
  }
  other.join();
  return own + sum == 1;
}
'''
# Each sample is rounded.
ROUNDING = 1


class ExportPprofTest(export_support.ExportTest):

    def setUp(self):
        super().setUp()
        self.need('go')

    def build_cxx(self, *options):
        self.need('g++')
        source, program = self.directory / 'threads.cc', self.directory / 'threads'
        source.write_text(CXX)
        run('g++', '-O2', *options, '-pthread', '-o', program, source)
        return program

    def pprof(self, path, *options):
        environment = {**os.environ, 'HOME': str(self.directory), 'PPROF_TMPDIR': str(self.directory)}
        return run('go', 'tool', 'pprof', '-symbolize=none', *options, path, env=environment)

    def top(self, path, *options):
        """Returns {function: (flat, cumulative)}."""
        text = self.pprof(path, '-top', '-nodecount=1000000', '-nodefraction=0', '-edgefraction=0', *options)
        rows = re.findall(r'^ *(\d+) +\S+% +\S+% +(\d+) +\S+% +(.*?)(?: \((?:partial-)?inline\))?$', text,
                          re.MULTILINE)
        self.assertTrue(rows, text)
        return {name: (int(flat), int(cumulative)) for flat, cumulative, name in rows}

    def mixed(self, key):
        """Returns the instructions that hbbp counts by a key, with names as they are displayed."""
        rows = self.rows('mix', self.file, '--by', key)
        shown = sorted({row[key] for row in rows if str(row[key]).startswith('_Z')})
        names = dict(zip(shown, run('c++filt', *shown).splitlines())) if shown else {}
        sums = collections.Counter()
        for row in rows:
            sums[names.get(row[key], row[key])] += row['instructions']
        return sums

    def assert_sums(self, found, expected, samples):
        self.assertEqual(set(found), {name for name, sum in expected.items() if sum > 0})
        for name, sum in found.items():
            self.assertAlmostEqual(sum, expected[name], delta=ROUNDING * samples + sum * 1e-9, msg=name)

    def in_program(self, sums):
        """Removes functions of other libraries, which have the name of their symbol there and that of debug information here,
        and are sampled rarely: where threads end."""
        names = sorted({name for row in self.rows('mix', self.file, '--by', 'module,function,inlined')
                        if pathlib.Path(row['module']).name not in ('threads', 'choose', 'libchoose.so')
                        for name in (row['function'], row['inlined'])})
        others = {*names, *run('c++filt', input='\n'.join(names)).splitlines()}
        return {name: sum for name, sum in sums.items() if name not in others}

    def check(self):
        """Exports the profile. Returns the path after checking all its sums."""
        path = self.export('pprof')
        self.assertEqual(path.read_bytes()[:2], b'\x1f\x8b')
        raw = self.pprof(path, '-raw')
        self.assertIn('executions/count instructions/count[dflt]', raw)
        self.assertIn('PeriodType: task-clock nanoseconds', raw)
        samples = raw.count('tid:[')
        self.assert_sums({name: flat for name, (flat, _) in self.top(path, '-noinlines').items()},
                         self.mixed('function'), samples)
        self.assert_sums(self.in_program({name: flat for name, (flat, _) in self.top(path).items() if flat}),
                         self.in_program(self.mixed('inlined')), samples)
        executions = sum(flat for flat, _ in self.top(path, '-sample_index=executions').values())
        blocks = sum(row['executions'] for row in self.rows('mix', self.file, '--by', 'module', '--values', 'executions'))
        self.assertAlmostEqual(executions, blocks, delta=ROUNDING * samples)
        return path

    def test_program_with_a_library(self):
        for name, options in (('pie', ('-pie', '-fPIE')), ('fixed', ('-no-pie',))):
            with self.subTest(name):
                program = self.build('gcc', ('-O2', '-g', *options), name)
                self.trace(program)
                path = self.check()
                raw = self.pprof(path, '-raw')
                mappings = re.findall(r'^\d+: (0x\w+)/(0x\w+)/0x\w+ (\S+) (\w+) \[FN\]', raw, re.MULTILINE)
                self.assertEqual(mappings[0][2], str(program))
                self.assertIn(str(program.with_name(f'lib{name}.so')), [file for _, _, file, _ in mappings])
                self.assertIn(mappings[0][3], run('readelf', '-n', program))
                peek = self.pprof(path, '-peek', '^draw$')
                self.assertRegex(peek, r'main \(inline\)')
                # Addresses are those of the file, so that pprof finds the code.
                self.assertRegex(self.pprof(path, '-disasm', 'step'), r'step choose\.c:12')

    def test_lines(self):
        self.build('gcc', ('-O2', '-g'))
        self.trace(self.directory / 'choose')
        path = self.check()
        listing = self.pprof(path, '-list', '^(draw|step)$')
        listed = collections.Counter()
        for flat, line in re.findall(r'^ +(\d+) +\d+ +(\d+):', listing, re.MULTILINE):
            listed[int(line)] += int(flat)
        expected = collections.Counter()
        for row in self.rows('mix', self.file, '--by', 'line,inlined'):
            if row['inlined'] in ('draw', 'step'):
                expected[int(row['line'].rpartition(':')[2])] += row['instructions']
        self.assert_sums(listed, expected, 100)

    def test_cxx_with_threads(self):
        self.trace(self.build_cxx('-g'))
        path = self.check()
        top = self.top(path)
        self.assertIn('first::work(std::vector<long, std::allocator<long> >&, int)', top)
        self.assertIn('second::work(std::vector<long, std::allocator<long> >&)', top)
        self.assertIn('long second::mixed<long>(long)', top)
        self.assertIn('Counted::~Counted()', top)
        tags = self.pprof(path, '-tags')
        of_tids = tags[tags.index(' tid: '):].split('\n\n')[0]
        found = {int(tid): float(sum) for sum, tid in re.findall(r'^ *([\d.]+) \( *[\d.]+%\): (\d+)', of_tids, re.MULTILINE)}
        self.assertEqual(len(found), 2, tags)
        self.assert_sums(found, self.mixed('thread'), 10_000)

    def test_stripped_program(self):
        program = self.build_cxx()
        run('strip', program)
        self.trace(program)
        path = self.check()
        mapping, = re.findall(r'^\d+: .* ' + re.escape(str(program)) + ' .*$', self.pprof(path, '-raw'), re.MULTILINE)
        self.assertTrue(mapping.rstrip().endswith(' [FN]'), mapping)  # it has names of functions, and no lines

    def test_one_module(self):
        self.build('gcc', ('-O2', '-g'))
        self.trace(self.directory / 'choose')
        top = self.top(self.export('pprof', '--module', 'libchoose.so'))
        self.assertEqual(set(top), {'library', 'twice'})

    def test_speedscope(self):
        self.trace(self.build_cxx('-g'))
        file = json.loads(self.export('speedscope').read_text())
        self.assertEqual(file['$schema'], 'https://www.speedscope.app/file-format-schema.json')
        frames = file['shared']['frames']
        for frame in frames:
            self.assertLessEqual(set(frame), {'name', 'file', 'line'})
            self.assertTrue(frame['name'])
        samples = 0
        of_threads, of_modules, of_functions = {}, collections.Counter(), collections.Counter()
        for profile in file['profiles']:
            self.assertEqual(set(profile), {'type', 'name', 'unit', 'startValue', 'endValue', 'samples', 'weights'})
            self.assertEqual((profile['type'], profile['unit'], profile['startValue']), ('sampled', 'none', 0))
            self.assertEqual(len(profile['samples']), len(profile['weights']))
            self.assertEqual(profile['endValue'], sum(profile['weights']))
            of_threads[int(profile['name'].split()[-1])] = profile['endValue']
            samples += len(profile['samples'])
            for stack, weight in zip(profile['samples'], profile['weights']):
                self.assertLess(max(stack), len(frames))
                of_modules[frames[stack[0]]['file']] += weight
                of_functions[frames[stack[1]]['name']] += weight
        self.assertEqual(len(of_threads), 2)
        self.assertLess(file['activeProfileIndex'], 2)
        self.assert_sums(of_threads, self.mixed('thread'), samples)
        self.assert_sums(of_modules, self.mixed('module'), samples)
        self.assert_sums(of_functions, self.mixed('function'), samples)
        self.assertIn('threads.cc:21', [frame['name'] for frame in frames])


if __name__ == '__main__':
    record_support.main(ExportPprofTest)
