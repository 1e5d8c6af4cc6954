#!/usr/bin/env python3
"""Measures how close samples of kernel code come to exact counts, on BPF programs, as root.

    bench/accuracy/kernel_code.py build/dev/tools/hbbp [--repeats N] [--period N] [--build build/dev]

Each program of kernel_bpf/ is executed by the kernel (BPF_PROG_TEST_RUN) while `hbbp record --kernel` samples it with
cpu-clock, which is what kernels without a PMU have. The kernel gives the machine code that it made: from this come a core
file, for the analysis, and an ordinary program that executes the same bytes, at the same distances, in a process, where
callgrind counts each instruction. Results in the kernel and in the process have to be equal. `hbbp compare` then compares
counts of the recording with these. The process is recorded, too, with the same clock and by software branch tracing (SWBT).

With --build, a directory with hbbp_pmu_model, the simulated PMU samples the process, too, as in `pmu_study.py hybrid`.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

import laboratory
import measuring
import pmu_study

SOURCES = pathlib.Path(__file__).resolve().parent / "kernel_bpf"
PROGRAMS = ["short_blocks", "branches", "calls", "long_blocks", "memory", "divisions"]
MODES = ["fixed", "prime", "random"]
REFUSED = 77
MODULE = "[kernel]"
# The image of a program in a process has the addresses of the kernel less this, so that they fit into 31 bits.
DISTANCE = 0xffffffff80000000
JUMP_BYTES = 5
ELF_HEADER, PROGRAM_HEADER = "<16sHHIQQQIHHHHHH", "<IIQQQQQQ"
# The same code in a process. It is static, so that nothing can be loaded into it.
IN_PROCESS = {"process": ("--source", "ebs", "--event", "task-clock"),
              "process, SWBT": ("--source", "swbt", "--outside", "--event", "task-clock")}
SIMULATED_INSTRUCTIONS, SIMULATED_PERIOD = 5_000_000, 2000


def run(*words, ok=(0,)):
    command = [str(word) for word in words]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace",
                            check=False)
    if result.returncode not in ok:
        raise SystemExit(f"{' '.join(command)}: exit status {result.returncode}\n{result.stderr}")
    return result


@dataclasses.dataclass(frozen=True)
class Function:
    """Machine code of a program or subprogram, at its address in the kernel."""
    address: int
    code: bytes
    name: str

    @property
    def end(self):
        return self.address + len(self.code)


@dataclasses.dataclass(frozen=True)
class Image:
    functions: list  # by address
    entry: str
    thunks: dict  # name by address: code of the kernel that the functions jump to in order to return

    def __contains__(self, address):
        return any(function.address <= address < function.end for function in self.functions)


def read_image(image, kallsyms):
    """Returns the Image of the text of kernel_runner's files."""
    names, thunks = {}, {}
    for line in kallsyms.splitlines():
        words = line.split()
        address, name = int(words[0], 16), words[2]
        if name.endswith("return_thunk"):
            thunks[address] = name
        elif words[3:] == ["[bpf]"]:
            names[address] = name
    functions = []
    for line in image.splitlines():
        address, code = line.split()
        address = int(address, 16)
        if address not in names:
            raise SystemExit(f"kallsyms does not have the program at 0x{address:x}")
        functions.append(Function(address, bytes.fromhex(code), names[address]))
    used = {address: name for address, name in thunks.items()
            if any(jumps_to(function, address) for function in functions)}
    return Image(sorted(functions, key=lambda function: function.address), functions[0].name, used)


def jumps_to(function, address):
    """Returns whether `function` has the bytes of a direct jump to `address`."""
    return any(function.code[at] == 0xe9 and
               function.address + at + JUMP_BYTES + struct.unpack_from("<i", function.code, at + 1)[0] == address
               for at in range(len(function.code) - JUMP_BYTES + 1))


def core_file(image):
    """Returns the functions as an ELF core file."""
    functions = image.functions
    offset = struct.calcsize(ELF_HEADER) + len(functions) * struct.calcsize(PROGRAM_HEADER)
    core_type, machine, load, executable = 4, 62, 1, 5
    header = struct.pack(ELF_HEADER, b"\x7fELF\x02\x01\x01", core_type, machine, 1, 0, struct.calcsize(ELF_HEADER), 0, 0,
                         struct.calcsize(ELF_HEADER), struct.calcsize(PROGRAM_HEADER), len(functions), 0, 0, 0)
    segments, memory = b"", b""
    for function in functions:
        size = len(function.code)
        segments += struct.pack(PROGRAM_HEADER, load, executable, offset + len(memory), function.address, 0, size, size, 1)
        memory += function.code
    return header + segments + memory


def assembly(image):
    """Returns the source of the image for a process: a section for each function, and for each return thunk, and
    {section: address}."""
    parts = [(function.address, function.name, function.code) for function in image.functions]
    parts += [(address, name, b"\xc3") for address, name in image.thunks.items()]
    text, sections = "", {}
    for number, (address, name, code) in enumerate(sorted(parts)):
        section = f".kernel{number}"
        sections[section] = address - DISTANCE
        entry = "\t.globl bpf_program\nbpf_program:\n" if name == image.entry else ""
        text += (f'\t.section {section}, "ax", @progbits\n{entry}\t.type {name}, @function\n{name}:\n'
                 f"\t.byte {', '.join(map(str, code))}\n\t.size {name}, . - {name}\n")
    return text + '\t.section .note.GNU-stack, "", @progbits\n', sections


