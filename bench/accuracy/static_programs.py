#!/usr/bin/env python3
"""Measures how close branch tracing from outside comes to exact counts for static programs, which no library can be loaded into.

usage: static_programs.py HBBP [--repeats N] [--scale N]

Programs are static/work of C by musl, of Rust and of Go, and bzip2 of busybox, each for a second or so. C and Rust are also
built as dynamic programs, which are traced from inside and from outside. Prints a row for each: how many bursts, and the
medians of the errors with their range. Truth is callgrind's.
"""
import argparse
import collections
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import measuring

HERE = pathlib.Path(__file__).parent / "static"
SAMPLING = ("--event", "task-clock", "--period", "1000000")
OUTSIDE = measuring.Source("outside", ("--source", "swbt", "--outside", *SAMPLING))
INSIDE = measuring.Source("inside", ("--source", "swbt", *SAMPLING))
ROUNDS = 150
TEXT_BYTES = 6_000_000

Build = collections.namedtuple("Build", "name command sources")


def make(*command):
    """Returns whether it could be built."""
    if shutil.which(command[0]) is None:
        print(f"no {command[0]}: left out", file=sys.stderr)
        return False
    subprocess.run(command, check=True)
    return True


def builds(directory, scale):
    rounds = str(ROUNDS * scale)
    compilers = [("musl, static", [OUTSIDE], ("musl-gcc", "-O2", "-g", "-static", HERE / "work.c", "-o")),
                 ("C, dynamic", [INSIDE, OUTSIDE], ("gcc", "-O2", "-g", HERE / "work.c", "-o")),
                 ("Rust, static", [OUTSIDE], ("rustc", "-O", "-g", "-C", "target-feature=+crt-static", HERE / "work.rs", "-o")),
                 ("Rust, dynamic", [INSIDE, OUTSIDE], ("rustc", "-O", "-g", HERE / "work.rs", "-o")),
                 ("Go", [OUTSIDE], ("go", "build", "-o"))]
    for name, sources, command in compilers:
        binary = directory / name.lower().replace(", ", "-")
        if make(*map(str, command), str(binary), *([str(HERE / "work.go")] if name == "Go" else [])):
            yield Build(name, [str(binary), rounds], sources)
    if shutil.which("busybox") is None:
        return
    text = b"".join(path.read_bytes() for path in sorted(pathlib.Path("/usr/include").glob("*.h")))
    (directory / "text").write_bytes((text * (1 + TEXT_BYTES // len(text)))[:TEXT_BYTES])
    yield Build("busybox bzip2", ["busybox", "bzip2", "-c", *[str(directory / "text")] * scale], [OUTSIDE])


def cell(values):
    return f"{100 * statistics.median(values):.1f} % ({100 * min(values):.1f} to {100 * max(values):.1f})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hbbp")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scale", type=int, default=1)
    options = parser.parse_args()
    # One thread at a time executes Go's code, as valgrind has it.
    os.environ["GOMAXPROCS"] = "1"
    # The signals by which Go interrupts its threads may end callgrind, which does not know rdtscp either.
    os.environ["GODEBUG"] = "asyncpreemptoff=1,cpu.rdtscp=off"
    print("| program | traced from | bursts | mnemonics | blocks | totals |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        bench = measuring.Bench(options.hbbp, name)
        for build in builds(pathlib.Path(name), options.scale):
            label = measuring.file_name(build.name.replace(",", ""))
            callgrind = bench.truth(label, build.command)
            for source in build.sources:
                profiles = [bench.record(label, build.command, source, i) for i in range(options.repeats)]
                totals = [bench.compare(profile, callgrind)["total"] for profile in profiles]
                cells = [cell([total[key] for total in totals])
                         for key in ("avg_weighted_error", "block_accuracy_error", measuring.TOTAL_ERROR)]
                bursts = statistics.median(bench.samples(profile) for profile in profiles)
                print(f"| {build.name} | {source.name} | {bursts:,.0f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
