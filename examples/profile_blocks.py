"""Finds the blocks of a profile of libhbbp by address, for scripts inside of other tools.

The command hbbp must be on the PATH, or its path in HBBP_TOOL. Nothing else is needed, and no library is
loaded into the other tool, which may have another version of Python."""
import bisect
import collections
import json
import os
import struct
import subprocess
import tempfile

PT_LOAD, PF_X = 1, 1
Segment = collections.namedtuple('Segment', 'flags offset address file_bytes')


def segments(path):
    """Returns the loaded segments of a 64-bit ELF file; none for other files."""
    try:
        with open(path, 'rb') as file:
            header = file.read(64)
            if len(header) < 64 or header[:5] != b'\x7fELF\x02':
                return []
            table, = struct.unpack_from('<Q', header, 32)
            size, count = struct.unpack_from('<HH', header, 54)
            file.seek(table)
            headers = file.read(size * count)
    except OSError:
        return []
    found = []
    for at in range(0, len(headers) - 55, size or 1):
        kind, flags, offset, address, _, file_bytes = struct.unpack_from('<IIQQQQ', headers, at)
        if kind == PT_LOAD:
            found.append(Segment(flags, offset, address, file_bytes))
    return found


def address_of_offset(path, offset):
    """Returns the address of the offset in the file; None if it is not loaded."""
    for segment in segments(path):
        if segment.offset <= offset < segment.offset + segment.file_bytes:
            return segment.address + offset - segment.offset
    return None


def run_hbbp(*arguments):
    """Returns the output of hbbp. RuntimeError has its message."""
    tool = os.environ.get('HBBP_TOOL', 'hbbp')
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def is_recording(path):
    """Returns whether perf record has written the file."""
    with open(path, 'rb') as file:
        return file.read(8) in (b'PERFILE2', b'2ELIFREP')


class ProfileBlocks:
    """Returns rows of `hbbp blocks --format json` for a profile or a recording of perf, with `start` and `end`
    as numbers."""

    def __init__(self, path):
        with tempfile.TemporaryDirectory() as directory:
            profile = path
            if is_recording(path):
                profile = os.path.join(directory, 'imported.hbbp')
                run_hbbp('import', '-o', profile, path)
            listing = json.loads(run_hbbp('blocks', '--format', 'json', profile))
        self.unit = listing['unit']
        self.notes = listing.get('notes', [])
        self.modules = collections.defaultdict(list)
        for row in listing['rows']:
            row['start'], row['end'] = int(row['start'], 16), int(row['end'], 16)
            self.modules[row['module']].append(row)
        for rows in self.modules.values():
            rows.sort(key=lambda row: row['start'])

    def hottest(self, number):
        """Returns the blocks with most executed instructions, most first."""
        rows = (row for rows in self.modules.values() for row in rows)
        return sorted(rows, key=lambda row: row['count'] * row['instructions'], reverse=True)[:number]

    def find(self, module, address):
        """Returns the block around the address of the module's file, or None."""
        rows = self.modules.get(module, ())
        at = bisect.bisect_right([row['start'] for row in rows], address) - 1
        return rows[at] if at >= 0 and address < rows[at]['end'] else None


def text_of(row):
    """Describes a block in one line."""
    error = '' if row['standard_error'] is None else f' ± {row["standard_error"]:,.0f}'
    return (f'0x{row["start"]:x}-0x{row["end"]:x}, {row["instructions"]} instructions: {row["count"]:,.0f}{error} times, '
            f'{100 * row["share"]:.2f} %')
