#!/usr/bin/env python3
"""Measures the cost of software branch tracing and its use of breakpoints, on real programs.

    bench/branch_tracing.py build/release/tools/hbbp resolve     branches per breakpoint, handler time
    bench/branch_tracing.py build/release/tools/hbbp overhead    CPU time at the defaults, as a ratio
    bench/branch_tracing.py build/release/tools/hbbp off         the same with a stopped session
    bench/branch_tracing.py build/release/tools/hbbp table       modes and bursts by sampling interval
    bench/branch_tracing.py build/release/tools/hbbp taken       the same by taken branches
    bench/branch_tracing.py build/release/tools/hbbp parts       where the time goes
    bench/branch_tracing.py build/release/tools/hbbp waits       time of a branch, and of one waited for
    bench/branch_tracing.py build/release/tools/hbbp threads     cost by number of threads
    bench/branch_tracing.py build/release/tools/hbbp similarity  overlap with exact counts, by period
    bench/branch_tracing.py build/release/tools/hbbp brief       short threads: CPU time that is seen
    bench/branch_tracing.py build/release/tools/hbbp verify      predictions against the processor
    bench/branch_tracing.py build/release/tools/hbbp sides       from outside, at as many bursts as inside

Options: [--only NAME ...] [--pairs N] [--scale N] [--outside] [--periods MS ...] [--counts N ...]
[--branches N ...] [--breakpoints BENCH] [--keep DIRECTORY]. Overheads are of CPU time, by shared_cpu.py.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import shared_cpu
import workloads
from overhead import percent

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "accuracy"))

import truth  # noqa: E402

# Modes and branches of a burst, as the paper has them.
BURSTS = [("lookahead", 16), ("lookahead", 256), ("breakpoint", 16), ("breakpoint", 256)]
BRANCHES = {"conditional-branch", "jump", "indirect-jump", "call", "indirect-call", "return"}
# With it no thread of these programs has a sample: what a recording costs without any.
NO_SAMPLES_NS = 100_000_000_000


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
        outside = ["--outside"] if self.arguments.outside else []
        return [self.hbbp, "record", "--source", "swbt", *outside, "-o", self.profile, *options,
                "--", *command]

    def trace(self, options, command):
        """Returns what `hbbp info` reports of the source."""
        result = subprocess.run(self.record(options, command), stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)
        if result.returncode != 0:
            raise SystemExit(f"{command}: {result.stderr.decode()}")
        info = subprocess.check_output([self.hbbp, "info", "--format", "json", self.profile])
        return json.loads(info)["sources"][0]

    def branch_rate(self, command):
        """Returns taken branches a ms of CPU time, by the model that weighs bursts."""
        source = self.trace(["-e", "task-clock", "--period", "5000000"], command)
        per_branch = source["lookahead_instructions"] / source["taken_branches"]
        seconds = source["samples"] * source["period"] / 1e9
        return self.mix()["total_instructions"] / per_branch / seconds / 1000

    def mix(self):
        words = [self.hbbp, "mix", "--by", "category", "--format", "json", self.profile]
        return json.loads(subprocess.check_output(words))

    def branches_by_taken(self, command):
        """Returns how many branches, taken or not, the program executes for each taken one."""
        source = self.trace(["-e", "task-clock", "--period", "5000000"], command)
        mix = self.mix()
        branches = sum(line["instructions"] for line in mix["rows"] if line["category"] in BRANCHES)
        share = branches / mix["total_instructions"]
        return share * source["lookahead_instructions"] / source["taken_branches"]

    def extra_s(self, options, command):
        """Returns the CPU seconds that tracing adds, with the start and the end of the recording."""
        return statistics.median(alone * (ratio - 1) for alone, ratio in self.compare(options, command))

    def overlap(self, options, command, counts):
        """Returns the overlaps of blocks and mnemonics, and the two numbers of the hottest functions."""
        truth.run(self.record(options, command))
        result = json.loads(subprocess.check_output([self.hbbp, "compare", self.profile, "--truth", counts,
                                                     "--format", "json"]))
        return (result["total"]["overlap"], result["total"]["mnemonic_overlap"], result["functions_found"],
                result["functions_in_place"])

    def seen(self, options, command):
        """Returns user CPU seconds, samples, and the CPU seconds that they stand for."""
        process = subprocess.Popen([self.hbbp, "record", *options, "-o", self.profile, "--", *command],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            raise SystemExit(f"{command}: exit status {status}")
        source = json.loads(subprocess.check_output([self.hbbp, "info", "--format", "json", self.profile]))["sources"][0]
        samples = max(source["samples"], source["counters"].get("samples", 0))
        return usage.ru_utime, source["samples"], samples * source["period"] / 1e9

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


def row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def head(*cells):
    row(*cells)
    print("|" + "---|" * len(cells))


def burst_options(mode, burst, period_ns):
    return ["-e", "task-clock", "--mode", mode, "--burst", str(burst), "--period", str(period_ns)]


def overheads(lab, distances, shortest, label, period_ns):
    """The overhead of each mode and length of bursts, by the distance from one burst to the next. Bursts of 256 branches by
    breakpoints take some ms, so they are left out below the `shortest` distance."""
    cells = [(mode, burst, distance) for mode, burst in BURSTS for distance in distances
             if (mode, burst) != ("breakpoint", 256) or distance >= shortest]
    head("program", "taken branches a ms", *(f"{mode} {burst}, {label(distance)}" for mode, burst, distance in cells))
    columns = {cell: [] for cell in cells}
    for name, command in lab.programs():
        rate = lab.branch_rate(command)
        for mode, burst, distance in cells:
            options = burst_options(mode, burst, round(period_ns(distance, rate)))
            ratios = [ratio for _, ratio in lab.compare(options, command)]
            columns[mode, burst, distance].append(statistics.median(ratios))
        row(name, f"{rate:,.0f}", *(percent(columns[cell][-1]) for cell in cells))
    row("mean", "", *(percent(statistics.fmean(columns[cell])) for cell in cells))


def table(lab):
    """The overhead by period, with how many taken branches such a period has."""
    overheads(lab, lab.arguments.periods or [1, 5, 20, 100], 20, lambda ms: f"{ms:g} ms", lambda ms, _: 1e6 * ms)


def taken(lab):
    """The overhead by taken branches from one burst to the next. Bursts begin at a clock, each time in which the program
    takes so many on average: what a burst costs does not depend on what begins it."""
    overheads(lab, lab.arguments.branches or [500_000, 1_000_000, 2_000_000, 5_000_000], 0,
              lambda count: f"{count:,}", lambda count, rate: 1e6 * count / rate)


def breakpoint_ns(lab):
    """Returns the CPU time of a breakpoint that is moved and hit, by breakpoint_bench."""
    listing = subprocess.check_output([lab.arguments.breakpoints, "--benchmark_format=json",
                                       "--benchmark_repetitions=5"])
    runs = json.loads(listing)["benchmarks"]

    def median(name):
        return next(run["cpu_time"] for run in runs if run["name"] == f"{name}_median")
    # BM_BreakpointMove moves twice.
    return median("BM_BreakpointHit") + median("BM_BreakpointMove") / 2


def parts(lab):
    """Divides the overhead into samples, breakpoints, and the rest: decoding and interpreting."""
    of_breakpoint_ns = breakpoint_ns(lab)
    print(f"A breakpoint that is moved and hit: {of_breakpoint_ns / 1000:.1f} us\n")
    head("program", "mode and burst", "us a burst", "sampling", "breakpoints", "decoding, interpreting and the rest",
         "breakpoints a burst")
    period_ns = round((lab.arguments.periods or [2])[0] * 1e6)
    for name, command in lab.programs():
        none_s = lab.extra_s(["--period", str(NO_SAMPLES_NS), "-e", "task-clock"], command)

        def cost(mode, burst):
            options = burst_options(mode, burst, period_ns)
            extra_ns = 1e9 * (lab.extra_s(options, command) - none_s)
            source = lab.trace(options, command)
            return extra_ns / source["bursts"], source["breakpoints"] / source["bursts"]

        # A burst of two branches is what can be had with next to nothing in it.
        sample_ns, _ = cost("lookahead", 2)
        for mode, burst in BURSTS:
            burst_ns, count = cost(mode, burst)
            waiting_ns = count * of_breakpoint_ns
            shares = [part / burst_ns for part in (sample_ns, waiting_ns, burst_ns - sample_ns - waiting_ns)]
            row(name, f"{mode} {burst}", f"{burst_ns / 1000:.1f}", *(f"{100 * share:.0f} %" for share in shares),
                f"{count:.1f}")


def waits(lab):
    """The CPU time t of a branch that is followed, taken or not; the share s of these that the code alone resolves;
    and t / (1 - s), the time of one that is waited for."""
    head("program", "mode", "branches followed a burst", "t (us)", "s", "t / (1 - s) (us)")
    period_ns = round((lab.arguments.periods or [5])[0] * 1e6)
    for name, command in lab.programs():
        none_s = lab.extra_s(["--period", str(NO_SAMPLES_NS), "-e", "task-clock"], command)
        by_taken = lab.branches_by_taken(command)
        for mode in ("breakpoint", "lookahead"):
            options = burst_options(mode, 256, period_ns)
            extra_us = 1e6 * (lab.extra_s(options, command) - none_s)
            source = lab.trace(options, command)
            followed = source["taken_branches"] * by_taken
            t = extra_us / followed
            waited = source["breakpoints"] / followed
            by_wait = f"{t / waited:,.1f}" if source["breakpoints"] >= 100 else "too few were waited for"
            row(name, mode, f"{followed / source['bursts']:.0f}", f"{t:.3f}", f"{1 - waited:.5f}", by_wait)


def threads(lab):
    """The cost by number of threads that live at the same time, for some 10 ms or more each."""
    head("threads", "bursts", "CPU overhead: look-ahead", "handler us a burst", "bursts", "CPU overhead: breakpoint 16",
         "handler us a burst", "breakpoints a burst", "CPU us a breakpoint", "dropped or lost")
    period_ns = round((lab.arguments.periods or [2])[0] * 1e6)
    for count in lab.arguments.counts or [1, 2, 4, 8, 16, 32, 64, 400, 800]:
        command = workloads.threads_program(lab.directory, count, max(lab.arguments.scale, count // 100))
        none_s = lab.extra_s(["--period", str(NO_SAMPLES_NS), "-e", "task-clock"], command)
        cells = []
        for mode, burst in (("lookahead", 256), ("breakpoint", 16)):
            options = burst_options(mode, burst, period_ns)
            pairs = lab.compare(options, command)
            source = lab.trace(options, command)
            extra_us = 1e6 * (statistics.median(alone * (ratio - 1) for alone, ratio in pairs) - none_s)
            cells += [source["bursts"], percent(statistics.median(ratio for _, ratio in pairs)),
                      f"{source['handler_ns'] / source['bursts'] / 1000:.1f}"]
        dropped = sum(source["counters"].get(name, 0) for name in
                      ("no-free-slot", "no-free-buffer", "no-free-interpreter", "breakpoint-lost"))
        row(count, *cells, f"{source['breakpoints'] / source['bursts']:.1f}",
            f"{extra_us / source['breakpoints']:.1f}", dropped)


def similarity(lab):
    """The overlap of blocks and of mnemonics with exact counts, and how many of the ten hottest functions are among
    ten of the profile and have the same rank, by period and burst."""
    periods = lab.arguments.periods or [1, 2, 5, 10, 20, 100]
    head("program", "mode and burst", *(f"{ms:g} ms" for ms in periods))
    exact = pathlib.Path(lab.arguments.keep or lab.directory)
    exact.mkdir(parents=True, exist_ok=True)
    means = {}
    for name, command in lab.programs():
        counts = truth.callgrind(exact, name.replace(", ", "-").replace(" ", "-"), command)
        for mode, burst in BURSTS[:3]:
            cells = []
            for ms in periods:
                found = [lab.overlap(burst_options(mode, burst, round(ms * 1e6)), command, counts)
                         for _ in range(lab.arguments.pairs)]
                blocks, mnemonics, hottest, in_place = (statistics.median(values) for values in zip(*found))
                means.setdefault((mode, burst, ms), []).append((blocks, mnemonics, hottest, in_place))
                cells.append(f"{100 * blocks:.1f} / {100 * mnemonics:.1f}; {hottest:g}, {in_place:g}")
            row(name, f"{mode} {burst}", *cells)
    for mode, burst in BURSTS[:3]:
        cells = []
        for ms in periods:
            values = [statistics.fmean(column) for column in zip(*means[mode, burst, ms])]
            cells.append(f"{100 * values[0]:.1f} / {100 * values[1]:.1f}; {values[2]:.1f}, {values[3]:.1f}")
        row("mean", f"{mode} {burst}", *cells)


BRIEF_THREADS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double Cpu(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}
static double life;
static void *Work(void *unused) {
  volatile unsigned long x = 1;
  while (Cpu(CLOCK_THREAD_CPUTIME_ID) < life)
    for (int i = 0; i < 20000; ++i) x = x * 5 + (x >> 7);
  return unused;
}
int main(int argc, char **argv) {
  life = argc > 1 ? atof(argv[1]) / 1000 : 0.001;
  for (double all = 0; all < 3; all += life) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, Work, NULL) != 0) return 1;
    pthread_join(thread, NULL);
  }
  return 0;
}
"""


