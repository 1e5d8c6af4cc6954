"""Compares hbbp ibs with perf's own decoding of the registers, on recordings of real hardware and on
variants of them with other register values."""
import collections
import json
import math
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import unittest

import record_support
import recording_builder as built
import report_fixture

KERNEL_CODE = 0xffffffff81143000
KERNEL_MODE = 1
USER_MODE = 2
MAPPING = 1  # PERF_RECORD_MMAP
PROCESS = 77
PROGRAM = '''
__attribute__((noinline)) int sum(const int *numbers, int *last) {
  int all = 0;
  for (int i = 0; i < 100; ++i) all += numbers[i];
  *last = all;
  return all;
}
int main(void) {
  int numbers[100] = {1}, last;
  return sum(numbers, &last);
}
'''
OBJECTS = '''
int table[256] = {1};
char first = 1, second = 2;
short third = 3;
long zeros[1000];
const double constants[4] = {1, 2, 3, 4};
namespace outer { long inner[8] = {1}; }
int main(int count, char **) {
  zeros[count] = table[count] + first + second + third + outer::inner[count];
  return static_cast<int>(zeros[0] + static_cast<long>(constants[count]));
}
'''
FIELD = re.compile(r'(\w+) +([0-9]+)(?![0-9a-fx])')
REGISTER = re.compile(r'^(\w+):\s+([0-9a-f]{16})', re.M)
# These register bits are shown by perf and used here; reserved bits stay as recorded.
OP_DATA_BITS = 0x000001bfffffffff  # without RipInvalid
OP_DATA3_BITS = 0xfffffffffffff3ff
ZEN3, ZEN4 = b'AuthenticAMD,25,1,1', b'AuthenticAMD,25,17,1'
PREFETCH = 1 << 21
LOAD, STORE, HAS_ADDRESS, HAS_PHYSICAL_ADDRESS = 1, 2, 1 << 17, 1 << 18
MEMORY_TOPOLOGY = 22  # the number of the feature
FAR_CACHE, DEVICE = 5, 7  # each is a DataSrc
LOAD_LEVELS = {  # by DataSrc and RmtNode
    (1, 0): 'local-l3', (2, 0): 'local-cache', (2, 1): 'remote-cache', (3, 0): 'local-dram', (3, 1): 'remote-dram',
    (5, 0): 'remote-cache', (5, 1): 'remote-cache', (6, 0): 'long-latency-memory', (6, 1): 'long-latency-memory',
    (7, 0): 'local-other', (7, 1): 'remote-other', (8, 0): 'extension-memory', (8, 1): 'extension-memory',
    (12, 0): 'peer-memory', (12, 1): 'peer-memory'}
LEVEL_EVENTS = {level: f'op-nb-{level}' for level in (
    'local-l3', 'local-cache', 'remote-cache', 'local-dram', 'remote-dram', 'local-other', 'remote-other',
    'extension-memory')}


def is_memory(fields):
    return fields['LdOp'] | fields['StOp']


def has_latency(fields):
    """Returns whether it is a load but not a prefetch, whose latency is not valid."""
    return fields['LdOp'] & ~fields['SwPf']


def draw_op_data2(draw):
    """Returns a data source that perf has a name for, or 0, any node and any state of the line."""
    source = draw.randrange(13)
    return source & 7 | source >> 3 << 6 | draw.getrandbits(2) << 4


def is_not_cached(fields):
    """Returns whether nothing but the latency is known of a load. Devices are known."""
    return fields['DcUcMemAcc'] and fields.get('DataSrc') != DEVICE


def load_level(fields):
    """Returns the level of memory that a load had its data from, by the fields that perf prints."""
    if is_not_cached(fields):
        return 'unknown'
    if not fields['DcMiss']:
        return 'l1'
    if not fields.get('L2Miss', 1):  # perf leaves out what erratum 1293 makes wrong
        return 'l2'
    if 'DataSrc' in fields:  # else it is 0
        return LOAD_LEVELS.get((fields['DataSrc'], fields['RmtNode']), 'unknown')
    return 'miss-underway' if fields['DcMissNoMabAlloc'] else 'unknown'


