#!/usr/bin/env python3
"""How close `hbbp record` comes to the truth of callgrind, on real programs.

    bench/accuracy.py build/release/tools/hbbp [--source ebs swbt] [--period NS ...] [--only NAME]

For each program: the exact instruction counts of valgrind --tool=callgrind --dump-instr=yes, then a
profile per source and period, and the error metrics of `hbbp compare`. valgrind has no AVX-512 and no RTM, so the
program is told not to use them in libc, where it chooses by CPU.
"""

import argparse
import itertools
import json
import os
import subprocess
import tempfile

import workloads

TUNABLES = ("glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-RTM,"
            "-Prefer_No_VZEROUPPER")


def run(command, environment):
    result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            env=environment)
    if result.returncode != 0:
        raise SystemExit(f"{command}: {result.stderr.decode()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hbbp")
    parser.add_argument("--source", nargs="*", default=["ebs", "swbt"])
    parser.add_argument("--period", type=int, nargs="*", default=[0, 1_000_000],
                        help="ns; 0: the default")
    parser.add_argument("--only", help="a workload")
    parser.add_argument("--keep", help="a folder that keeps profiles and callgrind's files, and has them the next time")
    arguments = parser.parse_args()
    hbbp = os.path.abspath(arguments.hbbp)
    environment = dict(os.environ, GLIBC_TUNABLES=TUNABLES)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or temporary
        os.makedirs(folder, exist_ok=True)
        print("| program | instructions | source | period | samples | mnemonics: avg. weighted error | "
              "blocks: accuracy error | overlap of blocks | overlap of mnemonics |")
        print("|---|---|---|---|---|---|---|---|---|")
        for name, command in workloads.prepare(folder):
            if arguments.only and name != arguments.only:
                continue
            file_name = name.replace(", ", "-").replace(" ", "-")
            truth = os.path.join(folder, file_name + ".callgrind")
            if not os.path.exists(truth):
                run(["valgrind", "--tool=callgrind", "--dump-instr=yes", "--skip-plt=no",
                     f"--callgrind-out-file={truth}"] + command, environment)
            for kind, period in itertools.product(arguments.source, arguments.period):
                profile = os.path.join(folder, f"{file_name}.{kind}.{period}.hbbp")
                asked = ["--period", str(period)] if period else []
                run([hbbp, "record", "--source", kind, "-o", profile] + asked + ["--"] + command, environment)
                info = json.loads(subprocess.check_output([hbbp, "info", profile, "--format",
                                                           "json"]))
                total = json.loads(subprocess.check_output([hbbp, "compare", profile, "--truth",
                                                            truth, "--format", "json"]))["total"]
                source = info["sources"][0]
                print(f"| {name} | {total['instructions_ref'] / 1e9:.2f} G | {kind} | "
                      f"{source['period'] / 1e6:.2g} ms | {source['samples']} | "
                      f"{100 * total['avg_weighted_error']:.1f} % | "
                      f"{100 * total['block_accuracy_error']:.1f} % | "
                      f"{100 * total['overlap']:.1f} % | "
                      f"{100 * total['mnemonic_overlap']:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
