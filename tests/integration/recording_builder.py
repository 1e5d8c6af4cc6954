"""Builds recordings like perf record, byte by byte: several events, each with a layout of its own, in a
file or a pipe."""
import struct

IP, TID, TIME, READ, ID, PERIOD = 1 << 0, 1 << 1, 1 << 2, 1 << 4, 1 << 6, 1 << 8
CALLCHAIN, BRANCH_STACK, IDENTIFIER = 1 << 5, 1 << 11, 1 << 16
ANY_BRANCH, ANY_CALL, ANY_RETURN, HW_INDEX = 1 << 3, 1 << 4, 1 << 5, 1 << 17
USER_BRANCHES = 1 << 0
FORMAT_TIMES, FORMAT_ID, FORMAT_GROUP, FORMAT_LOST = 3, 1 << 2, 1 << 3, 1 << 4
HARDWARE, SOFTWARE = 0, 1
CYCLES, INSTRUCTIONS = 0, 1  # PERF_COUNT_HW_*
DUMMY = 9  # PERF_COUNT_SW_*
FINISHED_ROUND = 68
FREQUENCY, SAMPLE_ID_ALL, TEXT_POKE = 1 << 10, 1 << 18, 1 << 33  # flags of an attr
KERNEL, USER, GUEST_USER = 1, 2, 5
ATTR_BYTES, HEADER_BYTES, ENTRY_BYTES = 112, 104, 128
BUILD_ID, HOSTNAME, OS_RELEASE, ARCH, EVENT_DESCRIPTION, BPF_PROGRAMS = 2, 3, 4, 6, 12, 25
SAMPLE_TYPE = IDENTIFIER | IP | TID | TIME | PERIOD


def record(kind, misc, payload):
    return struct.pack('<IHH', kind, misc, 8 + len(payload)) + payload


def old_build_id(path, bytes_of_id):
    """Makes an entry of the feature BUILD_ID as before Linux 5.11, with zeros instead of a number of bytes."""
    name = path.encode() + b'\0'
    name += b'\0' * (-len(name) % 8)
    return record(67, USER, struct.pack('<i', -1) + bytes_of_id.ljust(24, b'\0') + name)


def build_id(path, bytes_of_id):
    """Makes an entry of the feature BUILD_ID as since Linux 5.11, with the number of bytes."""
    name = path.encode() + b'\0'
    name += b'\0' * (-len(name) % 8)
    return record(67, USER | 1 << 15, struct.pack('<i', -1) + bytes_of_id.ljust(20, b'\0') +
                  struct.pack('<I', len(bytes_of_id)) + name)


def bpf_program(address, code):
    """Makes the feature BPF_PROG_INFO with one program of one function."""
    data = code + b'\0' * (-len(code) % 8)
    info = bytearray(232)
    struct.pack_into('<I', info, 16, len(code))
    struct.pack_into('<IIQQ', info, 104, 1, 1, len(data), len(data) + 8)
    data += struct.pack('<QII', address, len(code), 0)
    return struct.pack('<IIIQ', 1, len(info), len(data), 0x1f9) + bytes(info) + data


def padded(text):
    """Returns the text with its length, as features have it."""
    data = text.encode() + b'\0'
    data += b'\0' * (-len(data) % 8)
    return struct.pack('<I', len(data)) + data


