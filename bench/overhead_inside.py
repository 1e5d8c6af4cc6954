#!/usr/bin/env python3
"""Measures the cost of a running session in its process, without starting and ending it.

    bench/overhead_inside.py build/release/lib/capi/libhbbp.so [--source ebs|swbt] [--windows N]
                             [--period NS] [--only NAME ...] [--stopped]

Real libraries do small pieces of work in this process; a session is on in every second window of
time and off in the others. A window is compared with its two neighbours, so that other load of the
machine cancels out; the layout of memory is the same for both. Prints medians and quartiles of the
ratios, of wall-clock time and of CPU time of the process (the worker's included).

With --stopped, a child process works, has a session that it stops, and works again; another child does
the same without the session. The result compares how much the second half differs from the first.
"""

import argparse
import bz2
import ctypes
import functools
import hashlib
import json
import lzma
import multiprocessing
import re
import sqlite3
import statistics
import time
import zlib

import workloads
from overhead import percent

SOURCES = {"ebs": 1, "swbt": 4}


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("source", ctypes.c_int),
                ("event", ctypes.c_int), ("period_mode", ctypes.c_int),
                ("period", ctypes.c_uint64), ("frequency_hz", ctypes.c_uint64),
                ("include_kernel", ctypes.c_uint32), ("buffer_bytes", ctypes.c_uint32),
                ("trace_mode", ctypes.c_int), ("burst_branches", ctypes.c_uint32)]


class Session:
    def __init__(self, library, source, period):
        self.hbbp = ctypes.CDLL(library)
        options = Options(struct_size=ctypes.sizeof(Options), source=SOURCES[source],
                          period=period)
        self.handle = ctypes.c_void_p()
        self.check(self.hbbp.hbbp_session_create(ctypes.byref(options),
                                                 ctypes.byref(self.handle), None))

    def check(self, status):
        if status != 0:
            raise SystemExit(f"libhbbp: status {status}")

    def start(self):
        self.check(self.hbbp.hbbp_session_start(self.handle, None))

    def stop(self):
        self.check(self.hbbp.hbbp_session_stop(self.handle, None))


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def query(database):
    return database.execute("SELECT count(*), sum(a.k) FROM t a JOIN t b ON b.k = a.k "
                            "WHERE a.name LIKE '%7%'").fetchall()


def pieces():
    """Returns {name: function}; each takes some hundredths of a second."""
    text = workloads.text_of(1_500_000)
    data = text.encode()
    rows = [{"id": i, "name": f"n{i * 7919 % 997}", "value": i / 7} for i in range(15000)]
    encoded = json.dumps(rows)
    words = text.split()[:60000]
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t(k INTEGER, name TEXT)")
    database.executemany("INSERT INTO t VALUES (?, ?)",
                         [(i * 7919 % 10007, f"name{i % 997}") for i in range(20000)])
    database.execute("CREATE INDEX by_k ON t(k)")
    return {
        "bzip2": functools.partial(bz2.compress, data[:400_000]),
        "xz": functools.partial(lzma.compress, data[:150_000], preset=3),
        "zlib": functools.partial(zlib.compress, data[:1_000_000], 6),
        "openssl": functools.partial(hashlib.pbkdf2_hmac, "sha256", data[:9], data[:8], 60000),
        "sqlite": functools.partial(query, database),
        "json": functools.partial(json.loads, encoded),
        "regex": functools.partial(re.findall, r"\b[a-f]+\w*[0-9s]\b", text[:400_000]),
        "sorting": functools.partial(sorted, words),
        "python": functools.partial(fibonacci, 21),
    }


def measure(piece, seconds):
    """Returns (wall, cpu) seconds per piece."""
    count = 0
    wall, cpu = time.perf_counter(), time.process_time()
    while True:
        piece()
        count += 1
        elapsed = time.perf_counter() - wall
        if elapsed >= seconds:
            return elapsed / count, (time.process_time() - cpu) / count


def run_and_stop(library, source):
    session = Session(library, source, 1_000_000)
    session.start()
    measure(functools.partial(fibonacci, 15), 0.2)
    session.stop()


def ratios_of(windows, measure_on, measure_off):
    """Returns [wall, cpu] ratios of each window `on` to the mean of its neighbours."""
    ratios = []
    before = measure_off()
    for _ in range(windows):
        on, after = measure_on(), measure_off()
        ratios.append([2 * x / (y + z) for x, y, z in zip(on, before, after)])
        before = after
    return 1000 * before[0], ratios


def in_child(function):
    """Returns the result of `function` in a child process."""
    ours, its = multiprocessing.Pipe()
    process = multiprocessing.Process(target=lambda: its.send(function()))
    process.start()
    result = ours.recv()
    process.join()
    return result


def change(piece, seconds, between):
    """Returns [wall, cpu] ratios of a window after `between` to one before."""
    measure(piece, seconds / 4)
    before = measure(piece, seconds)
    between()
    after = measure(piece, seconds)
    return [x / y for x, y in zip(after, before)]


def compare_stopped(arguments, names):
    multiprocessing.set_start_method("fork")
    works = pieces()
    session = functools.partial(run_and_stop, arguments.library, arguments.source)
    pause = functools.partial(measure, functools.partial(fibonacci, 15), 0.2)
    for name in names:
        ratios = []
        for _ in range(arguments.windows):
            stopped, never = (
                in_child(functools.partial(change, works[name], arguments.seconds, between))
                for between in (session, pause))
            ratios.append([x / y for x, y in zip(stopped, never)])
        yield name, 1000 * measure(works[name], arguments.seconds)[0], ratios


def compare_running(arguments, names):
    session = Session(arguments.library, arguments.source, arguments.period)
    works = pieces()

    def measure_on():
        session.start()
        result = measure(works[name], arguments.seconds)
        session.stop()
        return result

    for name in names:
        measure(works[name], arguments.seconds)
        yield name, *ratios_of(arguments.windows, measure_on,
                               lambda: measure(works[name], arguments.seconds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--source", choices=SOURCES, default="swbt")
    parser.add_argument("--windows", type=int, default=15, help="with a session")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a window")
    parser.add_argument("--period", type=int, default=0, help="ns; default: that of the source")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--stopped", action="store_true", help="compare with a stopped session")
    arguments = parser.parse_args()
    print("| work | ms a piece | wall-clock overhead (quartiles) | CPU overhead (quartiles) |")
    print("|---|---|---|---|")
    medians = []
    compare = compare_stopped if arguments.stopped else compare_running
    names = [name for name in pieces() if arguments.only is None or name in arguments.only]
    for name, milliseconds, ratios in compare(arguments, names):
        columns = [statistics.quantiles(column, n=4) for column in zip(*ratios)]
        medians.append([middle for _, middle, _ in columns])
        cells = [f"{percent(middle)} ({percent(low)} to {percent(high)})"
                 for low, middle, high in columns]
        print(f"| {name} | {milliseconds:.1f} | " + " | ".join(cells) + " |", flush=True)
    of_all = [percent(statistics.median(column)) for column in zip(*medians)]
    print("| median of all | | " + " | ".join(of_all) + " |")


if __name__ == "__main__":
    main()
