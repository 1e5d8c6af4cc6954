#!/usr/bin/env python3
"""SIMULATION: compares sampling methods on a PMU whose parameters are known.

    bench/accuracy/pmu_study.py table1 [--build build/dev] [--csv FILE] [--svg FILE]
    bench/accuracy/pmu_study.py table2 ...
    bench/accuracy/pmu_study.py cutoff ...
    bench/accuracy/pmu_study.py hybrid ...
    bench/accuracy/pmu_study.py draws ...

table1: the methods of "Establishing a Base of Trust with Performance Counters for Enterprise
Workloads" on each kernel. table2: the same on real programs, small ones, with the libraries that
they use. cutoff: from which block length on EBS is better than LBR, as the
parameters of the PMU vary. hybrid: EBS alone, LBR alone, the published rule by length, and
both under conservation of flow. draws: random periods that are drawn for each sample or for several,
next to fixed and prime ones, with exact samples, so that periods alone decide.

A kernel is traced once, and the trace is sampled again and again, each time with another phase.
Tables go to stdout. --svg needs matplotlib (Debian: python3-matplotlib).
"""

import argparse
import csv
import hashlib
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import productions

PAPER_KERNELS = ["latency_biased", "call_chain", "g4box", "test40", "prime_search",
                 "fitter_x87", "fitter_sse", "fitter_avx", "fitter_avx_calls"]
KERNELS = PAPER_KERNELS + ["block_lengths"]  # the latter has all lengths
# The estimator that counts the blocks of a recording.
METHODS = {"default": "ebs", "precise": "ebs", "prime": "ebs", "random": "ebs", "ip+1": "ebs",
           "prec_dist": "ebs", "lbr": "streams"}
PUBLISHED_CUTOFF = 18
# Name and options of the model. Each differs from the first one by one parameter.
SETTINGS = [
    ("defaults", []),
    ("PREC_DIST shadow 1", ["--prec-dist-shadow", 1]),
    ("PREC_DIST shadow 2", ["--prec-dist-shadow", 2]),
    ("PREC_DIST shadow 4", ["--prec-dist-shadow", 4]),
    ("shadow 1, retire width 4", ["--prec-dist-shadow", 1, "--retire-width", 4]),
    ("shadow 1, retire width 2", ["--prec-dist-shadow", 1, "--retire-width", 2]),
    ("shadow 1, retire width 1", ["--prec-dist-shadow", 1, "--retire-width", 1]),
    ("imprecise, skid 0", ["--hybrid-ebs", "default", "--skid", 0, "--skid-spread", 0]),
    ("imprecise, skid 5 + 5", ["--hybrid-ebs", "default", "--skid", 5, "--skid-spread", 5]),
    ("imprecise, skid 20 + 20", ["--hybrid-ebs", "default"]),
    ("imprecise, skid 80 + 80", ["--hybrid-ebs", "default", "--skid", 80, "--skid-spread", 80]),
    ("LBR skid 0", ["--lbr-skid", 0, "--lbr-skid-spread", 0]),
    ("LBR skid 20 + 20", ["--lbr-skid", 20, "--lbr-skid-spread", 20]),
    ("LBR depth 16", ["--lbr-depth", 16]),
    ("LBR depth 8", ["--lbr-depth", 8]),
    ("no anomaly", ["--sticky-share", 0]),
    ("sticky share 0.3", ["--sticky-share", 0.3]),
    ("sticky share 0.3, chance 0.9", ["--sticky-share", 0.3, "--sticky-chance", 0.9]),
    ("entry[0] repeats, 0.5", ["--repeat-chance", 0.5]),
    ("4 times as many IP samples", ["--period", "x0.25"]),
    ("a quarter of the IP samples", ["--period", "x4"]),
    ("a quarter of the stacks", ["--branch-period", "x4"]),
    ("a sixteenth of the stacks", ["--branch-period", "x16"]),
    ("the same, shadow 1, 16 times as many IP samples",
     ["--branch-period", "x16", "--prec-dist-shadow", 1, "--period", "x0.0625"]),
]
# Name and options of ways to choose periods.
DRAWS = {"fixed": ["--period-mode", "fixed"], "prime": [],
         **{f"random, drawn for {samples}": ["--period-mode", "random", "--samples-by-draw", samples]
            for samples in (1, 5, 20, 100)}}
LENGTHS = [1, 3, 5, 7, 10, 13, 16, 19, 23, 28, 36, 51, 101]  # where each range of lengths starts
SMALLEST_SHARE = 0.005  # minimum share of all instructions: ranges with fewer are not meaningful


def run(*words, directory=None):
    command = [str(word) for word in words]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False, cwd=directory)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {result.stderr}")
    return result.stdout


