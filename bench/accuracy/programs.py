"""Lists the programs of the laboratory: kernels of the papers, real programs, and those of parts with different speeds.

A program is a name, which is part of the names of files, and a command.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import hard_workloads  # noqa: E402
import held_out_workloads  # noqa: E402
import vector_workloads  # noqa: E402
import workloads  # noqa: E402

KERNELS = ["latency_biased", "call_chain", "g4box", "test40", "prime_search", "fitter_x87", "fitter_sse",
           "fitter_avx", "fitter_avx_calls"]
KERNEL_ROUNDS = 40_000
# Valgrind, whose counts are the truth, has no AVX-512.
VECTOR = ["x264-avx2", "json-avx2", "dgemm-avx2", "filter-avx2", "chacha20", "sha512"]
# Nothing may be tuned on these: no constant, default, estimator or tree may be chosen by what they show.
HOLD_OUTS = ["as", "php", "ghostscript", "povray"]
TUNED, HELD_OUT, ALL = SETS = ("tuned", "held-out", "all")


def kernels(directory, scale=1):
    """Returns the built kernels of bench/accuracy/kernels, each for some seconds."""
    paths = [(name, pathlib.Path(directory) / name) for name in KERNELS]
    rounds = str(max(1, round(scale * KERNEL_ROUNDS)))
    return [(name, [str(path), rounds]) for name, path in paths if os.access(path, os.X_OK)]


def real(directory, scale=1, chosen=ALL):
    """Returns the programs of one of SETS that are not kernels, and makes their inputs in `directory`."""
    found = []
    if chosen != HELD_OUT:
        found += workloads.prepare(directory, scale) + workloads.prepare_more(directory, scale)
        found += vector_workloads.prepare(directory, scale, VECTOR)
        found += hard_workloads.prepare(directory, scale)
    if chosen != TUNED:
        found += held_out_workloads.prepare(directory, scale, HOLD_OUTS)
    return [(name.replace(", ", "-").replace(" ", "-"), command) for name, command in found]
