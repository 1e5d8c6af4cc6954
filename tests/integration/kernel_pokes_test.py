"""Tests that kernel code which changed while it was recorded (PERF_RECORD_TEXT_POKE) is decoded as most samples saw it."""
import re
import shutil
import struct
import subprocess
import sys

import kernel_test
import record_support
import recording_builder as built
from kernel_test import LOOP, START, TRACE_POINT, TRACED

PID = 7
KERNEL, KERNEL_PID = 1, 2**32 - 1
NOP = bytes.fromhex('0f1f440000')
CALL = b'\xe8' + struct.pack('<i', TRACED - (TRACE_POINT + 5))
PROGRAM = 0xffffffffc0022048
PROGRAM_CODE = bytes.fromhex('b807000000' '85c0' '0f95c0' 'c3')  # mov, test, setne, ret
JUMP_LABEL = START + TRACE_POINT

# Loads a BPF program that multiplies 2000 times, and has it filter the packets of a socket for a while.
BPF_LOOP = '''
import ctypes, socket, struct, sys, time
BPF_SYSCALL, PROG_LOAD, SOCKET_FILTER, SO_ATTACH_BPF = 321, 5, 1, 50
MOVE, MULTIPLY, EXIT = 0xb7, 0x27, 0x95
instructions = [(MOVE, 0, 0, 3), *[(MULTIPLY, 0, 0, 3)] * 2000, (MOVE, 0, 0, 0), (EXIT, 0, 0, 0)]
code = ctypes.create_string_buffer(b"".join(struct.pack("<BBhi", *one) for one in instructions))
license = ctypes.create_string_buffer(b"GPL")
attr = struct.pack("<IIQQIIQII16s", SOCKET_FILTER, len(instructions), ctypes.addressof(code),
                   ctypes.addressof(license), 0, 0, 0, 0, 0, b"spin")
program = ctypes.CDLL(None).syscall(BPF_SYSCALL, PROG_LOAD, attr, len(attr))
if program < 0:
    sys.exit("no BPF programs here")
sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, SO_ATTACH_BPF, program)
end = time.monotonic() + 0.6
while time.monotonic() < end:
    sender.send(b"x")
'''


class KernelPokesTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        self.recording, self.core = self.directory / 'perf.data', self.directory / 'core'
        self.vmlinux, self.kallsyms = self.directory / 'vmlinux', self.directory / 'kallsyms'
        self.event = built.Event(11, built.CYCLES, 'cycles:k', flags=built.TEXT_POKE)
        self.kallsyms.write_text(''.join(
            f'{address:016x} {rest}\n' for address, rest in
            [(START, 'T _text'), (START, 'T sys_work'), (START + TRACED, 'T traced'), (START + 64, 'T _etext')]))

    def build_kernel(self, trace_point):
        """Makes the static kernel, in which the trace point is a nop, and its memory with `trace_point` there."""
        kernel_test.KernelTest.build_kernel(self)
        memory = bytearray((self.directory / 'text').read_bytes())
        memory[TRACE_POINT:TRACE_POINT + 5] = trace_point
        self.core.write_bytes(kernel_test.core_file((START, bytes(memory))))

    def samples(self, count, address=START):
        return [self.event.sample(address, PID, self.next_time(), misc=KERNEL) for _ in range(count)]

    def next_time(self):
        self.time += 10
        return self.time

    time = 10

    def poke(self, address, before, after):
        return self.event.poke(address, before, after, self.next_time())

    def import_it(self, *records, options=(), features=None):
        mapping = self.event.mapping(KERNEL_PID, START, 1 << 20, '[kernel.kallsyms]_text', START)
        self.recording.write_bytes(built.file([self.event], [mapping, *records], features))
        result = self.run_tool('import', '-o', self.file, *options, self.recording)
        self.assertEqual(result.returncode, 0, result)
        return result.stderr

    def mnemonics(self, *options):
        return {row['mnemonic']: row['instructions'] for row in self.rows('mix', self.file, *options)}

    def test_a_jump_label_is_what_most_samples_saw(self):
        """The core file may be of the start or the end of the recording, or of another time."""
        for before, during, after in ((2, 6, 1), (6, 2, 1), (1, 3, 3)):
            records = [*self.samples(before), self.poke(JUMP_LABEL, NOP, CALL), *self.samples(during),
                       self.poke(JUMP_LABEL, CALL, NOP), *self.samples(after)]
            expected = 'call' if during > before + after else 'nop'
            for memory in (NOP, CALL, b'\xcc' * 5):
                with self.subTest(counts=(before, during, after), memory=memory):
                    self.build_kernel(memory)
                    self.import_it(*records)
                    files = ('--kcore', self.core, '--kallsyms', self.kallsyms)
                    found = self.mnemonics(*files)
                    self.assertEqual([name for name in ('call', 'nop') if name in found], [expected], found)
                    # vmlinux has a nop there, whatever the memory has.
                    found = self.mnemonics('--vmlinux', self.vmlinux)
                    self.assertEqual([name for name in ('call', 'nop') if name in found], [expected], found)
                    self.assertEqual(self.kernel_module('--vmlinux', self.vmlinux)['patched_bytes'],
                                     3 if expected == 'call' else 0)

    def kernel_module(self, *options):
        result = self.run_tool('info', '--format', 'json', *options, self.file)
        module, = [module for module in record_support.json.loads(result.stdout)['modules'] if module['samples']]
        return module

    def test_the_import_and_the_profile_say_what_was_applied(self):
        self.build_kernel(NOP)
        message = self.import_it(self.poke(JUMP_LABEL, NOP, CALL), *self.samples(3),
                                 self.poke(JUMP_LABEL, CALL, NOP))
        said = ('2 changes of kernel code while it was recorded (TEXT_POKE): 5 bytes are decoded as most samples'
                ' near them saw them, 3 of them unlike they were at the end')
        self.assertIn(said, message)
        source, = self.info()['sources']
        self.assertIn(said, source['note'])
        # The code is from the files as before, and the warning that vmlinux alone is not enough stays.
        self.assertEqual(self.kernel_module('--kcore', self.core)['code'], 'core')
        module = self.kernel_module('--vmlinux', self.vmlinux)
        self.assertEqual(module['code'], 'file')
        self.assertIn('rewrote', module['problem'])

    def test_a_stored_profile_keeps_the_code(self):
        self.build_kernel(NOP)
        self.import_it(self.poke(JUMP_LABEL, NOP, CALL), *self.samples(3), *self.samples(4, START + LOOP),
                       options=('--kcore', self.core, '--kallsyms', self.kallsyms))
        self.core.unlink()
        self.assertEqual(self.kernel_module()['code'], 'profile')
        self.assertEqual(self.mnemonics(), {'mov': 1500, 'call': 1500, 'dec': 2000, 'jne': 2000})

    def test_generated_code_needs_no_other_file(self):
        for has_name in (True, False):
            with self.subTest(has_name=has_name):
                records = [self.poke(PROGRAM, b'', PROGRAM_CODE), *self.samples(4, PROGRAM),
                           self.poke(PROGRAM, PROGRAM_CODE, b'')]
                if has_name:
                    records.insert(0, self.event.kernel_function(PROGRAM, len(PROGRAM_CODE), 'bpf_prog_9efe'))
                self.import_it(*records)
                self.assertEqual(self.mnemonics(), {'mov': 1000, 'test': 1000, 'setne': 1000, 'ret': 1000})
                if has_name:
                    functions = {row['function']: row['instructions']
                                 for row in self.rows('mix', self.file, '--by', 'function')}
                    self.assertEqual(functions, {'bpf_prog_9efe': 4000})

    def test_bpf_programs_of_the_header_need_no_other_file(self):
        self.import_it(self.event.kernel_function(PROGRAM, len(PROGRAM_CODE), 'bpf_prog_9efe'),
                       *self.samples(4, PROGRAM),
                       features={built.BPF_PROGRAMS: built.bpf_program(PROGRAM, PROGRAM_CODE)})
        self.assertEqual(self.mnemonics(), {'mov': 1000, 'test': 1000, 'setne': 1000, 'ret': 1000})
        self.assertNotIn('TEXT_POKE', self.info()['sources'][0]['note'])

    @record_support.needs_root
    def test_bpf_programs_that_perf_recorded(self):
        """Runs a program on each packet of a socket, while perf records."""
        if shutil.which('perf') is None:
            self.skipTest('no perf here')
        result = subprocess.run(['perf', 'record', '-e', 'cpu-clock:k', '-c', '50000', '-o', self.recording, sys.executable,
                                 '-c', BPF_LOOP], capture_output=True, text=True)
        if result.returncode != 0:
            self.skipTest(result.stderr)
        header = subprocess.run(['perf', 'report', '--header-only', '-i', self.recording], capture_output=True,
                                text=True).stdout
        found = re.search(r'bpf_prog_info \d+: (bpf_prog_\w+_spin) addr', header)
        if found is None:
            self.skipTest('perf recorded no code of the BPF program')
        result = self.run_tool('import', '-o', self.file, self.recording)
        self.assertEqual(result.returncode, 0, result)
        mnemonics = {row['mnemonic']: row['instructions'] for row in
                     self.rows('mix', self.file, '--where', f'function={found[1]}')}
        samples = subprocess.run(['perf', 'script', '-i', self.recording, '-F', 'ip,sym'], capture_output=True, text=True,
                                 check=True).stdout.split().count(found[1])
        self.assertGreater(samples, 100)
        self.assertAlmostEqual(sum(mnemonics.values()) / (50_000 * samples), 1)
        # Nearly all of its instructions are multiplications.
        self.assertGreater(mnemonics['imul'], 0.9 * sum(mnemonics.values()), mnemonics)

    def test_changes_that_no_sample_saw_are_not_applied(self):
        for samples in ([], self.samples(3, START + (1 << 19))):
            message = self.import_it(self.poke(JUMP_LABEL, NOP, CALL), *samples,
                                     self.event.sample(0x400010, PID, self.next_time()))
            self.assertIn('1 change of kernel code while it was recorded (TEXT_POKE), but no sample saw that code', message)


if __name__ == '__main__':
    record_support.main(KernelPokesTest)