class Laboratory:
    """Runs the programs of a build, and keeps a directory with traces."""

    def __init__(self, arguments, directory):
        build = pathlib.Path(arguments.build).resolve()
        self.tool = build / "tools" / "hbbp"
        self.model = build / "bench" / "accuracy" / "pmu_model" / "hbbp_pmu_model"
        self.kernels = build / "bench" / "accuracy" / "kernels" / "static"
        for program in (self.tool, self.model):
            if not program.exists():
                raise SystemExit(f"{program} is missing; build hbbp-tool, hbbp_pmu_model and "
                                 "accuracy_kernels, and name the directory by --build")
        self.arguments = arguments
        self.directory = directory

    def trace(self, kernel):
        """Returns the files of the trace and of its exact counts."""
        if kernel in productions.PROGRAMS:
            return self.trace_program(kernel)
        program = self.kernels / kernel
        build = hashlib.sha256(program.read_bytes()).hexdigest()[:16]
        name = f"{kernel}.{self.arguments.rounds}.{build}"
        trace, truth = self.directory / f"{name}.trace", self.directory / f"{name}.truth"
        if not trace.exists() or not truth.exists():
            run(self.model, "--save-trace", trace, "--truth", truth, "-o",
                self.directory / "unused.data", "--", program, self.arguments.rounds)
        return trace, truth

    def trace_program(self, name):
        trace, truth = self.directory / f"{name}.trace", self.directory / f"{name}.truth"
        if not trace.exists() or not truth.exists():
            productions.make_inputs(self.directory)
            run(self.model, "--save-trace", trace, "--truth", truth, "-o", self.directory / "unused.data", "--",
                *productions.PROGRAMS[name], directory=self.directory)
        return trace, truth

    def periods(self, options):
        """Returns options of the model, where a period may be given as a factor ("x0.25")."""
        words, given = list(options), {"--period": self.arguments.period,
                                       "--branch-period": self.arguments.branch_period}
        for name, period in given.items():
            if name in words:
                position = words.index(name)
                given[name] = round(period * float(words[position + 1][1:]))
                del words[position:position + 2]
        return [*words, *(word for pair in given.items() for word in pair)]

    def profiles(self, kernel, method, options=()):
        """Yields one profile after the other, for each seed."""
        trace, _ = self.trace(kernel)
        data, profile = self.directory / "simulated.data", self.directory / "simulated.hbbp"
        for seed in range(1, self.arguments.repeats + 1):
            run(self.model, "--trace", trace, "--method", method, "-o", data, "--seed", seed,
                *self.periods(options))
            run(self.tool, "import", "-o", profile, data)
            yield profile

    def compare(self, kernel, profile, estimator):
        _, truth = self.trace(kernel)
        return json.loads(run(self.tool, "compare", profile, "--truth", truth, "--estimator",
                              estimator, "--format", "json"))["total"]

    def blocks(self, profile, estimator):
        rows = json.loads(run(self.tool, "blocks", profile, "--estimator", estimator, "--format", "json"))["rows"]
        return {int(row["start"], 16): row for row in rows}

    def exact_counts(self, kernel):
        _, truth = self.trace(kernel)
        counts = {}
        for line in truth.read_text().splitlines():
            if line.startswith("0x"):
                address, count = line.split()
                counts[int(address, 16)] = int(count)
        return counts


def percent(value):
    return f"{100 * value:.1f} %"


def spread(values):
    """Returns the median (smallest to largest)."""
    return (f"{100 * statistics.median(values):.1f} "
            f"({100 * min(values):.1f} to {100 * max(values):.1f})")