def build_process(image, path):
    """Makes the program that executes the image in a process."""
    text, sections = assembly(image)
    source = path.with_suffix(".s")
    source.write_text(text)
    run("cc", "-O2", "-g", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-fno-stack-protector", "-Wl,--build-id",
        *(f"-Wl,--section-start={name}={address:#x}" for name, address in sections.items()),
        "-o", path, SOURCES / "image_runner.c", source)


def executions(callgrind):
    """Returns {address: executions} of a file of callgrind's with absolute positions of instructions only."""
    counts, is_call = {}, False
    for line in callgrind.splitlines():
        if line.startswith("0x") and not is_call:
            address, count = line.split()
            counts[int(address, 16)] = counts.get(int(address, 16), 0) + int(count)
        is_call = line.startswith("calls=")
    return counts


def truth_text(module, counts):
    """Returns counts by address as a file of callgrind's."""
    lines = ["# callgrind format", "version: 1", "creator: kernel_code", "positions: instr", "events: Ir", f"ob={module}",
             "fn=traced", *(f"{address:#x} {count}" for address, count in sorted(counts.items())),
             f"totals: {sum(counts.values())}"]
    return "\n".join(lines) + "\n"


class Recording:
    """One run of a program in the kernel: its files, and what the program itself printed."""

    def __init__(self, prefix, printed):
        self.prefix = prefix
        self.result, self.executions = printed.split()[0], int(printed.split()[1])
        self.image = read_image(self.file("image").read_text(), self.file("kallsyms").read_text())
        self.file("core").write_bytes(core_file(self.image))

    def file(self, extension):
        return self.prefix.with_name(f"{self.prefix.name}.{extension}")

    @property
    def kernel_options(self):
        return ["--kcore", self.file("core"), "--kallsyms", self.file("kallsyms")]

    def make_truth(self):
        """Counts one execution in a process."""
        process = self.file("process")
        build_process(self.image, process)
        counted = self.file("callgrind")
        printed = run("valgrind", "--tool=callgrind", "--dump-instr=yes", "--dump-line=no", "--compress-pos=no",
                      f"--callgrind-out-file={counted}", process).stdout.strip()
        if printed != self.result:
            raise SystemExit(f"{process}: the result is {printed}, but {self.result} in the kernel")
        in_process = executions(counted.read_text())
        self.counts = {address + DISTANCE: count for address, count in in_process.items() if address + DISTANCE in self.image}
        self.file("truth").write_text(truth_text(MODULE, self.counts))
        # Callgrind does not know the module of this code. Of what starts and ends the process there is little in a recording.
        of_process = {address: count for address, count in in_process.items()
                      if address + DISTANCE in self.image or address + DISTANCE in self.image.thunks}
        self.file("process-truth").write_text(truth_text(process, of_process))


class Bench:
    def __init__(self, arguments, directory):
        self.arguments = arguments
        self.hbbp = str(pathlib.Path(arguments.hbbp).resolve())
        self.directory = directory
        self.runner = directory / "kernel_runner"
        sources = [SOURCES / f"{name}.c" for name in ("kernel_runner", "programs", "assembler")]
        run("cc", "-O2", "-Wall", "-o", self.runner, *sources)

    def why_not(self):
        """Returns why programs cannot be measured here, or nothing."""
        if shutil.which("valgrind") is None:
            return "no valgrind, which counts exactly"
        tried = run(self.runner, PROGRAMS[0], 0, self.directory / "tried", ok=(0, REFUSED))
        if tried.returncode == REFUSED:
            return f"{tried.stderr.strip()}; BPF programs take root, and a kernel with CONFIG_BPF_SYSCALL and its JIT"
        return None

    def record(self, profile, options, *command):
        return run(self.hbbp, "record", *options, "--period", self.arguments.period, "-o", profile, "--", *command).stdout

    def record_kernel(self, name, mode, repeat):
        """Returns the Recording of a program in the kernel, with its truth."""
        prefix = self.directory / measuring.file_name(name, mode, repeat)
        options = ["--kernel", "--source", "ebs", "--event", "cpu-clock", "--period-mode", mode]
        printed = self.record(prefix.with_suffix(".hbbp"), options, self.runner, name, self.arguments.seconds, prefix)
        recording = Recording(prefix, printed)
        recording.make_truth()
        return recording

    def json(self, command, profile, *options):
        return json.loads(run(self.hbbp, command, profile, *options, "--format", "json").stdout)

    def compare_kernel(self, recording):
        return self.json("compare", recording.file("hbbp"), "--truth", recording.file("truth"), *recording.kernel_options)

    def compare_process(self, recording, method, repeat):
        """Compares the same code in a process, for as many executions, with its truth."""
        profile = recording.file(measuring.file_name(method, repeat) + ".hbbp")
        self.record(profile, IN_PROCESS[method], recording.file("process"), recording.executions)
        return self.json("compare", profile, "--truth", recording.file("process-truth"))

    def samples(self, recording):
        """Returns how many samples there are, and how many of these are in the program."""
        sources = self.json("info", recording.file("hbbp"))["sources"]
        rows = self.json("mix", recording.file("hbbp"), "--by", "function", *recording.kernel_options)["rows"]
        names = {f"{function.name} [bpf]" for function in recording.image.functions}
        return sources[0]["samples"], sum(row["share"] for row in rows if row["function"] in names)


