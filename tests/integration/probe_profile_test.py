#!/usr/bin/env python3
"""Tests hbbp probe on profiles: what productions estimate from whole bursts, recorded and imported."""
import collections
import json
import os
import re
import shutil

import record_support
from record_support import program

# A round of programs/rounds.c: calls, and back edges.
PAIRS = {('Rounds', 'twice'): 1, ('Rounds', 'once'): 1, ('twice', 'once'): 2}
METHODS = {'once': 3, 'twice': 1, 'Rounds': 8}
ROUNDS = 5_000_000
PARCELS = 1500
LINE = 64
# Bursts begin anywhere in a round, and have several.
TOLERANCE = 0.05


def shares(rows, *fields):
    """Returns the shares of the rows whose fields are all in the program's own code."""
    names = {name for pair in PAIRS for name in pair}
    counts = {tuple(row[field] for field in fields): row['count'] for row in rows
              if all(re.split(r'\+', row[field] or '')[0] in names for field in fields)}
    total = sum(counts.values())
    return {key: count / total for key, count in counts.items()}


class ProbeProfileTest(record_support.RecordTest):

    def record_rounds(self):
        reason = record_support.why_not_permitted()
        if reason:
            self.skipTest(reason)
        result = self.run_tool('record', '-e', 'task-clock', '-c', 500_000, '--keep-bursts', '64M', '-o', self.file,
                               '--', program('rounds'), ROUNDS)
        self.assertEqual(result.returncode, 0, result)

    def probe(self, *options):
        """Returns the JSON of the profile."""
        result = self.run_tool('probe', '--profile', self.file, '--format', 'json', *options)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(result.stderr, '')
        return json.loads(result.stdout)

    def productions(self, text):
        file = self.directory / 'productions'
        file.write_text(text)
        return file

    def assert_shares(self, found, expected):
        self.assertEqual(found.keys(), expected.keys())
        for key, share in expected.items():
            self.assertAlmostEqual(found[key], share, delta=TOLERANCE, msg=f'{key}: {found}')

    def test_shares_are_those_of_the_exhaustive_profile(self):
        self.record_rounds()
        tables = {'methods': ('function',), 'call-pairs': ('function', 'target'), 'edges': ('pc', 'next'),
                  'indirect-targets': ('pc', 'target')}
        productions = [word for name in ('hot-methods', 'call-pairs', 'edges', 'indirect-targets') for word in ('-p', name)]
        exact = self.directory / 'exact'
        result = self.run_tool('probe', '--exhaustive', *productions, '--format', 'json', '-o', exact, '--', program('rounds'), 50)
        self.assertEqual(result.returncode, 0, result)
        exact = json.loads(exact.read_text())
        for options in [], ['--exhaustive'], ['--burst-length', '50']:
            found = self.probe(*productions, *options)
            self.assertEqual(found['exhaustive'], 'true' if options == ['--exhaustive'] else 'false')
            for table, fields in tables.items():
                with self.subTest(table=table, options=options):
                    # What happens once in 50 rounds never happens in the bursts.
                    expected, estimated = (
                        {key: share for key, share in
                         shares([row for row in profile['rows'] if row['table'] == table], *fields).items() if share > 0.01}
                        for profile in (exact, found))
                    self.assert_shares(estimated, expected)

    def test_known_numbers(self):
        self.record_rounds()
        pairs = self.probe('-p', 'call-pairs')
        calls = sum(PAIRS.values())
        self.assert_shares(shares(pairs['rows'], 'function', 'target'), {key: n / calls for key, n in PAIRS.items()})
        for row in pairs['rows']:
            # Where pages are slow, bursts see the loader at work, too.
            if (row['function'], row['target']) in PAIRS:
                self.assertTrue(row['target_module'].endswith('/rounds'), row)
            self.assertGreater(row['records'], 0)
        boundaries = sum(METHODS.values())
        self.assert_shares(shares(self.probe()['rows'], 'function'), {(key,): n / boundaries for key, n in METHODS.items()})
        # The part of a burst that is in it stands for all.
        for options in ['--burst-length', '50'], ['--exhaustive']:
            total = sum(row['count'] for row in self.probe('-p', 'call-pairs', *options)['rows'])
            self.assertAlmostEqual(total / sum(row['count'] for row in pairs['rows']), 1, delta=TOLERANCE)
        self.assertRegex(pairs['notes'][0], r'^counts are estimated from [\d,]+ bursts of task-clock, period ')

    def test_what_bursts_do_not_know(self):
        self.record_rounds()
        file = self.productions('loops: conditional && backward && !taken && name = Rounds => count(function, trips), null\n'
                                # No burst has the call of Rounds itself.
                                'calls: proc_call && name = twice, Rounds => count(caller, function, target), null\n')
        found = self.probe('-p', file)
        rows = {row['table']: row for row in found['rows']}
        self.assertEqual(len(found['rows']), 2)
        self.assertEqual(rows['loops']['trips'], 8)
        self.assertEqual((rows['calls']['caller'], rows['calls']['function']), ('Rounds', 'twice'))
        notes = '\n'.join(found['notes'])
        self.assertRegex(notes, r'[\d,]+ of [\d,]+ records of loops are left out, as the bursts do not know: trips')
        self.assertRegex(notes, r'[\d,]+ of [\d,]+ records of calls are left out, as the bursts do not know: caller')

    def test_an_imported_recording_has_the_branches_of_its_stacks(self):
        recording = record_support.recorded('profgen/noprobe.perfscript')
        binary = record_support.recorded('profgen/noprobe.perfbin')
        result = self.run_tool('import', recording, '--binary', binary, '--keep-bursts', '64M', '-o', self.file)
        self.assertEqual(result.returncode, 0, result)
        stacks = [re.findall(r'\b0x([0-9a-f]+)/0x([0-9a-f]+)/', line) for line in recording.read_text().splitlines()]
        # No stream leads to the oldest branch of a stack.
        expected = collections.Counter(branch for stack in stacks for branch in stack[:-1])
        file = self.productions('all: taken => count(pc, next), null\n')
        found = self.probe('-p', file)
        self.assertEqual({(row['pc_address'], row['next_address']): row['records'] for row in found['rows']},
                         {tuple(f'0x{address}' for address in branch): count for branch, count in expected.items()})

    def probe_live(self, *options, command, status=0):
        """Returns the JSON of a program that is recorded for it, and what the command printed."""
        reason = record_support.why_not_permitted()
        if reason:
            self.skipTest(reason)
        output = self.directory / 'live.json'
        result = self.run_tool('probe', '--live', '-e', 'task-clock', '-c', 500_000, '--format', 'json', '-o', output, *options,
                               '--', *command, env={**os.environ, 'TMPDIR': str(self.directory)})
        self.assertEqual(result.returncode, status, result)
        self.assertEqual(list(self.directory.glob('hbbp-*')), [])
        return json.loads(output.read_text()), result

    def test_live(self):
        found, result = self.probe_live('-p', 'call-pairs', command=[program('rounds'), ROUNDS])
        calls = sum(PAIRS.values())
        self.assert_shares(shares(found['rows'], 'function', 'target'), {key: n / calls for key, n in PAIRS.items()})
        self.assertIn('hbbp record: ', result.stderr)
        self.assertNotIn('wrote', result.stderr)

    def test_live_has_the_processes_of_a_program_and_its_exit_status(self):
        found, _ = self.probe_live('-p', 'call-pairs', command=['sh', '-c', f'{program("rounds")} {ROUNDS}; exit 3'], status=3)
        self.assertGreater(sum(row['records'] for row in found['rows'] if row['target'] == 'once'), 0)

    def test_live_without_bursts(self):
        reason = record_support.why_not_permitted()
        if reason:
            self.skipTest(reason)
        result = self.run_tool('probe', '--live', '-c', '1T', '--', program('rounds'), 1)
        self.assertEqual(result.returncode, 2)
        self.assertIn('hbbp probe: the recording has no bursts: the program ran too briefly', result.stderr)
        result = self.run_tool('probe', '--live', '--', '/does/not/exist')
        self.assertEqual(result.returncode, 2)
        self.assertNotIn('hbbp probe: ', result.stderr)

    def stride_shares(self, rows):
        """Returns {instruction of a walk: {stride: share of its loads}}."""
        counts = collections.defaultdict(collections.Counter)
        for row in rows:
            if re.match(r'(Words|Columns|List)\+', row['pc'] or ''):
                counts[row['pc']][row['stride']] += row['count']
        return {pc: {stride: count / of.total() for stride, count in of.items()} for pc, of in counts.items()}

    def test_strides_are_those_of_the_exact_stream(self):
        exact = self.directory / 'exact'
        result = self.run_tool('probe', '--exhaustive', '-p', 'strides', '--format', 'json', '-o', exact, '--', program('walks'), 60)
        self.assertEqual(result.returncode, 0, result)
        expected = self.stride_shares(json.loads(exact.read_text())['rows'])
        self.assertEqual(sorted(stride for of in expected.values() for stride in of if of[stride] > 0.01),
                         sorted(['8', '-504', '64', '-440', '-504', '280', '-360']))
        # With system calls, a burst is interpreted in several runs.
        for arguments in [1_000_000], [200_000, 1]:
            found, _ = self.probe_live('--exhaustive', '-p', 'strides', command=[program('walks'), *arguments])
            found = self.stride_shares(found['rows'])
            self.assertEqual(found.keys(), expected.keys())
            for pc, of in found.items():
                self.assertLessEqual(of.keys(), expected[pc].keys(), pc)
                for stride, share in expected[pc].items():
                    self.assertAlmostEqual(of.get(stride, 0), share, delta=TOLERANCE, msg=f'{pc} {of}')

    def test_data_streams_have_the_addresses_of_the_program(self):
        for arguments in [1_000_000], [200_000, 1]:
            found, result = self.probe_live('-p', 'data-streams', command=[program('walks'), *arguments])
            nodes = result.stdout.split()
            follower = dict(zip(nodes, nodes[1:]))
            links = 0
            for row in found['rows']:
                elements = [element.rsplit(':', 1) for element in (row['stream'] or '').split()]
                for (before, address), (pc, next_address) in zip(elements, elements[1:]):
                    if before == pc and pc.startswith('List+'):
                        self.assertEqual(next_address, follower.get(address), row['stream'])
                        links += 1
            self.assertGreater(links, 0)

    def parcel_links(self, found, follower):
        """Returns how many parcels are followed by the next one of the route in the hot streams, and by anything else."""
        right = wrong = 0
        for row in found['rows']:
            addresses = [int(element.rsplit(':', 1)[1], 16) // LINE * LINE for element in (row['stream'] or '').split()
                         if element.startswith('Visit+')]
            for before, address in zip(addresses, addresses[1:]):
                right += (follower.get(before) == address) * row['count']
                wrong += (follower.get(before) != address) * row['count']
        return right, wrong

    def test_the_data_stream_that_misses(self):
        # A parcel is a line if they are scattered, and a fourth of one if they are packed.
        far = 'load && addressing != stack && reuse >= 1024'
        file = self.productions(f'misses: {far} => trace(pc, address), null\nloads: {far} && name = Visit => count(pc), null\n')
        exact = ['probe', '--exhaustive', '--stream', 'valgrind' if shutil.which('valgrind') else 'step', '--format', 'json', '-o',
                 self.directory / 'exact.json', '--max-length', 100_000]
        # A burst is about a round, so it knows no distance of that many lines, but that some are longer.
        live = ['--burst', 2500, '--max-length', 100_000]
        for layout in 'scattered', 'packed':
            result = self.run_tool(*exact, '-p', file, '--', program('parcels'), PARCELS, 4, layout, 'list')
            self.assertEqual(result.returncode, 0, result)
            profiles = [(json.loads((self.directory / 'exact.json').read_text()), result),
                        self.probe_live(*live, '-p', file, command=[program('parcels'), PARCELS, 30_000, layout, 'list'])]
            for found, result in profiles:
                with self.subTest(layout=layout, exhaustive=found['exhaustive']):
                    route = [int(line, 16) for line in result.stdout.split()[:-1]]
                    self.assertEqual(len(route), PARCELS)
                    right, wrong = self.parcel_links(found, dict(zip(route, route[1:] + route[:1])))
                    loads = [row for row in found['rows'] if row['table'] == 'loads' and row['count'] > 1]
                    if layout == 'packed':
                        self.assertEqual((right, wrong), (0, 0))
                        self.assertEqual(loads, [])
                    else:
                        self.assertGreater(right, PARCELS)
                        self.assertEqual(wrong, 0)
                        self.assertEqual(len(loads), 1)

    def test_values_are_those_of_the_exact_stream(self):
        file = self.productions('copies: entry && name ~ "*memcpy*", "*memmove*" && !(name ~ "*@plt", "*_chk*") => count(rdx), null\n'
                                'calls: proc_call && indirect && name = main => count(rdx), null\n'
                                'divisors: mnemonic in (div, idiv) && name = Divide, Scale => count(divisor), null\n')
        found, _ = self.probe_live('-p', file, command=[program('values'), 2_000_000])
        counts = collections.defaultdict(collections.Counter)
        for row in found['rows']:
            counts[row['table']][row['rdx'] if row['divisor'] is None else row['divisor']] += row['count']
        shares_of = {table: {value: count / of.total() for value, count in of.items()} for table, of in counts.items()}
        # A burst may see the loader end the program, which copies, too, but rarely.
        shares_of = {table: {value: share for value, share in of.items() if share > 0.01} for table, of in shares_of.items()}
        sizes = {'0x8': 0.5, '0x28': 0.25, '0xbb8': 0.25}
        self.assert_shares(shares_of['calls'], sizes)
        self.assert_shares(shares_of['divisors'], {'1000': 0.5, '64': 0.375, '-7': 0.125})
        # The variant of memcpy may have a name that only the debug file of the C library knows.
        if record_support.has_names_of_libc():
            self.assert_shares(shares_of['copies'], sizes)
            self.assertAlmostEqual(counts['copies'].total() / counts['calls'].total(), 3, delta=0.5)
        # Profiles that lack what was not asked for.
        result = self.run_tool('record', '-e', 'task-clock', '-c', 500_000, '--keep-values', 'divisor,rdi', '-o', self.file, '--',
                               program('values'), 2_000_000)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn('--keep-values rdx', self.refused('probe', '--profile', self.file, '-p', file))
        self.assertTrue(self.probe('-p', 'divisors')['rows'])
        calls = self.productions('c: proc_call && indirect && name = main => count(rdi), null\nrets: return => count(rdi), null\n')
        found = self.probe('-p', calls)
        self.assertIn('c', {row['table'] for row in found['rows']})
        self.assertRegex('\n'.join(found['notes']), r'records of rets are left out, as the bursts do not know: rdi')

    def test_overlap_with_the_exact_profile(self):
        file = self.productions('use framework\n'
                                'pairs: proc_call && sample_flag && name = Rounds, twice => count(function, target), null\n'
                                'loops: branch && backward && sample_flag && name = Rounds => count(pc, next), null\n'
                                'd: mem_op && sample_flag => trace(pc), null\n')
        exact = self.directory / 'exact.json'
        result = self.run_tool('probe', '--exhaustive', '-p', file, '--format', 'json', '-o', exact, '--', program('rounds'), 50)
        self.assertEqual(result.returncode, 0, result)
        found, _ = self.probe_live('-p', file, '--compare', exact, command=[program('rounds'), ROUNDS])
        rows = {row['table']: row for row in found['rows']}
        self.assertEqual(rows.keys(), {'pairs', 'loops'})
        for row in rows.values():
            self.assertGreater(row['overlap'], 0.95)
            self.assertGreater(row['records'], 0)
        self.assertEqual((rows['pairs']['exhaustive'], rows['pairs']['exhaustive_rows']), (50 * sum(PAIRS.values()), 3))
        self.record_rounds()
        compare = ['probe', '--profile', self.file, '--compare']
        self.assertIn('no table of counts that the bursts recorded in', self.refused(*compare, exact))
        self.assertIn(f'{file}: not a table of productions in JSON', self.refused(*compare, file))
        self.assertIn('/does/not/exist', self.refused(*compare, '/does/not/exist'))

    def test_errors(self):
        self.assertIn('--keep-accesses goes with --mode lookahead, not with verify',
                      self.refused('record', '--keep-accesses', '--mode', 'verify', '--', 'true'))
        self.assertIn('--keep-accesses goes with --source swbt, not with lbr',
                      self.refused('record', '--keep-accesses', '--source', 'lbr', '--', 'true'))
        self.assertIn('--keep-values goes with --source swbt, not with lbr',
                      self.refused('record', '--keep-values', 'rdx', '--source', 'lbr', '--', 'true'))
        self.assertIn("--keep-values: 'rax' is not a value of it", self.refused('record', '--keep-values', 'rax', '--', 'true'))
        self.file.write_text('')
        profile = ['probe', '--profile', self.file]
        self.assertIn('--profile probes the bursts of a recording, without a command',
                      self.refused(*profile, '--', 'true'))
        self.assertIn('without --live', self.refused(*profile, '--live', '--', 'true'))
        self.assertIn('without --period', self.refused(*profile, '-c', '1M'))
        self.assertIn('without --burst', self.refused(*profile, '--burst', '100'))
        self.assertIn('--live probes the bursts that it records, without --stream',
                      self.refused('probe', '--live', '--stream', 'step', '--', 'true'))
        self.assertIn('--source goes with --live, not with', self.refused('probe', '--source', 'swbt', '--', 'true'))
        self.assertIn('--compare goes with --live or --profile', self.refused('probe', '--compare', 'x', '--', 'true'))
        self.assertIn('without --stream', self.refused(*profile, '--stream', 'step'))
        self.assertIn('without --compare-exhaustive', self.refused(*profile, '--compare-exhaustive'))
        self.assertIn('without --max-instructions', self.refused(*profile, '--max-instructions', '9'))
        self.assertIn(f'{self.file}: ', self.refused(*profile))
        self.assertIn('CMD ARG... is missing', self.refused('probe'))

    def test_a_profile_without_bursts_says_how_to_get_some(self):
        self.record(program('rounds'), 1)
        self.assertIn('--keep-bursts 64M', self.refused('probe', '--profile', self.file))

    def test_what_bursts_do_not_have_is_refused(self):
        self.record_rounds()
        for text, message in (('a: return => count(rax), null\n', "use 'rax', which whole bursts do not have"),
                              ('a: load && value = 1 => null, null\n', "use 'value', which whole bursts do not have"),
                              ('a: load => count(stride), null\n', 'record it with --keep-accesses'),
                              ('a: entry => count(rdx), null\n', 'record it with --keep-values rdx')):
            self.assertIn(message, self.refused('probe', '--profile', self.file, '-p', self.productions(text)))


if __name__ == '__main__':
    record_support.main(ProbeProfileTest)
