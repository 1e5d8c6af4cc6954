"""Tests hbbp compare --truth with every format of exact counts of one program, and with invalid ones."""
import json
import os
import shutil
import subprocess

import count_support
import record_support
from count_support import Counts

# Each line is one block, so that what gcov counts is what was executed.
SOURCE = r'''
#include <stdlib.h>
static int Step(int x) {
  int result = 0;
  if (x % 3 == 0)
    result = x * 2;
  else
    result = x + 1;
  return result;
}
int main(int argc, char** argv) {
  int sum = argc;
  int i = 0;
  int end = atoi(argv[1]);
  do {
    sum += Step(i);
    i++;
  } while (i < end);
  return sum == 12345;
}
'''
ENOUGH_TO_SAMPLE = 30_000_000
FEW = 1000


class TruthTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        if shutil.which('gcc') is None or shutil.which('valgrind') is None:
            self.skipTest('no gcc or no valgrind')
        self.source = self.directory / 'steps.c'
        self.source.write_text(SOURCE)
        self.program = self.directory / 'steps'

    def build(self, *options):
        subprocess.run(['gcc', '-g', *options, '-o', self.program, self.source], check=True,
                       cwd=self.directory)

    def profile(self):
        self.record(self.program, ENOUGH_TO_SAMPLE, period_ns=50_000)
        self.assertGreater(self.info()['sources'][0]['samples'], 0)

    def steps(self):
        file = self.directory / 'count.out'
        result = self.run_tool('count', '-o', file, '--', self.program, FEW,
                               env=count_support.ENVIRONMENT, timeout=record_support.TIMEOUT_S)
        self.assertEqual(result.returncode, 0, result)
        return file

    def callgrind(self):
        file = self.directory / 'callgrind.out'
        count_support.valgrind('callgrind', '--dump-instr=yes', f'--callgrind-out-file={file}',
                               program=[self.program, FEW])
        return file

    def compare(self, *truth):
        result = self.run_tool('compare', self.file, '--format', 'json', *truth)
        self.assertEqual(result.returncode, 0, result)
        return json.loads(result.stdout)

    def of_program(self, comparison):
        modules = [m for m in comparison['modules'] if m['name'] == str(self.program)]
        self.assertEqual(len(modules), 1, comparison['modules'])
        return modules[0]

    def mnemonics(self, *truth):
        """Returns {mnemonic: executions} of the program's own code, by that truth."""
        rows = self.of_program(self.compare(*truth))['mnemonics']
        return {row['mnemonic']: row['ref'] for row in rows if row['ref']}

    def refused_truth(self, *truth):
        return self.refused('compare', self.file, *truth)

    def test_count_and_callgrind_agree(self):
        self.build('-O0')
        self.profile()
        ours, theirs = (self.mnemonics('--truth', file)
                        for file in (self.steps(), self.callgrind()))
        # Code that runs once, at the start and at the end, differs.
        for mnemonic in set(ours) | set(theirs):
            self.assertLess(abs(ours.get(mnemonic, 0) - theirs.get(mnemonic, 0)), 10, mnemonic)

    def test_exp_bbv(self):
        self.build('-O0')
        self.profile()
        vectors = self.directory / 'bb.out'
        count_support.valgrind('exp-bbv', '--interval-size=100', f'--bb-out-file={vectors}',
                               f'--pc-out-file={self.directory / "pc.out"}',
                               program=[self.program, FEW])
        expected = self.mnemonics('--truth', self.steps())
        # The file of addresses is next to it, or both are named.
        for truth in (['--truth', vectors],
                      ['--truth', self.directory / 'pc.out', '--truth', vectors,
                       '--truth-format', 'exp-bbv']):
            found = self.mnemonics(*truth)
            for mnemonic in set(expected) | set(found):
                self.assertLess(abs(expected.get(mnemonic, 0) - found.get(mnemonic, 0)), 10,
                                mnemonic)

    def test_exp_bbv_of_a_stripped_program_needs_its_address(self):
        self.build('-O0', '-s')
        self.profile()
        vectors = self.directory / 'bb.out'
        count_support.valgrind('exp-bbv', '--interval-size=100', f'--bb-out-file={vectors}',
                               f'--pc-out-file={self.directory / "pc.out"}',
                               program=[self.program, FEW])
        comparison = self.compare('--truth', vectors)
        self.assertTrue(any(str(self.program) in note and '--truth-map' in note
                            for note in comparison['notes']), comparison['notes'])
        expected = self.mnemonics('--truth', self.steps())
        found = self.mnemonics('--truth', vectors, '--truth-map', 'steps=0x108000')
        self.assertLess(abs(sum(expected.values()) - sum(found.values())), 100)

    def test_sde_mix(self):
        """Uses counts of hbbp count in SDE's format, since there is no SDE here."""
        self.build('-O0')
        self.profile()
        truth = self.steps()
        base = 0x555555554000
        lines = ['# Mix output version 10', '# EMIT_IMAGE_ADDRESSES',
                 f'{self.program} {base:016x} {base + 0x4fff:016x}', '# END_IMAGE_ADDRESSES',
                 '# EMIT_TOP_BLOCK_STATS FOR TID 0 EMIT # 1']
        counts = Counts(truth).of(self.program)
        for number, (address, count) in enumerate(counts.items()):
            lines += [f'BLOCK: {number:5}   PC: {base + address:016x}   ICOUNT: {count:9}   '
                      f'EXECUTIONS: {count:9}   #BYTES:  1   %:   1.0   cumltv%:   1.0  FN: f',
                      f'XDIS {base + address:016x}: BASE 90    nop', '']
        lines += ['# END_TOP_BLOCK_STATS', '# EMIT_DYNAMIC_STATS FOR TID 0 EMIT #1',
                  f'*total {sum(counts.values())}', '# END_DYNAMIC_STATS', '']
        mix = self.directory / 'mix.txt'
        mix.write_text('\n'.join(lines))
        self.assertEqual(self.mnemonics('--truth', mix), self.mnemonics('--truth', truth))
        mix.write_text('\n'.join(line.replace('*total ', '*total 9') for line in lines))
        self.assertIn('-top_blocks', self.refused_truth('--truth', mix))

    def gcov(self):
        """Runs the program once and returns the file of its counts."""
        for data in self.directory.glob('*.gcda'):
            data.unlink()
        truth = self.steps()
        data = next(self.directory.glob('*.gcda'))
        text = subprocess.run(['gcov', '--json-format', '--stdout', data.name], cwd=self.directory,
                              capture_output=True, check=True, text=True).stdout
        file = self.directory / 'gcov.json'
        file.write_text(text)
        return file, truth

    def test_gcov(self):
        self.build('-O0', '--coverage')
        self.profile()
        file, truth = self.gcov()
        comparison = self.compare('--truth', file)
        counts = Counts(truth).functions[os.path.realpath(self.program)]
        # The counters of --coverage are code of the lines as well, also where a branch of the line jumps over them: the
        # line of the `if` is two blocks.
        expected = counts['Step'] + counts['main']
        found = self.of_program(comparison)['instructions_ref']
        self.assertLess(abs(found - expected), 0.06 * expected)
        note = next(note for note in comparison['notes'] if note.startswith('gcov counts'))
        self.assertIn('sound only for unoptimised code', note)
        share = float(note.partition('; ')[2].split()[0]) / 100
        self.assertTrue(0.05 < share < 0.6, note)

    def test_gcov_of_optimised_code_is_refused(self):
        self.build('-O2', '--coverage')
        self.profile()
        message = self.refused_truth('--truth', self.gcov()[0])
        self.assertIn('was compiled with -O2', message)
        self.assertIn('-O0 -g --coverage', message)

    def test_gcov_compressed_and_of_another_program(self):
        self.build('-O0', '--coverage')
        self.profile()
        file, _ = self.gcov()
        subprocess.run(['gzip', '-k', file], check=True)
        self.assertIn('gunzip', self.refused_truth('--truth', f'{file}.gz'))
        file.write_text(file.read_text().replace('steps.c', 'other.c'))
        self.assertIn('no module of the profile has code', self.refused_truth('--truth', file))

    def test_truth_of_another_build(self):
        self.build('-O0')
        counted, callgrind = self.steps(), self.callgrind()
        self.build('-O2')
        self.profile()
        message = self.refused_truth('--truth', counted)
        self.assertIn('is of two builds: build ID', message)
        # Callgrind's file has no build ID, but its addresses fit no instructions.
        message = self.refused_truth('--truth', callgrind)
        self.assertIn('of the truth are at addresses where no instruction starts', message)

    def test_what_is_no_truth(self):
        self.build('-O0')
        self.profile()
        message = self.refused_truth('--truth', self.source)
        self.assertIn('known are files of hbbp count', message)
        self.assertIn('not a callgrind file',
                      self.refused_truth('--truth', self.source, '--truth-format', 'callgrind'))
        zero = self.directory / 'zero'
        zero.write_text('positions: instr\nevents: Ir\nob=/bin/x\n1 0\ntotals: 0\n')
        self.assertIn('all its counts are 0', self.refused_truth('--truth', zero))
        zero.write_text('positions: instr\nevents: Ir\nob=/bin/x\n1 -5\ntotals: 0\n')
        self.assertIn('line 4: a negative count', self.refused_truth('--truth', zero))
        self.assertIn('is of callgrind and', self.refused_truth(
            '--truth', self.callgrind(), '--truth', self.write('bb.out', 'T:1:5\n')))

    def write(self, name, text):
        file = self.directory / name
        file.write_text(text)
        return file


if __name__ == '__main__':
    record_support.main(TruthTest)
