"""Compares hbbp ibs with perf's own decoding of the registers, on recordings of real hardware and on
variants of them with other register values."""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import unittest

import record_support
import report_fixture

KERNEL_CODE = 0xffffffff81143000
KERNEL_MODE = 1
FIELD = re.compile(r'(\w+) +([0-9]+)(?![0-9a-fx])')
REGISTER = re.compile(r'^(\w+):\s+([0-9a-f]{16})', re.M)
# These register bits are shown by perf and used here; reserved bits stay as recorded.
OP_DATA_BITS = 0x000001bfffffffff  # without RipInvalid
OP_DATA3_BITS = 0xfffffffffffff3ff


def is_memory(fields):
    return fields['LdOp'] | fields['StOp']


EVENTS = {
    'op-loads': lambda f: f['LdOp'],
    'op-stores': lambda f: f['StOp'],
    'op-loads-and-stores': lambda f: f['LdOp'] | f['StOp'],
    'op-microcode': lambda f: f['Microcode'],
    'op-branches': lambda f: f['BrnRet'],
    'op-dc-misses': lambda f: is_memory(f) & f['DcMiss'],
    'op-l2-misses': lambda f: f['L2Miss'],
    'op-misaligned': lambda f: is_memory(f) & f['DcMisAcc'],
    'op-locked': lambda f: is_memory(f) & f['DcLockedOp'],
    'op-software-prefetches': lambda f: f['SwPf'],
    'op-mab-hits': lambda f: is_memory(f) & f['DcMissNoMabAlloc'],
    'op-dtlb-misses': lambda f: (is_memory(f) & f['DcLinAddrValid'] & f['DcL1TlbMiss']
                                 & f['DcL2TlbMiss']),
    'op-tag-to-retire-cycles': lambda f: f['TagToRetCtr'],
    'op-completion-to-retire-cycles': lambda f: f['CompToRetCtr'],
    'op-dtlb-refill-cycles': lambda f: f['TlbRefillLat'],
    'op-dc-load-miss-cycles': lambda f: f['LdOp'] * f['DcMiss'] * f['DcMissLat'],
}


def patched(record, address, ip, changes):
    """Returns a sample at another address, with other registers after the one with its address."""
    record = bytearray(record.replace(struct.pack('<Q', address), struct.pack('<Q', ip)))
    rip = record.rindex(struct.pack('<Q', ip))
    for number, value in changes.items():
        struct.pack_into('<Q', record, rip + 8 * number, value)
    struct.pack_into('<H', record, 4, struct.unpack_from('<H', record, 4)[0] & ~7 | KERNEL_MODE)
    return bytes(record)


def with_records(recorded, records):
    """Returns the recording with other records; its features move with their end."""
    whole = bytearray(recorded)
    start, size = struct.unpack_from('<QQ', whole, 40)
    features = sum(bin(word).count('1') for word in struct.unpack_from('<4Q', whole, 72))
    data = b''.join(records)
    tail = whole[start + size:]
    for i in range(features):
        offset, = struct.unpack_from('<Q', tail, 16 * i)
        struct.pack_into('<Q', tail, 16 * i, offset + len(data) - size)
    struct.pack_into('<Q', whole, 48, len(data))
    return bytes(whole[:start]) + data + bytes(tail)


