#!/usr/bin/env python3
"""Tests whole bursts as text of perf script, by what reads such text: llvm-profgen, perf2bolt, hbbp import."""
import collections
import os
import pathlib
import re

import export_support
import record_support
from export_support import CLANG, DEBUG, run

PERF2BOLT = pathlib.Path('/usr/lib/llvm-16/bin/perf2bolt')
# Two threads in functions that differ.
THREADS = '''#include <pthread.h>
#include <stdio.h>

static __attribute__((noinline)) unsigned long first(unsigned long value) {
  if (value % 3 != 0) return value ^ value >> 5;
  __asm__ volatile("");  // a branch, so that bursts differ by its directions
  return value * 7 + 1;
}

static __attribute__((noinline)) unsigned long second(unsigned long value) {
  for (int i = 0; i < 5; i++) value = value * 6364136223846793005u + 1442695040888963407u;
  return value >> 3;
}

static void *run(void *function) {
  unsigned long value = 1;
  for (long i = 0; i < 60000000; i++) value += ((unsigned long (*)(unsigned long))function)(value);
  return (void *)value;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, run, (void *)first);
  unsigned long value = (unsigned long)run((void *)second);
  pthread_join(other, NULL);
  printf("%lu\\n", value);
  return 0;
}
'''
MAPPING = re.compile(r'PERF_RECORD_MMAP2? (\d+)/\d+: \[(?:0x)?([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+).*\]: \S*x\S* (.*)')


class Text:
    """The mappings and stacks of a text of perf script."""

    def __init__(self, text):
        self.mappings, self.stacks, self.numbers = [], [], []
        for line in text.splitlines():
            mapping = MAPPING.search(line)
            if mapping:
                start, size, offset = (int(mapping[i], 16) for i in (2, 3, 4))
                self.mappings.append((start, start + size, offset, pathlib.Path(mapping[5]).name))
            elif re.fullmatch(r'\d+', line):
                self.numbers.append(int(line))
            else:
                branches = re.findall(r'\b0x([0-9a-f]+)/0x([0-9a-f]+)/', line)
                if branches:
                    self.stacks.append(tuple((int(source, 16), int(target, 16)) for source, target in branches))

    def locate(self, address):
        """Returns (file, offset), or None where nothing is mapped. Later mappings replace earlier ones."""
        for start, end, offset, name in reversed(self.mappings):
            if start <= address < end:
                return name, address - start + offset
        return None

    def stacks_in(self, file):
        """Counts the stacks by offsets in a file, without branches that are outside of it altogether."""
        counted = collections.Counter()
        for stack in self.stacks:
            branches = (tuple(self.offset_in(file, end) for end in branch) for branch in stack)
            inside = tuple(branch for branch in branches if branch != (None, None))
            if inside:
                counted[inside] += 1
        return counted

    def offset_in(self, file, address):
        name, offset = self.locate(address) or (None, None)
        return offset if name == file else None

    def located(self):
        """Counts the stacks, by locations in files."""
        return collections.Counter(tuple((self.locate(source), self.locate(target)) for source, target in stack)
                                   for stack in self.stacks)


