#!/usr/bin/env python3
"""Measures how many times as long programs take when their instructions are counted or sampled.

    bench/slowdown.py build/release/tools/hbbp [--only NAME ...] [--repeats N] [--without TOOL ...]

Prints the CPU time of each program alone, and by tool the ratio of CPU times, with what the tool itself takes: medians
of runs in turn. `hbbp count` steps through every instruction, so it gets a program of a million or so, next to which
the start of a process counts as well: its ratio is of instructions a second, those of the plain program by callgrind's
count of a longer one.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import shared_cpu
import workloads

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "accuracy"))

import truth  # noqa: E402

LUA = "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end print(fib(%d))"
PYTHON = "import json\nfor i in range(12): json.loads(json.dumps([{'id': j, 'name': str(j * 7919)} for j in range(20000)]))"


def programs(directory):
    directory = pathlib.Path(directory)
    (directory / "fib.lua").write_text(LUA % 30)
    (directory / "rows.py").write_text(PYTHON)
    (directory / "text").write_text(workloads.text_of(2_000_000))
    (directory / "query.sql").write_text(workloads.SQL.replace("SCALE * 200000", "60000"))
    candidates = [("lua", ["lua5.4", directory / "fib.lua"]),
                  ("bzip2", ["bzip2", "-c", directory / "text"]),
                  ("python3", ["/usr/bin/python3", directory / "rows.py"]),
                  ("sqlite3", ["sqlite3", ":memory:", ".read " + str(directory / "query.sql")])]
    return [(name, [str(word) for word in command]) for name, command in candidates if shutil.which(str(command[0]))]


def tools(hbbp, directory):
    """Returns {name: words before the program's}."""
    valgrind = ["valgrind", "-q", "--log-file=/dev/null"]
    everything = {
        "hbbp record": [hbbp, "record", "-o", f"{directory}/default.hbbp", "--"],
        "hbbp record, 2 ms": [hbbp, "record", "--source", "swbt", "-e", "task-clock", "-c", "2000000", "-o",
                              f"{directory}/dense.hbbp", "--"],
        "perf record -F 4000": ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "4000", "-o",
                                f"{directory}/perf.data", "--"],
        "valgrind, none": [*valgrind, "--tool=none"],
        "exp-bbv": [*valgrind, "--tool=exp-bbv", f"--bb-out-file={directory}/bb", f"--pc-out-file={directory}/pc"],
        "callgrind": [*valgrind, "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={directory}/callgrind"],
    }
    return {name: words for name, words in everything.items() if shutil.which(words[0])}


def cpu_seconds(command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, **truth.SAME_WORK})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command}: exit status {process.returncode}")
    return shared_cpu.cpu_seconds(usage)


def counted_instructions(path):
    """Returns the total of a file of callgrind."""
    with open(path, encoding="utf-8") as lines:
        return next(int(line.split()[1]) for line in lines if re.match(r"(totals|summary): \d", line))


def stepping(hbbp, directory, plain_rate):
    """Returns how many times as long a program takes that `hbbp count` steps through."""
    script = pathlib.Path(directory) / "tiny.lua"
    script.write_text(LUA % 12)
    counts = f"{directory}/count.out"
    seconds = cpu_seconds([hbbp, "count", "-o", counts, "--", "lua5.4", str(script)])
    return plain_rate / (counted_instructions(counts) / seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hbbp")
    parser.add_argument("--only", nargs="*", help="programs")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--without", nargs="*", default=[], help="tools")
    arguments = parser.parse_args()
    hbbp = os.path.abspath(arguments.hbbp)
    with tempfile.TemporaryDirectory() as directory:
        wanted = {name: words for name, words in tools(hbbp, directory).items() if name not in arguments.without}
        print("| program | CPU seconds alone | " + " | ".join(wanted) + " |")
        print("|---|---|" + "---|" * len(wanted))
        rates = {}
        for name, command in programs(directory):
            if arguments.only and name not in arguments.only:
                continue
            seconds = {tool: [] for tool in ["alone", *wanted]}
            for _ in range(arguments.repeats):
                for tool in seconds:
                    seconds[tool].append(cpu_seconds([*wanted.get(tool, []), *command]))
            alone = statistics.median(seconds["alone"])
            if "callgrind" in wanted:
                rates[name] = counted_instructions(f"{directory}/callgrind") / alone
            print(f"| {name} | {alone:.2f} | " + " | ".join(
                f"{statistics.median(of / plain for of, plain in zip(seconds[tool], seconds['alone'])):.3g}"
                for tool in wanted) + " |", flush=True)
        if "lua" in rates and "hbbp count" not in arguments.without:
            print(f"\nhbbp count, of lua: {stepping(hbbp, directory, rates['lua']):,.0f} times")


if __name__ == "__main__":
    main()