def brief(lab):
    """The CPU time that bursts and samples stand for, of a program whose threads live for so long each."""
    command = workloads.compile_program(pathlib.Path(lab.directory), "brief", BRIEF_THREADS, "-pthread")
    head("CPU ms of a thread", "source", "user CPU seconds", "samples", "seen")
    settings = [("swbt, perf events", ["--source", "swbt", "-e", "task-clock", "-c", "5000000"]),
                ("swbt, the defaults", ["--source", "swbt"]),
                ("ebs", ["--source", "ebs", "-e", "task-clock", "-c", "5000000"])]
    for ms in (0.5, 1, 2, 5, 10, 20, 50):
        for name, options in settings:
            seconds, samples, seen_s = lab.seen(options, [*command, str(ms)])
            row(f"{ms:g}", name, f"{seconds:.2f}", samples, f"{100 * seen_s / seconds:.0f} %")


def verify(lab):
    print("| program | branches checked | disagreements | other registers than predicted |")
    print("|---|---|---|---|")
    checked = wrong = 0
    period_ns = round((lab.arguments.periods or [5])[0] * 1e6)
    for name, command in lab.programs():
        source = lab.trace(["--mode", "verify", "--period", str(period_ns)], command)
        counters = source["counters"]
        checked += source["verified_branches"]
        wrong += source["disagreements"]
        print(f"| {name} | {source['verified_branches']:,} | {source['disagreements']} | "
              f"{counters.get('registers-disagree', 0)} |", flush=True)
    print(f"| all | {checked:,} | {wrong} | |")


