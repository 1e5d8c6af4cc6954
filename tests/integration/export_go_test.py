#!/usr/bin/env python3
"""Tests profiles for Go's compiler: go tool pprof reads them, and the compiler's rules are applied here.

The rules are those of cmd/internal/pgo and cmd/compile/internal/pgoir of Go: of a stack, each pair of frames is a call by the
name of the caller, the name of the callee, and the line of the call from that where the caller is declared.
"""
import collections
import json
import os
import re

import export_support
import record_support
import recording_builder as built
from export_support import run

# What the words after "//:" call in these lines; a function that is only inlined has no symbol.
GO = r'''package main

import (
    "fmt"
    "os"
    "strconv"
)

type shape interface{ area(int) int }
type square struct{}

func (square) area(n int) int { return n * n }

func step(x uint32) uint32 {
    return x*1103515245 + 12345
}

//go:noinline
func mixed(x uint32) uint32 {
    x ^= x >> 3
    return step(x) ^ step(x/7) //: main.step
}

// Is inlined, but has a copy of its own, too.
func twice(x uint32) uint32 {
    return mixed(x) + x //: main.mixed
}

var own = twice

//go:noinline
func numbers(n, divisor uint32) uint32 {
    sum := uint32(0)
    for i := uint32(0); i < n; i++ {
        sum += mixed(i / divisor) //: main.mixed
        sum = step(sum)           //: main.step
        sum += twice(sum)         //: main.twice
    }
    return sum
}

//go:noinline
func texts(n int) int {
    sum := 0
    for i := 0; i < n; i++ {
        sum += len(strconv.Itoa(i)) //: strconv.Itoa
    }
    return sum
}

//go:noinline
func total(s shape, n int) int {
    t := 0
    for i := 0; i < n; i++ {
        t += s.area(i & 7) //: main.square.area
    }
    return t
}

func main() {
    rounds, _ := strconv.Atoi(os.Args[1])
    sum := 0
    for i := 0; i < rounds; i++ {
        sum += int(numbers(1000000, uint32(rounds)))
        sum += texts(100000)
        sum += total(square{}, 1000000)
    }
    fmt.Println(sum, own(uint32(sum)))
}
'''
ROUNDS = 100  # a second or two
PERIOD = 1000
PROGRAM_START = 0x400000  # where Go's linker puts programs
HOT = 0.99  # the compiler's inlineCDFHotCallSiteThresholdPercent


class Frame(collections.namedtuple('Frame', 'name file line start_line address')):

    @property
    def offset(self):
        return self.line - self.start_line


