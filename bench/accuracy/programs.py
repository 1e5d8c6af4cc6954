"""The programs of the laboratory: the kernels of the papers, and real programs of Debian.

A program has a name that is part of file names, and a command.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import workloads  # noqa: E402


def kernels(folder):
    """The programs that the build made of bench/accuracy/kernels."""
    folder = pathlib.Path(folder)
    if not folder.is_dir():
        return []
    return [(path.name, [str(path)]) for path in sorted(folder.iterdir())
            if path.is_file() and os.access(path, os.X_OK) and path.suffix == ""]


def real(folder, scale=1):
    """Inputs are made in `folder`."""
    found = workloads.prepare(folder, scale) + workloads.prepare_more(folder, scale)
    return [(name.replace(", ", "-").replace(" ", "-"), command) for name, command in found]
