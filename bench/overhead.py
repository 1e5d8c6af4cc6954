#!/usr/bin/env python3
"""Measures the wall-clock and CPU cost of `hbbp record`, as ratios of alternating runs.

    bench/overhead.py build/release/tools/hbbp [--pairs N] [--scale N] [--period NS] [--only NAME]

Prints a table: the median of the ratios pair by pair, with the quartiles.

    bench/overhead.py build/release/tools/hbbp --start [--against OTHER] [--pairs N] [--pause S]

Prints the milliseconds that it takes to run `true` alone and recorded, by the command OTHER as well, in turn.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time

import workloads


def run(command):
    """Returns (wall, cpu) seconds of a command, including the processes that it waits for."""
    before = time.monotonic()
    with open(os.devnull, "wb") as null:
        process = subprocess.Popen(command, stdout=null, stderr=null)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - before
    if status != 0:
        raise SystemExit(f"{command}: exit status {status}")
    return wall, usage.ru_utime + usage.ru_stime


def percent(ratio):
    return f"{100 * (ratio - 1):+.2f} %"


def measure_start(arguments, directory):
    """Prints the medians of running `true`, with the quartiles of wall-clock time."""
    commands = {"`true`": ["true"]}
    for name, hbbp in (("recorded", arguments.hbbp), ("recorded by the other", arguments.against)):
        if hbbp:
            output = os.path.join(directory, name.replace(" ", "-"))
            commands[name] = [os.path.abspath(hbbp), "record", "-o", output, "--", "true"]
    runs = {name: [] for name in commands}
    for command in commands.values():
        run(command)
    for _ in range(arguments.pairs):
        for name, command in commands.items():
            time.sleep(arguments.pause)
            runs[name].append(run(command))
    print("| | ms of CPU time | ms of wall-clock time (quartiles) |")
    print("|---|---|---|")
    for name, times in runs.items():
        walls, cpus = zip(*[(1000 * wall, 1000 * cpu) for wall, cpu in times])
        low, _, high = statistics.quantiles(walls, n=4)
        print(f"| {name} | {statistics.median(cpus):.2f} | "
              f"{statistics.median(walls):.2f} ({low:.2f} to {high:.2f}) |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hbbp")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--scale", type=int, default=1, help="about so many seconds a run")
    parser.add_argument("--period", type=int, help="ns; default: that of hbbp")
    parser.add_argument("--only", help="a workload")
    parser.add_argument("--start", action="store_true", help="measure start and end alone")
    parser.add_argument("--against", metavar="HBBP", help="with --start: another command")
    parser.add_argument("--pause", type=float, default=1.5, metavar="S",
                        help="with --start: before each run. After a second without perf events, "
                             "the kernel is slow to open the next one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        if arguments.start:
            measure_start(arguments, directory)
            return
        output = os.path.join(directory, "profile")
        record = [os.path.abspath(arguments.hbbp), "record", "-o", output]
        if arguments.period:
            record += ["--period", str(arguments.period)]
        print("| program | seconds alone | wall-clock overhead (quartiles) | CPU overhead |")
        print("|---|---|---|---|")
        medians = []
        for name, command in workloads.prepare(directory, arguments.scale):
            if arguments.only and name != arguments.only:
                continue
            run(command)
            run(record + ["--"] + command)
            alone, walls, cpus = [], [], []
            for pair in range(arguments.pairs):
                # The one that comes first has warmer caches, so they take turns.
                if pair % 2:
                    profiled = run(record + ["--"] + command)
                    plain = run(command)
                else:
                    plain = run(command)
                    profiled = run(record + ["--"] + command)
                alone.append(plain[0])
                walls.append(profiled[0] / plain[0])
                cpus.append(profiled[1] / plain[1])
            low, _, high = statistics.quantiles(walls, n=4)
            medians.append(statistics.median(walls))
            print(f"| {name} | {statistics.median(alone):.2f} | "
                  f"{percent(statistics.median(walls))} ({percent(low)} to {percent(high)}) | "
                  f"{percent(statistics.median(cpus))} |", flush=True)
        if len(medians) > 1:
            print(f"| median of all | | {percent(statistics.median(medians))} | |")


if __name__ == "__main__":
    main()
