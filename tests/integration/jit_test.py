"""Tests code that JITs generate: node, which reports it to perf, and luajit, which does not."""
import collections
import os
import re
import shutil
import subprocess
import unittest

import record_support

COLLATZ = '''
function collatz(n) { let s = 0; while (n !== 1) { n = (n & 1) ? 3 * n + 1 : n / 2; s++; } return s; }
function sieve(n) {
  const a = new Uint8Array(n); let c = 0;
  for (let i = 2; i < n; i++) if (!a[i]) { c++; for (let j = i * 2; j < n; j += i) a[j] = 1; }
  return c;
}
let t = 0;
for (let k = 0; k < 36; k++) { for (let i = 1; i < 40000; i++) t += collatz(i); t += sieve(400000); }
console.log(t);
'''
# The table is there before, as its growth is LuaJIT's own work and of page faults.
SIEVE = '''
local a = {}
for i = 1, 1000000 do a[i] = false end
local function sieve(n)
  local c = 0
  for i = 2, n do a[i] = false end
  for i = 2, n do
    if not a[i] then c = c + 1 for j = i * 2, n, i do a[j] = true end end
  end
  return c
end
for k = 1, 48 do sieve(1000000) end
'''
# The work is in line 4.
CRUNCH = '''\
#include <stdio.h>
__attribute__((noinline)) unsigned crunch(unsigned rounds) {
  unsigned value = 1;
  for (unsigned i = 0; i < rounds; i++) value = (value + i) * 2654435761u ^ value >> 7;
  return value;
}
int main(void) { return printf("%u\\n", crunch(200000000)) < 0; }
'''
PERF_PERIOD_NS = 999_983


