"""Tests samples of kernels: one made here, those of recordings, and the running one."""
import collections
import os
import pathlib
import shutil
import struct
import subprocess
import unittest

import import_test
import perf_data_parts
import record_support
import report_fixture
from record_support import needs_root, program

LINKED = 0xffffffff81000000
START = 0xffffffff83c00000
MODULE = 0xffffffffc0801000
KERNEL = 1  # PERF_RECORD_MISC_KERNEL
NO_PID = 0xffffffff
PERIOD = 1000

SOURCE = '''
  .text
  .globl _text, _stext, sys_work, traced, __x86_return_thunk
_text:
_stext:
  .type sys_work, @function
sys_work:
  movl $5, %ecx
trace_point:
  .byte 0x0f, 0x1f, 0x44, 0x00, 0x00
loop:
  decl %ecx
  jnz loop
  .byte 0xe9
  .long __x86_return_thunk - . - 4
  .size sys_work, . - sys_work
  .balign 32, 0xcc
  .type traced, @function
traced:
  xorl %eax, %eax
  ret
  .size traced, . - traced
  .balign 16, 0xcc
  .type __x86_return_thunk, @function
__x86_return_thunk:
  ret
  int3
  .size __x86_return_thunk, . - __x86_return_thunk
  .section .note.GNU-stack, "", @progbits
'''
TRACE_POINT, LOOP, TRACED = 5, 10, 32


def core_file(*segments):
    """Returns an ELF core file with pieces of (address, bytes)."""
    offset = 64 + 56 * len(segments)
    headers, memory = b'', b''
    for address, content in segments:
        headers += struct.pack('<IIQQQQQQ', 1, 7, offset + len(memory), address, 0, len(content),
                               len(content), 4096)
        memory += content
    header = struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\x02\x01\x01', 4, 62, 1, 0, 64, 0, 0, 64, 56,
                         len(segments), 0, 0, 0)
    return header + headers + memory


def kernel_mapping(start, size, reference, name):
    text = name.encode() + b'\0'
    text += b'\0' * (-len(text) % 8)
    return import_test.record(1, KERNEL, struct.pack('<IIQQQ', NO_PID, 0, start, size, reference) +
                              text + struct.pack('<IIQ', NO_PID, 0, 0))


def kernel_sample(ip, time):
    return import_test.record(9, KERNEL, struct.pack('<QIIQQQ', ip, 7, 7, time, PERIOD, 0))


class KernelTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        self.vmlinux, self.core = self.directory / 'vmlinux', self.directory / 'core'
        self.kallsyms, self.recording = self.directory / 'kallsyms', self.directory / 'perf.data'
        self.kallsyms.write_text(''.join(
            f'{address:016x} {rest}\n' for address, rest in
            [(START, 'T _text'), (START, 'T sys_work'), (START + TRACED, 'T traced'),
             (START + 48, 'T __x86_return_thunk'), (START + 64, 'T _etext'),
             (MODULE, 't tiny_irq\t[tiny]'), (MODULE + 3, 't tiny_exit\t[tiny]')]))
        addresses = [START] * 2 + [START + LOOP] * 10 + [START + TRACED] * 3 + [MODULE] * 4
        self.recording.write_bytes(import_test.recording(
            kernel_mapping(START, 1 << 20, START, '[kernel.kallsyms]_text'),
            kernel_mapping(MODULE, 4096, 0, '/lib/modules/6.1/kernel/drivers/tiny.ko'),
            *(kernel_sample(address, time + 1) for time, address in enumerate(addresses))))

    def build_kernel(self):
        """Makes the static kernel, and its memory, in which the trace point is a call."""
        source = self.directory / 'kernel.s'
        source.write_text(SOURCE)
        try:
            subprocess.run(['cc', '-static', '-nostdlib', f'-Wl,-Ttext={LINKED:#x},-e,_text', '-o',
                            self.vmlinux, source], check=True, capture_output=True)
            text = self.directory / 'text'
            subprocess.run(['objcopy', '-O', 'binary', '-j', '.text', self.vmlinux, text], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest(f'no kernel can be built here: {error}')
        memory = bytearray(text.read_bytes())
        distance = TRACED - (TRACE_POINT + 5)
        memory[TRACE_POINT:TRACE_POINT + 5] = b'\xe8' + struct.pack('<i', distance)
        self.core.write_bytes(core_file((START, bytes(memory)), (MODULE, b'\x31\xc0\xc3\xcc')))

    def import_it(self, *options, recording=None):
        result = self.run_tool('import', '-o', self.file, *options, recording or self.recording)
        self.assertEqual(result.returncode, 0, result)

    def kernel_module(self, *options):
        result = self.run_tool('info', '--format', 'json', *options, self.file)
        self.assertEqual(result.returncode, 0, result)
        module, = [module for module in record_support.json.loads(result.stdout)['modules']
                   if module['kind'] == 'kernel' and module['samples']]
        return module

    def mnemonics(self, *options):
        return {row['mnemonic']: row['instructions'] for row in self.rows('mix', self.file, *options)}

    def functions(self, *options):
        return {row['function']: row['instructions']
                for row in self.rows('mix', self.file, '--by', 'function', *options)}

    def test_memory_of_the_kernel_over_its_static_file(self):
        self.build_kernel()
        self.import_it()
        files = ('--vmlinux', self.vmlinux, '--kcore', self.core, '--kallsyms', self.kallsyms)
        module = self.kernel_module(*files)
        self.assertEqual((module['code'], module['patched_bytes'], module['problem']), ('core', 3, ''))
        self.assertEqual(self.mnemonics(*files), {'mov': 1000, 'call': 1000, 'dec': 5000, 'jne': 5000,
                                                  'xor': 3500, 'ret': 3500})
        blocks = {int(row['start'], 16): row for row in self.rows('blocks', self.file, *files)}
        self.assertEqual(sorted(blocks), [START, START + LOOP, START + TRACED, MODULE])
        self.assertEqual(blocks[START + LOOP]['count'], 5000)
        self.assertEqual(blocks[MODULE]['function'], 'tiny_irq [tiny]')

    def test_static_file_alone(self):
        self.build_kernel()
        self.import_it()
        module = self.kernel_module('--vmlinux', self.vmlinux)
        self.assertEqual((module['code'], module['patched_bytes']), ('file', 0))
        self.assertIn('rewrote', module['problem'])
        found = self.mnemonics('--vmlinux', self.vmlinux)
        self.assertEqual((found['nop'], found.get('call')), (1000, None))
        # A file of a kernel module cannot be used, but its name is known.
        self.assertEqual(self.functions('--vmlinux', self.vmlinux),
                         {'sys_work': 12000, 'traced': 3000, '[tiny]': 4000})

    def test_shares_are_of_one_sum_whether_code_is_there_or_not(self):
        self.build_kernel()
        self.import_it('--time-quantum', '1ms')
        files = ('--vmlinux', self.vmlinux)  # it has no kernel modules
        total, tiny = 19000, 4000
        for key in ('mnemonic', 'function', 'thread', 'slice', 'line', 'loop', 'groups', 'length'):
            rows = self.rows('mix', self.file, '--by', key, *files)
            self.assertEqual(sum(row['instructions'] for row in rows), total, key)
            self.assertAlmostEqual(sum(row['share'] for row in rows), 1, msg=key)
        self.assertEqual(self.mnemonics(*files)['no-code'], tiny)
        self.assertNotIn('no-code', self.mnemonics('--where', 'length > 0', *files))
        text = self.run_tool('annotate', self.file, '--function', '[tiny]', *files).stdout
        self.assertIn(f'{100 * tiny / total:.2f} % of all', text)
        result = self.run_tool('loops', self.file, '--format', 'json', *files)
        self.assertEqual(record_support.json.loads(result.stdout)['total_instructions'], total)
        summary = self.run_tool('mix', self.file, '--summary', *files).stdout
        self.assertIn('note: 4,000 of 19,000 instructions, 21.05 %, are in code that is missing', summary)
        self.assertNotIn('are in code that is missing',
                         self.run_tool('mix', self.file, '--summary', '--where', 'length > 0', *files).stdout)

        page = self.directory / 'report.html'
        result = self.run_tool('export', self.file, '-o', page, '--blocks', '1', *files)
        self.assertEqual(result.returncode, 0, result)
        report = report_fixture.data_of(page.read_text())
        self.assertEqual(report['instructions'], total)
        self.assertEqual(sum(report['functions']['instructions']), total)
        self.assertEqual([thread['instructions'] for thread in report['threads']], [total])
        blocks, rest = report['blocks'], report['rest']
        listed = sum(count * len(code) for count, code in zip(blocks['count'], blocks['code']))
        self.assertEqual(listed + sum(rest['instructions']), total)
        name = report['functions']['name'].index('[tiny]')
        self.assertEqual([instructions for function, instructions in
                          zip(rest['function'], rest['instructions']) if function == name], [tiny])
        self.assertEqual(report['slices']['instructions'], [total])
        for timeline in report['slices']['timelines']:
            self.assertEqual(sum(map(sum, timeline['instructions'])), total, timeline['key'])
        for mix in report['mixes']:
            self.assertIn('no-code', mix['values'])

    def compare(self, counts, *options):
        """Returns the sums of a comparison with {address: count}."""
        truth = self.directory / 'truth'
        truth.write_text('# callgrind format\nversion: 1\npositions: instr\nevents: Ir\nob=[kernel.kallsyms]\nfn=all\n' +
                         ''.join(f'{address:#x} {count}\n' for address, count in sorted(counts.items())))
        result = self.run_tool('compare', self.file, '--truth', truth, '--format', 'json', *options)
        self.assertEqual(result.returncode, 0, result)
        return record_support.json.loads(result.stdout)['total']

    def test_counts_are_compared_with_truth(self):
        self.build_kernel()
        self.import_it()
        files = ('--kcore', self.core, '--kallsyms', self.kallsyms)
        counts = {START: 1000, START + TRACE_POINT: 1000, START + LOOP: 5000, START + LOOP + 2: 5000, START + TRACED: 1500,
                  START + TRACED + 2: 1500, MODULE: 2000, MODULE + 2: 2000}
        total = self.compare(counts, *files)
        self.assertEqual((total['instructions_ref'], total['instructions_est']), (19000, 19000))
        self.assertEqual((total['avg_weighted_error'], total['block_accuracy_error']), (0, 0))
        # As many instructions, but of other blocks.
        counts.update({MODULE: 1000, MODULE + 2: 1000, START + TRACED: 2500, START + TRACED + 2: 2500})
        total = self.compare(counts, *files)
        self.assertAlmostEqual(total['block_accuracy_error'], 4000 / 19000)
        self.assertEqual(total['avg_weighted_error'], 0)
        # Without the code nothing is known of the blocks.
        total = self.compare(counts)
        self.assertEqual((total['unresolved'], total['instructions_est']), (19000, 0))
        self.assertIn(str(self.kallsyms), self.refused('compare', self.file, '--truth', self.directory / 'truth', '--kcore',
                                                       self.kallsyms))

    def test_without_any_file_the_note_says_what_is_missing(self):
        self.import_it()
        module = self.kernel_module()
        self.assertEqual(module['code'], 'missing')
        for name in ('kallsyms', 'vmlinux', 'kcore'):
            self.assertIn(name, module['problem'])
        self.assertEqual(self.mnemonics(), {'no-code': 19000})
        self.assertEqual(self.functions(), {'[kernel]': 15000, '[tiny]': 4000})
        self.assertEqual(self.functions('--kallsyms', self.kallsyms),
                         {'sys_work': 12000, 'traced': 3000, 'tiny_irq [tiny]': 4000})

    def test_annotate_says_why_functions_have_no_instructions(self):
        """Without symbols a kernel is one function, which covers half of all addresses."""
        self.import_it()
        for options, function in (((), '[kernel]'), (('--kallsyms', self.kallsyms), 'sys_work')):
            problem = self.kernel_module(*options)['problem']
            text = self.run_tool('annotate', self.file, '--function', function, *options)
            self.assertIn(f'no instructions: {problem}\n', text.stdout)
            rows = self.run_tool('annotate', self.file, '--function', function, '--format', 'csv', *options)
            self.assertEqual(len(rows.stdout.splitlines()), 1, rows)
            self.assertIn(f'{function}: no instructions: {problem}\n', rows.stderr)

    def test_an_imported_profile_keeps_code_and_names(self):
        self.build_kernel()
        self.import_it('--kcore', self.core, '--kallsyms', self.kallsyms)
        for file in (self.vmlinux, self.core, self.kallsyms):
            file.unlink()
        self.assertEqual(self.kernel_module()['code'], 'profile')
        self.assertEqual(self.mnemonics()['call'], 1000)
        self.assertEqual(self.functions(),
                         {'sys_work': 12000, 'traced': 3000, 'tiny_irq [tiny]': 4000})

    def test_files_that_are_none_are_refused(self):
        self.build_kernel()
        self.import_it()
        for option, file in (('--vmlinux', self.core), ('--kcore', self.vmlinux),
                             ('--kallsyms', self.core), ('--kcore', self.directory / 'none')):
            for command in ('info', 'mix', 'blocks'):
                self.assertIn(str(file), self.refused(command, self.file, option, file))
        self.core.write_bytes(self.core.read_bytes()[:100])
        self.assertIn('truncated', self.refused('mix', self.file, '--kcore', self.core))
        self.kallsyms.write_text(f'{START + 16:016x} T _text\n')
        self.assertIn('_text', self.refused('mix', self.file, '--kallsyms', self.kallsyms))

    def test_recorded_kernel_samples_as_perf_names_them(self):
        """Compares sums of periods by kernel and kernel module; perf knows no functions there either."""
        if shutil.which('perf') is None:
            self.skipTest('no perf here')
        for name in ('hw_and_sw-3.4', 'piped.target-3.4', 'remmap-3.2', 'callgraph_and_branch-3.8'):
            recording = pathlib.Path(os.environ.get('HBBP_TEST_DATA', '')) / f'quipper/perf.data.{name}'
            if not recording.is_file():
                self.skipTest('no recordings (HBBP_TEST_DATA)')
            script = subprocess.run(['perf', 'script', '-i', recording, '-G', '-F',
                                     'event,period,ip,sym,dso'], capture_output=True, text=True, check=True)
            expected = collections.defaultdict(collections.Counter)
            for line in script.stdout.splitlines():
                words = line.split()
                dso = words[-1].strip('()') if words else ''
                if dso == '[kernel.kallsyms]':
                    expected[words[1].rstrip(':')]['[kernel]'] += int(words[0])
                elif dso.endswith('.ko'):
                    expected[words[1].rstrip(':')][f'[{pathlib.PurePath(dso).stem}]'] += int(words[0])
            self.assertTrue(expected)
            # perf does not make up for the time in which sampling was held back.
            unthrottled = self.directory / 'unthrottled.data'
            perf_data_parts.copy_without_gaps(recording, unthrottled)
            self.import_it(recording=unthrottled)
            for event, functions in expected.items():
                self.assertEqual(self.functions('--where', 'module=[kernel.kallsyms]', '--event', event),
                                 dict(functions), (name, event))

    @needs_root
    def test_a_recording_of_the_running_kernel_as_perf_names_it(self):
        if shutil.which('perf') is None:
            self.skipTest('no perf here')
        result = subprocess.run(['perf', 'record', '-e', 'cpu-clock', '-c', '1000000', '-o',
                                 self.recording, program('system_calls'), '700'],
                                capture_output=True, text=True)
        if result.returncode != 0:
            self.skipTest(result.stderr)
        script = subprocess.run(['perf', 'script', '-i', self.recording, '-F', 'ip,sym,dso'],
                                capture_output=True, text=True, check=True)
        words = [line.split() for line in script.stdout.splitlines()]
        expected = collections.Counter(line[1] for line in words
                                       if line and line[-1] == '([kernel.kallsyms])')
        if '[unknown]' in expected:
            self.skipTest('perf knows no symbols of this kernel either')
        self.import_it()
        found = self.functions('--where', 'module=[kernel.kallsyms]')
        self.assertEqual(sum(found.values()), 1e6 * sum(expected.values()))
        # One of several names of an address may differ.
        agreed = sum(min(found.get(name, 0), 1e6 * count) for name, count in expected.items())
        self.assertGreater(agreed, 0.95 * sum(found.values()))

    def record_system_calls(self, milliseconds):
        result = self.run_tool('record', '--kernel', '-e', 'cpu-clock', '-c', 1_000_000, '-o',
                               self.file, '--', program('system_calls'), milliseconds)
        self.assertEqual(result.returncode, 0, result)
        return [int(word) for word in result.stdout.split()]

    @needs_root
    def test_share_of_the_kernel(self):
        _, user, system = self.record_system_calls(3000)
        rows = {row['module']: row['share'] for row in self.rows('mix', self.file, '--by', 'module')}
        # The kernel's own figures come from 250 ticks a second, or its configured number.
        self.assertAlmostEqual(rows['[kernel]'], system / (user + system), delta=0.08)

    @needs_root
    def test_functions_of_the_running_kernel(self):
        self.record_system_calls(500)
        symbols = pathlib.Path('/proc/kallsyms').read_text()
        if symbols.startswith('0000000000000000 ') and ' _text\n' in symbols[:100]:
            self.skipTest('the kernel hides its symbols')
        kernel = self.functions('--where', 'module=[kernel]')
        named = {line.split()[2] for line in symbols.splitlines()}
        self.assertGreater(len(kernel), 2)
        self.assertEqual([name for name in kernel if name not in named and '[' not in name], [])
        self.assertTrue(any('read' in name for name in list(kernel)[:5]), kernel)
        # The profile contains them, for analyses on other machines.
        content = self.file.read_bytes()
        for name in kernel:
            self.assertIn(name.encode(), content)
        self.assertEqual(len(self.kernel_module()['build_id']), 40)


if __name__ == '__main__':
    record_support.main(KernelTest)