class ExportBrstackTest(export_support.ExportTest):

    def trace(self, *command):
        reason = record_support.why_not_permitted()
        if reason:
            self.skipTest(reason)
        result = self.run_tool('record', '-e', 'task-clock', '-c', 1_000_000, '--keep-bursts', '64M', '-o', self.file,
                               '--', *command)
        self.assertEqual(result.returncode, 0, result)

    def import_kept(self, recording, *options):
        result = self.run_tool('import', recording, '--keep-bursts', '64M', '-o', self.file, *options)
        self.assertEqual(result.returncode, 0, result)

    def build_threads(self, options, name):
        self.need(CLANG)
        source, program = self.directory / f'{name}.c', self.directory / name
        source.write_text(THREADS)
        run(CLANG, *DEBUG, *options, '-pthread', '-o', program, source)
        return program

    def profgen(self, program, option, file, name):
        profile = self.directory / name
        run('llvm-profgen-19', f'--{option}={file}', f'--binary={program}', '-o', profile)
        return profile

    def check_llvm_profgen(self, program):
        """Checks that lines have the same shares by whole bursts and by counts; bursts may count once each."""
        self.need('llvm-profgen-19', 'llvm-profdata-19')
        self.trace(program)
        bursts = self.profgen(program, 'perfscript', self.export('brstack'), 'bursts.prof')
        counts = self.profgen(program, 'unsymbolized-profile', self.export('profgen'), 'counts.prof')
        overlap = run('llvm-profdata-19', 'overlap', '--sample', bursts, counts)
        share = re.search(r'Whole program profile similarity: ([\d.]+)%', overlap)
        self.assertGreater(float(share[1]), 95, overlap)

    def test_llvm_profgen_reads_bursts_of_a_pie(self):
        self.check_llvm_profgen(self.build(CLANG, (*DEBUG, '-pie', '-fPIE'), 'pie'))

    def test_llvm_profgen_reads_bursts_of_a_program_at_a_fixed_address(self):
        self.check_llvm_profgen(self.build(CLANG, (*DEBUG, '-no-pie'), 'fixed'))

    def test_llvm_profgen_reads_bursts_of_threads(self):
        self.check_llvm_profgen(self.build_threads(('-pie', '-fPIE'), 'pie'))
        rows = self.info()['thread_list']
        self.assertGreaterEqual(len([row for row in rows if row['samples'] > 0]), 2)

    def test_info_counts_the_bursts(self):
        program = self.build_threads((), 'program')
        self.trace(program)
        info = self.info()
        self.assertGreater(info['kept_bursts'], 10)
        self.assertEqual(info['bursts_not_kept'], 0)
        self.assertEqual(info['kept_bursts'], sum(source['samples'] for source in info['sources']))
        text = Text(self.export('brstack').read_text())
        # Bursts of one branch have no weight, and are left out where others have one.
        self.assertLessEqual(len(text.stacks), info['kept_bursts'])
        self.assertGreater(len(text.stacks), 0.8 * info['kept_bursts'])
        self.assertIn(len(text.numbers), (0, len(text.stacks)))
        self.assertIn('kept whole', self.run_tool('info', self.file).stdout)
        branches = sum(source['taken_branches'] for source in info['sources'])
        self.assertLessEqual(sum(len(stack) for stack in text.stacks), branches)
        self.assertGreater(sum(len(stack) for stack in text.stacks), 0.8 * branches)

    def test_sums_have_the_bursts_of_all(self):
        program = self.build_threads((), 'program')
        self.trace(program)
        bursts = self.info()['kept_bursts']
        merged = self.directory / 'merged.data'
        self.assertEqual(self.run_tool('merge', '-o', merged, self.file, self.file).returncode, 0)
        self.assertEqual(self.info(merged)['kept_bursts'], 2 * bursts)
        once = Text(self.export('brstack').read_text())
        self.file = merged
        twice = Text(self.export('brstack').read_text())
        self.assertEqual(twice.located(), collections.Counter({s: 2 * n for s, n in once.located().items()}))

    def test_programs_at_the_same_addresses_are_not_mixed_up(self):
        files = []
        for name, level in ('first', '-O1'), ('second', '-O2'):
            self.trace(self.build_threads(('-no-pie', level), name))
            files.append(self.file.replace(self.directory / f'{name}.data'))
        merged = self.directory / 'merged.data'
        self.assertEqual(self.run_tool('merge', '-o', merged, *files).returncode, 0)
        message = self.refused('export', '--format', 'brstack', '-o', self.directory / 'none', merged)
        self.assertIn('linked for the same addresses', message)
        self.file = merged
        names = {name for *_, name in Text(self.export('brstack', '--module', 'first').read_text()).mappings}
        self.assertEqual(names & {'first', 'second'}, {'first'})

    def test_hbbp_import_reads_the_bursts_again(self):
        program = self.build_threads(('-no-pie',), 'program')
        self.trace(program)
        first = self.export('brstack').read_text()
        text = self.directory / 'bursts.txt'
        text.write_text(first)
        self.import_kept(text)
        again = Text(self.export('brstack').read_text())
        inside = lambda counted: collections.Counter(
            {stack: number for stack, number in counted.items()
             if all(end is not None for branch in stack for end in branch)})
        expected = inside(Text(first).located())
        self.assertGreater(len(expected), 10)
        self.assertEqual(inside(again.located()) & expected, expected)

    def test_an_imported_text_has_the_same_stacks(self):
        recording = record_support.recorded('profgen/noprobe.perfscript')
        binary = record_support.recorded('profgen/noprobe.perfbin')
        self.import_kept(recording, '--binary', binary)
        text = Text(self.export('brstack').read_text())
        self.assertEqual(collections.Counter(text.stacks), collections.Counter(Text(recording.read_text()).stacks))
        self.assertEqual(text.numbers, [])
        self.need('llvm-profgen-19')
        profiles = [run('llvm-profgen-19', '--format=text', '--skip-symbolization', f'--perfscript={file}',
                        f'--binary={binary}', '-o', '-') for file in (recording, self.directory / 'out.brstack')]
        self.assertEqual(*profiles)

    def check_recording(self, recording, binary):
        """Compares stacks with those that perf prints, by offsets in one file. Branches outside of it are left out."""
        self.need('perf')
        recording, binary = record_support.recorded(recording), record_support.recorded(binary)
        self.import_kept(recording, '--symfs', binary.parent, '--file', f'{binary.name}={binary}')
        printed = run('perf', 'script', '-f', '-i', recording, '-F', 'ip,brstack', '--show-mmap-events')
        ours, theirs = (Text(text).stacks_in(binary.name) for text in (self.export('brstack').read_text(), printed))
        self.assertEqual(ours, theirs)
        return sum(ours.values())

    def test_an_imported_recording_has_the_stacks_that_perf_prints(self):
        self.assertEqual(self.check_recording('autofdo/test.lbr', 'autofdo/test.binary'), 9189)

    def test_an_imported_recording_of_several_processes_has_the_stacks_that_perf_prints(self):
        self.assertEqual(self.check_recording('autofdo/propeller_sample.perfdata', 'autofdo/propeller_sample.bin'), 4617)

    def test_perf2bolt_reads_bursts_from_a_stand_in_for_perf(self):
        """Compares what perf2bolt makes of bursts, which count once each, with what it makes of their sums."""
        self.need('gcc', str(PERF2BOLT))
        for name, options in (('pie', ()), ('fixed', ('-no-pie',))):
            with self.subTest(name):
                program = self.build('gcc', ('-O2', '-fno-reorder-blocks-and-partition', '-Wl,--emit-relocs', *options), name)
                self.trace(program)
                bursts, notes = self.export('brstack', '--module', name), []
                stand_in = self.directory / 'perf'
                stand_in.write_text(f'''#!/bin/sh
case "$*" in
  *--show-mmap-events*) grep PERF_RECORD_MMAP '{bursts}' ;;
  *brstack*) sed -n 's/^ .*/{self.info()["pid"]} &/p' '{bursts}' ;;
esac
''')
                stand_in.chmod(0o755)
                recording, fdata = self.directory / 'perf.data', self.directory / 'bursts.fdata'
                recording.write_text('PERFILE2')
                path = {**os.environ, 'PATH': f'{self.directory}:{os.environ["PATH"]}'}
                run(PERF2BOLT, '-p', recording, '-o', fdata, program, env=path)
                sums = self.directory / 'sums.fdata'
                run(PERF2BOLT, '-pa', '-p', self.export('bolt-pre', '--module', name, notes=notes), '-o', sums, program)
                self.assertGreater(self.overlap(self.fdata(fdata), self.fdata(sums)), 0.8)

    @staticmethod
    def fdata(path):
        """Returns {(from, to): branches} of functions in the program."""
        lines = (line.split() for line in path.read_text().splitlines())
        return {tuple(words[:6]): int(words[7]) for words in lines if words[0] == words[3] == '1'}

    @staticmethod
    def overlap(first, second):
        shares = [{key: number / sum(counts.values()) for key, number in counts.items()} for counts in (first, second)]
        return sum(min(share, shares[1].get(key, 0)) for key, share in shares[0].items())

    def test_options(self):
        self.assertIn('--keep-bursts', self.refused('record', '--source', 'ebs', '--keep-bursts', '1M', '--', 'true'))
        self.assertIn('64KiB', self.refused('record', '--keep-bursts', '1k', '--', 'true'))
        self.record(self.build('gcc', ('-O2',)), 3_000_000)
        self.assertIn('--keep-bursts', self.refused('export', '--format', 'brstack', self.file))


if __name__ == '__main__':
    record_support.main(ExportBrstackTest)
