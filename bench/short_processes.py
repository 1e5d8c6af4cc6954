#!/usr/bin/env python3
"""Measures what processes cost that do next to nothing, alone and recorded.

    bench/short_processes.py build/dev/tools/hbbp [OTHER_HBBP ...] [--processes N] [--rounds N]

sh runs /bin/true again and again, and then forks as often without running a program. Everything takes turns;
times are medians of a process, from start to end, with its part of what hbbp record takes itself.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time

SCRIPTS = {"run": "i=0; while [ $i -lt {} ]; do /bin/true; i=$((i+1)); done",
           "forked": "i=0; while [ $i -lt {} ]; do (:); i=$((i+1)); done"}
SOURCES = ("ebs", "swbt")


def seconds(command):
    begin = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", nargs="+", metavar="HBBP")
    parser.add_argument("--processes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    times = {}
    with tempfile.TemporaryDirectory() as directory:
        profile = os.path.join(directory, "profile.hbbp")
        for _ in range(options.rounds):
            for kind, script in SCRIPTS.items():
                program = ["sh", "-c", script.format(options.processes)]
                times.setdefault((kind, "alone", ""), []).append(seconds(program))
                for tool in options.tools:
                    for source in SOURCES:
                        command = [tool, "record", "--source", source, "-o", profile, "--", *program]
                        times.setdefault((kind, source, tool), []).append(seconds(command))
    for (kind, source, tool), values in times.items():
        milliseconds = statistics.median(values) / options.processes * 1000
        print(f"{kind:8}{source:8}{milliseconds:8.2f} ms  {tool}")


if __name__ == "__main__":
    main()