def print_table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def write_csv(path, head, rows):
    if path:
        with open(path, "w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(head)
            writer.writerows(rows)


def figure(path, draw, size):
    if not path:
        return
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("--svg needs matplotlib (Debian: apt install python3-matplotlib, and "
                         "/usr/bin/python3)") from None
    matplotlib.use("svg")
    from matplotlib import pyplot
    chart, axes = pyplot.subplots(figsize=size)
    draw(axes)
    axes.text(1, 1.01, "simulation, not hardware", transform=axes.transAxes, ha="right",
              fontsize="small")
    chart.tight_layout()
    chart.savefig(path)


def errors_by(laboratory, kernel, method, options, estimators):
    """Returns {estimator: [(block accuracy error, average weighted error) of each repeat]}."""
    errors = {estimator: [] for estimator in estimators}
    for profile in laboratory.profiles(kernel, method, options):
        for estimator in estimators:
            total = laboratory.compare(kernel, profile, estimator)
            errors[estimator].append((total["block_accuracy_error"], total["avg_weighted_error"]))
    return errors


def print_errors(title, columns, errors, arguments):
    """Prints two tables of `errors` by (kernel, column), with the mean of the medians below."""
    for metric, name in enumerate(["block accuracy error", "average weighted error of mnemonics"]):
        print(f"\n{title}: {name} in %, median (smallest to largest) of {arguments.repeats} "
              "phases\n")
        rows = [[kernel] + [spread([pair[metric] for pair in errors[kernel, column]])
                            for column in columns] for kernel in arguments.kernels]
        means = [statistics.mean(statistics.median(pair[metric] for pair in errors[kernel, column])
                                 for kernel in arguments.kernels) for column in columns]
        rows.append(["mean of the medians"] + [f"{100 * mean:.1f}" for mean in means])
        print_table(["kernel"] + columns, rows)
    write_csv(arguments.csv, ["kernel", "column", "repeat", "block_accuracy_error",
                              "avg_weighted_error"],
              [[kernel, column, i, *pair] for (kernel, column), pairs in errors.items()
               for i, pair in enumerate(pairs)])

    def draw(axes):
        width = 0.8 / len(columns)
        for i, column in enumerate(columns):
            values = [100 * statistics.median(pair[0] for pair in errors[kernel, column])
                      for kernel in arguments.kernels]
            axes.bar([k + i * width for k in range(len(values))], values, width, label=column)
        axes.set_xticks([k + 0.4 for k in range(len(arguments.kernels))], arguments.kernels,
                        rotation=30, ha="right")
        axes.set_ylabel("block accuracy error, %")
        axes.set_ylim(bottom=0)
        axes.legend()
    figure(arguments.svg, draw, (11, 5))


def table1(laboratory, arguments):
    errors = {}
    for kernel in arguments.kernels:
        for method, estimator in METHODS.items():
            errors[kernel, method] = errors_by(laboratory, kernel, method, [],
                                               [estimator])[estimator]
    print_errors("methods", list(METHODS), errors, arguments)


def table2(laboratory, arguments):
    arguments.kernels = list(productions.PROGRAMS)
    table1(laboratory, arguments)


def hybrid(laboratory, arguments):
    errors = {}
    for kernel in arguments.kernels:
        for estimator, pairs in errors_by(laboratory, kernel, "hybrid", arguments.model_options,
                                          arguments.estimators).items():
            errors[kernel, estimator] = pairs
    print_errors("estimators", arguments.estimators, errors, arguments)


class BlockErrors:
    """Sums the instructions that EBS and LBR count in the wrong blocks, by length of the block. Every
    kernel and repeat has the same weight."""

    def __init__(self):
        self.by_length = {}  # length: [share of all instructions, EBS error, LBR error]

    def add(self, truth, ebs, streams, weight):
        total = sum(truth.values())
        for start in ebs.keys() | streams.keys():
            row = ebs.get(start) or streams[start]
            length, reference = row["instructions"], truth.get(start, 0)
            found = self.by_length.setdefault(length, [0, 0, 0])
            found[0] += weight * reference * length / total
            for index, counts in ((1, ebs), (2, streams)):
                count = counts[start]["count"] if start in counts else 0
                found[index] += weight * abs(count - reference) * length / total

    def of(self, lengths):
        """Returns relative errors of EBS and of LBR in the blocks of these lengths, and their share."""
        share, ebs, streams = (sum(self.by_length[length][i] for length in self.by_length
                                   if length in lengths) for i in range(3))
        return (ebs / share, streams / share, share) if share > 0 else None

    def error_of_rule(self, cutoff):
        """Returns the error of all blocks, if those of up to `cutoff` instructions are counted by LBR."""
        return sum(streams if length <= cutoff else ebs
                   for length, (_, ebs, streams) in self.by_length.items())

    def best_cutoffs(self):
        """Returns the smallest and the largest cutoff whose error is within 2 % of the minimum."""
        candidates = [0, *sorted(self.by_length)]
        errors = {cutoff: self.error_of_rule(cutoff) for cutoff in candidates}
        limit = 1.02 * min(errors.values())
        good = [cutoff for cutoff in candidates if errors[cutoff] <= limit]
        best = min(errors, key=errors.get)
        largest = math.inf if good[-1] == candidates[-1] else good[-1]
        return good[0], best if best != candidates[-1] else math.inf, largest


def block_errors(laboratory, arguments, options):
    errors = BlockErrors()
    weight = 1 / (len(arguments.kernels) * arguments.repeats)
    for kernel in arguments.kernels:
        truth = laboratory.exact_counts(kernel)
        for profile in laboratory.profiles(kernel, "hybrid", options):
            errors.add(truth, laboratory.blocks(profile, "ebs"),
                       laboratory.blocks(profile, "streams"), weight)
    return errors


def cutoff_text(cutoff):
    return "all by LBR" if cutoff == math.inf else "all by EBS" if cutoff == 0 else str(cutoff)


def cutoff(laboratory, arguments):
    ranges = [(first, last - 1) for first, last in zip(LENGTHS, LENGTHS[1:])]
    ranges.append((LENGTHS[-1], 10**6))
    names = [f"{first} to {last}" if last < 10**6 else f"{first} and more"
             for first, last in ranges]
    summary, by_length, found = [], [], {}
    for name, options in SETTINGS:
        if arguments.settings and name not in arguments.settings:
            continue
        errors = block_errors(laboratory, arguments, options)
        found[name] = errors
        low, best, high = errors.best_cutoffs()
        summary.append([name, percent(errors.error_of_rule(0)),
                        percent(errors.error_of_rule(math.inf)),
                        percent(errors.error_of_rule(PUBLISHED_CUTOFF)),
                        percent(errors.error_of_rule(best)), cutoff_text(best),
                        cutoff_text(low) if low == high
                        else f"{cutoff_text(low)} to {cutoff_text(high)}"])
        for (first, last), length in zip(ranges, names):
            of_range = errors.of(range(first, last + 1))
            if of_range and of_range[2] >= SMALLEST_SHARE:
                by_length.append([name, first, length, *of_range])
    print(f"\nblock accuracy error of both families and of rules by length, mean of "
          f"{len(arguments.kernels)} kernels and {arguments.repeats} phases\n")
    print_table(["setting", "EBS", "LBR", f"up to {PUBLISHED_CUTOFF} by LBR", "best cutoff's",
                 "best cutoff", "as good within 2 %"], summary)
    print("\nerror in the blocks of a length, EBS / LBR, in %\n")
    cells = {(name, length): f"{100 * ebs:.0f} / {100 * streams:.0f}"
             for name, _, length, ebs, streams, _ in by_length}
    used = [length for length in names if any((name, length) in cells for name in found)]
    print_table(["setting"] + used,
                [[name] + [cells.get((name, length), "") for length in used] for name in found])
    write_csv(arguments.csv, ["setting", "first_length", "lengths", "ebs_error", "lbr_error",
                              "share_of_instructions"], by_length)

    def draw(axes):
        for name in list(found)[:6] if not arguments.settings else found:
            points = [row for row in by_length if row[0] == name]
            line, = axes.plot([row[1] for row in points], [100 * row[3] for row in points],
                              label=f"EBS, {name}")
            axes.plot([row[1] for row in points], [100 * row[4] for row in points], "--",
                      color=line.get_color(), label=f"LBR, {name}")
        axes.axvline(PUBLISHED_CUTOFF + 0.5, color="grey", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_xlabel("instructions of the block")
        axes.set_ylabel("error in blocks of this length, %")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize="small")
    figure(arguments.svg, draw, (10, 6))


def draws(laboratory, arguments):
    errors = {}
    for kernel in arguments.kernels:
        for name, options in DRAWS.items():
            errors[kernel, name] = errors_by(laboratory, kernel, "prec_dist", options, ["ebs"])["ebs"]
    print_errors("periods", list(DRAWS), errors, arguments)


STUDIES = {"draws": draws, "table1": table1, "table2": table2, "cutoff": cutoff, "hybrid": hybrid}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--build", default="build/dev", help="the directory of a build (build/dev)")
    parser.add_argument("--kernels", nargs="+", default=PAPER_KERNELS, choices=KERNELS)
    parser.add_argument("--rounds", type=int, default=50,
                        help="of a kernel, 100,000 instructions each (50)")
    parser.add_argument("--repeats", type=int, default=5, help="recordings of each trace (5)")
    parser.add_argument("--period", type=int, default=2000, help="in instructions (2000)")
    parser.add_argument("--branch-period", type=int, default=200, help="in taken branches (200)")
    parser.add_argument("--settings", nargs="+", choices=[name for name, _ in SETTINGS],
                        help="of the study `cutoff` only these")
    parser.add_argument("--estimators", nargs="+", default=["ebs", "streams", "tree", "flow"],
                        help="of the study `hybrid`: names or files that hbbp compare takes")
    parser.add_argument("--model-options", nargs=argparse.REMAINDER, default=[],
                        help="of the study `hybrid`, at the end: options for hbbp_pmu_model")
    parser.add_argument("--csv", help="file for the numbers of every repeat or length")
    parser.add_argument("--svg", help="file for a plot")
    parser.add_argument("--keep", help="a directory that keeps traces, and has them the next time")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(arguments.keep or temporary).resolve()
        directory.mkdir(parents=True, exist_ok=True)
        STUDIES[arguments.study](Laboratory(arguments, directory), arguments)


if __name__ == "__main__":
    sys.exit(main())
