#!/usr/bin/env python3
"""Shows that the memory of an import does not grow with the recording, and how its progress is shown.

    bench/import_memory.py build/release/tools/hbbp RECORDING BINARY [--gigabytes 0.1 1 8] [--directory DIR]

RECORDING is a file of perf record with branch stacks and the sample type IP | TID | TIME | PERIOD | BRANCH_STACK.
Its records are repeated, each time later by its duration, until the file has that size; it is deleted behind the
import. The figures are the time that passed, megabytes a second, the largest resident memory, and how many percentages
the progress bar showed on a terminal.
"""

import argparse
import array
import os
import pty
import re
import struct
import sys
import tempfile
import time

HEADER = struct.Struct("<8s9Q")
SAMPLE_TYPE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 8 | 1 << 11  # IP, TID, TIME, PERIOD, BRANCH_STACK
THROTTLE, UNTHROTTLE, SAMPLE, FIRST_OF_USER = 5, 6, 9, 64
TIME_IN_SAMPLE, TIME_IN_THROTTLE = 24, 8


def positions_of_times(records):
    """Returns the number of samples, and where the records have their times, which end all but samples."""
    positions, samples, at = [], 0, 0
    while at < len(records):
        kind, _, size = struct.unpack_from("<IHH", records, at)
        if kind == SAMPLE:
            samples += 1
            positions.append(at + TIME_IN_SAMPLE)
        elif kind < FIRST_OF_USER:
            positions.append(at + size - 8)
            if kind in (THROTTLE, UNTHROTTLE):
                positions.append(at + TIME_IN_THROTTLE)
        at += size
    return samples, positions


class Recording:
    def __init__(self, path):
        with open(path, "rb") as source:
            self.whole = source.read()
        magic, self.size, _, attrs, _, self.data, self.data_bytes, _, _, _ = HEADER.unpack_from(self.whole)
        if magic != b"PERFILE2" or self.size != 104:
            raise SystemExit(f"{path}: not in file mode")
        sample_type, = struct.unpack_from("<Q", self.whole, attrs + 24)
        if sample_type != SAMPLE_TYPE:
            raise SystemExit(f"{path}: another sample type")
        self.records = self.whole[self.data:self.data + self.data_bytes]
        self.samples, self.positions = positions_of_times(self.records)

    def enlarge(self, path, bytes_wanted):
        """Writes whole copies of the records, at least that many bytes. Copies have no sections at their end."""
        words = array.array("Q", self.records)
        moving = [position // 8 for position in self.positions if 0 < words[position // 8] < 2**64 - 1]
        times = [words[index] for index in moving]
        duration = max(times) - min(times) + 1000000
        copies = -(-bytes_wanted // self.data_bytes)
        header = bytearray(self.whole[:self.data])
        fields = list(HEADER.unpack_from(self.whole))
        fields[6], fields[9] = copies * self.data_bytes, 0
        HEADER.pack_into(header, 0, *fields)
        header[HEADER.size:self.size] = bytes(self.size - HEADER.size)
        with open(path, "wb") as out:
            out.write(header)
            for _ in range(copies):
                words.tofile(out)
                for index in moving:
                    words[index] += duration
        return os.path.getsize(path)


def import_on_terminal(command):
    """Returns (seconds, KiB, set of percentages that were shown)."""
    start = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    shown = b""
    while True:
        try:
            block = os.read(terminal, 65536)
        except OSError:
            break
        if not block:
            break
        shown += block
    _, status, usage = os.wait4(pid, 0)
    seconds = time.monotonic() - start
    if status != 0:
        raise SystemExit(shown.decode(errors="replace"))
    return seconds, usage.ru_maxrss, set(re.findall(rb"\] +(\d+) %", shown))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hbbp")
    parser.add_argument("recording")
    parser.add_argument("binary")
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[0.1, 1, 8])
    parser.add_argument("--directory", default=None, help="where the recordings go, one at a time")
    arguments = parser.parse_args()
    recording = Recording(arguments.recording)
    binary = os.path.abspath(arguments.binary)
    print("| GB | samples | s | MB/s | MiB resident | percentages shown |")
    print("|---|---|---|---|---|---|")
    for gigabytes in arguments.gigabytes:
        with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
            free = os.statvfs(directory)
            if free.f_bavail * free.f_frsize < 1.2e9 * gigabytes:
                sys.exit(f"{directory}: less than {1.2 * gigabytes:.1f} GB free")
            path = os.path.join(directory, "perf.data")
            size = recording.enlarge(path, int(gigabytes * 1e9))
            copies = size // recording.data_bytes
            seconds, kib, percentages = import_on_terminal(
                [arguments.hbbp, "import", "-o", os.path.join(directory, "out.hbbp"), "--file",
                 f"{os.path.basename(binary)}={binary}", path])
            print(f"| {size / 1e9:.1f} | {recording.samples * copies:,} | {seconds:.1f} | {size / 1e6 / seconds:.0f} | {kib / 1024:.0f} | "
                  f"{len(percentages)} |", flush=True)


if __name__ == "__main__":
    main()
