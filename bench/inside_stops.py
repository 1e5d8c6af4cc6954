#!/usr/bin/env python3
"""Measures for how long a thread stands still for a burst that is traced from inside: the time of the signal handler.

    bench/inside_stops.py build/release/tools/hbbp [--period MS] [--seconds S]

The programs are those of attach_bench, which measures the same from outside. The kernel notes when the handler
begins and returns (uprobes, for which tracefs and root are needed), so that nothing of ours measures itself. What
it takes to note that, some two microseconds a burst, is included; delivering the signal and returning from it is
not. Prints a row of a table for each program.
"""
import argparse
import collections
import os
import pathlib
import re
import signal
import statistics
import subprocess
import tempfile

TRACING = pathlib.Path("/sys/kernel/tracing")
HANDLER = "trace::(anonymous namespace)::HandleSignal"
INPUT_BYTES = 64 << 20
PROGRAMS = [
    ("an empty loop of perl", "exec perl -e '1 while 1'"),
    ("bzip2", "exec bzip2 -c input"),
    ("gzip", "exec gzip -c input"),
    ("xz", "exec xz -c input"),
    ("perl, a hash table", "exec perl -e 'for (;;) { my %c; $c{($_ * 7919) % 100003}++ for 1 .. 100000 }'"),
    ("awk", """exec awk 'BEGIN { for (;;) { i++; a[(i * 7919) % 10007] = i "x" } }'"""),
    ("sort", "exec sort input"),
]


def write_input(path):
    """Writes numbers in no order."""
    with open(path, "w", encoding="ascii") as file:
        size = number = 0
        while size < INPUT_BYTES:
            size += file.write("".join(f"{i * 2654435761 % 100_000_007}\n" for i in range(number, number + 100_000)))
            number += 100_000


def offset_in_file(library, name):
    """Returns where the code of a function is in its file."""
    symbols = subprocess.check_output(["nm", "-C", library], text=True)
    addresses = [int(line.split()[0], 16) for line in symbols.splitlines() if name in line]
    if len(addresses) != 1:
        raise SystemExit(f"{library}: {len(addresses)} symbols contain {name}; take a build that is not stripped")
    for line in subprocess.check_output(["readelf", "-lW", library], text=True).splitlines():
        words = line.split()
        if words and words[0] == "LOAD":
            offset, start, size = (int(words[i], 16) for i in (1, 2, 4))
            if start <= addresses[0] < start + size:
                return addresses[0] - start + offset
    raise SystemExit(f"{library}: no segment has {name}")


class Probes:
    """Events at the beginning and at the end of the handler, for as long as it lasts."""

    def __init__(self, library):
        self.library = library
        self.events = TRACING / "uprobe_events"
        self.clock = re.search(r"\[(.*?)\]", (TRACING / "trace_clock").read_text())[1]
        self.buffer = (TRACING / "buffer_size_kb").read_text().split()[0]

    def __enter__(self):
        where = f"{self.library}:{offset_in_file(self.library, HANDLER):#x}"
        self.write(self.events, f"p:hbbp/begin {where}\nr:hbbp/end {where}\n", os.O_APPEND)
        self.write(TRACING / "trace_clock", "mono")
        self.write(TRACING / "buffer_size_kb", "16384")
        return self

    def __exit__(self, *_):
        self.enable(False)
        self.write(self.events, "-:hbbp/begin\n-:hbbp/end\n", os.O_APPEND)
        self.write(TRACING / "trace_clock", self.clock)
        self.write(TRACING / "buffer_size_kb", self.buffer)

    @staticmethod
    def write(path, text, how=os.O_TRUNC):
        # open() would look for the end of the file, which these do not have.
        file = os.open(path, os.O_WRONLY | how)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)

    def enable(self, is_on):
        self.write(TRACING / "events/hbbp/enable", str(int(is_on)))

    def spans_us(self):
        """Returns how long each handler took since the last call."""
        events = re.compile(r"-(\d+)\s+\[\d+\].*?\s([\d.]+): (begin|end):")
        begun, spans = collections.defaultdict(list), []
        for thread, time, what in events.findall((TRACING / "trace").read_text(encoding="utf-8", errors="replace")):
            if what == "begin":
                begun[thread].append(float(time))
            elif begun[thread]:
                begin = begun[thread].pop()
                # Within a handler there may be another one, for a load that faults.
                if not begun[thread]:
                    spans.append(1e6 * (float(time) - begin))
        self.write(TRACING / "trace", "")
        return sorted(spans)


def run(command, directory, seconds):
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        # hbbp passes it on.
        process.send_signal(signal.SIGTERM)
        process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hbbp")
    parser.add_argument("--period", type=float, default=5, metavar="MS", help="of task-clock")
    parser.add_argument("--seconds", type=float, default=4)
    arguments = parser.parse_args()
    tool = pathlib.Path(arguments.hbbp).resolve()
    library = next(tool.parent.rglob("libhbbp-preload-swbt.so"))
    period_ns = round(arguments.period * 1e6)
    print("| program | bursts | median, us | 99th percentile, us |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory, Probes(library) as probes:
        write_input(os.path.join(directory, "input"))
        for name, shell in PROGRAMS:
            options = ["--source", "swbt", "-e", "task-clock", "--period", str(period_ns), "-o", "profile"]
            probes.enable(True)
            run([tool, "record", *options, "--", "/bin/sh", "-c", shell], directory, arguments.seconds)
            probes.enable(False)
            spans = probes.spans_us()
            if not spans:
                raise SystemExit(f"{name}: no burst in {arguments.seconds:g} s")
            print(f"| {name} | {len(spans)} | {statistics.median(spans):.0f} | {spans[len(spans) * 99 // 100]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
