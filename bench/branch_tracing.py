#!/usr/bin/env python3
"""Measures the cost of software branch tracing and its use of breakpoints, on real programs.

    bench/branch_tracing.py build/release/tools/hbbp resolve   branches per breakpoint, handler time
    bench/branch_tracing.py build/release/tools/hbbp overhead  CPU time at the defaults, as a ratio
    bench/branch_tracing.py build/release/tools/hbbp off       the same with a stopped session
    bench/branch_tracing.py build/release/tools/hbbp table     both modes by sampling interval
    bench/branch_tracing.py build/release/tools/hbbp threads   cost by number of threads
    bench/branch_tracing.py build/release/tools/hbbp verify    predictions against the processor

Options: [--only NAME ...] [--pairs N] [--scale N]. Overheads are of CPU time, by shared_cpu.py.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile

import shared_cpu
import workloads
from overhead import percent


class Lab:
    def __init__(self, arguments, directory):
        self.hbbp = os.path.abspath(arguments.hbbp)
        self.arguments = arguments
        self.directory = directory
        self.profile = os.path.join(directory, "profile")

    def programs(self):
        scale = self.arguments.scale
        everything = (workloads.prepare(self.directory, scale)
                      + workloads.prepare_more(self.directory, scale))
        return [(name, command) for name, command in everything
                if self.arguments.only is None or name in self.arguments.only]

    def record(self, options, command):
        return [self.hbbp, "record", "--source", "swbt", "-o", self.profile, *options, "--",
                *command]

    def trace(self, options, command):
        """Returns what `hbbp info` reports of the source."""
        result = subprocess.run(self.record(options, command), stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)
        if result.returncode != 0:
            raise SystemExit(f"{command}: {result.stderr.decode()}")
        info = subprocess.check_output([self.hbbp, "info", "--format", "json", self.profile])
        return json.loads(info)["sources"][0]

    def compare(self, options, command):
        """Returns (CPU seconds alone, CPU ratio of the traced run), pair by pair."""
        return shared_cpu.ratios(command, self.record(options, command), self.arguments.pairs)


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def resolve(lab):
    print("| program | taken branches | resolved without a breakpoint | breakpoints a branch: "
          "look-ahead | breakpoint | handler ns a branch: look-ahead | breakpoint | ratio | "
          "ns an instruction |")
    print("|---|---|---|---|---|---|---|---|---|")
    shares, ratios, costs = [], [], []
    for name, command in lab.programs():
        ahead = lab.trace(["--burst", "256", "--period", "1000000"], command)
        stepped = lab.trace(["--burst", "256", "--period", "5000000", "--mode", "breakpoint"],
                            command)
        branches = ahead["taken_branches"]
        share = 1 - ahead["breakpoints"] / branches
        ahead_ns = ahead["handler_ns"] / branches
        stepped_ns = stepped["handler_ns"] / stepped["taken_branches"]
        instruction_ns = ahead["handler_ns"] / ahead["lookahead_instructions"]
        shares.append(share)
        ratios.append(stepped_ns / ahead_ns)
        costs.append(instruction_ns)
        print(f"| {name} | {branches:,} | {100 * share:.3f} % | "
              f"{ahead['breakpoints'] / branches:.5f} | "
              f"{stepped['breakpoints'] / stepped['taken_branches']:.2f} | {ahead_ns:.0f} | "
              f"{stepped_ns:,.0f} | {stepped_ns / ahead_ns:.0f} | {instruction_ns:.1f} |",
              flush=True)
    print(f"| mean of shares, geometric means | | {100 * statistics.fmean(shares):.3f} % | | | | | "
          f"{geometric_mean(ratios):.0f} | {geometric_mean(costs):.1f} |")


def overhead(lab, options=()):
    print("| program | CPU s | CPU overhead (quartiles) | taken branches a CPU second |")
    print("|---|---|---|---|")
    medians = []
    for name, command in lab.programs():
        seconds, ratios = zip(*lab.compare(list(options), command))
        low, middle, high = statistics.quantiles(ratios, n=4)
        alone = statistics.median(seconds)
        branches = lab.trace(list(options), command)["taken_branches"] / alone
        medians.append(middle)
        print(f"| {name} | {alone:.1f} | {percent(middle)} ({percent(low)} to {percent(high)}) | "
              f"{branches:,.0f} |", flush=True)
    print(f"| median of all | | {percent(statistics.median(medians))} | |")


def off(lab):
    overhead(lab, ["--duration", "0.02"])


def table(lab):
    intervals_ms = [1, 10, 100]
    modes = [("lookahead", "256"), ("breakpoint", "16")]
    print("| program | " + " | ".join(f"{mode} {burst}, {ms} ms" for mode, burst in modes
                                     for ms in intervals_ms) + " |")
    print("|---|" + "---|" * (len(modes) * len(intervals_ms)))
    for name, command in lab.programs():
        cells = []
        for mode, burst in modes:
            for ms in intervals_ms:
                options = ["--mode", mode, "--burst", burst, "--period", str(ms * 1_000_000)]
                ratios = [ratio for _, ratio in lab.compare(options, command)]
                cells.append(percent(statistics.median(ratios)))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def threads(lab):
    print("| threads | bursts | handler us a burst: look-ahead | breakpoint, 16 branches |")
    print("|---|---|---|---|")
    for count in [1, 4, 16, 64, 400]:
        command = workloads.threads_program(lab.directory, count, lab.arguments.scale)
        period = ["--period", "2000000"]
        ahead = lab.trace(period, command)
        stepped = lab.trace(period + ["--mode", "breakpoint"], command)
        print(f"| {count} | {ahead['bursts']} | {ahead['handler_ns'] / ahead['bursts'] / 1000:.1f} | "
              f"{stepped['handler_ns'] / stepped['bursts'] / 1000:.1f} |", flush=True)


def verify(lab):
    print("| program | branches checked | disagreements | other registers than predicted |")
    print("|---|---|---|---|")
    checked = wrong = 0
    for name, command in lab.programs():
        source = lab.trace(["--mode", "verify", "--period", "5000000"], command)
        counters = source["counters"]
        checked += source["verified_branches"]
        wrong += source["disagreements"]
        print(f"| {name} | {source['verified_branches']:,} | {source['disagreements']} | "
              f"{counters.get('registers-disagree', 0)} |", flush=True)
    print(f"| all | {checked:,} | {wrong} | |")


def main():
    measurements = {function.__name__: function
                    for function in (resolve, overhead, off, table, threads, verify)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hbbp")
    parser.add_argument("measurement", choices=measurements)
    parser.add_argument("--only", nargs="*", help="workloads")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--scale", type=int, default=1, help="about so many seconds a run")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        measurements[arguments.measurement](Lab(arguments, directory))


if __name__ == "__main__":
    main()
