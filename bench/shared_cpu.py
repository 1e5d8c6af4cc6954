"""Compares the CPU time of commands that run at the same time on one CPU.

Other load of the machine, the clock rate, and neighbours in memory slow all of them down alike, which
alternating runs do not achieve: two runs of one command, one after the other, differ by several
percent here, and by 0.1 to 0.5 % this way. Work that depends on wall-clock time (a worker that wakes
each second) counts twice, since the wall-clock time of both is twice that of one alone.
"""

import os
import subprocess


def cpu_seconds(usage):
    return usage.ru_utime + usage.ru_stime


def start(command, cpu):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))


def run_together(commands):
    """Returns CPU seconds of each, including the processes that it waits for."""
    cpu = max(os.sched_getaffinity(0))
    processes = [start(command, cpu) for command in commands]
    seconds = []
    for command, process in zip(commands, processes):
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{command}: exit status {process.returncode}")
        seconds.append(cpu_seconds(usage))
    return seconds


def ratios(plain, other, pairs):
    """Returns (CPU seconds of `plain`, ratio of `other` to it), pair by pair."""
    results = []
    for pair in range(pairs):
        # The one that starts first has a small advantage.
        if pair % 2:
            other_seconds, plain_seconds = run_together([other, plain])
        else:
            plain_seconds, other_seconds = run_together([plain, other])
        results.append((plain_seconds, other_seconds / plain_seconds))
    return results