class IbsTest(record_support.RecordTest):

    def data(self, name):
        path = pathlib.Path(os.environ.get('HBBP_TEST_DATA', '')) / 'ibs' / name
        if not path.is_file():
            raise unittest.SkipTest('no recordings (HBBP_TEST_DATA)')
        return path

    def import_it(self, recording):
        result = self.run_tool('import', '-o', self.file, recording)
        self.assertEqual(result.returncode, 0, result)

    def ibs(self, *arguments):
        result = self.run_tool('ibs', '--format', 'json', self.file, *arguments)
        self.assertEqual(result.returncode, 0, result)
        return json.loads(result.stdout)

    def decoded_by_perf(self, recording):
        """Returns [({register: value}, {field: value})] of each op."""
        if shutil.which('perf') is None:
            raise unittest.SkipTest('no perf here')
        dump = subprocess.run(['perf', 'report', '-D', '-i', recording], capture_output=True,
                              text=True, check=True).stdout
        samples = []
        for text in re.split(r'^(?=ibs_op_ctl:)', dump, flags=re.M)[1:]:
            text = text.split('PERF_RECORD_SAMPLE')[0]
            registers = {name: int(value, 16) for name, value in REGISTER.findall(text)}
            text = REGISTER.sub('', text)
            samples.append((registers, {name: int(value) for name, value in FIELD.findall(text)}))
        return samples

    def many_ops(self, count=3000):
        recorded = self.data('zen4_genoa.ibs.perf.data').read_bytes()
        start, size = struct.unpack_from('<QQ', recorded, 40)
        template = recorded[start:start + size]
        address = 0xffffffff81143526
        draw = random.Random(3)
        records = []
        for _ in range(count):
            ip = KERNEL_CODE + 16 * int(20 * draw.random() ** 2)
            records.append(patched(template, address, ip, {
                1: draw.getrandbits(64) & OP_DATA_BITS,
                3: draw.getrandbits(64) & OP_DATA3_BITS,
                4: 0x7fff0000 + draw.randrange(0, 4096, 8),
            }))
        recording = self.directory / 'ibs.perf.data'
        recording.write_bytes(with_records(recorded, records))
        return recording

    def test_sums_of_instructions_are_what_perf_decodes(self):
        recording = self.many_ops()
        samples = self.decoded_by_perf(recording)
        self.assertEqual(len(samples), 3000)
        expected = collections.Counter()
        for registers, fields in samples:
            for event, value in EVENTS.items():
                expected[registers['IbsOpRip'], event] += value(fields)
        self.import_it(recording)
        listing = self.ibs('--event', ','.join(EVENTS))
        found = {(int(row['address'], 16), event): row[event]
                 for row in listing['rows'] for event in EVENTS}
        self.assertEqual({key: value for key, value in found.items() if value},
                         {key: value for key, value in expected.items() if value})
        for event in EVENTS:
            self.assertEqual(listing[f'total_{event}'],
                             sum(value for (_, name), value in expected.items() if name == event))

    def test_latencies_are_what_perf_decodes(self):
        recording = self.many_ops()
        samples = self.decoded_by_perf(recording)
        self.import_it(recording)
        for name, field, is_meant in [
                ('tag-to-retire', 'TagToRetCtr', lambda f: True),
                ('completion-to-retire', 'CompToRetCtr', lambda f: True),
                ('dc-miss', 'DcMissLat', lambda f: f['LdOp'] and f['DcMiss']),
                ('dtlb-refill', 'TlbRefillLat', lambda f: f['DcL1TlbMiss'] and f['DcL2TlbMiss'])]:
            latencies = [fields[field] for _, fields in samples if is_meant(fields)]
            listing = self.ibs('--histogram', name)
            self.assertEqual(listing['samples'], len(latencies), name)
            for row in listing['rows']:
                self.assertEqual(row['samples'], sum(
                    row['first_cycles'] <= latency < row['end_cycles'] for latency in latencies))
            self.assertEqual(listing['rows'][-1]['cumulative_share'], 1)

    def test_accessed_memory_is_what_perf_decodes(self):
        recording = self.many_ops()
        expected = collections.Counter()
        for registers, fields in self.decoded_by_perf(recording):
            if fields['DcLinAddrValid'] and (fields['LdOp'] or fields['StOp']):
                line = registers['IbsDCLinAd'] & ~63
                expected[line, 'loads'] += fields['LdOp']
                expected[line, 'stores'] += fields['StOp']
                expected[line, 'misses'] += fields['DcMiss']
        self.import_it(recording)
        listing = self.ibs('--data', 'line')
        found = {(int(row['address'], 16), kind): row[kind]
                 for row in listing['rows'] for kind in ('loads', 'stores', 'misses')}
        self.assertEqual(found, {**{key: 0 for key in found}, **expected})
        self.assertEqual(listing['dropped'], 0)
        page, = self.ibs('--data', 'page')['rows']
        self.assertEqual((page['address'], page['loads']),
                         ('0x7fff0000', sum(row['loads'] for row in listing['rows'])))

    def test_missing_code_is_reported_and_can_be_named(self):
        self.import_it(self.many_ops())
        listing = self.ibs('--by', 'function')
        self.assertIn('code of [kernel.kallsyms] could not be read: neither symbols nor code of this kernel are known '
                      'here; its kallsyms, vmlinux or kcore can be given', listing['notes'])
        kallsyms = self.directory / 'kallsyms'
        kallsyms.write_text(f'{KERNEL_CODE & ~0xfffff:016x} T _text\n{KERNEL_CODE:016x} T counted\n'
                            f'{KERNEL_CODE + 160:016x} T more\n{KERNEL_CODE + 0x1000:016x} T _etext\n')
        named = self.ibs('--by', 'function', '--kallsyms', kallsyms)
        self.assertEqual({row['function'] for row in named['rows']}, {'counted', 'more'})
        self.assertEqual(sum(row['op-samples'] for row in named['rows']), 3000)
        self.assertIn('none', self.refused('ibs', self.file, '--kallsyms', 'none'))
        self.assertIn('none', self.refused('ibs', self.file, '--symfs', 'none'))

    def test_a_real_sample(self):
        self.import_it(self.data('zen4_genoa.ibs.perf.data'))
        row, = self.ibs('--event', 'op-samples,op-nb-local-dram,op-dc-load-miss-cycles')['rows']
        self.assertEqual((row['address'], row['op-samples'], row['op-nb-local-dram'],
                          row['op-dc-load-miss-cycles']), ('0xffffffff81143526', 1, 1, 476))
        row, = self.ibs('--histogram', 'dc-miss')['rows']
        self.assertEqual((row['first_cycles'], row['end_cycles'], row['samples']), (448, 512, 1))
        row, = self.ibs('--data', 'line')['rows']
        self.assertEqual((row['address'], row['loads'], row['misses'], row['miss_cycles']),
                         ('0xffff899f7c3b5780', 1, 1, 476))

    def test_rows_by_function_and_module_add_up(self):
        self.import_it(self.many_ops())
        by_instruction = self.ibs('--event', 'op-loads')
        module, = self.ibs('--event', 'op-loads', '--by', 'module')['rows']
        self.assertEqual(module['op-loads'], by_instruction['total_op-loads'])
        self.assertEqual(sum(row['op-loads'] for row in by_instruction['rows']),
                         module['op-loads'])
        loads = [row['op-loads'] for row in by_instruction['rows']]
        self.assertEqual(loads, sorted(loads, reverse=True))
        self.assertEqual(len(self.ibs('--top', 3)['rows']), 3)

    def test_a_page_has_what_the_command_says(self):
        self.import_it(self.many_ops())
        kallsyms = self.directory / 'kallsyms'
        kallsyms.write_text(f'{KERNEL_CODE & ~0xfffff:016x} T _text\n{KERNEL_CODE:016x} T counted\n'
                            f'{KERNEL_CODE + 0x1000:016x} T _etext\n')
        page = self.directory / 'page.html'
        result = self.run_tool('export', self.file, '-o', page, '--kallsyms', kallsyms)
        self.assertEqual(result.returncode, 0, result)
        ibs = report_fixture.data_of(page.read_text())['ibs']
        listing = self.ibs('--kallsyms', kallsyms)
        self.assertEqual(ibs['row_count'], 20)
        self.assertEqual(ibs['totals'], [listing[f'total_{event}'] for event in ibs['events']])
        self.assertEqual(ibs['rows']['values'], [[row[event] for event in ibs['events']] for row in listing['rows']])
        self.assertEqual([int(address, 16) for address in ibs['rows']['address']], [int(row['address'], 16) for row in listing['rows']])
        self.assertEqual(set(ibs['rows']['name']), {'counted'})
        for latency in ibs['latencies']:
            rows = self.ibs('--histogram', latency['name'])['rows']
            self.assertEqual(latency['buckets'], [[row['first_cycles'], row['end_cycles'], row['samples']] for row in rows])
        self.assertIn('dc-miss', [latency['name'] for latency in ibs['latencies']])

    def test_profiles_add_up(self):
        recording = self.many_ops(100)
        self.import_it(recording)
        result = self.run_tool('ibs', '--format', 'json', '--event', 'op-samples', self.file,
                               self.file)
        self.assertEqual(json.loads(result.stdout)['total_op-samples'], 200)

    def test_what_is_missing_is_reported(self):
        self.import_it(self.data('zen4_genoa.ibs.perf.data'))
        self.assertIn('op-dc-misses', self.refused('ibs', self.file, '--event', 'op-returns'))
        self.assertIn('tag-to-retire', self.refused('ibs', self.file, '--histogram', 'fetch'))
        self.assertIn('one of them',
                      self.refused('ibs', self.file, '--histogram', 'fetch', '--data', 'line'))


if __name__ == '__main__':
    record_support.main(IbsTest)
