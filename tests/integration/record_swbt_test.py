"""Tests software branch tracing of whole programs: they behave as without it, and their branches are
in the profile."""
import collections
import errno
import json
import os
import pathlib
import shutil
import subprocess
import time

import record_support
from record_support import PERIOD_NS, TOOL, needs_root, program, reported

MODES = ('lookahead', 'breakpoint', 'verify')
KEYS = {'kind', 'event', 'period', 'unit', 'samples', 'bursts', 'taken_branches', 'breakpoints',
        'lookahead_instructions', 'decoded_instructions', 'verified_branches', 'disagreements',
        'handler_ns', 'lost', 'throttled', 'unmapped', 'unexplained', 'unexplained_reasons', 'mode',
        'method', 'counters'}
# Share of streams that may cross a function that exists twice, or code that was written at run time.
MOST_UNEXPLAINED = 0.001


class RecordSwbtTest(record_support.RecordTest):

    def text(self):
        file = self.directory / 'text'
        file.write_text('\n'.join(f'{i * i} {i % 97} line' for i in range(30000)))
        return file

    def write(self, name, text):
        file = self.directory / name
        file.write_text(text)
        return file

    def tool(self, name):
        path = shutil.which(name)
        if path is None:
            self.skipTest(f'no {name} here')
        return path

    def source(self, file=None):
        found, = self.info(file)['sources']
        self.assertEqual(found['kind'], 'swbt')
        return found

    def trace(self, *command, mode='lookahead', status=0, period_ns=PERIOD_NS, options=(),
              **run_options):
        """Records; returns the finished process."""
        self.skip_without_breakpoints(mode)
        result = self.run_tool('record', '--source', 'swbt', '--mode', mode, '-e', 'task-clock', '-c', period_ns,
                               *options, '-o', self.file, '--', *command, **run_options)
        self.assertEqual(result.returncode, status, result)
        self.assert_no_parts()
        return result

    def skip_without_breakpoints(self, mode):
        if mode != 'lookahead' and record_support.why_no_breakpoints():
            self.skipTest(record_support.why_no_breakpoints())

    def record_with_ebs(self, *options):
        """Returns the two sources of a recording of Lua, which do not disturb each other."""
        lua = self.tool('lua5.4')
        script = self.write('work.lua', 'local n = 0 for i = 1, 4e7 do n = n + i % 7 end print(n)')
        result = self.run_tool('record', '--source', 'ebs,swbt', '-e', 'task-clock', *options, '-o', self.file,
                               '--', lua, script)
        self.assertEqual((result.returncode, result.stdout), (0, '120000000\n'), result)
        ebs, swbt = self.info()['sources']
        by_module = collections.Counter()
        for row in self.rows('blocks', '--estimator', 'ebs', self.file):
            by_module[os.path.basename(row['module'])] += row['count'] * row['instructions']
        of_tracer = sum(by_module[name] for name in by_module if name.startswith('libhbbp'))
        self.assertLessEqual(of_tracer, 0.01 * by_module.total(), by_module)
        return ebs, swbt

    def test_samples_in_handlers_are_not_the_program_s(self):
        self.skip_without_breakpoints('breakpoint')
        ebs, swbt = self.record_with_ebs('-c', PERIOD_NS // 5, '--mode', 'breakpoint')
        self.assertGreater(swbt['period'], ebs['period'])
        self.assertGreater(ebs['counters']['in-handler'], 10)

    def test_samples_in_step_with_handlers(self):
        # Depending on their start, the samples of one may always hit the other's handler, or never.
        ebs, swbt = self.record_with_ebs('-c', PERIOD_NS // 5, '--period-mode', 'fixed')
        self.assertEqual(swbt['period'], ebs['period'])

    def test_with_ebs(self):
        ebs, swbt = self.record_with_ebs('-c', PERIOD_NS)
        self.assertGreater(swbt['period'], ebs['period'])
        self.assertEqual((ebs['kind'], swbt['kind']), ('ebs', 'swbt'))
        self.assertEqual((ebs['lost'], swbt['unmapped']), (0, 0))
        # Both sample the same time.
        self.assertGreater(swbt['samples'], 20)
        found = ebs['samples'] + ebs['counters'].get('in-handler', 0)
        self.assertLess(abs(found - swbt['samples']), 0.3 * found + 10)
        counted_by = {}
        for estimator in ('auto', 'ebs', 'streams', 'tree'):
            rows = self.rows('blocks', '--estimator', estimator, self.file)
            counted_by[estimator] = {row['source'] for row in rows if row['count'] != 0 and
                                     row['module'].endswith('lua5.4')}
        self.assertEqual(counted_by['ebs'], {'ebs'})
        self.assertEqual(counted_by['streams'], {'swbt'})
        self.assertEqual(counted_by['auto'], {'swbt'})
        self.assertIn('swbt', counted_by['tree'])
        total = {estimator: sum(row['count'] * row['instructions']
                                for row in self.rows('blocks', '--estimator', estimator, self.file))
                 for estimator in ('ebs', 'streams')}
        self.assertAlmostEqual(total['ebs'] / total['streams'], 1, delta=0.1)

    def check_same(self, *command, mode='lookahead', min_bursts=5, threads=1, **options):
        """Checks for the same output and exit status as without tracing, and a sound profile."""
        self.skip_without_breakpoints(mode)
        plain = subprocess.run([str(word) for word in command], cwd=self.directory,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if plain.returncode == 77:
            self.skipTest(f'{command[0]} cannot run here')
        status = plain.returncode if plain.returncode >= 0 else 128 - plain.returncode
        result = self.trace(*command, mode=mode, status=status, **options)
        self.assertEqual(result.stdout, plain.stdout)
        source = self.source()
        self.check_sound(source, mode, min_bursts)
        if mode == 'verify' and threads == 1:
            self.assertEqual(source['disagreements'], 0, source)
        return source

    def check_sound(self, source, mode, min_bursts=5):
        self.assertLessEqual(KEYS, source.keys())
        self.assertEqual(source['mode'], mode)
        self.assertGreaterEqual(source['bursts'], min_bursts, source)
        self.assertGreaterEqual(source['taken_branches'], 2 * source['bursts'], source)
        self.assertLessEqual(source['unexplained'], MOST_UNEXPLAINED * source['taken_branches'],
                             source)
        if mode == 'lookahead':
            self.assertGreater(source['lookahead_instructions'], source['taken_branches'])
        # If there are only some dozens, as where most bursts end early, many may be resolved by the code alone.
        if mode == 'breakpoint' and source['taken_branches'] >= 1000:
            self.assertGreaterEqual(source['breakpoints'], source['taken_branches'] / 2)
        # Where no breakpoint may be, as in a restartable sequence, bursts end with nothing to verify.
        if mode == 'verify' and min_bursts > 0:
            self.assertGreater(source['verified_branches'], 0, source)
        self.assertGreater(source['handler_ns'], 0)

    # Real programs ------------------------------------------------------------------------------

    def compress(self, mode, *command, **options):
        """Compares the checksum of the bytes that a program writes."""
        self.skip_without_breakpoints(mode)
        text = self.text()
        with open(text, 'rb') as file:
            plain = subprocess.run(command, stdin=file, stdout=subprocess.PIPE, check=True).stdout
        with open(text, 'rb') as file:
            traced = subprocess.run(
                [TOOL, 'record', '--source', 'swbt', '--mode', mode, '-e', 'task-clock', '-c', str(PERIOD_NS), '-o',
                 self.file, '--', *command], stdin=file, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, timeout=record_support.TIMEOUT_S)
        self.assertEqual(traced.returncode, 0, traced.stderr)
        self.assertEqual(traced.stdout, plain)
        source = self.source()
        self.check_sound(source, mode)
        if mode == 'verify' and options.get('threads', 1) == 1:
            self.assertEqual(source['disagreements'], 0, source)

    def test_bzip2(self):
        self.compress('lookahead', self.tool('bzip2'), '-c')

    def test_bzip2_by_breakpoints(self):
        self.compress('breakpoint', self.tool('bzip2'), '-c')

    def test_bzip2_verified(self):
        self.compress('verify', self.tool('bzip2'), '-c')

    def test_xz_with_two_threads(self):
        self.compress('lookahead', self.tool('xz'), '-c', '-T2', '-3', threads=2)

    def test_xz_verified(self):
        self.compress('verify', self.tool('xz'), '-c', '-T1', '-1')

    def perl(self, mode):
        self.check_same(self.tool('perl'), '-e',
                        'my %h; for my $i (1..480000) { my $k = "k" . ($i * 7919 % 1009); '
                        '$h{$k} += length($k); $h{$k} =~ s/1/2/; } '
                        'print join(",", map { "$_=$h{$_}" } sort keys %h), "\\n";', mode=mode)

    def test_perl(self):
        self.perl('lookahead')

    def test_perl_by_breakpoints(self):
        self.perl('breakpoint')

    def test_perl_verified(self):
        self.perl('verify')

    def python(self, mode):
        self.check_same(self.tool('python3'), '-c',
                        'import json, re, math\n'
                        'd = {str(i): [math.sqrt(i), i * "x"] for i in range(200)}\n'
                        'for _ in range(25): d = json.loads(json.dumps(d))\n'
                        'print(sum(len(re.sub("x+", "y", v[1])) + v[0] for v in d.values()))',
                        mode=mode)

    def test_python(self):
        self.python('lookahead')

    def test_python_verified(self):
        self.python('verify')

    def lua(self, mode):
        self.check_same(self.tool('lua5.4'), '-e',
                        'local t, s = {}, 0 for i = 1, 400000 do t[i % 100 + 1] = i * 1.5; '
                        's = s + #tostring(t[i % 7 + 1] or "") end print(s)', mode=mode)

    def test_lua(self):
        self.lua('lookahead')

    def test_lua_by_breakpoints(self):
        self.lua('breakpoint')

    def test_lua_verified(self):
        self.lua('verify')

    def sqlite3(self, mode):
        self.check_same(self.tool('sqlite3'), ':memory:',
                        'create table t(a integer, b text); '
                        'with recursive n(i) as (select 1 union all select i + 1 from n where '
                        "i < 60000) insert into t select i * 7919 % 1009, 'v' || i from n; "
                        'create index x on t(a); '
                        'select a, count(*), sum(length(b)) from t group by a order by 3 limit 20;',
                        mode=mode)

    def test_sqlite3(self):
        self.sqlite3('lookahead')

    def test_sqlite3_verified(self):
        self.sqlite3('verify')

    def cc1(self, mode):
        gcc = self.tool('gcc')
        cc1 = subprocess.run([gcc, '-print-prog-name=cc1'], stdout=subprocess.PIPE, text=True,
                             check=True).stdout.strip()
        code = self.write('code.c', '\n'.join(
            f'int f{i}(int a, const int *p) {{ int s = {i}; for (int i = 0; i < a; i++) '
            f's += p[i] * {i + 3} ^ (s >> {i % 7}); return s % {i + 11}; }}' for i in range(80)))
        self.check_same(cc1, '-quiet', '-O2', '-o', '/dev/stdout', code, mode=mode)

    def test_vector_code_with_accesses(self):
        self.check_same(program('vectors'), 12000, options=('--keep-accesses',))
        self.assertGreater(self.info()['kept_bursts'], 0)

    def test_cc1(self):
        self.cc1('lookahead')

    def test_cc1_verified(self):
        self.cc1('verify')

    # Programs with signals, masks and stacks of their own ---------------------------------------

    def handlers(self, how, milliseconds=150, **options):
        for mode in MODES:
            with self.subTest(mode):
                self.check_same(program('handlers'), how, milliseconds, mode=mode, **options)

    def test_own_handlers_from_the_start(self):
        self.handlers('early')

    def test_own_handlers_later(self):
        self.handlers('late')

    def test_own_handlers_by_signal(self):
        self.handlers('signal')

    def test_own_handlers_by_syscall(self):
        self.handlers('syscall')

    def test_own_handlers_find_the_registers_of_what_they_interrupt(self):
        self.handlers('registers')

    def test_child_that_resets_handlers_by_syscall(self):
        self.handlers('reset')

    def test_handlers_set_behind_our_back_are_found(self):
        # Until the worker finds out, samples reach the handler of the program.
        result = self.trace(program('handlers'), 'kernel', 150)
        traps, faults = [int(word.split()[0]) for word in result.stdout.split(',')]
        self.assertGreaterEqual(traps, 50)
        self.assertEqual(faults, 50)
        self.check_sound(self.source(), 'lookahead')

    def test_handlers_that_a_vforked_child_resets_for_itself(self):
        self.handlers('vfork')

    def test_fault_ends_the_program(self):
        self.handlers('fault', min_bursts=0)

    def test_trap_ends_the_program(self):
        self.handlers('trap', min_bursts=0)

    def test_threads_that_block_all_signals_are_traced(self):
        self.handlers('blocked', threads=4, min_bursts=50)

    def test_threads_that_block_all_signals_by_the_kernel_are_unharmed(self):
        self.trace(program('handlers'), 'blocked_by_kernel', 100)

    def notes(self):
        result = self.run_tool('mix', self.file)
        self.assertEqual(result.returncode, 0, result)
        return [line for line in result.stdout.splitlines() if line.startswith('note: ')]

    def test_time_of_threads_that_block_all_signals_by_the_kernel_is_said(self):
        result = self.trace(program('unseen'), 'blocked', 4000, period_ns=20_000_000)
        self.assertIn('in threads that block SIGTRAP', result.stderr)
        note, = [note for note in self.notes() if 'SIGTRAP' in note]
        milliseconds = int(note.split(' took about ')[1].split(' ms')[0].replace(',', ''))
        self.assertEqual(milliseconds, self.source()['counters']['signal-blocked-ms'])
        self.assertGreater(milliseconds, 100)
        self.assertLess(milliseconds, 6000)

    def test_code_without_branches_is_said(self):
        self.trace(program('unseen'), 'straight', 900)
        note, = [note for note in self.notes() if 'no two taken branches' in note]
        bursts = self.source()['counters']['no-stream']
        self.assertGreater(bursts, 20)
        self.assertIn(f'{bursts:,} bursts', note)

    def test_small_alternate_stack(self):
        self.handlers('small_alternate_stack')

    def test_tiny_alternate_stack(self):
        self.handlers('tiny_alternate_stack')

    def test_handlers_on_an_alternate_stack(self):
        self.handlers('on_alternate_stack')

    def coroutines(self, stack_bytes, *in_thread):
        for mode in MODES:
            with self.subTest(mode):
                self.check_same(program('coroutines'), 32, 3000, stack_bytes, *in_thread, mode=mode,
                                period_ns=500_000)

    def test_coroutines(self):
        self.coroutines(16384)

    def test_coroutines_on_small_stacks(self):
        self.coroutines(4096)

    def test_coroutines_on_small_stacks_of_a_thread(self):
        self.coroutines(2048, 'posix')

    def test_coroutines_on_small_stacks_of_a_standard_thread(self):
        self.coroutines(2048, 'standard')

    def test_threads_with_and_without_alternate_stacks(self):
        for mode in MODES:
            with self.subTest(mode):
                self.check_same(program('thread_life'), mode=mode, period_ns=500_000)

    def restartable(self, where):
        for mode in MODES:
            with self.subTest(mode):
                self.check_same(program('restartable'), where, 400_000, mode=mode, min_bursts=0,
                                period_ns=300_000)

    def test_restartable_sequence_of_a_section(self):
        self.restartable('SECTION')

    def test_restartable_sequence_that_no_section_lists(self):
        self.restartable('ANYWHERE')

    def test_debug_exceptions_without_a_reason(self):
        # Hypervisors deliver some, and they would end a program that did not ask for them.
        count = 300
        self.skip_without_breakpoints('breakpoint')
        if subprocess.run([program('strays'), '10'], capture_output=True).returncode == 77:
            self.skipTest('this machine never gets over an int1')
        for reason in [], ['step']:
            with self.subTest(reason):
                result = self.trace(program('strays'), count, *reason, mode='breakpoint',
                                    options=('--burst', '65536'))
                strays, of_int1 = [int(word.split()[0]) for word in result.stdout.split(',')]
                self.assertEqual(of_int1, count)
                # Before the first burst there was no breakpoint at the branch.
                self.assertLess(strays, count / 30)
                self.assertGreater(self.source()['counters']['stray-traps'], count / 2)

    # Processes and threads ----------------------------------------------------------------------

    def test_fork(self):
        for mode in MODES:
            with self.subTest(mode):
                self.skip_without_breakpoints(mode)
                for file in self.children().values():
                    file.unlink()
                result = self.trace(program('forks'), 'fork', 60, mode=mode)
                self.assertEqual(len(reported(result.stdout)), 4)
                self.assertEqual(len(self.children()), 3)
                for file in (self.file, *self.children().values()):
                    self.check_sound(self.source(file), mode)

    def test_forked_processes_do_not_begin_densely_anew(self):
        result = self.run_tool('record', '--source', 'swbt', '-e', 'task-clock', '-o', self.file, '--', program('forks'),
                               'grandchild', 1100)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(len(self.children()), 2)
        for file in self.children().values():
            source = self.source(file)
            # Of some 220 samples; a program that begins densely leaves 15 out, and has 200 bursts unless they are expensive.
            self.assertGreater(source['counters'].get('left-out', 0), 60, source)
            self.assertGreater(source['bursts'], 5, source)

    def test_own_memory_is_not_taken_for_that_of_other_processes(self):
        # To such memory others may store, which explains what mode verify would call a disagreement.
        result = self.trace(self.tool('cat'), '/proc/self/maps')
        shared = [line for line in result.stdout.splitlines() if line.split()[1].startswith('rw') and 's' in line.split()[1]]
        self.assertTrue(any('/memfd:hbbp-start' in line for line in shared), result.stdout)
        others = [line for line in shared if '/memfd:hbbp-' not in line and 'anon_inode:' not in line]
        self.assertEqual(others, [])

    def test_many_forks(self):
        self.trace(program('forks'), 'bomb', 50)

    def test_fork_in_threads(self):
        self.trace(program('forks'), 'threads', 40)
        self.assertEqual(len(self.children()), 4)

    def test_clone_without_libc(self):
        self.trace(program('forks'), 'raw_fork', 60)
        self.trace(program('forks'), 'raw_clone', 60)

    def test_daemon_that_closes_all_descriptors(self):
        done = self.directory / 'done'
        result = self.trace(program('forks'), 'daemon', 100, done)
        deadline = time.monotonic() + record_support.TIMEOUT_S
        while not done.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertTrue(done.exists(), result)

    def test_exec(self):
        for how in ('execve', 'execlp', 'fexecve'):
            with self.subTest(how):
                script = self.write('script', f'#!/bin/sh\nexec "{program("ends")}" "$1" 100\n')
                script.chmod(0o755)
                self.trace(program('execs'), how, 100, script, 'return')
                self.assertIn('ends return 100', self.info()['command'])

    def test_vfork_and_exec(self):
        script = self.write('script', f'#!/bin/sh\nexec "{program("ends")}" "$1" 100\n')
        script.chmod(0o755)
        for how in ('vfork', 'vfork_fail', 'posix_spawn', 'system'):
            with self.subTest(how):
                self.trace(program('execs'), how, 100, script, 'return')
                self.check_sound(self.source(), 'lookahead')

    def test_exit_statuses(self):
        for how, status in (('exit', 3), ('_exit', 255), ('quick_exit', 5), ('threads', 7)):
            with self.subTest(how):
                self.trace(program('ends'), how, 60, status, status=status)

    def test_underscore_exit_in_handler_that_interrupted_malloc(self):
        for _ in range(5):
            self.trace(program('ends'), 'handler', 5, status=5)

    def test_processes_that_end_within_a_period_are_sampled(self):
        runs = 60
        script = f'for i in $(seq {runs}); do "$0" return 30; done'
        result = self.run_tool('record', '--source', 'swbt', '-e', 'task-clock', '-c', 60_000_000, '-o', self.file, '--',
                               'sh', '-c', script, program('ends'))
        self.assertEqual(result.returncode, 0, result)
        sampled = sum(source['bursts'] for file in self.children().values() for source in self.info(file)['sources'])
        # Half of them have a burst; this is six standard deviations.
        self.assertLess(abs(sampled - runs / 2), 24)

    def test_threads_born_and_dying(self):
        for mode in MODES:
            with self.subTest(mode):
                self.skip_without_breakpoints(mode)
                self.trace(program('threads'), 'many', 15, mode=mode)
                self.check_sound(self.source(), mode)

    def test_threads_on_small_stacks(self):
        self.trace(program('threads'), 'small_stacks', 15)

    def test_work_of_threads_is_shared_out(self):
        self.trace(program('threads'), 'shares', 60)
        bursts = {thread['name']: thread['samples'] for thread in self.info()['thread_list']}
        self.assertGreater(bursts['six'], bursts['three'])
        self.assertGreater(bursts['three'], bursts['one'])

    def unfriendly(self, how, *arguments):
        self.trace(program('unfriendly'), how, 100, *arguments)
        self.check_sound(self.source(), 'lookahead')

    def test_closes_all_descriptors(self):
        self.unfriendly('closefrom')

    def test_overwrites_all_descriptors(self):
        self.unfriendly('overwrite')

    def test_has_timers_and_handlers(self):
        self.unfriendly('signals')

    def test_keeps_errno(self):
        self.unfriendly('errno')

    def test_forbids_itself_to_read_the_time_stamp_counter(self):
        for mode in ('lookahead', 'verify'):
            with self.subTest(mode):
                self.check_same(program('forbidden_ticks'), mode=mode)

    @needs_root
    def test_drops_privileges(self):
        self.unfriendly('setuid')

    # What a machine may refuse ------------------------------------------------------------------

    def test_debug_registers_taken_by_the_program(self):
        self.skip_without_breakpoints('breakpoint')
        for mode in MODES:
            with self.subTest(mode):
                plain = subprocess.run([program('debug_registers'), '50'], stdout=subprocess.PIPE,
                                       text=True)
                if plain.returncode == 77:
                    self.skipTest('no breakpoints of its own')
                result = self.trace(program('debug_registers'), 200, mode=mode)
                self.assertEqual(result.stdout, plain.stdout)
                source = self.source()
                self.assertGreater(source['counters']['no-debug-register'], 5, source)
                self.assertIn('debug registers', result.stderr)
                if mode == 'lookahead':
                    self.check_sound(source, mode)

    def child_of(self, process):
        children = pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children')
        deadline = time.monotonic() + record_support.TIMEOUT_S
        while not children.read_text() and time.monotonic() < deadline:
            time.sleep(0.02)
        return int(children.read_text().split()[0])

    def test_debugger_takes_all_debug_registers(self):
        gdb = self.tool('gdb')
        self.skip_without_breakpoints('breakpoint')
        process = subprocess.Popen(
            [TOOL, 'record', '--source', 'swbt', '--mode', 'breakpoint', '-e', 'task-clock', '-c', str(PERIOD_NS), '-o',
             self.file, '--', program('ends'), 'return', '3000', '3'], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        child = self.child_of(process)
        time.sleep(0.3)
        commands = ['handle SIGTRAP nostop noprint pass', 'hbreak getuid', 'hbreak getgid',
                    'hbreak geteuid', 'hbreak getegid', 'continue']
        # When gdb stops a thread that waits for a breakpoint, it has one register too few itself.
        for _ in range(10):
            debugged = subprocess.run(
                [gdb, '-q', '-batch', '-p', str(child), *(f'-ex={command}' for command in commands)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, timeout=record_support.TIMEOUT_S)
            if 'No space left' not in debugged.stdout:
                break
        err = process.communicate(timeout=record_support.TIMEOUT_S)[1]
        if 'ptrace' in debugged.stdout:
            self.skipTest('gdb may not attach')
        self.assertEqual(process.returncode, 3, debugged.stdout)
        self.assertIn('debug registers', err, debugged.stdout)
        self.assertGreater(self.source()['counters']['no-debug-register'], 50)

    def test_what_a_debugger_starts_is_sampled_without_signals(self):
        gdb = self.tool('gdb')
        command = [gdb, '-q', '-batch', '-nx', '-ex', 'set debuginfod enabled off', '-ex', 'break geteuid', '-ex', 'run',
                   '-ex', 'delete', '-ex', 'continue', '--args', program('ends'), 'return', '300', '3']
        plain = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, timeout=record_support.TIMEOUT_S)
        if 'exited with code 03' not in plain.stdout:
            self.skipTest('gdb may not debug here')
        result = self.run_tool('record', '-c', 500_000, '-e', 'task-clock', '-o', self.file, '--', *command)
        self.assertIn('exited with code 03', result.stdout)
        self.assertNotIn('received signal', result.stdout)
        self.assertNotIn('aborted', result.stdout + result.stderr)
        # The process was gdb itself before, which nothing traced.
        parts = [part for part in self.directory.glob(self.file.name + '.*') if part.suffix[1:].isdigit()]
        ended = [row for part in parts for row in self.rows('mix', '--by', 'source,module', part)
                 if row['module'].endswith('/ends')]
        self.assertEqual({row['source'] for row in ended}, {'ebs'}, parts)

    def without_perf(self, error_number, *options, command=()):
        result = subprocess.run(
            [program('refuse_perf'), str(error_number), TOOL, 'record', '--source', 'swbt', '-e', 'task-clock', '-c',
             str(PERIOD_NS), *options, '-o', self.file, '--', *(command or (program('ends'), 'exit', '400', '3'))],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=record_support.TIMEOUT_S)
        if result.returncode == 77:
            self.skipTest('no seccomp filters')
        return result

    def test_timers_where_perf_events_are_refused(self):
        for error_number in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            with self.subTest(errno.errorcode[error_number]):
                result = self.without_perf(error_number)
                self.assertEqual(result.returncode, 3, result)
                source = self.source()
                self.check_sound(source, 'lookahead')
                self.assertEqual(source['breakpoints'], 0)
                self.assertIn('timers', source['method'])
                self.assertIn(errno.errorcode[error_number], source['method'])
                self.assertIn('timers', self.run_tool('info', self.file).stdout)

    def test_a_thread_that_a_waiting_program_starts_gets_its_timer_at_once(self):
        """Threads inherit no timers, and a worker looks rarely at a program that does nothing."""
        run_ms, waited_ms, longest_tick_ms = 300, 4000, 10
        result = self.without_perf(errno.EACCES, command=(program('threads'), 'late', str(run_ms), str(waited_ms)))
        self.assertEqual(result.returncode, 0, result)
        self.assertGreater(self.source()['bursts'], run_ms / longest_tick_ms / 2, result)

    def test_modes_that_need_breakpoints_say_so(self):
        for mode in ('breakpoint', 'verify'):
            with self.subTest(mode):
                result = self.without_perf(errno.EPERM, '--mode', mode)
                self.assertEqual(result.returncode, 2, result)
                self.assertIn('needs breakpoints', result.stderr)
                self.assertIn('EPERM', result.stderr)
                self.assertFalse(self.file.exists())

    def test_doctor_reports_the_method(self):
        rows = {row['name']: row for row in self.rows('doctor')}
        self.assertEqual(rows['branch_tracing']['state'], 'supported')
        if rows['sigtrap']['state'] == 'supported':
            self.assertIn('sigtrap', rows['branch_tracing']['detail'])
        command = [program('refuse_perf'), str(errno.EACCES), TOOL, 'doctor', '--format', 'json']
        refused = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if refused.returncode == 77:
            self.skipTest('no seccomp filters')
        rows = {row['name']: row for row in json.loads(refused.stdout)['rows']}
        self.assertEqual(rows['branch_tracing']['state'], 'supported')
        self.assertIn('timers', rows['branch_tracing']['detail'])
        self.assertIn('EACCES', rows['branch_tracing']['detail'])
        self.assertIn('seccomp', rows['branch_tracing']['advice'])

    def test_without_executable_memory_of_its_own(self):
        limit = f'ulimit -f 0; exec "{TOOL}" doctor --format json'
        doctor = subprocess.run(['sh', '-c', limit], stdout=subprocess.PIPE, text=True, check=True)
        rows = {row['name']: row for row in json.loads(doctor.stdout)['rows']}
        self.assertEqual(rows['native_stubs']['state'], 'denied')
        self.assertIn('ulimit', rows['native_stubs']['advice'])

    def test_few_descriptors(self):
        script = f'ulimit -n 16; exec "{program("threads")}" many 15'
        self.trace('sh', '-c', script)

    def test_little_address_space(self):
        script = f'ulimit -v 600000; exec "{program("ends")}" return 150'
        self.trace('sh', '-c', script)
        self.check_sound(self.source(), 'lookahead')

    # Options ------------------------------------------------------------------------------------

    def test_duration(self):
        self.trace(program('ends'), 'return', 1000, options=('--duration', '0.3'))
        # It is wall-clock time, in which others may have run.
        self.assertGreater(self.milliseconds(), 50)
        self.assertLess(self.milliseconds(), 400)

    def test_length_of_bursts(self):
        for branches in (2, 16, 5000):
            with self.subTest(branches):
                self.trace(program('ends'), 'return', 200, options=('--burst', branches))
                source = self.source()
                self.assertGreater(source['taken_branches'], 0.9 * branches * source['bursts'])
                # One more was in progress at the end.
                self.assertLess(source['taken_branches'], branches * (source['bursts'] + 1))

    def test_as_many_branches_as_the_period_says(self):
        self.assert_whole(self.trace(program('ends'), 'return', 400))

    def test_profile_names_the_work(self):
        self.trace(program('ends'), 'return', 300)
        top = self.rows('blocks', self.file, '--top', 1)[0]
        self.assertEqual(top['source'], 'swbt')
        self.assertEqual(pathlib.Path(top['module']).name, 'ends')
        self.assertGreater(sum(row['instructions'] for row in self.rows('mix', self.file)), 1e6)


if __name__ == '__main__':
    record_support.main(RecordSwbtTest)
