#!/usr/bin/env python3
"""Measures hbbp merge of many profiles: that its memory goes by the sum, and how fast it is.

    bench/merge_speed.py build/release/tools/hbbp build/release/bench/fleet_profiles PROFILE... \\
        [--counts 100 1000 10000] [--directory DIR] [--options=--no-threads]

From PROFILE... (hbbp record), as many profiles as asked for are made in DIR, with other counts, times and processes,
and merged by hbbp merge --files-from. The figures are the bytes of the profiles, the time, profiles and megabytes a
second, the largest resident memory, and the bytes of the sum. The page cache has the files, so disks are not measured.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile
import time


def merge(hbbp, options, directory, output):
    """Returns seconds and the largest resident memory in bytes."""
    names = "".join(f"{path}\n" for path in sorted(directory.iterdir()))
    begin = time.monotonic()
    with subprocess.Popen([hbbp, "merge", *options, "--files-from", "-", "-o", output], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as process:
        process.stdin.write(names.encode())
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"hbbp merge failed with {process.returncode}")
    return time.monotonic() - begin, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hbbp")
    parser.add_argument("fleet_profiles")
    parser.add_argument("profiles", nargs="+")
    parser.add_argument("--counts", type=int, nargs="+", default=[100, 1000, 10000])
    parser.add_argument("--directory")
    parser.add_argument("--options", nargs="*", default=[])
    options = parser.parse_args()
    print(f"{'profiles':>9} {'MB':>8} {'s':>7} {'CPU s':>7} {'profiles/s':>11} {'MB/s':>7} {'peak MB':>8} {'sum MB':>7}")
    for count in options.counts:
        with tempfile.TemporaryDirectory(dir=options.directory) as made:
            directory = pathlib.Path(made) / "profiles"
            directory.mkdir()
            subprocess.run([options.fleet_profiles, str(count), directory, *options.profiles], check=True)
            megabytes = sum(path.stat().st_size for path in directory.iterdir()) / 1e6
            output = pathlib.Path(made) / "sum"
            seconds, memory, cpu = merge(options.hbbp, options.options, directory, output)
            print(f"{count:9} {megabytes:8.1f} {seconds:7.2f} {cpu:7.2f} {count / cpu:11.0f} {megabytes / cpu:7.0f} "
                  f"{memory / 1e6:8.0f} {output.stat().st_size / 1e6:7.2f}", flush=True)


if __name__ == "__main__":
    main()
