"""Tests processes that make others: each has its own profile, as large as its CPU time."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import unittest

import record_support
from record_support import program, reported


class RecordForkTest(record_support.RecordTest):

    def check_family(self, how, children):
        result = self.record(program('forks'), how, 200)
        worked = reported(result.stdout)
        parent = self.assert_whole(result)['pid']
        self.assertEqual(self.children().keys(), worked.keys() - {parent})
        self.assertEqual(len(self.children()), children)
        for child, file in self.children().items():
            self.assertEqual(self.info(file)['pid'], child)
            self.assert_close(self.milliseconds(file), worked[child])

    def test_children(self):
        self.check_family('fork', 3)

    def test_grandchild(self):
        self.check_family('grandchild', 2)

    def child_that_gives_up(self, what, *options):
        """Returns the profile of a child that gives up something at once, and its CPU time in ms."""
        result = self.run_tool('record', '-e', 'task-clock', '-c', 10_000_000, *options, '-o', self.file,
                               program('forks'), what, 400)
        self.assertEqual(result.returncode, 0, result)
        (child, file), = self.children().items()
        return file, reported(result.stdout)[child]

    @record_support.needs_root
    def test_child_that_changes_its_user_at_once(self):
        # Only root may count what the kernel does, unless perf_event_paranoid is low.
        file, worked = self.child_that_gives_up('user', '--source', 'ebs', '--kernel')
        self.assert_close(self.milliseconds(file), worked)

    def test_child_that_sets_a_filter_at_once(self):
        # The worker cannot be asked to save at the end.
        file, _ = self.child_that_gives_up('filter', '--source', 'ebs')
        self.assertGreater(self.milliseconds(file), 0)

    def test_child_that_limits_its_memory_at_once(self):
        for source in 'ebs', 'swbt':
            file, worked = self.child_that_gives_up('limit', '--source', source)
            self.assert_close(self.milliseconds(file), worked)

    def test_fork_in_threads(self):
        self.check_family('threads', 4)

    def test_raw_fork_leaves_the_profile_of_the_parent_alone(self):
        self.assert_whole(self.record(program('forks'), 'raw_fork', 200))

    def test_raw_clone_leaves_the_profile_of_the_parent_alone(self):
        self.assert_whole(self.record(program('forks'), 'raw_clone', 200))

    def test_200_short_children(self):
        # None of them takes a period, even where pages are slow.
        self.record(program('forks'), 'bomb', 500, period_ns=50_000_000)
        self.assertEqual(list(self.directory.iterdir()), [self.file])

    def check_fork_in_handler(self, how):
        for source in ('ebs', 'swbt'):
            result = self.run_tool('record', '--source', source, '-c', 1_000_000, '-o', self.file,
                                   program('forks'), how, 20)
            self.assertEqual(result.returncode, 0, result)
            self.assertGreater(self.milliseconds(), 0)

    def test_fork_in_handler_that_interrupted_malloc(self):
        self.check_fork_in_handler('handler')

    def test_fork_in_handler_that_blocks_no_signal(self):
        self.check_fork_in_handler('nodefer_handler')

    def kill_process_in_the_background(self, id_file):
        process = id_file.read_text().strip()
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if program('ends').encode() in pathlib.Path('/proc', process, 'cmdline').read_bytes():
                os.kill(int(process), signal.SIGKILL)

    def leave(self, command, then='true'):
        """Records a shell that leaves one process behind until the end of the test, and returns the id of that."""
        id_file = self.directory / 'process'
        id_file.touch()
        self.addCleanup(self.kill_process_in_the_background, id_file)
        result = self.run_tool('record', '--source', 'ebs', '-e', 'task-clock', '-c', record_support.PERIOD_NS,
                               '-o', self.file, 'sh', '-c', f'{command} > /dev/null 2>&1 & echo $! > "{id_file}"; {then}')
        self.summary = result.stderr
        self.assertEqual(result.returncode, 0, result)
        self.assertIn('exit status 0, ', result.stderr)
        note = re.search(r'note: process ([0-9]+) \((ends|sh)\) still runs, .* its profile is in (.*)\n', result.stderr)
        self.assertIsNotNone(note, result)
        self.assertEqual(note[3], f'{self.file}.{note[1]}')
        return int(note[1])

    def test_daemon_keeps_its_profile(self):
        done = self.directory / 'done'
        self.record(program('forks'), 'daemon', 700, done)
        self.assertTrue(done.exists())
        milliseconds = {pid: self.milliseconds(file) for pid, file in self.children().items()}
        daemon = max(milliseconds, key=milliseconds.get)
        self.assertEqual(self.info(self.children()[daemon])['pid'], daemon)
        self.assert_close(milliseconds.pop(daemon), 700)
        # Where pages are slow, the process between has a sample or two.
        self.assertLessEqual(len(milliseconds), 1)
        self.assertLess(sum(milliseconds.values()), 20)

    def test_process_in_the_background_is_profiled_until_it_ends(self):
        process = self.leave(f'"{program("ends")}" return 2000')
        self.wait_for(self.has_no_parts)
        self.assert_close(self.milliseconds(self.children()[process]), 2000)
        self.assertIn('ends return 2000', self.info(self.children()[process])['command'])

    def test_process_in_the_background_may_execute_another_program(self):
        busy = 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done'
        process = self.leave(f'({busy}; exec "{program("ends")}" return 500)')
        self.wait_for(self.has_no_parts)
        profile = self.children()[process]
        self.assertGreater(self.milliseconds(profile), 500)
        self.assertIn('ends return 500', self.info(profile)['command'])
        self.assertIn('sh', {pathlib.Path(row['module']).name.replace('dash', 'sh').replace('bash', 'sh')
                             for row in self.rows('mix', '--by', 'module', profile)})

    def test_child_that_is_killed_is_said_to_lack_its_end(self):
        script = f'"{program("ends")}" return 600000 & sleep 0.7; kill -KILL $!; wait $!; true'
        result = self.run_tool('record', '-e', 'task-clock', '-c', 1_000_000, '-o', self.file, 'sh', '-c', script)
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stderr, r'process \d+ .*: [\d,]+ samples? of its first [\d.]+ m?s, as it was killed or')

    def test_process_in_the_background_that_is_killed_keeps_what_was_counted(self):
        # It runs for so long that the test fails if what reads the output of hbbp record waits for it.
        process = self.leave(f'exec "{program("ends")}" return 600000')
        self.wait_for(lambda: any(self.milliseconds(path) > 50
                                  for path in self.directory.glob(f'*.parts-*/*/{process}.*.partial')))
        os.kill(process, signal.SIGKILL)
        self.wait_for(self.has_no_parts)
        self.assertGreater(self.milliseconds(self.children()[process]), 50)

    def test_process_in_the_background_with_a_checkpoint_is_not_said_to_be_killed(self):
        saved = f'"{self.directory}"/*.parts-*/*/$!.*.partial'
        process = self.leave(f'exec "{program("ends")}" return 600000', f'until ls {saved}; do sleep 0.1; done; sleep 0.5')
        self.assertRegex(self.summary, rf'process {process} .* samples? of its first [\d.]+ m?s, wrote ')
        self.assertNotIn('killed', self.summary)

    def test_parts_of_a_process_in_the_background_outlast_another_run(self):
        go = self.directory / 'go'
        process = self.leave(f'(while [ ! -e "{go}" ]; do :; done; exec "{program("ends")}" return 300)')
        self.assertEqual(self.run_tool('record', '-o', self.file, 'true').returncode, 0)
        self.assertFalse(self.has_no_parts())
        go.touch()
        self.wait_for(self.has_no_parts)
        self.assertGreater(self.milliseconds(self.children()[process]), 250)
        self.assertEqual(self.info()['command'], 'true')

    def test_children_that_save_while_profiles_are_stored(self):
        children = f'for i in $(seq 40); do "{program("ends")}" return 20 > /dev/null & done'
        for hundredths in range(5, 65, 5):
            result = self.record('sh', '-c', f'{children}; sleep 0.{hundredths:02}')
            self.assertNotIn('No such file', result.stderr)
            for file in self.children().values():
                self.assertGreater(self.milliseconds(file), 0)

    def test_children_of_an_earlier_run_are_removed(self):
        self.record(program('forks'), 'fork', 50)
        earlier = self.children()
        self.assertEqual(len(earlier), 3)
        other_run = self.directory / 'out.data.2'
        shutil.copy(self.file, other_run)
        foreign = self.directory / 'out.data.1'
        foreign.write_text('not a profile')
        self.record(program('ends'), 'return', 50)
        self.assertEqual(set(self.children().values()), {other_run, foreign})

    def test_python_multiprocessing(self):
        python = shutil.which('python3', path='/usr/bin:/bin')
        if python is None:
            raise unittest.SkipTest('no python3')
        script = self.directory / 'pool.py'
        script.write_text('''
import multiprocessing, os, resource, subprocess

def work(n):
    sum(i * i for i in range(2_000_000))
    return os.getpid(), int(resource.getrusage(resource.RUSAGE_SELF).ru_utime * 1000)

if __name__ == '__main__':
    for method in ('fork', 'spawn', 'forkserver'):
        with multiprocessing.get_context(method).Pool(2) as pool:
            for pid, milliseconds in pool.map(work, range(4), chunksize=1):
                print(pid, milliseconds)
            pool.close()
            pool.join()
    print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout)
''')
        result = self.record(python, script)
        self.assertIn('child', result.stdout)
        worked = reported(result.stdout)
        self.assertLessEqual(worked.keys(), self.children().keys())
        for child, milliseconds in worked.items():
            # This is up to the end of the process, which worked a little more after its report.
            self.assertGreater(self.milliseconds(self.children()[child]), 0.6 * milliseconds)

    def test_perl_fork(self):
        if shutil.which('perl') is None:
            raise unittest.SkipTest('no perl')
        self.record('perl', '-e', 'for (1..3) { if (!fork) { $s += $_ for 1..2000000; exit } }'
                                  '1 while wait > 0')
        self.assertEqual(len(self.children()), 3)

    def test_make_with_jobs(self):
        if shutil.which('make') is None:
            raise unittest.SkipTest('no make')
        makefile = self.directory / 'makefile'
        makefile.write_text('all: a b c d\na b c d:\n'
                            f'\t+@MAKEFLAGS= "{program("ends")}" return 100\n')
        result = self.record('make', '-s', '-j3', '-f', makefile)
        worked = reported(result.stdout)
        self.assertEqual(len(worked), 4)
        for child, milliseconds in worked.items():
            self.assert_close(self.milliseconds(self.children()[child]), milliseconds)


if __name__ == '__main__':
    record_support.main(RecordForkTest)
