"""Makes programs whose parts run at very different speeds, which are hard for bursts that a clock triggers.

A clock starts bursts in proportion to time, so such a burst stands for more instructions in fast code than in slow code.
The sources are in bench/speeds, and say what the parts are. Every command prints to stdout only and always the same.
"""

import pathlib
import subprocess

SOURCES = pathlib.Path(__file__).resolve().parent / "speeds"
# The rounds, or turns, of some three seconds.
ROUNDS = {"map_sort_sum": 3, "pointer_chase": 62, "branchy": 420, "stream": 58, "json_malloc": 28, "two_loops": 1500,
          "interpreter": 180}


def compile_program(directory, name):
    """Returns the path of the program, which is compiled unless `directory` has it from this source."""
    source, = SOURCES.glob(name + ".c*")
    program = directory / name
    if program.exists() and program.stat().st_mtime >= source.stat().st_mtime:
        return program
    compiler = ["g++", "-std=c++17"] if source.suffix == ".cc" else ["gcc"]
    subprocess.run([*compiler, "-O2", "-o", program, source], check=True)
    return program


def prepare(directory, scale=1):
    """Returns [(name, command)] with the programs in `directory`; they run for some 3 * `scale` seconds each."""
    directory = pathlib.Path(directory)
    return [(name, [str(compile_program(directory, name)), str(max(1, round(rounds * scale)))])
            for name, rounds in ROUNDS.items()]
