"""Reads a profile file (docs/reference/profile-format.md) independently of its order: sources, threads
and modules in counts are named, so that two profiles can be compared whose lists are in another
order."""
import struct

INFO, SOURCES, THREADS, MODULES, COUNTS, BRANCHES = range(1, 7)
NO_MODULE = 2 ** 32 - 1
ANONYMOUS, KERNEL = 2, 3  # values of kinds of modules


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def get(self, layout):
        values = struct.unpack_from('<' + layout, self.data, self.at)
        self.at += struct.calcsize('<' + layout)
        return values if len(values) > 1 else values[0]

    def bytes(self):
        size = self.get('Q')
        self.at += size
        return self.data[self.at - size:self.at]

    def each(self):
        return range(self.get('Q'))


def sections(data):
    count, = struct.unpack_from('<I', data, 12)
    found = {}
    for i in range(count):
        kind, _, offset, size, _ = struct.unpack_from('<IIQQQ', data, 32 + 32 * i)
        found[kind] = Cursor(data[offset:offset + size])
    return found


class Profile:
    """Has sources {name: numbers}, notes, duration_ns, counts {...}, branches {...}."""

    def __init__(self, path):
        parts = sections(path.read_bytes())
        self.pid, _, self.duration_ns = parts[INFO].get('IQQ')
        self.read_sources(parts[SOURCES])
        threads = [(parts[THREADS].get('II'), parts[THREADS].bytes())
                   for _ in parts[THREADS].each()]
        modules = self.read_modules(parts[MODULES])
        cursor = parts[COUNTS]
        self.counts = {}
        for _ in cursor.each():
            source, thread, module, position, offset, *sums = cursor.get('IIIIQQdd')
            key = (self.names[source], threads[thread], modules[module], position, offset)
            self.counts[key] = sums
        cursor = parts[BRANCHES]
        self.branches = {}
        for _ in cursor.each():
            source, thread, start_module, end_module, *rest, number, weights, mask = cursor.get(
                'IIIIQQQQdI')
            replicates = [cursor.get('f') for i in range(31) if mask >> i & 1]
            oldest = cursor.get('Qd') if mask >> 31 else None
            key = (self.names[source], threads[thread], *rest,
                   *(None if module == NO_MODULE else modules[module]
                     for module in (start_module, end_module)))
            self.branches[key] = (number, weights, mask, replicates, oldest)

    def read_sources(self, cursor):
        self.sources, self.names, self.notes = {}, [], []
        for _ in cursor.each():
            numbers = cursor.get('iiiIQQQQQ')
            self.notes.append(cursor.bytes().decode())
            tracing = (cursor.bytes(), cursor.bytes(), cursor.get('8Q'))
            counters = [(cursor.bytes(), cursor.get('Q')) for _ in cursor.each()]
            event = cursor.bytes()
            ip = cursor.get('IiQQi')
            name = (numbers[0], event, sum(known[:2] == (numbers[0], event)
                                           for known in self.names))
            self.names.append(name)
            self.sources[name] = (numbers, tracing, counters, ip)

    @staticmethod
    def read_lines(cursor):
        files = [cursor.bytes() for _ in cursor.each()]
        return tuple((offset, files[file], line)
                     for offset, file, line in (cursor.get('III') for _ in cursor.each()))

    @staticmethod
    def read_modules(cursor):
        modules = []
        for index in cursor.each():
            kind, device, inode = cursor.get('iQQ')
            module = (kind, device, inode, cursor.bytes(), cursor.bytes())
            chunks = tuple((cursor.get('Q'), cursor.bytes(), cursor.bytes(), Profile.read_lines(cursor))
                           for _ in cursor.each())
            if kind == KERNEL:
                # A host that feeds records does not know the release.
                boot, _, symbol, address = *(cursor.bytes() for _ in range(3)), cursor.get('Q')
                ranges = [[(cursor.get('QQ'), cursor.bytes()) for _ in cursor.each()]
                          for _ in ('functions', 'modules')]
                chunks = (chunks, boot, symbol, address, str(ranges))
            if kind == ANONYMOUS:
                chunks = (chunks, *((cursor.get('QQ'), cursor.bytes()) for _ in cursor.each()))
            chunks = (chunks, cursor.bytes())  # where the file is here
            # Memory of two processes may be equal, but is not the same.
            alike = sum(known[:-1] == (*module, chunks) for known in modules)
            modules.append((*module, chunks, alike))
        return modules