EVENTS = {
    'op-loads': lambda f: f['LdOp'],
    'op-stores': lambda f: f['StOp'],
    'op-loads-and-stores': lambda f: f['LdOp'] | f['StOp'],
    'op-microcode': lambda f: f['Microcode'],
    'op-branches': lambda f: f['BrnRet'],
    'op-dc-misses': lambda f: is_memory(f) & f['DcMiss'],
    'op-l2-misses': lambda f: f.get('L2Miss', 0),
    'op-misaligned': lambda f: is_memory(f) & f['DcMisAcc'],
    'op-locked': lambda f: is_memory(f) & f['DcLockedOp'],
    'op-software-prefetches': lambda f: f['SwPf'],
    'op-mab-hits': lambda f: is_memory(f) & f['DcMissNoMabAlloc'],
    'op-dtlb-misses': lambda f: (is_memory(f) & f['DcLinAddrValid'] & f['DcL1TlbMiss']
                                 & f['DcL2TlbMiss']),
    'op-tag-to-retire-cycles': lambda f: f['TagToRetCtr'],
    'op-completion-to-retire-cycles': lambda f: f['CompToRetCtr'],
    'op-dtlb-refill-cycles': lambda f: f['TlbRefillLat'],
    'op-dc-load-miss-cycles': lambda f: has_latency(f) * f['DcMiss'] * f['DcMissLat'],
}


def patched(record, address, ip, changes):
    """Returns a sample at another address, with other registers after the one with its address."""
    record = bytearray(record.replace(struct.pack('<Q', address), struct.pack('<Q', ip)))
    rip = record.rindex(struct.pack('<Q', ip))
    for number, value in changes.items():
        struct.pack_into('<Q', record, rip + 8 * number, value)
    struct.pack_into('<H', record, 4, struct.unpack_from('<H', record, 4)[0] & ~7 | KERNEL_MODE)
    return bytes(record)


def of_process(record, process):
    """Returns a sample in user mode of the process."""
    record = bytearray(record)
    struct.pack_into('<H', record, 4, struct.unpack_from('<H', record, 4)[0] & ~7 | USER_MODE)
    struct.pack_into('<II', record, 16, process, process)
    return bytes(record)


def code_of(program):
    """Returns the offset in the file, the address and the size of a program's code."""
    headers = subprocess.run(['readelf', '-lW', program], capture_output=True, text=True, check=True).stdout
    return (int(number, 16) for number in re.search(
        r'LOAD\s+(\S+)\s+(\S+)\s+\S+\s+(\S+)\s+\S+\s+R E', headers).groups())


def mapping_of(program, template, bias=0):
    """Returns the record of the mapping of a program's code, with the time, ID and CPU of a sample."""
    offset, start, size = code_of(program)
    start += bias
    name = str(program).encode() + b'\0'
    name += bytes(-len(name) % 8)
    payload = (struct.pack('<IIQQQ', PROCESS, PROCESS, start, size, offset) + name
               + struct.pack('<II', PROCESS, PROCESS) + template[24:48])
    return struct.pack('<IHH', MAPPING, USER_MODE, 8 + len(payload)) + payload


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