def sides(lab):
    """The overhead from inside and from outside, where the period is such that there are about as many bursts."""
    head("program", "inside: bursts", "CPU overhead", "CPU us a burst", "outside: bursts", "CPU overhead", "CPU us a burst")
    periods = lab.arguments.periods or [20]
    for name, command in lab.programs():
        for ms in periods:
            cells, wanted = [], 0
            for lab.arguments.outside in (False, True):
                period_ns = round(ms * 1e6)
                bursts = lab.trace(burst_options("lookahead", 256, period_ns), command)["bursts"]
                if lab.arguments.outside:
                    period_ns = max(1_000_000, round(period_ns * bursts / wanted))
                    bursts = lab.trace(burst_options("lookahead", 256, period_ns), command)["bursts"]
                wanted = bursts
                seconds, ratios = zip(*lab.compare(burst_options("lookahead", 256, period_ns), command))
                ratio = statistics.median(ratios)
                of_burst = statistics.median(seconds) * (ratio - 1) / bursts
                cells += [f"{bursts:,}", percent(ratio), f"{1e6 * of_burst:.0f}"]
            row(f"{name}, {ms:g} ms", *cells)


def main():
    measurements = {function.__name__: function
                    for function in (resolve, overhead, off, table, taken, parts, waits, threads, similarity, brief,
                                     verify, sides)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hbbp")
    parser.add_argument("measurement", choices=measurements)
    parser.add_argument("--only", nargs="*", help="workloads")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--scale", type=int, default=1, help="about so many seconds a run")
    parser.add_argument("--outside", action="store_true", help="trace from outside (ptrace)")
    parser.add_argument("--periods", type=float, nargs="+", metavar="MS", help="of task-clock")
    parser.add_argument("--counts", type=int, nargs="+", metavar="N", help="of `threads`: their numbers")
    parser.add_argument("--branches", type=int, nargs="+", metavar="N", help="of `taken`: from burst to burst")
    parser.add_argument("--breakpoints", metavar="BENCH", default="build/release/bench/breakpoint_bench",
                        help="of `parts`: breakpoint_bench of a build")
    parser.add_argument("--keep", metavar="DIRECTORY", help="of `similarity`: keeps exact counts")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        measurements[arguments.measurement](Lab(arguments, directory))


if __name__ == "__main__":
    main()
