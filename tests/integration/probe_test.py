"""Tests hbbp probe: what productions record of every instruction of a program, by both streams."""
import csv
import json
import shutil
import unittest

import count_support
import record_support
from record_support import program

STREAMS = ('step', 'valgrind')
# The numbers of programs/probed.c.
PAIRS = {('twice', 'once'): 40, ('_start', 'twice'): 20, ('_start', 'once'): 20}
METHODS = {'once': 60, 'twice': 20, '_start': 19}
BOUNDARIES = 100


class ProbeTest(record_support.RecordTest):

    def probe(self, *options, command=None, status=3):
        """Returns the JSON of a run."""
        result = self.run_tool('probe', '--format', 'json', '-o', self.file, *options, '--',
                               *(command or [program('probed')]), env=count_support.ENVIRONMENT)
        self.assertEqual(result.returncode, status, result)
        self.assertEqual(result.stderr, '')
        return json.loads(self.file.read_text())

    def productions(self, text):
        file = self.directory / 'productions'
        file.write_text(text)
        return file

    def streams(self):
        if shutil.which('valgrind') is None:
            return STREAMS[:1]
        return STREAMS

    def counts(self, rows, *fields):
        return {tuple(row[field] for field in fields): row['count'] for row in rows}

    def test_exhaustive_profiles(self):
        for stream in self.streams():
            with self.subTest(stream=stream):
                found = self.probe('--stream', stream, '--exhaustive', '-p', 'call-pairs')
                self.assertEqual(self.counts(found['rows'], 'function', 'target'), PAIRS)
                self.assertAlmostEqual(sum(row['share'] for row in found['rows']), 1)
                self.assertEqual(found['rows'][0]['target_address'],
                                 hex(count_support.symbols(program('probed'))['once']))
                found = self.probe('--stream', stream, '--exhaustive')
                self.assertEqual(self.counts(found['rows'], 'function'), {(k,): n for k, n in METHODS.items()})
                self.assertEqual(found['fired_invocations'], 80)
                self.assertEqual(found['fired_back-edges'], 19)

    def test_bursts(self):
        for stream in self.streams():
            with self.subTest(stream=stream):
                found = self.probe('--stream', stream, '-p', 'framework', '--sample-freq', '5', '--burst-length', '4')
                self.assertEqual(found['bursts'], BOUNDARIES / 10)
                fired = {name: found[f'fired_P{name}'] for name in range(1, 7)}
                self.assertEqual(fired[1] + fired[2], 50)
                self.assertEqual(fired[3] + fired[4], 40)
                self.assertEqual(fired[5] + fired[6], 10)
                self.assertEqual(fired[2] + fired[4] + fired[6], 20)
                found = self.probe('--stream', stream, '-p', 'call-pairs', '--sample-freq', '5', '--burst-length', '4')
                recorded = sum(self.counts(found['rows'], 'function', 'target').values())
                self.assertTrue(0 < recorded < 50, recorded)

    def test_operands(self):
        file = self.productions('''
a: mnemonic = mov && load && addressing = rip-relative => count loads(address, size), null
b: store && addressing = rip-relative => count stores(size), null
c: mnemonic = movs => count copies(address, size), null
d: indirect => count(pc, next), null
e: return => count(next), null
f: proc_call && store && address < 0x1000 => null, null
g: insn = 0f05 => null, null
''')
        for stream in self.streams():
            with self.subTest(stream=stream):
                found = self.probe('--stream', stream, '--exhaustive', '-p', file)
                rows = {name: [row for row in found['rows'] if row['table'] == name]
                        for name in ('loads', 'stores', 'copies', 'd', 'e')}
                (load,), (store,), (copy,) = rows['loads'], rows['stores'], rows['copies']
                self.assertEqual((load['size'], load['count']), (8, 60))
                self.assertEqual((store['size'], store['count']), (4, 60))
                self.assertEqual(load['address'], hex(count_support.symbols(program('probed'))['answer']))
                self.assertEqual((copy['size'], copy['count']), (1, 1))
                self.assertEqual(copy['address'], hex(count_support.symbols(program('probed'))['from']))
                self.assertEqual(self.counts(rows['d'], 'next'), {('once',): 20})
                self.assertEqual(sum(row['count'] for row in rows['e']), 80)
                self.assertEqual(found['fired_f'], 0)
                self.assertEqual(found['fired_g'], 1)

    def test_addresses_of_code_that_never_ran(self):
        file = self.productions('a: branch && !taken && !backward => count(pc, target), null\n'
                                'b: insn = 0f05 => count(function), null\n')
        never = hex(count_support.symbols(program('probed'))['never'])
        for stream in self.streams():
            with self.subTest(stream=stream):
                branch, end = self.probe('--stream', stream, '--exhaustive', '-p', file)['rows']
                self.assertEqual((branch['target'], branch['target_address']), ('never', never))
                self.assertTrue(branch['pc'].startswith('_start+0x'), branch)
                self.assertEqual((end['function'], end['function_address']), ('never', never))

    def test_values(self):
        file = self.productions('a: mnemonic = mov && load => count loads(value), null\n'
                                'b: mnemonic = mov && store && value = 42 => count stores(value), null\n')
        found = self.probe('--exhaustive', '-p', file)
        self.assertEqual(self.counts(found['rows'], 'table', 'value'), {('loads', '0x2a'): 60, ('stores', '0x2a'): 60})
        message = self.refused('probe', '--stream', 'valgrind', '-p', file, '--', program('probed'))
        self.assertIn("use 'value', which valgrind's stream does not have", message)

    def test_divisors(self):
        found = self.probe('--exhaustive', '-p', 'divisors')
        self.assertEqual(self.counts(found['rows'], 'divisor'), {('-7',): 1, ('1',): 1})
        self.assertIn("use 'divisor', which valgrind's stream does not have",
                      self.refused('probe', '--stream', 'valgrind', '-p', 'divisors', '--', program('probed')))

    def test_copies_count_once(self):
        # A direct call leads to memcpy through a stub with a name of its own, and a checked copy goes on into one.
        rounds = 8
        found = self.probe('--exhaustive', '-p', 'copy-sizes', command=[program('values'), rounds], status=0)
        copies = self.counts(found['rows'], 'rdx')
        # Without the debug file of the C library the variant has no name.
        if record_support.has_names_of_libc():
            self.assertEqual(copies['0xbb8',], 3 * rounds / 4)

    def test_callers_strides_names_and_registers(self):
        file = self.productions('''
a: proc_call => count contexts(caller, function, target), null
b: load && addressing = rip-relative => count strides(stride), null
c: entry && name ~ o* && module ~ prob* => count(function), null
d: entry && name = twice => null, null
e: !taken && backward && conditional => count trips(function, trips), null
''')
        for stream in self.streams():
            with self.subTest(stream=stream):
                found = self.probe('--stream', stream, '--exhaustive', '-p', file)
                of_table = {name: [row for row in found['rows'] if row['table'] == name]
                            for name in ('contexts', 'strides', 'c', 'trips')}
                self.assertEqual(self.counts(of_table['contexts'], 'caller', 'function', 'target'),
                                 {(None, '_start', 'twice'): 20, (None, '_start', 'once'): 20, ('_start', 'twice', 'once'): 40})
                self.assertEqual(self.counts(of_table['strides'], 'stride'), {('0',): 60})
                self.assertEqual(self.counts(of_table['c'], 'function'), {('once',): 60})
                self.assertEqual(found['fired_d'], 20)
                self.assertEqual(self.counts(of_table['trips'], 'function', 'trips'), {('_start', 20): 1})
        registers = self.productions('r: mnemonic = dec => count(rbx), null\n')
        found = self.probe('--exhaustive', '-p', registers)
        self.assertEqual(self.counts(found['rows'], 'rbx'), {(hex(n),): 1 for n in range(1, 21)})
        self.assertIn("use 'rbx', which valgrind's stream does not have",
                      self.refused('probe', '--stream', 'valgrind', '-p', registers, '--', program('probed')))

    def test_reuse_distances(self):
        # `once` loads from the line that it stores to; in between calls and returns access a line of the stack.
        file = self.productions('r: name = once && load && addressing = rip-relative => count(reuse), null\n')
        for stream in self.streams():
            with self.subTest(stream=stream):
                found = self.probe('--stream', stream, '--exhaustive', '-p', file)
                self.assertEqual(self.counts(found['rows'], 'reuse'), {('first',): 1, ('1',): 59})

    def test_paths(self):
        file = self.productions('use paths\nt: path_end && name ~ on* => trace sequence(path), null\n')
        for stream in self.streams():
            with self.subTest(stream=stream):
                found = self.probe('--stream', stream, '--exhaustive', '-p', file, '--min-length', '2')
                rows = [row for row in found['rows'] if row['table'] == 'paths']
                self.assertEqual(self.counts(rows, 'path_start', 'pc', 'path'),
                                 {('once', 'once+0xd', '-'): 60, ('twice', 'twice+0xa', '-'): 20,
                                  ('_start+0x5', '_start+0x15', 'T'): 18, ('_start', '_start+0x15', 'T'): 1})
                streams = [row['stream'] for row in found['rows'] if row['table'] == 'sequence']
                self.assertEqual({element for stream in streams for element in stream.split()}, {'-'})

    def test_built_in_profiles(self):
        names = ('call-contexts', 'edges', 'indirect-targets', 'trip-counts', 'strides', 'reuse-distances')
        for stream in self.streams():
            with self.subTest(stream=stream):
                found = self.probe('--stream', stream, '--exhaustive', *(word for name in names for word in ('-p', name)))
                rows = {name: [row for row in found['rows'] if row['table'] == name] for name in names}
                self.assertEqual(self.counts(rows['call-contexts'], 'caller', 'function', 'target'),
                                 {(None, '_start', 'twice'): 20, (None, '_start', 'once'): 20, ('_start', 'twice', 'once'): 40})
                self.assertEqual(self.counts(rows['indirect-targets'], 'target'), {('once',): 20})
                self.assertEqual(self.counts(rows['trip-counts'], 'trips'), {(20,): 1})
                loop = [row for row in rows['edges'] if row['next'] == '_start+0x5']
                self.assertEqual([row['count'] for row in loop], [19])
                loads = [row for row in rows['strides'] if row['pc'] == 'once']
                self.assertEqual(self.counts(loads, 'stride'), {('0',): 60})
                loads = [row for row in rows['reuse-distances'] if row['pc'] == 'once']
                self.assertEqual(self.counts(loads, 'reuse'), {('first',): 1, ('1',): 59})

    def test_threads_have_a_history_of_their_own(self):
        file = self.productions('a: name = Loop && conditional => count iterations(function), null\n'
                                'b: name = Loop && conditional && !taken => count loops(trips), null\n')
        found = self.probe('--exhaustive', '-p', file, command=[program('counted'), 'threads'], status=0)
        iterations, loops = found['rows']
        self.assertEqual((iterations['function'], iterations['count']), ('Loop', 4 * 500))
        self.assertEqual((loops['trips'], loops['count']), (500, 4))

    def test_data_streams(self):
        file = self.productions('use framework\nd: mem_op && sample_flag && addressing != stack => trace(pc, address), null\n')
        for stream in self.streams():
            with self.subTest(stream=stream):
                found = self.probe('--stream', stream, '--exhaustive', '-p', file, '--min-length', '4',
                                   '--max-length', '8', '--min-heat', '0.1')
                self.assertGreater(found['coverage_d'], 0.5)
                for row in found['rows']:
                    self.assertIn('once:0x', row['stream'])
                    self.assertLessEqual(row['length'], 8)

    def test_overlap(self):
        found = self.probe('-p', 'hot-methods', '-p', 'call-pairs', '--compare-exhaustive', '--sample-freq', '1,1k',
                           '--burst-length', '9,1000')
        rows = {(row['table'], row['sample_freq'], row['burst_length']): row for row in found['rows']}
        self.assertEqual(len(rows), 8)
        all_but_one = rows['methods', 1, 1000]
        self.assertGreater(all_but_one['overlap'], 0.98)
        self.assertEqual(all_but_one['exhaustive'], 99)
        self.assertEqual(all_but_one['recorded'], 98)
        nothing = rows['call-pairs', 1000, 9]
        self.assertEqual((nothing['overlap'], nothing['recorded'], nothing['bursts']), (0, 0, 0))

    def test_formats(self):
        command = ['--exhaustive', '-p', 'call-pairs', '--top', '2', '--', program('probed')]
        table = self.run_tool('probe', *command)
        self.assertEqual(table.returncode, 3)
        lines = table.stdout.splitlines()
        self.assertEqual(lines[0].split(), ['table', 'function', 'target', 'count', 'share'])
        self.assertEqual(lines[1].split()[:4], ['call-pairs', 'twice', 'once', '40'])
        self.assertIn('2 of 3 rows of call-pairs', table.stdout)
        rows = list(csv.DictReader(self.run_tool('probe', '--format', 'csv', *command).stdout.splitlines()))
        self.assertEqual([(row['function'], row['count']) for row in rows], [('twice', '40'), ('_start', '20')])

    def test_errors(self):
        file = self.productions('use framework\np: proc_cal => null, null\n')
        self.assertIn(f"{file}: line 2, column 4: no key 'proc_cal'; did you mean 'proc_call'?",
                      self.refused('probe', '-p', file, '--', 'true'))
        self.assertIn("no file and no built-in productions 'hot-method'; did you mean 'hot-methods'?",
                      self.refused('probe', '-p', 'hot-method', '--', 'true'))
        calls = self.productions('p: proc_call => count(pc); call made(target), null\n')
        self.assertIn(f"{calls}: 'p' has the action 'call', for which hbbp probe has no handler",
                      self.refused('probe', '-p', calls, '--', 'true'))
        self.assertIn('two files of productions',
                      self.refused('probe', '-p', file, '-p', file, '--', 'true'))
        self.assertIn('need --compare-exhaustive', self.refused('probe', '--sample-freq', '1,2', '--', 'true'))
        self.assertIn('--sample-freq: ', self.refused('probe', '--sample-freq', 'many', '--', 'true'))
        self.assertIn('from 1 to', self.refused('probe', '--burst-length', '0', '--', 'true'))
        self.assertIn('--exhaustive records everything',
                      self.refused('probe', '--exhaustive', '--sample-freq', '3', '--', 'true'))
        self.assertIn('cannot start /does/not/exist', self.refused('probe', '--', '/does/not/exist'))
        self.assertIn('--min-length must be', self.refused('probe', '--min-length', '1', '--', 'true'))
        for stream in self.streams():
            self.assertIn('executed more than 100 instructions',
                          self.refused('probe', '--stream', stream, '--max-instructions', '100', '--', program('probed')))

    def test_no_valgrind(self):
        result = self.run_tool('probe', '--stream', 'valgrind', '--', program('probed'), env={'PATH': str(self.directory)})
        self.assertEqual(result.returncode, 2)
        self.assertIn('cannot start valgrind; install it, or take the program\'s instructions by --stream step',
                      result.stderr)

    def test_full_tables_drop_and_say_so(self):
        command = ['probe', '--exhaustive', '-p', 'call-pairs', '--max-rows', '1']
        note = 'note: 60 records of call-pairs were dropped, because it was full; --max-rows N allows more\n'
        to_file = ['-o', self.file, '--', program('probed')]
        self.assertIn(note, self.run_tool(*command, '--', program('probed')).stdout)
        self.assertEqual(self.run_tool(*command, *to_file).stderr, '')
        self.assertIn(note, self.file.read_text())
        self.assertEqual(self.run_tool(*command, '--format', 'csv', *to_file).stderr, 'hbbp probe: ' + note)
        self.assertEqual(len(self.file.read_text().splitlines()), 2)
        self.assertIn('/does/not/exist', self.refused(*command, '-o', '/does/not/exist', '--', program('probed')))

    def test_exec_starts_anew(self):
        command = ['sh', '-c', f'exec {program("probed")}']
        found = self.probe('--exhaustive', '-p', 'call-pairs', command=command)
        self.assertEqual(self.counts(found['rows'], 'function', 'target'), PAIRS)
        self.assertEqual(found['notes'], ['the process executed another program; only the last one is listed'])

    @unittest.skipIf(shutil.which('valgrind') is None, 'there is no valgrind')
    def test_exec_ends_the_stream_of_valgrind(self):
        command = ['sh', '-c', f'exec {program("probed")}']
        file = self.productions('a: module = probed => null, null\n'
                                'b: mnemonic = syscall && module ~ "libc*" => null, null\n')
        found = self.probe('--stream', 'valgrind', '--exhaustive', '-p', file, command=command)
        self.assertEqual(found['notes'], ['the process executed another program, which valgrind does not run; '
                                          'only the first one is listed'])
        self.assertEqual(found['fired_a'], 0)
        # That of exec is among the last instructions.
        self.assertGreater(found['fired_b'], 0)

    def test_other_processes_run_freely(self):
        found = self.probe('--exhaustive', '-p', 'framework', command=['sh', '-c', f'{program("probed")}; exit 5'], status=5)
        self.assertIn('the program started other processes, which were not probed', found['notes'])


if __name__ == '__main__':
    record_support.main(ProbeTest)
