"""Tests hbbp record --merge: one profile of all processes of a run, each with the name of its command."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import record_support
from record_support import TOOL, program, reported

BEGIN_OF_CHILD = '''
import os, pathlib, shutil, signal
parts = pathlib.Path(os.environ["HBBP_PRELOAD_DIRECTORY"])
'''
FEW_NS = 200_000


class RecordMergeTest(record_support.RecordTest):

    def merged(self, *command, options=(), **others):
        result = self.record(*command, options=('--merge', *options), **others)
        self.assertEqual(self.children(), {})
        return result

    def processes(self):
        info = self.info()
        self.assertEqual(sum(process['samples'] for process in info['process_list']),
                         sum(source['samples'] - source['unmapped'] for source in info['sources']))
        return {process['pid']: process for process in info['process_list']}

    def names(self):
        return {process['name'] for process in self.processes().values() if process['samples']}

    def python_child(self, *lines):
        """Makes the command of a shell that stays for its child, which runs Python code."""
        script = self.directory / 'child.py'
        script.write_text(BEGIN_OF_CHILD + '\n'.join(lines))
        return 'sh', '-c', f'"{sys.executable}" "{script}"; :'

    def test_pipeline(self):
        text = self.directory / 'text'
        text.write_text(''.join(f'{number * number}\n' for number in range(300_000)))
        result = self.merged('sh', '-c', f'cat "{text}" | gzip -9 | wc -c', period_ns=FEW_NS)
        self.assertGreater(int(result.stdout), 1000)
        info = self.info()
        self.assertEqual(info['pid'], 0)
        self.assertTrue(info['command'].startswith('sh -c cat'), info['command'])
        gzip, = (process for process in self.processes().values() if process['name'] == 'gzip')
        self.assertGreater(gzip['instructions'], 0)
        self.assertIn(f'process {gzip["pid"]} (gzip): ', result.stderr)
        by_process = {row['process']: row['process_name'] for row in self.rows('mix', '--by', 'process', self.file)}
        self.assertEqual(by_process[gzip['pid']], 'gzip')
        listing = self.run_tool('info', self.file).stdout
        self.assertIn(f'{gzip["pid"]} (gzip)', listing)

    def test_processes_have_all_their_time_and_the_run_takes_as_long_as_it_took(self):
        begin = time.monotonic()
        result = self.merged('sh', '-c', f'"{program("ends")}" return 300 & "{program("ends")}" return 300 & wait')
        elapsed_ns = (time.monotonic() - begin) * 1e9
        worked = reported(result.stdout)
        processes = self.processes()
        for pid, milliseconds in worked.items():
            self.assertEqual(processes[pid]['name'], 'ends')
            self.assert_close(processes[pid]['samples'] * record_support.PERIOD_NS / 1e6, milliseconds)
        self.assertLess(self.info()['duration_ns'], elapsed_ns)

    def test_processes_that_still_run_get_files_of_their_own(self):
        ends = program('ends')
        result = self.record('sh', '-c', f'"{ends}" return 1500 > /dev/null 2>&1 & "{ends}" return 300', options=('--merge',))
        (first, worked), = reported(result.stdout).items()
        processes = self.processes()
        self.assert_close(processes[first]['samples'] * record_support.PERIOD_NS / 1e6, worked)
        (later, file), = self.children().items()
        self.assertNotIn(later, processes)
        self.assertIn(f'process {later} (ends) still runs', result.stderr)
        self.assert_close(self.milliseconds(file), 1500)

    def test_make_with_jobs(self):
        for name in ('make', 'gcc'):
            if shutil.which(name) is None:
                self.skipTest(f'no {name}')
        for name in 'abcd':
            functions = (f'int {name}{i}(int x) {{ for (int i = 0; i < x; ++i) x ^= i * {i}; return x; }}\n'
                         for i in range(200))
            (self.directory / f'{name}.c').write_text(''.join(functions))
        (self.directory / 'main.c').write_text('int main(void) { return 0; }\n')
        (self.directory / 'makefile').write_text(
            'all: a.o b.o c.o d.o main.o\n\tgcc -o all $^\n%.o: %.c\n\tgcc -O2 -c $< -o $@\n')
        result = self.merged('make', '-s', '-j2', period_ns=FEW_NS)
        self.assertTrue((self.directory / 'all').exists(), result)
        self.assertLessEqual({'cc1', 'as', 'ld'}, self.names())
        compilers = [process for process in self.processes().values() if process['name'] == 'cc1']
        self.assertGreaterEqual(len(compilers), 4)
        self.assertRegex(result.stderr, r'and \d+ more process(es)? with samples: hbbp info ')
        cc1 = [module for module in self.info()['modules'] if os.path.basename(module['name']) == 'cc1']
        self.assertEqual(len(cc1), 1)

    def test_fork_server(self):
        script = self.directory / 'pool.py'
        script.write_text('''
import multiprocessing, os

def work(n):
    sum(i * i for i in range(1_000_000))
    return os.getpid()

if __name__ == '__main__':
    with multiprocessing.get_context('forkserver').Pool(2) as pool:
        for pid in pool.map(work, range(4), chunksize=1):
            print(pid)
        pool.close()
        pool.join()
''')
        result = self.record(sys.executable, script, options=('--merge',))
        workers = {int(line) for line in result.stdout.split()}
        processes = self.processes()
        # Servers may outlive their clients by a little, which is said.
        outlived = self.children()
        for pid in outlived:
            self.assertRegex(result.stderr, rf'note: process(es)? .*\b{pid} \(.* still run')
        for pid in workers - outlived.keys():
            self.assertGreater(processes[pid]['samples'], 0)
            self.assertIn('python', processes[pid]['name'])
        self.assertGreaterEqual(len(processes) + len(outlived), len(workers) + 1)

    def test_a_library_at_two_addresses_is_one_module(self):
        if shutil.which('cc') is None:
            self.skipTest('no compiler')
        source, library = self.directory / 'lib.c', self.directory / 'lib.so'
        source.write_text('unsigned work(unsigned n) { unsigned x = n;\n'
                          '  while (n--) x = x * 3 + (x >> 7); return x; }\n')
        for build_id in ('--build-id', '--build-id=none'):
            with self.subTest(build_id):
                subprocess.run(['cc', '-shared', '-fPIC', '-O1', f'-Wl,{build_id}', '-o', library, source], check=True)
                script = ('import ctypes, mmap, os, sys\n'
                          'distance = mmap.mmap(-1, int(sys.argv[1]))\n'
                          f'library = ctypes.CDLL("{library}")\n'
                          # A single write, since the other process prints at the same time.
                          'os.write(1, b"%d\\n" % ctypes.cast(library.work, ctypes.c_void_p).value)\n'
                          'library.work(100_000_000)\n')
                (self.directory / 'load.py').write_text(script)
                load = f'"{sys.executable}" load.py'
                result = self.merged('sh', '-c', f'{load} 4096 & {load} 100000000; wait')
                self.assertEqual(len(set(result.stdout.split())), 2, result.stdout)
                module, = [module for module in self.info()['modules'] if module['name'] == str(library)]
                row, = [row for row in self.rows('mix', self.file, '--by', 'module,function')
                        if row['function'] == 'work']
                self.assertGreater(row['instructions'], 0)
                of_process = [row for row in self.rows('mix', self.file, '--by', 'process,module')
                              if row['module'] == str(library)]
                self.assertEqual(len(of_process), 2)
                self.assertGreater(module['samples'], 20)

    def test_a_child_that_is_killed(self):
        command = self.python_child('while not (found := list(parts.glob(f"{os.getpid()}.*.partial"))): pass',
                                    'print(os.getpid(), flush=True)',
                                    'os.kill(os.getpid(), signal.SIGKILL)')
        result = self.merged(*command)
        self.assertGreater(self.processes()[int(result.stdout)]['samples'], 0)

    def test_from_outside(self):
        result = self.merged(program('ends'), 'return', 200, options=('--outside',))
        (pid, milliseconds), = reported(result.stdout).items()
        process, = self.processes().values()
        self.assertEqual((process['pid'], process['name']), (pid, 'ends'))
        self.assert_close(self.milliseconds(), milliseconds)

    def test_slices_of_time_keep_their_distances(self):
        ends = f'"{program("ends")}" return 200'
        result = self.merged('sh', '-c', f'{ends}; {ends}', options=('--time-quantum', '10ms'))
        info = self.info()
        worked_ms = sum(reported(result.stdout).values())
        self.assertGreaterEqual(info['slices'] * info['slice_ns'] / 1e6, 0.9 * worked_ms)

    def test_an_earlier_profile_is_kept_and_its_children_are_removed(self):
        self.record(program('forks'), 'fork', 50)
        self.assertEqual(len(self.children()), 3)
        earlier = self.file.read_bytes()
        self.merged(program('forks'), 'fork', 50)
        self.assertEqual((self.directory / 'out.data.old').read_bytes(), earlier)

    def test_what_cannot_be_added_keeps_a_file_of_its_own(self):
        faults = self.directory / 'faults'
        result = self.run_tool('record', '--source', 'ebs', '-e', 'page-faults', '-c', 1, '-o', faults, '--',
                               sys.executable, '-c', 'bytearray(10_000_000)')
        self.assertEqual(result.returncode, 0, result)
        command = self.python_child('(parts / "999999999.000000000001.hbbp").write_text("rubbish")',
                                    f'shutil.copy("{faults}", parts / "999999998.000000000001.hbbp")',
                                    'sum(range(3_000_000))')
        result = self.record(*command, options=('--merge',))
        self.assertEqual(self.children().keys(), {999999998, 999999999})
        self.assertEqual(self.children()[999999998].read_bytes(), faults.read_bytes())
        self.assertEqual(self.children()[999999999].read_text(), 'rubbish')
        for pid, reason in ((999999998, 'cannot be added'), (999999999, 'not a profile')):
            line, = (line for line in result.stderr.splitlines() if f'process {pid}' in line)
            self.assertIn(f'is not in {self.file} but in {self.file}.{pid}: ', line)
            self.assertIn(reason, line)
        self.assertGreater(len(self.processes()), 0)
        source, = self.info()['sources']
        self.assertEqual(source['event'], 'task-clock')

    def test_the_command_is_killed(self):
        go = self.directory / 'go'
        script = f'"{program("ends")}" return 100 >/dev/null; touch started; while [ ! -e "{go}" ]; do sleep 0.05; done'
        recorder = subprocess.Popen([TOOL, 'record', '--merge', '--source', 'ebs', '-e', 'task-clock', '-c', '1000000',
                                     '-o', self.file, '--', 'sh', '-c', script],
                                    cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + record_support.TIMEOUT_S
        while not (self.directory / 'started').exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        recorder.send_signal(signal.SIGKILL)
        go.touch()
        # The keeper has this pipe until it is done.
        err = recorder.stderr.read()
        recorder.wait()
        self.assertIn(f'the profiles written are: {self.file}\n', err)
        self.assertIn('ends', self.names())
        self.assertEqual(self.children(), {})
        self.assert_no_parts()


if __name__ == '__main__':
    record_support.main(RecordMergeTest)