class JitTest(record_support.RecordTest):

    def program(self, interpreter, name, text):
        path = shutil.which(interpreter)
        if path is None:
            raise unittest.SkipTest(f'no {interpreter} here')
        (self.directory / name).write_text(text)
        return path

    def record_jit(self, source, *command):
        result = self.run_tool('record', '--source', source, '-e', 'task-clock', '-c', 2_000_003, '-o', self.file, '--', *command)
        self.assertEqual(result.returncode, 0, result)
        return self.info()

    def functions(self):
        """Returns {name of a function of generated code: its share of all instructions}."""
        shares = collections.Counter()
        for row in self.rows('mix', self.file, '--by', 'module,function'):
            if row['module'].startswith(('[anonymous', '[generated')):
                shares[row['function']] += row['share']
        return shares

    def check_node(self, source, option):
        node = self.program('node', 'collatz.js', COLLATZ)
        info = self.record_jit(source, node, option, 'collatz.js')
        shares = self.functions()
        named = sum(share for name, share in shares.items() if name.startswith('JS:'))
        self.assertGreater(named, 0.5, shares)
        self.assertTrue(any('sieve' in name or 'collatz' in name for name in shares), shares)
        everything = sum(row['samples'] for row in info['sources'])
        if source == 'swbt':
            everything *= 255
        unexplained = sum(row['unexplained'] for row in info['sources'])
        self.assertLess(unexplained, 0.02 * everything, info)

    def test_node_map_with_samples(self):
        self.check_node('ebs', '--perf-basic-prof')

    def test_node_map_with_branches(self):
        self.check_node('swbt', '--perf-basic-prof')

    def test_node_dump_with_samples(self):
        self.check_node('ebs', '--perf-prof')

    def test_node_dump_with_branches(self):
        self.check_node('swbt', '--perf-prof')

    def test_luajit_loop(self):
        """Most time is in the loop that writes into the table, which has no name."""
        luajit = self.program('luajit', 'sieve.lua', SIEVE)
        self.record_jit('swbt', luajit, 'sieve.lua')
        self.assertGreater(sum(self.functions().values()), 0.5)
        hottest = self.rows('blocks', self.file, '--top', '3')
        self.assertTrue(any(row['module'].startswith('[anonymous') for row in hottest), hottest)
        self.assertEqual(self.info()['sources'][0]['unexplained'], 0)
        loops = self.rows('loops', self.file)
        generated = [loop for loop in loops if loop['module'].startswith('[anonymous')]
        self.assertTrue(generated, loops)
        # Pages were copied; the listing begins and ends where something ran.
        listed = self.rows('annotate', self.file, '--module', '[anonymous]', '--top', '1')
        self.assertGreater(listed[0]['count'], 0)
        self.assertGreater(listed[-1]['count'], 0)
        text = self.run_tool('annotate', self.file, '--module', '[anonymous]', '--top', '1').stdout
        self.assertNotRegex(text, r'  instruction\n *\(no instructions\)')

    def perf(self, *words):
        if shutil.which('perf') is None:
            raise unittest.SkipTest('no perf here')
        return subprocess.run(['perf', *words], cwd=self.directory, capture_output=True, text=True)

    def import_from_perf(self, *words):
        """Records with perf into perf.data; `words` are more options, and the program."""
        recorded = self.perf('record', '-e', 'cpu-clock:u', '-c', str(PERF_PERIOD_NS), '-o', 'perf.data', *words)
        if recorded.returncode != 0:
            raise unittest.SkipTest(f'perf: {recorded.stderr.splitlines()[:1]}')
        self.assertEqual(self.run_tool('import', '-o', self.file, 'perf.data').returncode, 0)

    def assert_samples(self, expected, module):
        """Compares samples with `expected`, by function in modules with this prefix."""
        self.assertGreater(sum(expected.values()), 20, expected)
        found = collections.Counter()
        for row in self.rows('mix', self.file, '--by', 'module,function'):
            if row['module'].startswith(module):
                found[row['function']] += round(row['instructions'] / PERF_PERIOD_NS)
        self.assertEqual(found, expected)

    def test_recording_of_perf_has_as_many_samples_as_perf_says(self):
        node = self.program('node', 'collatz.js', COLLATZ)
        self.import_from_perf('-k', 'mono', node, '--perf-prof', 'collatz.js')
        self.assertEqual(self.perf('inject', '--jit', '-i', 'perf.data', '-o', 'jit.data').returncode, 0)
        listed = self.perf('script', '-i', 'jit.data', '-F', 'ip,sym,dso').stdout
        self.assert_samples(collections.Counter(re.findall(
            r'^\s*[0-9a-f]+ (.*) \(.*/jitted-.*\.so\)$', listed, re.MULTILINE)), '[generated')

    def lli(self):
        """Returns a command that runs CRUNCH by LLVM's JIT, which writes a jitdump with lines into the directory."""
        clang, lli = shutil.which('clang-14'), shutil.which('lli-14')
        if clang is None or lli is None:
            raise unittest.SkipTest('no clang-14 or lli-14 here')
        (self.directory / 'crunch.c').write_text(CRUNCH)
        subprocess.run([clang, '-O1', '-g', '-S', '-emit-llvm', 'crunch.c', '-o', 'crunch.ll'], cwd=self.directory,
                       check=True)
        return ['env', f'JITDUMPDIR={self.directory}', lli, '--jit-kind=mcjit', 'crunch.ll']

    def check_lines(self):
        if not list(self.directory.glob('.debug/jit/*/jit-*.dump')):
            raise unittest.SkipTest('this LLVM reports nothing to perf')
        source = os.path.realpath(self.directory / 'crunch.c')
        listed = self.rows('annotate', self.file, '--function', 'crunch')
        self.assertEqual({row['file'] for row in listed}, {source})
        lines = {row['line'] for row in listed if row['instruction'].startswith('imul')}
        self.assertEqual(lines, {4}, listed)
        self.assertEqual((listed[0]['line'], listed[-1]['line']), (2, 5), listed)
        by_line = {(row['file'], row['line']): row['share'] for row in self.rows('mix', self.file, '--by', 'file,line')}
        self.assertGreater(sum(share for (file, line), share in by_line.items()
                               if file == source and str(line).endswith('4')), 0.5, by_line)

    def test_lines_of_a_program_that_tells_them(self):
        self.record_jit('ebs', *self.lli())
        self.check_lines()

    def test_lines_of_a_recording_of_perf(self):
        self.import_from_perf('-k', 'mono', *self.lli())
        self.check_lines()

    def test_recording_of_perf_with_a_map_names_what_perf_names(self):
        node = self.program('node', 'collatz.js', COLLATZ)
        self.import_from_perf(node, '--perf-basic-prof', 'collatz.js')
        listed = self.perf('script', '-i', 'perf.data', '-F', 'ip,sym,dso').stdout
        samples = re.findall(r'^\s*[0-9a-f]+ (.*) \((/tmp/perf-\d+\.map)\)$', listed, re.MULTILINE)
        for path in {path for _, path in samples}:
            self.addCleanup(os.unlink, path)
        self.assert_samples(collections.Counter(name for name, _ in samples if name != '[unknown]'), '//anon')


if __name__ == '__main__':
    record_support.main(JitTest)