class Event:
    """An event whose records have its id; `period` is a frequency with the flag FREQUENCY."""

    def __init__(self, number, config, name, kind=HARDWARE, period=1000, sample_type=SAMPLE_TYPE, flags=0,
                 read_format=0, branch_kinds=0):
        self.id, self.name, self.sample_type, self.branch_kinds = number, name, sample_type, branch_kinds
        attr = struct.pack('<IIQQQQQIIQQQ', kind, ATTR_BYTES, config, period, sample_type, read_format,
                           flags | SAMPLE_ID_ALL, 0, 0, 0, 0, branch_kinds)
        self.attr = attr.ljust(ATTR_BYTES, b'\0')

    def sample_id(self, pid, time):
        """Makes what ends every record but samples."""
        fields = b''
        if self.sample_type & TID:
            fields += struct.pack('<II', pid, pid)
        if self.sample_type & TIME:
            fields += struct.pack('<Q', time)
        return fields + struct.pack('<Q', self.id)

    def sample(self, ip, pid, time, period=1000, read=b'', chain=(), branches=(), misc=USER):
        fields = struct.pack('<QQII', self.id, ip, pid, pid)
        if self.sample_type & TIME:
            fields += struct.pack('<Q', time)
        if self.sample_type & PERIOD:
            fields += struct.pack('<Q', period)
        if self.sample_type & READ:
            fields += read
        if self.sample_type & CALLCHAIN:
            fields += struct.pack(f'<{len(chain) + 1}Q', len(chain), *chain)
        if self.sample_type & BRANCH_STACK:
            fields += struct.pack('<Q', len(branches)) + (b'\0' * 8 if self.branch_kinds & HW_INDEX else b'')
            fields += b''.join(struct.pack('<QQQ', *branch, 0) for branch in branches)
        return record(9, misc, fields)

    def mapping(self, pid, start, size, path, offset=0):
        name = path.encode() + b'\0'
        name += b'\0' * (-len(name) % 8)
        return record(10, USER, struct.pack('<IIQQQIIQQII', pid, pid, start, size, offset, 8, 1, 77, 0, 5, 2) +
                      name + self.sample_id(pid, 1))

    def kernel_function(self, start, size, name):
        """Makes the record of a function that the kernel generated, such as one of BPF."""
        text = name.encode() + b'\0'
        text += b'\0' * (-len(text) % 8)
        return record(17, 0, struct.pack('<QIHH', start, size, 1, 0) + text + self.sample_id(0, 1))

    def poke(self, address, before, after, time):
        """Makes the record of a change of kernel code."""
        change = struct.pack('<QHH', address, len(before), len(after)) + before + after
        change += b'\0' * (-len(change) % 8)
        return record(20, KERNEL, change + self.sample_id(0, time))

    def throttle(self, time, is_throttled=True):
        return record(5 if is_throttled else 6, 0,
                      struct.pack('<QQQ', time, self.id, self.id) + self.sample_id(0, time))


def file(events, records, features=None):
    """Makes a file of perf. `features` has the bytes of each by its number."""
    features = dict(features or {})
    description = struct.pack('<II', len(events), ATTR_BYTES)
    for event in events:
        description += event.attr + struct.pack('<I', 1) + padded(event.name) + struct.pack('<Q', event.id)
    features[EVENT_DESCRIPTION] = description
    ids = b''.join(struct.pack('<Q', event.id) for event in events)
    attrs_at = HEADER_BYTES + len(ids)
    attrs = b''.join(event.attr + struct.pack('<QQ', HEADER_BYTES + 8 * number, 8)
                     for number, event in enumerate(events))
    data = b''.join(records)
    bits = sum(1 << feature for feature in features)
    header = b'PERFILE2' + struct.pack('<9Q', HEADER_BYTES, ENTRY_BYTES, attrs_at, len(attrs),
                                       attrs_at + len(attrs), len(data), 0, 0, bits)
    whole = header.ljust(HEADER_BYTES, b'\0') + ids + attrs + data
    at = len(whole) + 16 * len(features)
    table, sections = b'', b''
    for feature in sorted(features):
        table += struct.pack('<QQ', at + len(sections), len(features[feature]))
        sections += features[feature]
    return whole + table + sections


def pipe(events, records):
    """Makes what perf writes to a pipe."""
    attrs = [record(64, 0, event.attr + struct.pack('<Q', event.id)) for event in events]
    return b'PERFILE2' + struct.pack('<Q', 16) + b''.join(attrs) + b''.join(records)