class Program(laboratory.Program):
    """The results for one program, and what was recorded first."""

    def __init__(self, name):
        super().__init__(name)
        self.recording = None
        self.in_program = []  # (samples, share of them that are in the program)


def measure(bench, name, arguments):
    found = Program(name)
    for repeat in range(arguments.repeats):
        for mode in arguments.period_modes:
            recording = bench.record_kernel(name, mode, repeat)
            found.recording = found.recording or recording
            found.runs[f"kernel, {mode}"].append(bench.compare_kernel(recording))
            found.in_program.append(bench.samples(recording))
        for method in IN_PROCESS:
            found.runs[method].append(bench.compare_process(found.recording, method, repeat))
    return found


def program_table(found):
    rows = []
    for program in found:
        functions, counts = program.recording.image.functions, program.recording.counts
        rows.append([program.name, len(functions), sum(len(function.code) for function in functions), f"{sum(counts.values()):,}",
                     f"{statistics.median(samples for samples, _ in program.in_program):,.0f}",
                     laboratory.cell(laboratory.spread([share for _, share in program.in_program]))])
    return laboratory.table(["program", "functions", "bytes", "instructions an execution", "samples", "of these in the program"],
                            rows)


def tables(found, methods, arguments):
    parts = [program_table(found)]
    parts += [laboratory.metric_table(title, found, methods, key) for key, title in measuring.METRICS.items()]
    if arguments.mnemonics:
        parts += [laboratory.mnemonic_table(program, methods, arguments.top) for program in found]
    return "\n".join(parts)


class SimulatedLaboratory(pmu_study.Laboratory):
    """Samples the processes by the simulated PMU."""

    def __init__(self, arguments, directory, found):
        super().__init__(arguments, directory)
        self.recordings = {program.name: program.recording for program in found}

    def trace(self, kernel):
        recording = self.recordings[kernel]
        trace, truth = recording.file("trace"), recording.file("simulated-truth")
        if not trace.exists():
            repeat = math.ceil(SIMULATED_INSTRUCTIONS / sum(recording.counts.values()))
            run(self.model, "--save-trace", trace, "--truth", truth, "-o", self.directory / "unused.data", "--",
                recording.file("process"), repeat)
        return trace, truth


def print_simulated(found, arguments, directory):
    simulated = SimulatedLaboratory(arguments, directory, found)
    arguments.kernels = [program.name for program in found]
    errors = {}
    for name in arguments.kernels:
        by_estimator = pmu_study.errors_by(simulated, name, "hybrid", [], arguments.estimators)
        errors.update({(name, estimator): pairs for estimator, pairs in by_estimator.items()})
    pmu_study.print_errors("SIMULATED PMU", arguments.estimators, errors, arguments)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hbbp", help="the command")
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=PROGRAMS, metavar="NAME", help=" ".join(PROGRAMS))
    parser.add_argument("--repeats", type=laboratory.number_of_at_least(1), default=3)
    parser.add_argument("--period", type=laboratory.number_of_at_least(1), default=1_000_000, help="in ns (1000000)")
    parser.add_argument("--period-modes", nargs="+", choices=MODES, default=MODES, metavar="MODE", help=" ".join(MODES))
    parser.add_argument("--seconds", type=float, default=4, help="CPU time of each recording (4)")
    parser.add_argument("--mnemonics", action="store_true", help="a table of mnemonics for each program")
    parser.add_argument("--top", type=laboratory.number_of_at_least(1), default=20, help="rows of these tables (20)")
    parser.add_argument("--build", help="a build with hbbp_pmu_model: tables of the simulated PMU, too")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIRECTORY", help="what keeps code, truth and profiles")
    parser.set_defaults(estimators=["ebs", "streams", "tree", "flow"], branch_period=200, csv=None, svg=None)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as temporary:
        directory = (arguments.keep or pathlib.Path(temporary)).resolve()
        directory.mkdir(parents=True, exist_ok=True)
        bench = Bench(arguments, directory)
        reason = bench.why_not()
        if reason:
            print(f"kernel_code.py: {reason}", file=sys.stderr)
            sys.exit(REFUSED)
        found = []
        for name in arguments.only:
            found.append(measure(bench, name, arguments))
            print(f"{name}: done, {len(found)} of {len(arguments.only)}", file=sys.stderr, flush=True)
        methods = list(found[0].runs)
        print(tables(found, methods, arguments))
        if arguments.build:
            arguments.period = SIMULATED_PERIOD
            print_simulated(found, arguments, directory)


if __name__ == "__main__":
    main()
