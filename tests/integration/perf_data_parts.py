"""Reads from a file of perf record what a host with perf events of its own would have: the attrs with
their ids and names, and the records of the kernel. It does not use any code of hbbp."""
import struct

THROTTLE, UNTHROTTLE = 5, 6
HEADER_ATTR, EVENT_TYPE, FINISHED_ROUND, AUXTRACE, EVENT_UPDATE = 64, 65, 68, 71, 78
FEATURE, COMPRESSED, COMPRESSED2, TRACING_DATA = 80, 81, 83, 66
BUILD_ID_RECORD = 67
BUILD_ID, CPUID, EVENT_DESC, PMU_MAPPINGS = 2, 9, 12, 16
FIRST_DYNAMIC_PMU = 6
BUILD_ID_SIZE = 1 << 15  # of misc


class Event:
    def __init__(self, attr, ids):
        self.attr, self.ids, self.name = attr, list(ids), None


def words(data):
    return list(struct.unpack(f'<{len(data) // 8}Q', data[:len(data) // 8 * 8]))


def c_string(data):
    return data.split(b'\0')[0].decode(errors='surrogateescape')


def copy_without_gaps(recording, copy):
    """Copies what perf record wrote to a file or a pipe, without the beginnings of gaps of sampling."""
    data = bytearray(recording.read_bytes())
    header_size, = struct.unpack_from('<Q', data, 8)
    start, size = (16, len(data) - 16) if header_size == 16 else struct.unpack_from('<2Q', data, 40)
    at = start
    while at < start + size:
        kind, _, length = struct.unpack_from('<IHH', data, at)
        if kind == THROTTLE:
            struct.pack_into('<I', data, at, UNTHROTTLE)
        at += length
    copy.write_bytes(data)


class PerfData:
    """Has events, records (of the kernel, and rounds), build_ids {path: bytes}, cpu_id."""

    def __init__(self, path):
        data = path.read_bytes()
        magic, header_size = struct.unpack_from('<8sQ', data)
        if magic != b'PERFILE2':
            raise ValueError(f'{path}: another byte order or format')
        self.events, self.records, self.build_ids, self.cpu_id = [], [], {}, ''
        if header_size == 16:
            self.read_records(data[16:])
        else:
            self.read_file(data)

    def read_file(self, data):
        attr_entry, attrs, attrs_size, start, size = struct.unpack_from('<5Q', data, 16)
        types, types_size = struct.unpack_from('<2Q', data, 56)
        features = int.from_bytes(data[72:104], 'little')
        for at in range(attrs, attrs + attrs_size, attr_entry):
            offset, ids_size = struct.unpack_from('<2Q', data, at + attr_entry - 16)
            self.events.append(Event(data[at:at + attr_entry - 16],
                                     words(data[offset:offset + ids_size])))
        for at in range(types, types + types_size, 72):
            self.name_config(data[at:at + 72])
        table = start + size
        for feature in range(256):
            if features >> feature & 1:
                offset, feature_size = struct.unpack_from('<2Q', data, table)
                table += 16
                self.read_feature(feature, data[offset:offset + feature_size])
        self.read_records(data[start:start + size])

    def name_config(self, event_type):
        config, = struct.unpack_from('<Q', event_type)
        for event in self.events:
            if struct.unpack_from('<Q', event.attr, 8)[0] == config and event.name is None:
                event.name = c_string(event_type[8:])

    def read_feature(self, feature, data):
        if feature == CPUID:
            self.cpu_id = c_string(data[4:])
        if feature == BUILD_ID:
            while len(data) >= 36:
                misc, size = struct.unpack_from('<HH', data, 4)
                self.read_build_id(data[:size], misc)
                data = data[max(size, 8):]
        if feature == EVENT_DESC:
            count, attr_size = struct.unpack_from('<II', data)
            at = 8
            for index in range(count):
                at += attr_size
                ids, name_size = struct.unpack_from('<II', data, at)
                name = c_string(data[at + 8:at + 8 + name_size])
                at += 8 + name_size
                first = struct.unpack_from('<Q', data, at)[0] if ids else None
                at += 8 * ids
                for event in [event for event in self.events if first in event.ids] or \
                        self.events[index:index + 1]:
                    event.name = name

        if feature == PMU_MAPPINGS:
            count, = struct.unpack_from('<I', data)
            at = 4
            for _ in range(count):
                pmu, name_size = struct.unpack_from('<II', data, at)
                name = c_string(data[at + 8:at + 8 + name_size])
                at += 8 + name_size
                for event in self.events:
                    kind, _, config = struct.unpack_from('<IIQ', event.attr)
                    if kind == pmu >= FIRST_DYNAMIC_PMU and event.name is None:
                        event.name = f'{name}/config={config:#x}/'

    def read_build_id(self, record, misc):
        size = record[32] if misc & BUILD_ID_SIZE else 20
        self.build_ids[c_string(record[36:])] = record[12:12 + size]

    def read_records(self, data):
        at = 0
        while at + 8 <= len(data):
            kind, misc, size = struct.unpack_from('<IHH', data, at)
            record = data[at:at + size]
            if size < 8 or kind > 0xffff:
                self.records.append(data[at:])
                return
            at += size
            if kind in (COMPRESSED, COMPRESSED2):
                raise ValueError('compressed: rings have no such records')
            if kind == AUXTRACE:
                at += struct.unpack_from('<Q', record, 8)[0]
            elif kind == TRACING_DATA:
                at += (struct.unpack_from('<I', record, 8)[0] + 7) // 8 * 8
            elif kind == HEADER_ATTR:
                attr_size, = struct.unpack_from('<I', record, 12)
                self.events.append(Event(record[8:8 + attr_size], words(record[8 + attr_size:])))
            elif kind == EVENT_TYPE:
                self.name_config(record[8:])
            elif kind == FEATURE:
                self.read_feature(struct.unpack_from('<Q', record, 8)[0], record[16:])
            elif kind == BUILD_ID_RECORD:
                self.read_build_id(record, misc)
            elif kind == EVENT_UPDATE and struct.unpack_from('<Q', record, 8)[0] == 2:
                of = struct.unpack_from('<Q', record, 16)[0]
                for event in self.events:
                    if of in event.ids:
                        event.name = c_string(record[24:])
            elif kind < HEADER_ATTR or kind == FINISHED_ROUND:
                self.records.append(record)