def with_feature(recorded, number, section):
    """Returns the recording with one more feature."""
    whole = bytearray(recorded)
    start, size = struct.unpack_from('<QQ', whole, 40)
    known = int.from_bytes(whole[72:104], 'little')
    whole[72:104] = (known | 1 << number).to_bytes(32, 'little')
    table = start + size
    for i in range(bin(known).count('1')):
        offset, = struct.unpack_from('<Q', whole, table + 16 * i)
        struct.pack_into('<Q', whole, table + 16 * i, offset + 16)
    at = table + 16 * bin(known & (1 << number) - 1).count('1')  # in the order of their numbers
    whole[at:at] = struct.pack('<QQ', len(whole) + 16, len(section))
    return bytes(whole) + section


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

    def many_ops(self, count=3000, bits=OP_DATA3_BITS, processor=ZEN4):
        recorded = self.data('zen4_genoa.ibs.perf.data').read_bytes()
        self.assertIn(ZEN4, recorded)
        recorded = recorded.replace(ZEN4, processor.ljust(len(ZEN4), b'\0'))
        start, size = struct.unpack_from('<QQ', recorded, 40)
        template = recorded[start:start + size]
        address = 0xffffffff81143526
        draw = random.Random(3)
        records = []
        for _ in range(count):
            ip = KERNEL_CODE + 16 * int(20 * draw.random() ** 2)
            records.append(patched(template, address, ip, {
                1: draw.getrandbits(64) & OP_DATA_BITS,
                2: draw_op_data2(draw),
                3: draw.getrandbits(64) & bits,
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

    def test_what_is_wrong_by_erratum_1293_is_left_out_as_perf_does(self):
        recording = self.many_ops(processor=ZEN3)
        samples = self.decoded_by_perf(recording)
        self.assertTrue(any('L2Miss' not in fields for _, fields in samples))
        self.import_it(recording)
        listing = self.ibs('--event', 'op-l2-misses')
        self.assertEqual(listing['total_op-l2-misses'], sum(fields.get('L2Miss', 0) for _, fields in samples))
        levels = collections.Counter()
        for row in self.ibs('--latencies')['rows']:
            levels[row['level']] += row['samples']
        by_perf = collections.Counter()
        for (_, level, _), number in self.loads_by_perf(recording).items():
            by_perf[level] += number
        self.assertEqual(levels, by_perf)

    def test_latencies_are_what_perf_decodes(self):
        recording = self.many_ops()
        samples = self.decoded_by_perf(recording)
        self.import_it(recording)
        for name, field, is_meant in [
                ('tag-to-retire', 'TagToRetCtr', lambda f: True),
                ('completion-to-retire', 'CompToRetCtr', lambda f: True),
                ('dc-miss', 'DcMissLat', lambda f: has_latency(f) and f['DcMiss']),
                ('dtlb-refill', 'TlbRefillLat', lambda f: f['DcL1TlbMiss'] and f['DcL2TlbMiss'])]:
            latencies = [fields[field] for _, fields in samples if is_meant(fields)]
            listing = self.ibs('--histogram', name)
            self.assertEqual(listing['samples'], len(latencies), name)
            for row in listing['rows']:
                self.assertEqual(row['samples'], sum(
                    row['first_cycles'] <= latency < row['end_cycles'] for latency in latencies))
            self.assertEqual(listing['rows'][-1]['cumulative_share'], 1)

    def loads_by_perf(self, recording):
        """Returns how many loads there are by (instruction, level, cycles)."""
        loads = collections.Counter()
        for registers, fields in self.decoded_by_perf(recording):
            if has_latency(fields):
                cycles = fields['DcMissLat'] if fields['DcMiss'] else 0
                loads[registers['IbsOpRip'], load_level(fields), cycles] += 1
        return loads

    def test_latencies_of_an_instruction_by_level_are_what_perf_decodes(self):
        recording = self.many_ops()
        loads = self.loads_by_perf(recording)
        self.assertEqual({level for _, level, _ in loads},
                         {*LOAD_LEVELS.values(), 'l1', 'l2', 'miss-underway', 'unknown'})
        self.import_it(recording)
        for address in {ip for ip, _, _ in loads}:
            listing = self.ibs('--latencies', '--address', hex(address))
            own = {key[1:]: number for key, number in loads.items() if key[0] == address}
            self.assertEqual(listing['samples'], sum(own.values()))
            levels = {level for level, _ in own}
            self.assertEqual({key for row in listing['rows'] for key in row} - {'first_cycles', 'end_cycles', 'share'},
                             levels)
            for row in listing['rows']:
                for level in levels:
                    self.assertEqual(row[level], sum(
                        number for (name, cycles), number in own.items()
                        if name == level and row['first_cycles'] <= cycles < row['end_cycles']))
            for level in levels:
                self.assertEqual(listing[f'total_{level}'], sum(row[level] for row in listing['rows']))
            self.assertAlmostEqual(sum(row['share'] for row in listing['rows']), 1)

    def test_levels_of_loads_add_up_to_derived_events(self):
        self.import_it(self.many_ops(bits=OP_DATA3_BITS & ~PREFETCH))
        events = ['op-loads', *LEVEL_EVENTS.values()]
        by_event = {row['address']: row for row in self.ibs('--event', ','.join(events))['rows']}
        listing = self.ibs('--latencies')
        loads = collections.Counter()
        for row in listing['rows']:
            loads[row['address'], row['level']] += row['samples']
        self.assertEqual(listing['dropped'], 0)
        self.assertEqual(listing['instructions'], len(by_event))
        for address, row in by_event.items():
            self.assertEqual(row['op-loads'], sum(number for (at, _), number in loads.items() if at == address))
            for level, event in LEVEL_EVENTS.items():
                self.assertEqual(row[event], loads[address, level], (address, level))
        self.assertEqual(sum(loads.values()), listing['samples'])

    def test_latencies_are_listed_by_instruction_and_level(self):
        recording = self.many_ops()
        loads = self.loads_by_perf(recording)
        self.import_it(recording)
        listing = self.ibs('--latencies')
        shares = collections.Counter()
        for row in listing['rows']:
            own = sorted(cycles for (ip, level, cycles), number in loads.items()
                         if (hex(ip), level) == (row['address'], row['level']) for _ in range(number))
            self.assertEqual(row['samples'], len(own))
            shares[row['address']] += row['share']
            if row['level'] == 'l1':
                self.assertEqual((row['half_below'], row['all_below']), (None, None))
                continue
            # Bounds are ends of buckets, which are a quarter of a power of two wide.
            for key, share in ('half_below', 0.5), ('nine_tenths_below', 0.9), ('all_below', 1):
                nth = own[max(0, math.ceil(share * len(own)) - 1)]
                self.assertGreater(row[key], nth)
                self.assertLessEqual(row[key], max(nth + 1, 1.25 * nth + 1))
        for share in shares.values():
            self.assertAlmostEqual(share, 1)
        by_instruction = collections.Counter()
        for row in listing['rows']:
            by_instruction[row['address']] += row['samples']
        self.assertEqual(list(by_instruction.values()), sorted(by_instruction.values(), reverse=True))
        self.assertEqual(len({row['address'] for row in self.ibs('--latencies', '--top', 3)['rows']}), 3)

    def test_latencies_of_a_function(self):
        self.import_it(self.many_ops())
        kallsyms = self.directory / 'kallsyms'
        kallsyms.write_text(f'{KERNEL_CODE & ~0xfffff:016x} T _text\n{KERNEL_CODE:016x} T counted\n'
                            f'{KERNEL_CODE + 160:016x} T more\n{KERNEL_CODE + 0x1000:016x} T _etext\n')
        whole = self.ibs('--latencies', '--kallsyms', kallsyms)
        of_one = self.ibs('--latencies', '--function', 'more', '--kallsyms', kallsyms)
        self.assertEqual(of_one['rows'], [row for row in whole['rows'] if row['function'] == 'more'])
        self.assertEqual(self.ibs('--latencies', '--module', '[kernel.kallsyms]')['samples'], whole['samples'])
        self.assertEqual(self.ibs('--latencies', '--module', 'other')['rows'], [])
        self.assertIn("did you mean 'counted'",
                      self.refused('ibs', self.file, '--latencies', '--function', 'count', '--kallsyms', kallsyms))

    def test_accessed_memory_is_what_perf_decodes(self):
        recording = self.many_ops()
        expected = collections.Counter()
        for registers, fields in self.decoded_by_perf(recording):
            if fields['DcLinAddrValid'] and (fields['LdOp'] or fields['StOp']):
                line = registers['IbsDCLinAd'] & ~63
                expected[line, 'loads'] += fields['LdOp']
                expected[line, 'stores'] += fields['StOp']
                expected[line, 'misses'] += fields['DcMiss']
                has_source = fields['LdOp'] and fields['DcMiss'] and fields['L2Miss'] and 'DataSrc' in fields
                if has_source and not is_not_cached(fields):
                    is_remote = fields['RmtNode'] or fields['DataSrc'] == FAR_CACHE
                    expected[line, 'remote' if is_remote else 'local'] += 1
        self.import_it(recording)
        listing = self.ibs('--data', 'line')
        found = {(int(row['address'], 16), kind): row[kind]
                 for row in listing['rows'] for kind in ('loads', 'stores', 'misses', 'local', 'remote')}
        self.assertEqual(found, {**{key: 0 for key in found}, **expected})
        self.assertEqual(listing['dropped'], 0)
        page, = self.ibs('--data', 'page')['rows']
        self.assertEqual(page['address'], '0x7fff0000')
        for kind in ('loads', 'local', 'remote'):
            self.assertEqual(page[kind], sum(row[kind] for row in listing['rows']))

    def recording_of_two_nodes(self):
        """Returns a recording of loads from (line, physical address), on a machine whose first four blocks of memory are
        of node 0 and whose next four of node 1."""
        block = 1 << 27
        recorded = self.data('zen4_genoa.ibs.perf.data').read_bytes()
        start, size = struct.unpack_from('<QQ', recorded, 40)
        template = recorded[start:start + size]
        loads = [(0x10000, 0x1000), (0x10000, 0x1000), (0x10000, 0x1000), (0x10000, 5 * block),  # moved
                 (0x10040, 0x1040), (0x20000, 7 * block), (0x30000, 8 * block), (0x30040, 4 * block), (0x40000, 0)]
        records = [patched(template, 0xffffffff81143526, KERNEL_CODE,
                           {3: LOAD | HAS_ADDRESS | HAS_PHYSICAL_ADDRESS, 4: line, 5: physical})
                   for line, physical in loads]
        topology = struct.pack('<3Q', 1, block, 2)
        for node, blocks in (0, 0b1111), (1, 0b11110000):
            topology += struct.pack('<4Q', node, 8, 8, blocks)
        recording = self.directory / 'nodes.perf.data'
        recording.write_bytes(with_feature(with_records(recorded, records), MEMORY_TOPOLOGY, topology))
        return recording

    def test_memory_is_of_the_nodes_that_the_recording_lists(self):
        recording = self.recording_of_two_nodes()
        self.import_it(recording)
        nodes = {row['address']: row['node'] for row in self.ibs('--data', 'line')['rows']}
        self.assertEqual(nodes, {'0x10000': '0 (75.00 %), 1 (25.00 %)', '0x10040': '0', '0x20000': '1', '0x30000': None,
                                 '0x30040': '1', '0x40000': None})
        nodes = {row['address']: row['node'] for row in self.ibs('--data', 'page')['rows']}
        self.assertEqual(nodes, {'0x10000': '0 (80.00 %), 1 (20.00 %)', '0x20000': '1', '0x30000': '1 (50.00 %), - (50.00 %)',
                                 '0x40000': None})
        rows = self.run_tool('ibs', '--data', 'page', '--format', 'csv', self.file).stdout.splitlines()
        self.assertTrue(rows[0].endswith(',node'), rows)
        self.assertTrue(rows[1].endswith(',"0 (80.00 %), 1 (20.00 %)"'), rows)
        self.assertRegex(self.run_tool('ibs', '--data', 'page', self.file).stdout, r'0x20000 .* 1\n')
        twice = self.directory / 'twice.data'
        self.assertEqual(self.run_tool('merge', '-o', twice, self.file, self.file).returncode, 0)
        self.file = twice
        self.assertEqual({row['address']: row['node'] for row in self.ibs('--data', 'page')['rows']}, nodes)

    def test_perf_reads_the_nodes_of_the_recording_alike(self):
        if shutil.which('perf') is None:
            self.skipTest('no perf here')
        header = subprocess.run(['perf', 'report', '--header-only', '-I', '-i', self.recording_of_two_nodes()],
                                capture_output=True, text=True, check=True).stdout
        self.assertRegex(header, r'nr 2, block size 0x8000000')
        self.assertRegex(header, r' 0 \[ *512M\]: 0-3')
        self.assertRegex(header, r' 1 \[ *512M\]: 4-7')

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
        row, = self.ibs('--latencies')['rows']
        self.assertEqual((row['address'], row['level'], row['samples'], row['half_below']),
                         ('0xffffffff81143526', 'local-dram', 1, 512))
        row, = self.ibs('--histogram', 'dc-miss')['rows']
        self.assertEqual((row['first_cycles'], row['end_cycles'], row['samples']), (448, 512, 1))
        row, = self.ibs('--data', 'line')['rows']
        self.assertEqual((row['address'], row['loads'], row['misses'], row['miss_cycles'], row['node']),
                         ('0xffff899f7c3b5780', 1, 1, 476, None))
        row, = self.ibs('--data', 'object')['rows']
        self.assertEqual((row['object'], row['module'], row['loads'], row['misses'], row['miss_cycles']),
                         ('[other memory]', None, 1, 1, 476))

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

    def page_of(self, *arguments):
        page = self.directory / 'page.html'
        result = self.run_tool('export', self.file, *arguments, '-o', page)
        self.assertEqual(result.returncode, 0, result)
        return report_fixture.data_of(page.read_text())

    def test_latencies_and_memory_of_a_page_are_those_of_the_command(self):
        self.import_it(self.recording_of_two_nodes())
        ibs = self.page_of()['ibs']
        for data, kind in (('line', 'lines'), ('page', 'pages'), ('object', 'objects')):
            listed = self.ibs('--data', data)['rows']
            shown = [dict(zip(ibs[kind]['rows'], row)) for row in zip(*ibs[kind]['rows'].values())]
            self.assertEqual(ibs[kind]['row_count'], len(listed))
            for one, other in zip(shown, listed, strict=True):
                for key in ('loads', 'stores', 'misses', 'miss_cycles', 'local', 'remote', 'threads'):
                    self.assertEqual(one[key], other[key])
                if data == 'object':
                    self.assertEqual(one['name'], other['object'])
                else:
                    self.assertEqual((one['pid'], f"0x{one['address']}", one['node'] or None),
                                     (other['pid'], other['address'], other['node']))
        self.import_it(self.many_ops())
        ibs = self.page_of()['ibs']
        found = {(address, level['name']): sum(bucket[2] for bucket in level['buckets'])
                 for address, levels in zip(ibs['loads']['address'], ibs['loads']['levels']) for level in levels}
        self.assertEqual(found, {(row['address'][2:], row['level']): row['samples'] for row in self.ibs('--latencies')['rows']})
        self.assertEqual(ibs['load_count'], len(ibs['loads']['address']))
        for address, levels in zip(ibs['loads']['address'], ibs['loads']['levels']):
            rows = self.ibs('--latencies', '--address', f'0x{address}')['rows']
            for level in levels:
                self.assertEqual(level['buckets'], [[row['first_cycles'], row['end_cycles'], row[level['name']]]
                                                    for row in rows if row[level['name']]])

    def test_code_of_a_page_has_what_annotate_says(self):
        recording, _ = self.ops_of_program()
        self.import_it(recording)
        data = self.page_of()
        result = self.run_tool('annotate', self.file, '--function', 'sum', '--no-source', '--format', 'json')
        listed = {int(row['address'], 16): (row['op-samples'], row['op-dc-misses'], row['mean_miss_cycles'])
                  for row in json.loads(result.stdout)['rows'] if row['op-samples']}
        shown = {}
        for block, at, *numbers in zip(*(data['ibs']['code'][key] for key in ('block', 'at', 'ops', 'misses', 'mean_miss'))):
            code = data['blocks']['code'][block]
            address = int(data['blocks']['start'][block], 16) + sum(row[0] for row in code[:at])
            shown[address] = numbers
        self.assertEqual(set(shown), set(listed))
        for address, (ops, misses, cycles) in listed.items():
            self.assertEqual(shown[address][:2], [ops, misses])
            self.assertAlmostEqual(shown[address][2], cycles, delta=1e-5 * cycles)

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

    def ops_of_program(self):
        """Returns a recording of ops of a program, of all instructions of a function but the last, and the address of
        that one."""
        source, program = self.directory / 'sum.c', self.directory / 'sum'
        source.write_text(PROGRAM)
        try:
            subprocess.run(['gcc', '-O1', '-no-pie', source, '-o', program], check=True)
            code = subprocess.run(['objdump', '-d', '--disassemble=sum', program], capture_output=True, text=True,
                                  check=True).stdout
        except FileNotFoundError as error:
            self.skipTest(f'no {error.filename}')
        addresses = [int(address, 16) for address in re.findall(r'^\s+([0-9a-f]+):\t', code, re.M)]
        recorded = self.data('zen4_genoa.ibs.perf.data').read_bytes()
        start, size = struct.unpack_from('<QQ', recorded, 40)
        template = recorded[start:start + size]
        draw = random.Random(5)
        records = [mapping_of(program, template)]
        for _ in range(2000):
            records.append(of_process(patched(template, 0xffffffff81143526, draw.choice(addresses[:-1]), {
                2: draw_op_data2(draw),
                3: draw.getrandbits(64) & OP_DATA3_BITS & ~PREFETCH,
            }), PROCESS))
        recording = self.directory / 'sum.perf.data'
        recording.write_bytes(with_records(recorded, records))
        return recording, addresses[-1]

    def compiled_objects(self, *flags):
        """Returns a program with static data, the address of its code, and {name: (address, size)} of its objects."""
        source, program = self.directory / 'objects.cc', self.directory / 'objects'
        source.write_text(OBJECTS)
        try:
            subprocess.run(['g++', '-O1', *flags, source, '-o', program], check=True)
            listing = subprocess.run(['nm', '-SC', program], capture_output=True, text=True, check=True).stdout
        except FileNotFoundError as error:
            self.skipTest(f'no {error.filename}')
        objects = {name: (int(address, 16), int(size, 16)) for address, size, name in re.findall(
            r'^([0-9a-f]+) ([0-9a-f]+) [dDbBrRV] (\S+)$', listing, re.M)}
        wanted = ('table', 'first', 'second', 'third', 'zeros', 'constants', 'outer::inner')
        return program, {name: objects[name] for name in wanted}

    def import_accesses(self, program, bias, addresses):
        """Imports a recording in which the program's first instruction loaded from these addresses, and every third
        stored there."""
        recorded = self.data('zen4_genoa.ibs.perf.data').read_bytes()
        start, size = struct.unpack_from('<QQ', recorded, 40)
        template = recorded[start:start + size]
        _, ip, _ = code_of(program)
        records = [mapping_of(program, template, bias)]
        for number, address in enumerate(addresses):
            kind = STORE if number % 3 == 0 else LOAD
            records.append(of_process(patched(template, 0xffffffff81143526, ip + bias, {
                2: 0, 3: kind | HAS_ADDRESS, 4: address}), PROCESS))
        recording = self.directory / 'objects.perf.data'
        recording.write_bytes(with_records(recorded, records))
        self.import_it(recording)

    def test_data_is_of_the_objects_that_nm_lists(self):
        for flags, bias in ((('-no-pie',), 0), (('-pie', '-fPIE'), 0x7f1234560000)):
            program, objects = self.compiled_objects(*flags)
            draw = random.Random(7)
            expected = collections.Counter()
            addresses = []
            for _ in range(3000):
                name = draw.choice(sorted(objects))
                start, size = objects[name]
                addresses.append(bias + start + draw.randrange(size))
                expected[name] += 1
            self.import_accesses(program, bias, [*addresses, 0x1000, 0xffff888000001000])
            listing = self.ibs('--data', 'object')
            rows = {row['object']: row for row in listing['rows']}
            self.assertEqual({name: row['loads'] + row['stores'] for name, row in rows.items()},
                             {**expected, '[other memory]': 2})
            self.assertEqual(sum(row['stores'] for row in rows.values()), 1001)
            samples = [row['loads'] + row['stores'] for row in listing['rows']]
            self.assertEqual(samples, sorted(samples, reverse=True))
            for name, (start, size) in objects.items():
                row = rows[name]
                self.assertEqual((row['module'], int(row['address'], 16), row['size'], row['threads']),
                                 (str(program), start, size, 1))
            self.assertEqual((rows['[other memory]']['module'], rows['[other memory]']['address']), (None, None))
            text = self.run_tool('ibs', self.file, '--data', 'object', '--top', 3).stdout
            self.assertRegex(text, r'module +address +size +loads +stores +DC misses')
            self.assertIn('3 of 8 objects', text)
            # The same accesses are there by line.
            self.assertEqual(sum(row['loads'] + row['stores'] for row in self.ibs('--data', 'line')['rows']), 3002)
            twice = self.run_tool('ibs', '--format', 'json', '--data', 'object', self.file, self.file)
            self.assertEqual({row['object']: row['loads'] + row['stores'] for row in json.loads(twice.stdout)['rows']},
                             {name: 2 * count for name, count in {**expected, '[other memory]': 2}.items()})

    def test_data_of_a_stripped_program_is_of_its_sections(self):
        program, objects = self.compiled_objects('-pie', '-fPIE')
        subprocess.run(['strip', program], check=True)
        bias = 0x7f1234560000
        self.import_accesses(program, bias, [bias + objects[name][0] for name in ('table', 'first', 'zeros', 'constants')])
        self.assertEqual({row['object']: row['loads'] + row['stores'] for row in self.ibs('--data', 'object')['rows']},
                         {'[.data]': 2, '[.bss]': 1, '[.rodata]': 1})

    def test_annotated_instructions_have_what_perf_decodes(self):
        recording, without_samples = self.ops_of_program()
        expected = collections.defaultdict(collections.Counter)
        for registers, fields in self.decoded_by_perf(recording):
            of_op = expected[registers['IbsOpRip']]
            of_op['ops'] += 1
            of_op['misses'] += is_memory(fields) & fields['DcMiss']
            if fields['LdOp'] and fields['DcMiss']:
                of_op['load misses'] += 1
                of_op['cycles'] += fields['DcMissLat']
        self.import_it(recording)
        result = self.run_tool('annotate', self.file, '--function', 'sum', '--no-source', '--format', 'json')
        rows = {int(row['address'], 16): row for row in json.loads(result.stdout)['rows']}
        self.assertEqual(set(rows), {*expected, without_samples})
        for address, of_op in expected.items():
            self.assertEqual((rows[address]['op-samples'], rows[address]['op-dc-misses']),
                             (of_op['ops'], of_op['misses']))
            self.assertAlmostEqual(rows[address]['mean_miss_cycles'], of_op['cycles'] / of_op['load misses'])
        idle = rows[without_samples]
        self.assertEqual((idle['op-samples'], idle['op-dc-misses'], idle['mean_miss_cycles']), (0, 0, None))

        text = self.run_tool('annotate', self.file, '--function', 'sum', '--no-source').stdout
        self.assertRegex(text, r'source +IBS ops +DC misses +mean miss +heat')
        for address, of_op in expected.items():
            self.assertRegex(text, rf"ibs +{of_op['ops']} +{of_op['misses']} +[\d,]+ .* {hex(address)}: ")

    def test_annotated_instructions_have_samples_of_another_event_next_to_ops(self):
        """Sums of recordings of one program show both; without ops, samples are shown on request."""
        recording, last = self.ops_of_program()
        program = self.directory / 'sum'
        offset, start, size = code_of(program)
        event = built.Event(11, built.CYCLES, 'cycles:u')
        falls = {last: 7, last - 1: 0, start: 3}
        samples = [event.sample(ip, PROCESS, 10 + number) for ip, number_of in falls.items() for number in range(number_of)]
        # As in the recording of ops, nothing says which file it was, so that both have one module.
        name = str(program).encode() + b'\0'
        mapping = built.record(MAPPING, built.USER, struct.pack('<IIQQQ', PROCESS, PROCESS, start, size, offset)
                               + name + bytes(-len(name) % 8) + event.sample_id(PROCESS, 1))
        of_cycles, by_cycles = self.directory / 'cycles.perf.data', self.directory / 'cycles.hbbp'
        of_cycles.write_bytes(built.file([event], [mapping, *samples]))
        self.assertEqual(self.run_tool('import', '-o', by_cycles, of_cycles).returncode, 0)
        self.import_it(recording)

        result = self.run_tool('annotate', self.file, by_cycles, '--function', 'sum', '--no-source', '--format', 'json')
        rows = {int(row['address'], 16): row for row in json.loads(result.stdout)['rows']}
        self.assertEqual({address: row['cycles:u-samples'] for address, row in rows.items()},
                         {address: 7 if address == last else 0 for address in rows})
        self.assertEqual(sum(row['op-samples'] for row in rows.values()), 2000)
        text = self.run_tool('annotate', self.file, by_cycles, '--function', 'sum', '--no-source', '--all').stdout
        self.assertRegex(text, r'source +cycles:u samples +IBS ops +DC misses')
        self.assertRegex(text, rf' 7 +(█|▉|▊|▋|▌|▍|▎|▏| )*{hex(last)}: ')

        text = self.run_tool('annotate', by_cycles, '--function', 'sum', '--no-source').stdout
        self.assertNotIn('samples', text.splitlines()[5])
        text = self.run_tool('annotate', by_cycles, '--function', 'sum', '--no-source', '--samples').stdout
        self.assertRegex(text, r'source +cycles:u samples +heat')

    def test_what_is_missing_is_reported(self):
        self.import_it(self.data('zen4_genoa.ibs.perf.data'))
        self.assertIn('op-dc-misses', self.refused('ibs', self.file, '--event', 'op-returns'))
        self.assertIn('tag-to-retire', self.refused('ibs', self.file, '--histogram', 'fetch'))
        self.assertIn('one of them',
                      self.refused('ibs', self.file, '--histogram', 'fetch', '--data', 'line'))
        self.assertIn('one of them', self.refused('ibs', self.file, '--latencies', '--data', 'line'))
        self.assertIn('--latencies', self.refused('ibs', self.file, '--address', '0x1000'))
        self.assertIn('no load', self.refused('ibs', self.file, '--latencies', '--address', '0x1000'))
        self.assertIn('no number', self.refused('ibs', self.file, '--latencies', '--address', 'main'))
        self.import_it(self.data('zen2_rome.ibs.perf.data'))
        self.assertEqual(self.ibs('--latencies')['rows'], [])


if __name__ == '__main__':
    record_support.main(IbsTest)