class ExportGoTest(export_support.ExportTest):

    def setUp(self):
        super().setUp()
        self.need('go', 'objdump', 'llvm-symbolizer')
        self.environment = {**os.environ, 'HOME': str(self.directory), 'GOCACHE': str(self.directory / 'cache'),
                            'PPROF_TMPDIR': str(self.directory), 'GO111MODULE': 'off'}
        self.source, self.program = self.directory / 'sums.go', self.directory / 'sums'
        self.source.write_text(GO)

    def build_go(self, *options):
        run('go', 'build', *options, '-o', self.program, self.source, env=self.environment)
        self.disassembly = run('objdump', '-d', '--no-show-raw-insn', self.program)

    def profile(self):
        """Profiles the program from outside, as it links no library."""
        result = self.run_tool('record', '--outside', '--source', 'ebs', '-e', 'task-clock', '-c', 1_000_000, '-o', self.file,
                               '--', self.program, ROUNDS)
        self.assertEqual(result.returncode, 0, result)

    def import_samples(self, samples):
        """Makes the profile of samples at addresses, with the branches before them."""
        has_branches = any(branches for _, branches in samples)
        event = built.Event(11, built.CYCLES, 'cycles:u', period=PERIOD,
                            sample_type=built.SAMPLE_TYPE | (built.BRANCH_STACK if has_branches else 0),
                            branch_kinds=built.ANY_BRANCH | built.USER_BRANCHES if has_branches else 0)
        recording = self.directory / 'perf.data'
        recording.write_bytes(built.file([event], [
            event.mapping(7, PROGRAM_START, self.program.stat().st_size, str(self.program)),
            *(event.sample(address, 7, 10 + i, PERIOD, branches=branches)
              for i, (address, branches) in enumerate(samples))]))
        result = self.run_tool('import', '-o', self.file, recording)
        self.assertEqual(result.returncode, 0, result)

    def code(self, function):
        """Returns [(address, instruction)], none of a function that is only inlined."""
        _, _, body = self.disassembly.partition(f'<{function}>:\n')
        return [(int(address, 16), words) for address, words in
                re.findall(r'^ *(\w+):\s+(.*?)\s*$', body.partition('\n\n')[0], re.MULTILINE) if words != 'int3']

    def declared(self):
        """Returns {function of the program: line}, by the source."""
        lines = {}
        for number, text in enumerate(GO.splitlines(), 1):
            if found := re.match(r'func (?:\((\w+)\) )?(\w+)\(', text):
                lines['.'.join(filter(None, ('main', *found.groups())))] = number
        return lines

    def calls(self):
        """Returns {(caller, offset, callee)} of the source, as the compiler knows its calls."""
        calls, function = set(), None
        starts = {line: name for name, line in self.declared().items()}
        for number, text in enumerate(GO.splitlines(), 1):
            function = starts.get(number, function)
            if '//:' in text:
                calls.add((function, number - self.declared()[function], text.rpartition(' ')[2]))
        return calls

    def samples(self, path):
        """Returns [(count, callee, caller)] by go tool pprof."""
        raw = run('go', 'tool', 'pprof', '-symbolize=none', '-raw', path, env=self.environment)
        self.assertIn('\nsamples/count[dflt]\n', raw)
        locations, text = {}, raw[raw.index('\nLocations\n'):raw.index('\nMappings\n')]
        for line in text.splitlines()[2:]:
            number, address, name, file, line, start = re.match(
                r' *(\d+): (0x\w+) M=1 (\S.*) (\S+):(\d+) s=(\d+)$', line).groups()
            locations[int(number)] = Frame(name, file, int(line), int(start), int(address, 16))
        samples = []
        for line in raw[raw.index('\nsamples/count'):raw.index('\nLocations\n')].splitlines()[2:]:
            count, callee, caller = re.match(r' *(\d+): (\d+) (\d+) *$', line).groups()
            samples.append((int(count), locations[int(callee)], locations[int(caller)]))
        return samples

    def edges(self, samples):
        """Adds up samples as the compiler does."""
        edges = collections.Counter()
        for count, callee, caller in samples:
            edges[caller.name, caller.offset, callee.name] += count
        return edges

    def hot(self, edges):
        """Returns the calls that the compiler takes for hot."""
        hot, sum = [], 0
        for edge, count in edges.most_common():
            if sum > HOT * edges.total():
                break
            sum += count
            hot.append(edge)
        return hot

    def counts(self):
        """Returns a function that finds the count of the block at an address."""
        blocks = json.loads(self.export('json').read_text())['blocks']
        ranges = [(block['start'], block['end'], block['count']) for block in blocks
                  if block['module'] == str(self.program)]
        return lambda address: next(count for start, end, count in ranges if start <= address < end)

    def inline_chains(self, addresses):
        """Returns [[(function, line)]] by llvm-symbolizer, innermost first."""
        text = run('llvm-symbolizer', '--inlines', f'--obj={self.program}', *(f'{address:#x}' for address in addresses))
        chains = []
        for chain in text.rstrip().split('\n\n'):
            lines = chain.splitlines()
            chains.append([(name, int(line.split(':')[-2])) for name, line in zip(lines[::2], lines[1::2])])
        return chains

    def check_calls(self, samples):
        """Compares each call with the code, and with what other readers of DWARF say."""
        targets = {}
        for address, target in re.findall(r'^ *(\w+):\s+(?:call|jmp) +(\w+) <', self.disassembly, re.MULTILINE):
            targets[int(address, 16)] = int(target, 16)
        direct = inlined = 0
        for (_, callee, caller), chain in zip(samples, self.inline_chains([caller.address for _, _, caller in samples])):
            if callee.address == caller.address:
                self.assertIn((callee.name, caller.name, caller.line),
                              [(inner[0], outer[0], outer[1]) for inner, outer in zip(chain, chain[1:])])
                inlined += 1
            else:
                self.assertEqual(targets[caller.address], callee.address)
                self.assertEqual((chain[0][0].removesuffix('.abi0'), chain[0][1]), (caller.name, caller.line))
                direct += 1
        self.assertGreater(direct, 0)
        self.assertGreater(inlined, 0)

    def test_samples(self):
        self.build_go()
        self.profile()
        notes = []
        samples = self.samples(self.export('go-pgo', notes=notes))
        self.assertEqual(sum('are indirect' in note for note in notes), 1, notes)
        self.check_calls(samples)
        count_at = self.counts()
        for count, _, caller in samples:
            self.assertAlmostEqual(count, count_at(caller.address), delta=1)

        hot = self.hot(self.edges(samples))
        for call in self.calls():
            if call[0] in ('main.numbers', 'main.mixed'):  # most of the time is there
                self.assertIn(call, hot)

    def test_all_calls(self):
        """Each instruction of the program has a sample."""
        self.build_go()
        addresses = [address for name in self.declared() for address, _ in self.code(name)]
        self.import_samples([(address, ()) for address in addresses])
        samples = self.samples(self.export('go-pgo'))
        self.check_calls(samples)
        of_one_line = [callee.name for _, callee, caller in samples if (caller.name, caller.offset) == ('main.mixed', 2)]
        self.assertEqual(of_one_line, ['main.step'] * 2)
        edges = self.edges(samples)
        found = {edge for edge in edges if edge[0].startswith('main.') and not edge[2].startswith('runtime.')}
        expected = self.calls() - {('main.total', 3, 'main.square.area')}  # indirect
        self.assertLessEqual(expected | self.calls_of_main(), found)
        self.assertEqual({edge for edge in found - expected if edge[0] != 'main.main'}, set())

    def calls_of_main(self):
        start = self.declared()['main.main']
        return {('main.main', number - start, f'main.{name}') for number, text in enumerate(GO.splitlines(), 1)
                for name in re.findall(r'sum \+= (?:int\()?(\w+)\(', text) if number > start}

    def test_names_and_lines(self):
        self.build_go()
        self.profile()
        samples = self.samples(self.export('go-pgo'))
        symbols = {re.sub(r'\.abi0$', '', line.split(None, 2)[2]) for line in
                   run('go', 'tool', 'nm', self.program).splitlines() if len(line.split(None, 2)) == 3}
        declared = self.declared()
        for _, callee, caller in samples:
            self.assertNotEqual(caller.start_line, 0)
            for frame in (callee, caller):
                if frame.name in declared and frame.start_line:
                    self.assertEqual((frame.file, frame.start_line), (str(self.source), declared[frame.name]))
        for _, callee, caller in samples:
            if callee.address != caller.address:
                self.assertIn(callee.name, symbols)
        # Functions in Go of other packages begin where their source says; closures may be written without the word.
        checked = 0
        for frame in {frame for sample in samples for frame in sample[1:]}:
            is_closure = re.search(r'\.\w+\d+$', frame.name)
            if frame.start_line and not is_closure and frame.file.endswith('.go') and os.path.isfile(frame.file):
                with open(frame.file, encoding='utf-8') as file:
                    self.assertIn('func', file.read().splitlines()[frame.start_line - 1], frame)
                checked += 1
        self.assertGreater(checked, 0)
        peek = run('go', 'tool', 'pprof', '-symbolize=none', '-peek', r'^main\.mixed$', self.directory / 'out.go-pgo',
                   env=self.environment)
        self.assertIn('main.numbers', peek)

    def test_branches(self):
        """A call by an interface goes to a wrapper, which the compiler made, and which has the method inlined."""
        self.build_go()
        total, wrapper = self.code('main.total'), self.code('main.(*square).area')
        position = next(i for i, (_, words) in enumerate(total) if words.startswith('call   *'))
        call, behind = total[position][0], total[position + 1][0]
        back, loop = next((address, int(words.split()[1], 16)) for address, words in total[position:]
                          if re.match(r'j\w+ +', words) and int(words.split()[1], 16) < call)
        ret = next(address for address, words in wrapper if words == 'ret')
        newest_first = [(back, loop), (ret, behind), (call, wrapper[0][0])] * 5
        self.import_samples([(loop, newest_first)] * 5)
        notes = []
        edges = self.edges(self.samples(self.export('go-pgo', notes=notes)))
        self.assertEqual(set(edges), {('main.total', 3, 'main.square.area')})
        self.assertNotIn('indirect', ''.join(notes))

    def test_program_without_lines(self):
        self.build_go('-ldflags=-w')
        self.import_samples([(address, ()) for address, _ in self.code('main.numbers')])
        result = self.run_tool('export', '--format', 'go-pgo', self.file, '-o', self.directory / 'out')
        self.assertEqual(result.returncode, 2, result)
        self.assertIn('-ldflags=-w', result.stderr)


if __name__ == '__main__':
    record_support.main(ExportGoTest)
