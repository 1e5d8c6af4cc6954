#!/usr/bin/env python3
"""Measures how many bytes an agent sends: the profiles of programs, as they are and compressed.

    bench/wire_bytes.py build/release/tools/hbbp [--sources ebs swbt] [--periods-ns 10000000 1000000] \\
        [--seconds 10] 'lua5.4 mix.lua' 'gzip -9 -c text' ...

Each command is recorded for that long, or until it ends, in each way. A session of libhbbp-collect counts by the same code and
writes the same file. The figures are bytes of the file, of zstd -3 and gzip -6 of it, and what that is for a sample (or
burst) and for a second of CPU time, which is samples times period.
"""
import argparse
import json
import pathlib
import shlex
import subprocess
import tempfile
import zlib


def samples_of(hbbp, profile):
    info = json.loads(subprocess.run([hbbp, "info", "--format", "json", profile], check=True, capture_output=True,
                                     text=True).stdout)
    return sum(source["samples"] for source in info["sources"])


def record(hbbp, source, period_ns, seconds, command, profile):
    subprocess.run([hbbp, "record", "--source", source, "-e", "task-clock", "-c", str(period_ns), "--duration",
                    str(seconds), "-o", profile, "--", *shlex.split(command)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hbbp")
    parser.add_argument("commands", nargs="+")
    parser.add_argument("--sources", nargs="+", default=["ebs", "swbt"])
    parser.add_argument("--periods-ns", type=int, nargs="+", default=[10_000_000, 1_000_000])
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    print(f"{'program':12} {'source':6} {'period ms':>9} {'CPU s':>6} {'samples':>8} {'bytes':>9} {'zstd':>8} {'gzip':>8} "
          f"{'/sample':>8} {'zstd':>6} {'/CPU s':>8} {'zstd':>7}")
    for command in options.commands:
        for source in options.sources:
            for period_ns in options.periods_ns:
                with tempfile.TemporaryDirectory() as directory:
                    profile = pathlib.Path(directory) / "profile"
                    record(options.hbbp, source, period_ns, options.seconds, command, profile)
                    content = profile.read_bytes()
                    zstd = len(subprocess.run(["zstd", "-3", "-c"], input=content, check=True,
                                              capture_output=True).stdout)
                    samples = samples_of(options.hbbp, profile)
                cpu = samples * period_ns / 1e9
                print(f"{pathlib.Path(shlex.split(command)[0]).name:12} {source:6} {period_ns / 1e6:9.0f} {cpu:6.2f} "
                      f"{samples:8} {len(content):9} {zstd:8} {len(zlib.compress(content, 6)):8} "
                      f"{len(content) / max(samples, 1):8.1f} {zstd / max(samples, 1):6.1f} "
                      f"{len(content) / max(cpu, 1e-9):8.0f} {zstd / max(cpu, 1e-9):7.0f}", flush=True)


if __name__ == "__main__":
    main()
