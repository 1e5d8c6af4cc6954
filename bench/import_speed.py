#!/usr/bin/env python3
"""Compares the time and memory of reading a recording with those of other readers.

    bench/import_speed.py build/release/tools/hbbp RECORDING BINARY [--copies N] [--runs N]

RECORDING has branch stacks, in file mode; its records are repeated N times to make it large. Each
tool that is installed reads it in turn; the figures are medians of CPU time, and of the largest
resident memory of one process.
"""

import argparse
import os
import shutil
import statistics
import struct
import subprocess
import tempfile

HEADER = struct.Struct("<8s9Q")


def enlarge(recording, copies, path):
    """Writes the records of `recording` `copies` times, without the sections at its end."""
    with open(recording, "rb") as source:
        whole = source.read()
    magic, size, attr_size, attrs, attrs_bytes, data, data_bytes, types, types_bytes, _ = \
        HEADER.unpack_from(whole)
    if magic != b"PERFILE2":
        raise SystemExit(f"{recording}: not in file mode")
    header = bytearray(whole[:data])
    HEADER.pack_into(header, 0, magic, size, attr_size, attrs, attrs_bytes, data,
                     copies * data_bytes, types, types_bytes, 0)
    header[HEADER.size:size] = bytes(size - HEADER.size)
    with open(path, "wb") as out:
        out.write(header)
        for _ in range(copies):
            out.write(whole[data:data + data_bytes])


def run(command, directory):
    """Returns (CPU seconds, KiB) of the command and all processes that it starts."""
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        return None
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def readers(hbbp, recording, binary):
    yield "hbbp import", [hbbp, "import", "-o", "out.hbbp", "--file",
                          f"{os.path.basename(binary)}={binary}", recording]
    yield "perf script -F ip,brstack", ["perf", "script", "-i", recording, "-F", "ip,brstack"]
    yield "llvm-profgen-19", ["llvm-profgen-19", f"--perfdata={recording}", f"--binary={binary}",
                              "--format=text", "--skip-symbolization", "-o", "out.profgen"]
    yield "perf2bolt-16", ["/usr/lib/llvm-16/bin/perf2bolt", "-p", recording, "-o", "out.fdata",
                           binary]
    yield "create_llvm_prof", ["create_llvm_prof", f"--binary={binary}", f"--profile={recording}",
                               "--out=out.prof"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hbbp")
    parser.add_argument("recording")
    parser.add_argument("binary")
    parser.add_argument("--copies", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        recording = os.path.join(directory, "perf.data")
        enlarge(arguments.recording, arguments.copies, recording)
        megabytes = os.path.getsize(recording) / 1e6
        print(f"{megabytes:.0f} MB\n")
        print("| reader | CPU s | MB/s | as hbbp | MiB resident |")
        print("|---|---|---|---|---|")
        ours = None
        for name, command in readers(os.path.abspath(arguments.hbbp), recording,
                                     os.path.abspath(arguments.binary)):
            if shutil.which(command[0]) is None:
                print(f"| {name} | not installed | | | |")
                continue
            results = [run(command, directory) for _ in range(arguments.runs)]
            if None in results:
                print(f"| {name} | fails | | | |")
                continue
            seconds = statistics.median(result[0] for result in results)
            ours = ours or seconds
            print(f"| {name} | {seconds:.2f} | {megabytes / seconds:.0f} | {seconds / ours:.1f} | "
                  f"{max(result[1] for result in results) / 1024:.0f} |", flush=True)


if __name__ == "__main__":
    main()
