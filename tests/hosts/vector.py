"""Lists hosts of vector code from bench/vector_workloads.py."""
import pathlib
import sys

from host import Batch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'bench'))

import vector_workloads  # noqa: E402


# They take a second each, in CI.
FAST = ('dgemm-avx2', 'dgemm-avx512', 'filter-avx2', 'filter-avx512', 'json-avx2', 'x264-avx2')


def names():
    return [name for name, _ in vector_workloads.candidates()]


def host(name, directory):
    """Returns None if this machine lacks it; its inputs are made in `directory`."""
    for _, command in vector_workloads.prepare(directory, names=[name]):
        return Batch(name, command, packages=vector_workloads.PACKAGES, is_fast=name in FAST)
    return Batch(name, [name], packages=vector_workloads.PACKAGES)
