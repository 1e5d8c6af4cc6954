#!/usr/bin/env python3
"""Tests profiles for compilers by what reads them: llvm-profdata, clang, rustc, llvm-profgen, AutoFDO."""
import os
import pathlib
import re
import shutil
import subprocess

import export_support
import record_support
from export_support import CLANG, DEBUG, run

RUST = '''
#[inline(never)]
fn step(sum: u64, value: u64) -> u64 {
    if value % 64 == 0 { (sum + value % 1000) ^ (sum >> 3) } else { sum.wrapping_add(value) }
}

fn main() {
    let (mut state, mut sum) = (1u32, 0u64);
    for _ in 0..100_000_000 {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        sum = step(sum, (state >> 16) as u64);
    }
    println!("{}", sum);
}
'''


class ExportCompilersTest(export_support.ExportTest):

    def functions(self, text):
        """Returns {function: (total, entries)} of a sample profile of LLVM as text."""
        return {name: (int(total), int(entries))
                for name, total, entries in re.findall(r'^(\w+):(\d+):(\d+)$', text, re.MULTILINE)}

    def assert_weighted(self, program, profile):
        """Checks that clang takes 1 to 63 for the branch of step()."""
        self.assert_weights(run(CLANG, '-O2', '-g', f'-fprofile-sample-use={profile}', '-S', '-emit-llvm', '-o', '-',
                                program.with_name('choose.c')))

    def assert_weights(self, code):
        weights = [sorted(map(int, pair)) for pair in
                   re.findall(r'branch_weights", i32 (\d+), i32 (\d+)', code)]
        ratios = [high / max(low, 1) for low, high in weights]
        self.assertTrue(any(40 < ratio < 100 for ratio in ratios), weights)

    def check_llvm(self, options):
        self.need('llvm-profdata-19')
        program = self.build(CLANG, options)
        self.trace(program)
        profile = self.export('llvm')
        text = run('llvm-profdata-19', 'merge', '--sample', '--text', profile)
        functions = self.functions(text)
        self.assertLessEqual({'main', 'step', 'library', 'twice'}, set(functions))
        for name in ('step', 'main'):
            self.assertAlmostEqual(functions[name][0], self.executions(name), delta=2 + self.executions(name) / 50)
        step, main = functions['step'], functions['main']
        self.assertGreater(step[1], 0)
        self.assertLess(main[1], step[1] / 100)  # it was called once
        self.assertIn(f'step:{step[1]}', text)
        self.assertRegex(text, r'\n \d+(\.\d+)?: draw:\d+\n  \d')
        binary = self.directory / 'binary.prof'
        run('llvm-profdata-19', 'merge', '--sample', '--extbinary', profile, '-o', binary)
        self.assert_weighted(program, profile)
        self.assert_weighted(program, binary)

    def test_llvm_profile_of_a_pie(self):
        self.check_llvm((*DEBUG, '-pie', '-fPIE'))

    def test_llvm_profile_of_a_program_at_a_fixed_address(self):
        self.check_llvm((*DEBUG, '-no-pie'))

    def test_llvm_profile_by_dwarf_4(self):
        self.check_llvm((*DEBUG, '-gdwarf-4'))

    def test_rustc_takes_the_profile(self):
        self.need('rustc')
        source, program, code = (self.directory / name for name in ('choose.rs', 'choose', 'choose.ll'))
        source.write_text(RUST)
        # The options are those of nightly versions; others take them by this variable.
        options = ('rustc', '-O', '-g', '-Zdebug-info-for-profiling')
        environment = {**os.environ, 'RUSTC_BOOTSTRAP': '1'}
        run(*options, '-o', program, source, env=environment)
        self.trace(program)
        profile = self.export('llvm', '--module', 'choose')
        run(*options, f'-Zprofile-sample-use={profile}', '--emit=llvm-ir', '-o', code, source, env=environment)
        self.assert_weights(code.read_text())

    def test_profile_of_a_program_that_was_replaced(self):
        program = self.build('gcc', ('-O2', '-g', '-Wl,--build-id'))
        self.trace(program)
        shutil.copy('/bin/true', program)
        out = self.directory / 'out'
        for kind in ('llvm', 'autofdo', 'profgen', 'bolt', 'bolt-pre', 'callgrind', 'go-pgo'):
            with self.subTest(kind):
                result = self.run_tool('export', '--format', kind, '--module', program, '-o', out, self.file)
                self.assertEqual(result.returncode, 2, result)
                self.assertIn('the file was replaced', result.stderr)
                self.assertFalse(out.exists())

    def test_what_has_no_debug_information_is_left_out(self):
        program = self.build('gcc', ('-O2',))
        self.trace(program)
        # Without the library of the profiler and the C library, which may have debug information.
        result = self.run_tool('export', '--format', 'llvm', '--module', program.name, self.file)
        self.assertEqual(result.returncode, 2, result)
        self.assertIn('-fdebug-info-for-profiling', result.stderr)
        self.assertIn(f'{program} is left out', result.stderr)

    def test_llvm_profgen_finds_the_same_lines(self):
        self.need('llvm-profgen-19', 'llvm-profdata-19')
        for name, options in (('pie', ()), ('fixed', ('-no-pie',)), ('lld', ('-fuse-ld=lld',))):
            with self.subTest(name):
                self.need(*(['ld.lld'] if name == 'lld' else []))
                program = self.build(CLANG, (*DEBUG, *options), name)
                self.trace(program)
                notes = []
                ranges, ours = self.export('profgen', notes=notes), self.export('llvm', '--module', name)
                self.assertEqual(len([note for note in notes if f'{program} only' in note]), 1, notes)
                theirs = self.directory / 'theirs.prof'
                run('llvm-profgen-19', f'--unsymbolized-profile={ranges}', f'--binary={program}', '-o', theirs)
                overlap = run('llvm-profdata-19', 'overlap', '--sample', theirs, ours)
                found = re.search(r'Whole program sample overlap: ([\d.]+)%', overlap)
                self.assertGreater(float(found.group(1)), 95, overlap)

    def test_gcc_takes_the_profile_of_create_gcov(self):
        # The AutoFDO of Debian 12 writes what gcc up to 11 reads.
        self.need('gcc-11', 'create_gcov')
        for name, options in (('pie', ()), ('fixed', ('-no-pie',))):
            with self.subTest(name):
                program = self.build('gcc-11', ('-O2', '-g', '-gdwarf-4', *options), name)
                self.trace(program)
                gcov = self.directory / 'out.gcov'
                run('create_gcov', '--profiler=text', f'--profile={self.export("autofdo")}', f'--binary={program}',
                    f'--gcov={gcov}', '--gcov_version=1')
                source = program.with_name('choose.c')
                self.assertNotIn('.text.hot', run('gcc-11', '-O2', '-S', '-o', '-', source))
                self.assertIn('.text.hot', run('gcc-11', '-O2', f'-fauto-profile={gcov}', '-S', '-o', '-', source))

    def test_create_llvm_prof_reads_the_text(self):
        self.need('create_llvm_prof')
        for name, options in (('pie', ()), ('fixed', ('-no-pie',))):
            with self.subTest(name):
                program = self.build(CLANG, (*DEBUG, '-gdwarf-4', *options), name)
                self.trace(program)
                out = self.directory / 'theirs.txt'
                run('create_llvm_prof', '--profiler=text', f'--profile={self.export("autofdo")}', f'--binary={program}',
                    f'--out={out}', '--format=text')
                # Its version in Debian writes some names of callees wrongly.
                theirs = self.functions(out.read_text(errors='replace'))
                self.assertGreater(theirs['step'][0], 0)
                self.assertGreater(theirs['step'][1], 0)

    def test_terminals_get_no_binary_file(self):
        self.record(self.build('gcc', ('-O2',)), 3_000_000)
        terminal, inside = os.openpty()
        self.addCleanup(os.close, terminal)
        process = subprocess.run([record_support.TOOL, 'export', '--format', 'pprof', self.file], stdout=inside,
                                 stderr=subprocess.PIPE, text=True)
        os.close(inside)
        self.assertEqual(process.returncode, 2, process)
        self.assertIn('-o FILE', process.stderr)

    def test_options_that_do_not_go_together(self):
        self.record('true', period_ns=100_000)
        self.assertIn('--module', self.refused('export', '--module', 'true', self.file))
        self.assertIn('html only', self.refused('export', '--format', 'llvm', '--functions', '3', self.file))
        self.assertIn('llvm', self.refused('export', '--format', 'lvm', self.file))


if __name__ == '__main__':
    record_support.main(ExportCompilersTest)
