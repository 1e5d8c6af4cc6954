"""Tests the examples that combine counts of blocks with other tools: valgrind, perf, gdb, ClickHouse, and a workflow of a CI."""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import count_support
import record_support
import vector_program
from record_support import program

ENVIRONMENT = dict(count_support.ENVIRONMENT, LD_BIND_NOW='1')
EXAMPLES = pathlib.Path(os.environ['HBBP_EXAMPLES'])
BUILT_EXAMPLES = pathlib.Path(os.environ['HBBP_BUILT_EXAMPLES'])


# Continues once the process has neither run nor been ready to run for half a second.
FIRST_VALGRIND = """#!/bin/sh
kill -STOP $PPID
(
  exec 9>&-
  quiet=0
  last=
  while [ $quiet -lt 10 ]; do
    sleep 0.05
    now=$(cut -d' ' -f3,14,15 /proc/$$/stat) || break
    case $now in
      Z*) break ;;
      "S $last") quiet=$((quiet + 1)) ;;
      *) quiet=0 ;;
    esac
    last=${{now#* }}
  done
  kill -CONT $PPID
) &
exec {valgrind} "$@"
"""


def needs(command):
    return unittest.skipUnless(shutil.which(command), f'no {command}')


class ExamplesTest(record_support.RecordTest):

    def run_lackey(self, *command, status=0, **environment):
        result = subprocess.run([BUILT_EXAMPLES / 'lackey_blocks', self.file, *command], capture_output=True,
                                text=True, timeout=record_support.TIMEOUT_S, env={**ENVIRONMENT, **environment}, cwd=self.directory)
        self.assertEqual(result.returncode, status, result)
        return result

    def counted_by_lackey(self, path):
        """Returns {address: count} of the instructions of a module, all of whose counts must be exact."""
        counts = collections.Counter()
        rows = [row for row in self.rows('blocks', self.file) if row['module'] == path]
        listing = subprocess.run(['objdump', '-d', '--no-show-raw-insn', path], capture_output=True, text=True,
                                 check=True).stdout
        instructions = sorted(int(line.split(':')[0], 16) for line in listing.splitlines()
                              if line[:1] == ' ' and ':' in line)
        for row in rows:
            start, end = int(row['start'], 16), int(row['end'], 16)
            of_block = [address for address in instructions if start <= address < end]
            self.assertEqual(len(of_block), row['instructions'])
            for address in of_block:
                counts[address] += row['count']
        return counts

    def assert_counts_of_lackey_are_exact(self, *command):
        self.run_lackey(*command)
        self.assertEqual([source['unmapped'] for source in self.info()['sources']], [0])
        for file in self.directory.glob('*.gz'):
            file.unlink()
        exact = self.directory / 'count.out'
        result = self.run_tool('count', '-o', exact, '--', *command, timeout=record_support.TIMEOUT_S, env=ENVIRONMENT)
        self.assertEqual(result.returncode, 0, result)
        path = os.path.realpath(command[0])
        counted, expected = self.counted_by_lackey(path), count_support.Counts(exact).of(path)
        self.assertGreater(sum(expected.values()), 4000)
        self.assertEqual({hex(address): (counted[address], expected[address])
                          for address in counted.keys() | expected.keys()
                          if counted[address] != expected[address]}, {})

    @needs('valgrind')
    def test_lackey_counts_small_programs_exactly(self):
        self.assert_counts_of_lackey_are_exact(program('exact'))
        self.assert_counts_of_lackey_are_exact(program('loops'), 'trips', '30')

    @needs('valgrind')
    def test_lackey_counts_gzip_exactly(self):
        text = self.directory / 'text'
        text.write_text('counts of blocks, blocks of counts\n' * 20)
        self.assert_counts_of_lackey_are_exact(shutil.which('gzip'), '-k', text)

    @needs('valgrind')
    def test_lackey_lists_the_blocks_that_executed_most(self):
        result = self.run_lackey(program('exact'))
        self.assertRegex(result.stdout.splitlines()[0], r'^ +1000 times 4 instructions at 0x401005 of .*/exact, loop$')

    @needs('valgrind')
    def test_lackey_knows_the_mappings_of_a_program_that_is_faster_than_it(self):
        """Keeps the reader stopped until the program waits for it, or has ended."""
        wrapper = self.directory / 'valgrind'
        wrapper.write_text(FIRST_VALGRIND.format(valgrind=shutil.which('valgrind')))
        wrapper.chmod(0o755)
        result = self.run_lackey(program('exact'), PATH=f'{self.directory}:{os.environ["PATH"]}')
        self.assertRegex(result.stdout, r'^ +1000 times 4 instructions at 0x401005 of .*/exact, loop\n')

    def test_lackey_without_valgrind_or_program(self):
        result = self.run_lackey('/nothing', status=1, PATH='/nothing')
        self.assertEqual(result.stderr, 'valgrind, which has lackey: No such file or directory\n')
        if shutil.which('valgrind'):
            self.assertIn('nothing was executed', self.run_lackey('/nothing', status=1).stderr)

    def run_other(self, *command):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=record_support.TIMEOUT_S, cwd=self.directory,
                              stdin=subprocess.DEVNULL)
        if 'not supported' in done.stderr or 'not permitted' in done.stderr + done.stdout:
            self.skipTest(done.stderr or done.stdout)
        return done

    def record_by_perf(self, script, *arguments, until):
        """Returns the script's output for a recording of a program that runs for longer and longer, until its
        samples are in the tested blocks: their number depends on the machine."""
        for trips in (100_000, 400_000, 1_600_000, 6_400_000):
            done = self.run_other('perf', 'record', '-e', 'cpu-clock:u', '-c', 250000, '-o', 'perf.data',
                                  program('loops'), 'trips', trips)
            self.assertEqual(done.returncode, 0, done)
            done = self.run_other('perf', 'script', '-i', 'perf.data', '-s', script, *arguments)
            self.assertEqual(done.returncode, 0, done)
            if until(done.stdout):
                return done
        self.fail(f'no samples in the blocks in question: {done.stdout[-2000:]}')

    @needs('perf')
    @needs('valgrind')
    def test_perf_script_shows_blocks_of_samples(self):
        self.run_lackey(program('loops'), 'trips', '30')
        script = EXAMPLES / 'perf_script' / 'hbbp_blocks.py'
        done = self.record_by_perf(script, self.file, until=lambda output: all(
            re.search(rf' {label}\+0x[0-7]: ', output) for label in ('VaryingInner', 'NestedInner')))
        lines = [line for line in done.stdout.splitlines() if not line.startswith('note: ')]
        at = next(i for i, line in enumerate(lines) if ' samples in blocks of ' in line)
        lines, total, hottest = lines[:at], lines[at], lines[at + 1:]
        samples = self.run_other('perf', 'script', '-i', 'perf.data', '-F', 'ip').stdout.splitlines()
        self.assertEqual(len(lines), len(samples))
        without = sum('in no block of the profile' in line for line in lines)
        self.assertEqual(total, f'{len(lines) - without} samples in blocks of {self.file}, {without} in none; '
                                'taken-branches')
        # perf names the label before an instruction; the loop after it has that length. This profile has the counts: 30
        # rounds of 175 and of 140 iterations.
        for label, size, count in (('VaryingInner', 8, '5,250'), ('NestedInner', 12, '4,200')):
            address = count_support.symbols(program('loops'))[label]
            locations = [(int(re.search(rf' {label}\+(0x[0-9a-f]+): ', line)[1], 16), line) for line in lines
                      if f' {label}+' in line]
            in_loop = [line for offset, line in locations if offset < size]
            self.assertGreater(len(in_loop), 0)
            for line in in_loop:
                self.assertIn(f': 0x{address:x}-0x{address + size:x}, ', line)
                self.assertIn(f' instructions: {count} ± ', line)
        of_hottest = [int(line.split(' samples: ')[0]) for line in hottest]
        self.assertEqual(of_hottest, sorted(of_hottest, reverse=True))
        self.assertLessEqual(sum(of_hottest), len(lines) - without)
        self.assertIn(program('loops'), hottest[0])

    @needs('perf')
    def test_perf_script_shows_counts_of_its_own_recording(self):
        script = EXAMPLES / 'perf_script' / 'hbbp_blocks.py'
        done = self.record_by_perf(script, until=lambda output: output.count(' samples: ') > 2)
        self.assertEqual(self.run_tool('import', '-o', self.file, 'perf.data').returncode, 0)
        hottest = {(row['start'], row['end']): row for row in self.rows('blocks', self.file)}
        listed = re.findall(r'(?m)^ *(\d+) samples: \S+ \S+ (0x\w+)-(0x\w+), \d+ instructions: ([\d,]+) ', done.stdout)
        self.assertEqual(len(listed), done.stdout.count(' samples: '), done.stdout)
        self.assertEqual(len(listed), min(10, len(hottest)))
        for samples, start, end, count in listed:
            row = hottest[start, end]
            self.assertEqual(count, f'{row["count"]:,.0f}')
            # The unit is nanoseconds by instruction: a sample is 250,000 of them.
            self.assertAlmostEqual(int(samples) * 250000 / row['instructions'], row['count'], delta=1)
        self.assertRegex(done.stdout, r'(?m)^note: the source counts nanoseconds')
        done = self.run_other('perf', 'script', '-i', 'perf.data', '-s', script, '/nothing')
        self.assertIn('/nothing', done.stdout + done.stderr)

    @needs('gdb')
    @needs('valgrind')
    def test_gdb_shows_counts_next_to_code(self):
        self.run_lackey(program('loops'), 'trips', '30')
        commands = [f'source {EXAMPLES / "gdb" / "hbbp.py"}', f'hbbp-load {self.file}', 'hbbp-blocks Varying',
                    'hbbp-hot 1', 'break Irreducible', 'run trips 3', 'hbbp-blocks']
        done = self.run_other('gdb', '-nx', '-batch', *(word for command in commands for word in ('-ex', command)),
                              program('loops'))
        listing = done.stdout
        self.assertRegex(listing, r'[0-9]+ blocks of [0-9]+ files')
        self.assertRegex(listing, r'(?m)^# 0x[0-9a-f]+-0x[0-9a-f]+, 3 instructions: 5,250 ± [0-9,]+ times, ')
        self.assertRegex(listing, r'(?m)^loops Nested 0x[0-9a-f]+-0x[0-9a-f]+, 4 instructions: 4,200 ± [0-9,]+ times, ')
        # Addresses are those of the file and, where the frame is, of the process.
        self.assertRegex(listing, r'(?m)^ +5,250 +0x[0-9a-f]+ <\+11>:\s+add ')
        self.assertRegex(listing, r'(?m)^ +30 +=> 0x[0-9a-f]+ <\+0>:\s+xor ')
        self.assertRegex(listing, r'(?m)^ +1,200 +0x[0-9a-f]+ <\+10>:\s+add ')

    @needs('gdb')
    def test_gdb_says_what_is_wrong(self):
        def said(*commands):
            words = [word for command in commands for word in ('-ex', command)]
            return self.run_other('gdb', '-nx', '-batch', '-ex', f'source {EXAMPLES / "gdb" / "hbbp.py"}', *words,
                                  program('loops')).stderr
        self.assertIn('no profile; hbbp-load one first', said('hbbp-blocks Varying'))
        self.assertIn('no profile; hbbp-load one first', said('hbbp-hot'))
        self.assertIn('usage: hbbp-load FILE', said('hbbp-load'))
        self.assertIn("No such file or directory: 'nothing'", said('hbbp-load nothing'))
        self.assertIn('hbbp blocks: ', said(f'hbbp-load {EXAMPLES / "README.md"}'))

    def workflow_commands(self):
        """Returns {name: commands} of the steps of the workflow that run any."""
        lines = (EXAMPLES / 'ci' / 'profile.yml').read_text().splitlines()
        steps, name = {}, None
        for line in lines:
            named = re.fullmatch(r'      - name: (.*)', line)
            name = named.group(1) if named else None if line.startswith('      - ') else name
            run = re.fullmatch(r'        run: (.*)', line)
            if run:
                steps[name] = [] if run.group(1) == '|' else [run.group(1)]
            elif name in steps and line.startswith('          '):
                steps[name].append(line.strip())
        return {name: '\n'.join(commands) for name, commands in steps.items()}

    def run_workflow(self, before, after, rounds):
        """Runs the workflow for a change of the compiler's options; returns the step that checks, and the summary."""
        for file in self.directory.iterdir():
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        for name in ('check_profile.sh', 'limits.txt'):
            shutil.copy(EXAMPLES / 'ci' / name, self.directory)
        (self.directory / 'program.c').write_text(vector_program.SOURCE)
        summary = self.directory / 'summary'
        environment = dict(os.environ, GITHUB_ACTIONS='true', GITHUB_STEP_SUMMARY=str(summary), BEFORE='HEAD~1', SHARE='50%',
                           GIT_CONFIG_GLOBAL='/dev/null', PATH=f'{pathlib.Path(record_support.TOOL).parent}:{os.environ["PATH"]}')

        def run(*command, status=(0,)):
            done = subprocess.run(command, capture_output=True, text=True, cwd=self.directory, env=environment,
                                  timeout=record_support.TIMEOUT_S, stdin=subprocess.DEVNULL)
            self.assertIn(done.returncode, status, done)
            return done

        run('git', 'init', '-q')
        for options in (before, after):
            (self.directory / 'Makefile').write_text(f'program: program.c\n\tgcc {" ".join(options)} -o $@ $<\n')
            run('git', 'add', 'program.c', 'Makefile')
            run('git', '-c', 'user.name=test', '-c', 'user.email=test@localhost', 'commit', '-q', '--allow-empty', '-m', 'change')
        steps = self.workflow_commands()
        self.assertEqual(list(steps), ['Install hbbp', 'Build the code before and after', 'Record', 'Check', 'Report'])
        self.assertEqual(steps['Record'].count(' 1000000\n'), 2)
        for name in list(steps)[1:3]:
            run('bash', '-e', '-c', steps[name].replace(' 1000000\n', f' {rounds}\n'))
        check = run('bash', '-e', '-c', steps['Check'], status=(0, 1))
        run('bash', '-e', '-c', steps['Report'])
        self.assertIn('</html>', (self.directory / 'profile.html').read_text())
        return check, summary.read_text()

    @needs('git')
    @needs('make')
    def test_workflow_fails_where_vector_code_becomes_scalar(self):
        vector_program.build(self.directory, 'any', vector_program.VECTORS)
        for rounds in (100_000, 400_000, 1_600_000):
            check, summary = self.run_workflow(vector_program.VECTORS, vector_program.SCALAR, rounds)
            # With few samples, vector code may be there and not seen.
            if check.stdout.count('\nfails ') >= 2 or 'undecided  ' not in check.stdout:
                break
        self.assertEqual(check.returncode, 1, check)
        self.assertRegex(check.stdout, r'\nfails .* share\(packing = packed\) of \(function = Triad\) >= 25%\n')
        self.assertIn('::error title=Profile::The profile satisfies limits.txt: no\n', check.stdout)
        self.assertIn('### No function changed by more than 50% of all instructions\n```\nfunction ', summary)

    @needs('git')
    @needs('make')
    def test_workflow_passes_where_nothing_changes(self):
        vector_program.build(self.directory, 'any', vector_program.VECTORS)
        check, summary = self.run_workflow(vector_program.VECTORS, vector_program.VECTORS, 100_000)
        self.assertEqual(check.returncode, 0, check)
        self.assertNotIn('::error', check.stdout)
        self.assertRegex(summary, r'### The profile satisfies limits.txt\n```\noutcome +measured ')

    def run_fleet(self, directory, **environment):
        return subprocess.run([sys.executable, '-B', EXAMPLES / 'fleet' / 'fleet.py', directory], capture_output=True, text=True,
                              timeout=record_support.TIMEOUT_S, env={**os.environ, **environment}, stdin=subprocess.DEVNULL)

    def test_fleet_says_what_it_needs(self):
        result = self.run_fleet(self.directory, PATH='/nothing')
        if shutil.which('clickhouse-server', path='/usr/sbin') and shutil.which('clickhouse-client', path='/usr/sbin'):
            self.skipTest('ClickHouse is where the example always finds it')
        self.assertEqual(result.returncode, 77, result)
        self.assertIn('SKIPPED: needs clickhouse-server and clickhouse-client', result.stdout)

    def test_sums_of_a_database_are_those_of_merge(self):
        for number, trips in enumerate((3000, 6000, 3000, 4000)):
            host = self.directory / 'fleet' / f'host{number % 3}'
            host.mkdir(parents=True, exist_ok=True)
            result = self.run_tool('record', '--source', 'swbt', '-e', 'task-clock', '-c', 200_000, '-o',
                                   host / f'{number}.hbbp', '--', program('loops'), 'trips', trips)
            self.assertEqual(result.returncode, 0, result)
        result = self.run_fleet(self.directory / 'fleet')
        if result.returncode == 77:
            self.skipTest(result.stdout.removeprefix('SKIPPED: ').strip())
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stdout, r'(?m)^4 profiles, [\d,]+ rows of blocks in ')
        self.assertRegex(result.stdout, r'(?m)^  loops  3  [\d,]+$')
        blocks, mnemonics = re.findall(r'(?m)^(\d+) (?:blocks|mnemonics)\b.* differ by \S+ at most$', result.stdout)
        self.assertGreater(int(blocks), 3)
        self.assertGreater(int(mnemonics), 3)


record_support.main(ExamplesTest)
