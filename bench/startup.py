#!/usr/bin/env python3
"""Measures the size of libhbbp.so, and the cost of loading it.

    bench/startup.py build/release/lib/capi/libhbbp.so [--rounds N]

Sizes are those of a stripped copy. Times are medians over rounds in which the programs take turns: a
program without the library, one that is linked with it, and one that loads it by dlopen. CC chooses
the compiler.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include"

EMPTY = "int main(void) { return 0; }"

LINKED = """
#include <hbbp/hbbp.h>
int main(void) { return hbbp_version_string()[0] == 0; }
"""

LOADED = """
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}
int main(int argc, char **argv) {
  const double begin = now_us();
  void *library = dlopen(argv[argc - 1], RTLD_NOW);
  const char *(*version)(void) = library ? (const char *(*)(void))dlsym(library, "hbbp_version_string") : 0;
  if (version == 0) return 1;
  version();
  printf("%f\\n", now_us() - begin);
  return 0;
}
"""

# This program runs the others and prints how long that took, in microseconds: Python is not included.
SPAWN = """
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
extern char **environ;
int main(int argc, char **argv) {
  struct timespec begin, end;
  int status = 0;
  pid_t child;
  (void)argc;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  if (posix_spawn(&child, argv[1], 0, 0, argv + 1, environ) != 0) return 1;
  waitpid(child, &status, 0);
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%f\\n", (end.tv_sec - begin.tv_sec) * 1e6 + (end.tv_nsec - begin.tv_nsec) / 1e3);
  return status != 0;
}
"""


def output(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def compile_program(directory, name, source, *flags):
    path = directory / name
    (directory / f"{name}.c").write_text(source)
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-w", f"-I{INCLUDE}", f"{path}.c", *flags,
                    "-o", path], check=True)
    return path


def print_sizes(library, directory):
    stripped = directory / "stripped.so"
    subprocess.run(["strip", "-o", stripped, library], check=True)
    sections = dict(re.findall(r"^\s*\[ *\d+\] (\S+) +\S+ +\S+ \S+ ([0-9a-f]+)",
                               output("readelf", "-SW", library), flags=re.M))
    relocations = re.findall(r"R_X86_64_(\w+)", output("readelf", "-rW", library))
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", library))
    loaded = re.findall(r"=> \S+ \(", output("ldd", library))
    print(f"stripped file          {stripped.stat().st_size / 1024:8.0f} KiB")
    for name in (".text", ".rodata", ".eh_frame", ".data.rel.ro", ".data", ".bss"):
        print(f"  {name:<20} {int(sections.get(name, '0'), 16) / 1024:8.0f} KiB")
    print(f"libraries, directly    {len(needed):8}")
    print(f"libraries, in all      {len(loaded):8}")
    print(f"relocations            {len(relocations):8}")
    print(f"  by symbol            {sum(kind != 'RELATIVE' for kind in relocations):8}")
    print(f"static constructors    {int(sections['.init_array'], 16) // 8:8}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=300)
    arguments = parser.parse_args()
    library = arguments.library.resolve()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        print_sizes(library, directory)
        spawn = compile_program(directory, "spawn", SPAWN)
        empty = compile_program(directory, "empty", EMPTY)
        linked = compile_program(directory, "linked", LINKED, library, f"-Wl,-rpath,{library.parent}")
        loaded = compile_program(directory, "loaded", LOADED, "-ldl")
        times = {"process without it": [], "process linked with it": [], "dlopen and a call": []}
        for _ in range(arguments.rounds):
            times["process without it"].append(float(output(spawn, empty)))
            times["process linked with it"].append(float(output(spawn, linked)))
            times["dlopen and a call"].append(float(output(loaded, library)))
        for what, values in times.items():
            print(f"{what:<22} {statistics.median(values):8.0f} us, the shortest {min(values):.0f}")


if __name__ == "__main__":
    main()
