"""Compares ranges and taken branches of hbbp import with those of other tools for the same recordings."""
import collections
import pathlib
import re
import shutil
import subprocess
import unittest

import record_support

LONGEST_INSTRUCTION = 15
# /usr/bin/perf2bolt-16 is not used: its target believes to be llvm-bolt.
PERF2BOLT = '/usr/lib/llvm-16/bin/perf2bolt'


def needed(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            raise unittest.SkipTest(f'no {tool} here')


class OraclesTest(record_support.RecordTest):

    def run_oracle(self, *words, **options):
        return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              check=True, cwd=self.directory, **options).stdout

    def listed(self, recording, *arguments):
        """Returns (branches, ranges) of hbbp, by (module, address) pairs, as offsets in files."""
        result = self.run_tool('import', '-o', self.file, recording, *arguments)
        self.assertEqual(result.returncode, 0, result)
        branches, ranges = collections.Counter(), collections.Counter()
        listing = self.run_oracle(record_support.program('branch_listing'), self.file)
        for line in listing.splitlines():
            kind, *words = line.split(' ')
            if kind == 'branch':
                source, start, target, end, number = words
                branches[(source, int(start, 16)), (target, int(end, 16))] += int(number)
            else:
                module, start, end, number = words
                ranges[(module, int(start, 16)), (module, int(end, 16))] += int(number)
        return branches, ranges

    def inside(self, counts, module):
        """Returns {(offset, offset): number} of ranges or branches inside of one file, which has its name where it was
        recorded."""
        return collections.Counter({(start[1], end[1]): number
                                    for (start, end), number in counts.items()
                                    if start[0] == end[0] and pathlib.Path(start[0]).name == module.name})

    def profgen(self, recording, binary, option='--perfscript', *more):
        """Returns (branches, ranges) of llvm-profgen, added up over its contexts, without external ends.
        Addresses are relative to the first executable segment that it loads."""
        needed('llvm-profgen-19')
        output = self.directory / 'profgen.txt'
        self.run_oracle('llvm-profgen-19', '--format=text', '--skip-symbolization',
                        '--ignore-stack-samples', f'{option}={recording}', f'--binary={binary}',
                        f'--output={output}', *more)
        branches, ranges = collections.Counter(), collections.Counter()
        for line in output.read_text().splitlines():
            found = re.fullmatch(r'\s*([0-9a-f]+)(-|->)([0-9a-f]+):(\d+)', line)
            if found:
                start, arrow, end, number = found.groups()
                counts = branches if arrow == '->' else ranges
                counts[int(start, 16), int(end, 16)] += int(number)
        return branches, ranges

    def assert_profgen_agrees(self, name):
        text, binary = (record_support.recorded(f'profgen/{name}.perf{kind}') for kind in ('script', 'bin'))
        branches, ranges = self.listed(text, '--binary', binary, '--file',
                                       f'{binary.name}={binary}')
        self.assertEqual((self.inside(branches, binary), self.inside(ranges, binary)),
                         self.profgen(text, binary))

    def test_llvm_profgen_on_text(self):
        for name in ('inline-noprobe', 'multi-load-segs', 'recursion-compression-noprobe',
                     'unique-linkage-name-dwarf'):
            with self.subTest(name):
                self.assert_profgen_agrees(name)

    def test_llvm_profgen_drops_samples_whose_call_chain_ends_in_a_prologue(self):
        name = 'noinline-cs-noprobe'
        text, binary = (record_support.recorded(f'profgen/{name}.perf{kind}') for kind in ('script', 'bin'))
        whole = text.read_text()
        prologue = whole.index('// Test for leaf frame ending up in prolog')
        kept = self.directory / 'kept.perfscript'
        kept.write_text(whole[:prologue])
        expected = self.profgen(text, binary)
        for recording, of_it in ((kept, 1), (text, 2)):
            branches, ranges = self.listed(recording, '--file', f'{binary.name}={binary}')
            found = self.inside(branches, binary), self.inside(ranges, binary)
            self.assertEqual(found == expected, of_it == 1)
        self.assertEqual(sum(found[1].values()), 2 * sum(expected[1].values()))

    def test_llvm_profgen_joins_calls_that_leave_the_binary(self):
        """For a call through the PLT into another file, llvm-profgen ignores the jump in the PLT."""
        name = 'callback-external-addr'
        text, binary = (record_support.recorded(f'profgen/{name}.perf{kind}') for kind in ('script', 'bin'))
        branches, ranges = self.listed(text, '--binary', binary)
        branches, ranges = self.inside(branches, binary), self.inside(ranges, binary)
        found_branches, found_ranges = self.profgen(text, binary)
        is_inside = {pair: number for pair, number in found_branches.items() if pair[0] < 1 << 32}
        plt = 0x590
        self.assertEqual(is_inside, {pair: number for pair, number in branches.items()
                                     if pair[1] != plt})
        self.assertEqual(found_ranges, {pair: number for pair, number in ranges.items()
                                        if pair[0] != plt})
        self.assertEqual(ranges[plt, plt],
                         sum(number for pair, number in branches.items() if pair[1] == plt))

    def propeller(self):
        recording = record_support.recorded('autofdo/propeller_sample.perfdata')
        binary = recording.with_name('propeller_sample.bin')
        branches, ranges = self.listed(recording, '--file', f'{binary.name}={binary}')
        return recording, binary, self.inside(branches, binary), self.inside(ranges, binary)

    # These are functions of the program from nm; the code is at the same offsets in the file.
    def functions(self, binary):
        needed('nm')
        functions = {}
        for line in self.run_oracle('nm', '-S', '--defined-only', binary).splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in 'tT':
                functions[words[3]] = (int(words[0], 16), int(words[0], 16) + int(words[1], 16))
        return functions

    def test_llvm_profgen_on_a_recording(self):
        """It takes one process at a time and drops impossible ranges."""
        recording, binary, branches, ranges = self.propeller()
        text_segment = 0x1000  # its offsets are relative to it
        found_branches, found_ranges = collections.Counter(), collections.Counter()
        processes = {thread['pid'] for thread in self.info()['thread_list']
                     if thread['name'] == 'propeller_sampl'}
        self.assertEqual(len(processes), 3)
        for pid in processes:
            for counts, sums in zip(self.profgen(recording, binary, '--perfdata', f'--pid={pid}'),
                                    (found_branches, found_ranges)):
                for (start, end), number in counts.items():
                    sums[start + text_segment, end + text_segment] += number
        self.assertEqual(found_branches, branches)
        impossible = ranges - found_ranges
        self.assertEqual(found_ranges, ranges - impossible)
        self.assertEqual(sum(impossible.values()), 1048)
        reasons = self.info()['sources'][1]['unexplained_reasons']
        self.assertEqual(reasons['backwards'] + reasons['passes-branch'], 1048)

    def test_perf2bolt(self):
        """Its branches are the taken ones, and those that a range passes without taking them. For
        that it uses all ranges inside of a function that run forwards."""
        needed(PERF2BOLT, 'perf')
        recording, binary, branches, ranges = self.propeller()
        functions = self.functions(binary)
        output = self.directory / 'fdata'
        self.run_oracle(PERF2BOLT, '-p', recording, '-o', output, binary)
        found = collections.Counter()
        for line in output.read_text().splitlines():
            kind, source, start, other_kind, target, end, _, number = line.split()
            self.assertEqual((kind, other_kind), ('1', '1'))
            found[functions[source][0] + int(start, 16),
                  functions[target][0] + int(end, 16)] += int(number)

        def passed(branch):
            return sum(number for (start, end), number in ranges.items()
                       if start <= branch < end and
                       any(first <= start and end < last for first, last in functions.values()))
        self.assertEqual(set(branches) - set(found), set())
        for (source, target), number in found.items():
            falls_through = 0 < target - source <= LONGEST_INSTRUCTION
            self.assertEqual(number, branches[source, target] +
                             (passed(source) if falls_through else 0), (hex(source), hex(target)))

    def test_perf_script_has_as_many_branches(self):
        needed('perf')
        for name in ('autofdo/test.lbr', 'autofdo/propeller_sample.perfdata', 'quipper/perf.data.branch-4.14',
                     'quipper/perf.data.branch_stack_spec', 'quipper/perf.data.callgraph_and_branch-3.8'):
            recording = record_support.recorded(name)
            script = self.run_oracle('perf', 'script', '-i', recording, '-F', 'brstack')
            entries = collections.Counter(entry.group() for entry in re.finditer(r'0x[0-9a-f]+/0x[0-9a-f]+', script))
            empty = entries.pop('0x0/0x0', 0)
            branches, ranges = self.listed(recording)
            lbr, = (source for source in self.info()['sources'] if source['kind'] == 'lbr')
            with self.subTest(name):
                self.assertEqual(lbr['counters'].get('empty-entries', 0), empty)
                self.assertEqual(sum(branches.values()), sum(entries.values()))
                self.assertEqual(sum(ranges.values()), sum(entries.values()) - lbr['samples'])

    def test_perf_script_has_the_same_branches(self):
        needed('perf')
        recording = record_support.recorded('autofdo/test.lbr')
        binary = recording.with_name('test.binary')
        script = self.run_oracle('perf', 'script', '-i', recording, '-F', 'brstack')
        load_address, size = 0x400000, binary.stat().st_size
        expected = collections.Counter()
        for source, target in re.findall(r'0x([0-9a-f]+)/0x([0-9a-f]+)/', script):
            pair = int(source, 16) - load_address, int(target, 16) - load_address
            if all(0 <= offset < size for offset in pair):
                expected[pair] += 1
        branches, _ = self.listed(recording, '--file', f'{binary.name}={binary}')
        self.assertGreater(len(expected), 200)
        self.assertEqual(self.inside(branches, binary), expected)

    def test_perf_script_with_instructions(self):
        """It walks each range by its instructions, and ignores those that run backwards."""
        needed('perf')
        recording, binary, _, ranges = self.propeller()
        mapped = re.compile(r'PERF_RECORD_MMAP2 (\d+)/\d+: \[0x([0-9a-f]+)\(0x1000\) @ 0x1000 .*r-xp '
                            r'(/.*/propeller_sample\.bin)$')
        starts = {}
        script = ['perf', '--buildid-dir', self.directory / 'none', 'script', '-i', recording]
        for line in self.run_oracle(*script, '--show-mmap-events', '-F', 'pid').splitlines():
            found = mapped.search(line)
            if found:
                pid, start, path = found.groups()
                starts[pid] = int(start, 16) - 0x1000
        copy = pathlib.Path(f'{self.directory}/root{path}')
        copy.parent.mkdir(parents=True)
        shutil.copy(binary, copy)
        lines = self.run_oracle(*script, '--symfs', self.directory / 'root', '-F',
                                'pid,ip,brstackinsn').splitlines()
        walked = collections.Counter()
        base, start, is_first = 0, None, True
        for line in lines:
            sample = re.fullmatch(r'\s*(\d+)\s+[0-9a-f]+\s*', line)
            if sample:
                base, start, is_first = starts.get(sample[1], 0), None, True
            instruction = re.match(r'\s+([0-9a-f]{16})\s+insn:[^#]*(#?)', line)
            if not instruction:
                continue
            address = int(instruction[1], 16) - base
            start = address if start is None else start
            if instruction[2]:
                # The first line is the source of the oldest branch.
                if not is_first:
                    walked[start, address] += 1
                start, is_first = None, False
        forwards = {pair: number for pair, number in ranges.items() if pair[0] <= pair[1]}
        self.assertEqual({pair: number for pair, number in walked.items() if pair in forwards},
                         forwards)

    def test_create_llvm_prof(self):
        """It counts entries of functions, but only calls from functions with ranges."""
        needed('create_llvm_prof')
        recording = record_support.recorded('autofdo/test.lbr')
        binary = recording.with_name('test.binary')
        branches, _ = self.listed(recording, '--file', f'{binary.name}={binary}')
        load_address = 0x400000
        functions = {name: (start - load_address, end - load_address)
                     for name, (start, end) in self.functions(binary).items()}
        output = self.directory / 'text.prof'
        self.run_oracle('create_llvm_prof', f'--profile={recording}', f'--binary={binary}',
                        '--profiler=perf', '--format=text', f'--out={output}')
        heads = dict(re.findall(r'^(\w+):\d+:(\d+)$', output.read_text(errors='replace'), re.M))
        self.assertGreater(len(heads), 20)
        known = [functions[name] for name in heads]
        for name, number in heads.items():
            first, last = functions[name]
            entered = sum(
                count for (source, target), count in self.inside(branches, binary).items()
                if target == first and not first <= source < last and
                any(start <= source < end for start, end in known))
            self.assertEqual(entered, int(number), name)


if __name__ == '__main__':
    record_support.main(OraclesTest)
