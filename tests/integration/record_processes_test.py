"""Tests hbbp record on several processes from outside: lists of them, their children, control groups, containers."""
import contextlib
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time

import record_support
from record_support import PERIOD_NS, TOOL, program

LONG_MS = 20_000
SWBT = ('--source', 'swbt', '-c', '5000000')


def program_of_32_bits():
    """Returns a program that runs for ever: a header, one segment, and a jump to itself."""
    start, head = 0x8048000, 52 + 32
    code = bytes((0xeb, 0xfe))
    header = struct.pack('<16sHHIIIIIHHHHHH', b'\x7fELF\x01\x01\x01', 2, 3, 1, start + head, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack('<8I', 1, 0, start, start, head + len(code), head + len(code), 5, 0x1000)
    return header + segment + code


class RecordProcessesTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        why = record_support.why_not_permitted()
        if why:
            self.skipTest(why)

    def start(self, *command, **options):
        """A process group that is killed at the end of the test."""
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, start_new_session=True, **options)

        def end():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.addCleanup(end)
        return process

    def worker(self, milliseconds=LONG_MS):
        return self.start(program('ends'), 'return', milliseconds)

    def observe(self, *options, source=('--source', 'ebs', '-e', 'task-clock', '-c', PERIOD_NS), status=0):
        result = self.run_tool('record', '-o', self.file, *source, *options)
        self.assertEqual(result.returncode, status, result)
        return result

    def functions(self, file):
        return ' '.join(row['function'] for row in self.rows('blocks', file))

    def test_several_processes(self):
        first, second = self.worker(), self.worker()
        time.sleep(0.2)
        result = self.observe('--pid', f'{first.pid},{second.pid},{first.pid}', '--duration', '1.5')
        self.assertIn('1 other process', result.stderr)
        self.assertEqual(self.info()['pid'], first.pid)
        self.assertEqual(list(self.children()), [second.pid])
        for file in (self.file, self.children()[second.pid]):
            self.assertIn('Work', self.functions(file))
            self.assertGreater(self.milliseconds(file), 100)
        self.assertIsNone(first.poll())
        self.assertIsNone(second.poll())

    def test_branches_of_several_processes(self):
        workers = [self.worker(), self.worker()]
        time.sleep(0.2)
        self.observe('--pid', ','.join(str(worker.pid) for worker in workers), '--duration', '2',
                     source=('--source', 'swbt', '-c', '5000000'))
        for file in (self.file, self.children()[workers[1].pid]):
            self.assertGreater(self.info(file)['sources'][0]['taken_branches'], 100)
            self.assertIn('Work', self.functions(file))

    def test_one_profile_of_several_processes(self):
        workers = [self.worker(), self.worker()]
        time.sleep(0.2)
        self.observe('--pid', ','.join(str(worker.pid) for worker in workers), '--duration', '1', '--merge')
        self.assertEqual(self.children(), {})
        self.assertEqual({thread['pid'] for thread in self.info()['thread_list']}, {worker.pid for worker in workers})

    def test_a_process_that_ends_before_the_others(self):
        brief, longer = self.worker(700), self.worker(1_500)
        self.observe('--pid', f'{brief.pid},{longer.pid}')
        self.assertGreater(self.milliseconds(), 100)
        self.assertGreater(self.milliseconds(self.children()[longer.pid]), self.milliseconds())

    def test_children_that_run_and_that_are_born(self):
        shell = self.start('sh', '-c', f'{program("ends")} return {LONG_MS} & sleep 1; {program("ends")} return {LONG_MS} & wait')
        time.sleep(0.3)
        self.observe('--pid', shell.pid, '--children', '--duration', '3')
        found = self.children()
        # On a busy machine the sleep takes so long to start that it has samples.
        commands = [self.info(file)['command'] for file in found.values()]
        self.assertEqual(len([command for command in commands if command != 'sleep 1']), 2, commands)
        for file, command in zip(found.values(), commands):
            if command != 'sleep 1':
                self.assertIn('Work', self.functions(file))

    def test_children_are_not_observed_without_a_request(self):
        shell = self.start('sh', '-c', f'{program("ends")} return {LONG_MS} & wait')
        time.sleep(0.3)
        self.observe('--pid', shell.pid, '--duration', '0.7')
        self.assertEqual(self.children(), {})

    def test_children_of_a_command_from_outside(self):
        for source in (('--source', 'ebs', '-c', PERIOD_NS), ('--source', 'swbt', '-c', '5000000')):
            with self.subTest(source=source):
                command = f'{program("ends_static")} return 900; (exec {program("ends")} return 900); exit 5'
                self.observe('--outside', '--children', '--', 'sh', '-c', command, source=source, status=5)
                found = self.children()
                self.assertEqual(len(found), 2, found)
                for file in found.values():
                    self.assertIn('Work', self.functions(file))

    def test_control_group(self):
        group = self.make_group()
        inner = group / 'inner'
        inner.mkdir()
        self.addCleanup(inner.rmdir)
        # The last shell of the group ends, and the group is empty.
        join = f'echo $$ > {inner}/cgroup.procs && {program("ends")} return 900; {program("ends")} return 900; true'
        process = self.start('sh', '-c', join)
        self.wait_for(lambda: (inner / 'cgroup.procs').read_text() != '')
        result = self.observe('--cgroup', group.name, '--merge')
        self.assertEqual(process.wait(), 0)
        self.assertIn('Work', self.functions(self.file))
        workers = {thread['pid'] for thread in self.info()['thread_list'] if thread['samples']} - {process.pid}
        self.assertEqual(len(workers), 2, result.stderr)
        self.assertIn(f'no process in {group}', self.refused('record', '-o', self.file, '--cgroup', group))

    def make_group(self):
        mounts = [line.split() for line in pathlib.Path('/proc/self/mounts').read_text().splitlines()]
        for mount in (words[1] for words in mounts if words[2] == 'cgroup2'):
            group = pathlib.Path(mount) / f'hbbp-test-{os.getpid()}'
            with contextlib.suppress(OSError):
                group.mkdir()
                self.addCleanup(group.rmdir)
                return group
        self.skipTest('no control group can be made here')

    def test_branches_of_a_control_group(self):
        group = self.make_group()
        process = self.start('sh', '-c', f'echo $$ > {group}/cgroup.procs && {program("ends")} return {LONG_MS}; true')

        def is_member():
            return len((group / 'cgroup.procs').read_text().split()) == 2
        self.wait_for(is_member)
        self.observe('--cgroup', group.name, '--merge', '--duration', '1', source=SWBT)
        self.assertGreater(self.info()['sources'][0]['taken_branches'], 100)
        self.assertIn('Work', self.functions(self.file))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.wait_for(lambda: (group / 'cgroup.procs').read_text() == '')

    def test_branches_in_namespaces(self):
        """The process has another number and another user inside."""
        process = self.start('unshare', '-Urpf', '--kill-child', program('ends'), 'return', LONG_MS)
        children = pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children')

        def is_started():
            return process.poll() is not None or any(
                os.readlink(f'/proc/{pid}/exe').endswith('/ends') for pid in children.read_text().split())
        self.wait_for(is_started)
        if process.poll() is not None:
            self.skipTest('no namespaces of users and processes can be made here')
        inside, = map(int, children.read_text().split())
        self.observe('--pid', inside, '--duration', '1', source=SWBT)
        self.assertEqual(self.info()['pid'], inside)
        self.assertGreater(self.info()['sources'][0]['taken_branches'], 100)
        self.assertIn('Work', self.functions(self.file))

    @record_support.needs_root
    def test_branches_of_a_setuid_program(self):
        copy = self.directory / 'setuid'
        shutil.copy(program('ends'), copy)
        os.chown(copy, record_support.NOBODY, -1)
        copy.chmod(0o4755)
        plain = self.start(copy, 'return', LONG_MS)
        self.wait_for(lambda: self.status(plain.pid)['Name'] == 'setuid')
        if self.status(plain.pid)['Uid'].split()[1] != str(record_support.NOBODY):
            self.skipTest('programs here cannot be setuid')
        # The kernel ends perf events when the program gains privileges.
        self.observe('--outside', '--', copy, 'return', '700', '5', source=SWBT, status=5)
        self.assertIn('Work', self.functions(self.file))
        self.assertEqual(self.info()['sources'][0]['unmapped'], 0)
        self.observe('--pid', plain.pid, '--duration', '1', source=SWBT)
        self.assertIn('Work', self.functions(self.file))

    def status(self, pid):
        lines = pathlib.Path(f'/proc/{pid}/status').read_text().splitlines()
        return dict(line.split(':\t', 1) for line in lines if ':\t' in line)

    def test_32_bit_process(self):
        copy = self.directory / 'narrow'
        copy.write_bytes(program_of_32_bits())
        copy.chmod(0o755)
        try:
            process = self.start(copy)
        except OSError as error:
            self.skipTest(f'this machine runs no 32-bit programs: {error}')
        message = self.refused('record', '--source', 'swbt', '-o', self.file, '--pid', process.pid)
        self.assertIn(f'process {process.pid} is a 32-bit program', message)
        self.assertIn('--source ebs', message)
        self.assertIsNone(process.poll())
        self.observe('--pid', process.pid, '--duration', '0.3')

    # Debuggers ----------------------------------------------------------------------------------

    def attach(self, *debugger):
        """Has a debugger attach to a process."""
        if shutil.which(debugger[0]) is None:
            self.skipTest(f'no {debugger[0]}')
        process = self.worker()
        tracer = self.start(*debugger, process.pid, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.wait_for(lambda: self.status(process.pid)['TracerPid'] == str(tracer.pid) or tracer.poll() is not None)
        if tracer.poll() is not None:
            self.skipTest(f'{debugger[0]} may not attach')
        # It stops the process at first.
        self.wait_for(lambda: self.status(process.pid)['State'].startswith('R'))
        return process, tracer

    def check_under_debugger(self, process, tracer):
        for source in ('swbt', 'ebs,swbt'):
            message = self.refused('record', '--source', source, '-o', self.file, '--pid', process.pid)
            self.assertIn(f'process {process.pid} is traced by process {tracer.pid}', message)
            self.assertIn('--source ebs', message)
        result = self.observe('--pid', process.pid, '--duration', '1', source=('-c', PERIOD_NS, '-e', 'task-clock'))
        why = f'process {tracer.pid} traces process {process.pid}, as a debugger or strace'
        source, = self.info()['sources']
        if source['kind'] == 'ebs':
            self.assertIn(why, source['note'])
            self.assertIn(why, result.stderr)
        self.assertGreater(source['samples'], 0)
        self.assertIsNone(process.poll())
        self.assertIsNone(tracer.poll())
        self.assertEqual(self.status(process.pid)['TracerPid'], str(tracer.pid))

    def test_process_under_strace(self):
        self.check_under_debugger(*self.attach('strace', '-o', '/dev/null', '-p'))

    def test_process_under_gdb(self):
        self.check_under_debugger(*self.attach('gdb', '-nx', '-q', '-ex', 'set pagination off', '-ex', 'set confirm off',
                                               '-ex', 'continue', '-p'))

    def test_debugger_that_comes_meanwhile(self):
        if shutil.which('strace') is None:
            self.skipTest('no strace')
        process = self.worker()
        tool = subprocess.Popen([TOOL, 'record', '-o', self.file, *SWBT, '--pid', str(process.pid), '--duration', '3'],
                                stderr=subprocess.PIPE, text=True)
        self.addCleanup(tool.wait)
        self.addCleanup(tool.kill)
        time.sleep(0.5)
        for _ in range(5):
            tracer = self.start('strace', '-o', '/dev/null', '-p', process.pid, stderr=subprocess.DEVNULL)
            time.sleep(0.2)
            # It is refused while a thread is stopped.
            if tracer.poll() is None:
                break
        _, err = tool.communicate(timeout=record_support.TIMEOUT_S)
        if tracer.poll() is not None:
            self.skipTest('strace may not attach')
        self.assertEqual(tool.returncode, 0, err)
        self.assertIn('stops were refused', err)
        self.assertGreater(self.info()['sources'][0]['taken_branches'], 100)

    @record_support.needs_root
    def test_files_of_a_container(self):
        """The program is at a path that only its own mount namespace has."""
        inside = self.directory / 'inside'
        inside.mkdir()
        script = (f'mount -t tmpfs tmpfs {inside} && cp {program("ends")} {inside}/contained && '
                  f'exec {inside}/contained return {LONG_MS}')
        process = self.start('unshare', '-m', 'sh', '-c', script)
        self.wait_for(lambda: process.poll() is not None or
                      os.readlink(f'/proc/{process.pid}/exe').endswith('contained'))
        if process.poll() is not None:
            self.skipTest('no mount namespace can be made here')
        self.observe('--pid', process.pid, '--duration', '1')
        process.kill()
        process.wait()
        self.assertFalse((inside / 'contained').exists())
        self.assertIn('Work', self.functions(self.file))

    def test_bad_input(self):
        process = self.worker()
        for options, message in (
                (('--pid', '1,x'), "'x' is not the id of a process"),
                (('--pid', f'{process.pid},'), "'' is not the id of a process"),
                (('--pid', f'{process.pid},99999999'), '99999999: No such process'),
                (('--cgroup', 'no-such-group-of-hbbp'), 'no-such-group-of-hbbp'),
                (('--cgroup', 'x', '--pid', process.pid), '--pid and --cgroup'),
                (('--cgroup', 'x', '--', 'true'), 'not both'),
                (('--children', '--', 'true'), '--children goes with'),
                (('--children', '--cgroup', 'x'), '--children goes with')):
            with self.subTest(options=options):
                self.assertIn(message, self.refused('record', '-o', self.file, *options))
                self.assertFalse(self.file.exists())

    def test_profilers_leave_themselves_out(self):
        shell = self.start('sh', '-c', f'{TOOL} record --pid $$ --children --duration 1 -o {self.file}; true',
                           stderr=subprocess.DEVNULL)
        self.assertEqual(shell.wait(), 0)
        self.assertEqual(self.children(), {})


if __name__ == '__main__':
    record_support.main(RecordProcessesTest)
