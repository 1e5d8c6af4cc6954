#!/usr/bin/env python3
"""Measures how close each source, and their combinations, come to exact counts on live programs.

    bench/accuracy/laboratory.py build/release/tools/hbbp --kernels build/release/bench/accuracy/kernels \\
        --keep DIRECTORY [--mnemonics] [--blocks] [--csv DIRECTORY] [--svg DIRECTORY]

Every program runs under callgrind once, and is recorded by task-clock samples (EBS), by software branch tracing (SWBT) and by
both at once, REPEATS times each. A hybrid is the recording by both, counted by an estimator. Tables give the median
of the repeats and their range. docs/lab/laboratory.md explains them.
"""

import argparse
import collections
import csv
import pathlib
import statistics
import sys
import tempfile

import bar_chart
import measuring
import programs

BAR_LIMIT = 1.5


class Program:
    """The results for one program: comparisons by method, one per repeat; blocks of the first."""

    def __init__(self, name):
        self.name = name
        self.runs = collections.defaultdict(list)
        self.samples = collections.defaultdict(list)
        self.blocks = []

    @property
    def instructions(self):
        return next(iter(self.runs.values()))[0]["total"]["instructions_ref"]

    def metric(self, method, key):
        return spread([run["total"][key] for run in self.runs[method]])

    def mnemonic_errors(self, method):
        """Returns {mnemonic: (instructions of the truth, spread of its error)}."""
        errors = collections.defaultdict(list)
        for run in self.runs[method]:
            for row in run["total"]["mnemonics"]:
                if row["ref"] > 0:
                    errors[row["mnemonic"]].append((row["ref"], row["error"]))
        return {name: (values[0][0], spread([error for _, error in values])) for name, values in errors.items()}


def spread(values):
    return min(values), statistics.median(values), max(values)


def estimator_name(estimator):
    return "hybrid: " + (pathlib.Path(estimator).stem if estimator.endswith(".json") else estimator)


class Methods:
    """The sources by themselves, and the estimators of hybrids, of which `wanted` chooses if it is not empty.

    A wanted text is the name of a method, or else part of the names of some.
    """

    def __init__(self, sources, estimators, wanted=()):
        names = [source.name for source in sources.alone] + [estimator_name(name) for name in estimators]
        for text in wanted:
            if not any(text in name for name in names):
                raise SystemExit(f"no method {text}; there are: {', '.join(names)}")
        self.names = [name for name in names
                      if not wanted or any(text == name or text in name and text not in names for text in wanted)]
        self.alone = [source for source in sources.alone if source.name in self.names]
        self.estimators = [name for name in estimators if estimator_name(name) in self.names]
        self.both = sources.both


def measure(bench, name, command, methods, arguments):
    found = Program(name)
    callgrind = bench.truth(name, command)
    for repeat in range(arguments.repeats):
        profiles = {}
        for source in methods.alone:
            profiles[source.name] = profile = bench.record(name, command, source, repeat)
            found.runs[source.name].append(bench.compare(profile, callgrind))
            found.samples[source.name].append(bench.samples(profile))
        # Labels of blocks need a recording by both, too.
        if not methods.estimators and not (arguments.blocks and repeat == 0):
            continue
        both = bench.record(name, command, methods.both, repeat)
        for estimator in methods.estimators:
            found.runs[estimator_name(estimator)].append(bench.compare(both, callgrind, estimator))
        if repeat == 0:
            counted = {source.name: (profiles[source.name], "auto") for source in methods.alone}
            counted.update({estimator_name(name): (both, name) for name in methods.estimators})
            found.blocks = block_rows(bench, found, both, callgrind, counted)
    return found


def block_rows(bench, found, both, callgrind, counted):
    """Returns blocks by executed instructions: their labels, and executions by each method."""
    # Trees are learned from all files of labels/.
    part = "held-out-labels" if found.name in programs.HOLD_OUTS else "labels"
    labels = bench.directory / part / (found.name + ".csv")
    bench.label([(found.name, both, callgrind)], labels)
    estimates = {}
    for method, (profile, estimator) in counted.items():
        scale = found.runs[method][0]["scale"]
        estimates[method] = {(row["module"], row["start"]): scale * row["count"]
                             for row in bench.blocks(profile, estimator)}
    with open(labels, newline="") as file:
        rows = [{"module": row["module"], "function": row["function"], "address": row["address"],
                 "length": int(float(row["length"])), "truth": float(row["truth"]),
                 **{method: counts.get((row["module"], row["address"]), 0.0)
                    for method, counts in estimates.items()}}
                for row in csv.DictReader(file)]
    return sorted(rows, key=lambda row: (-row["truth"] * row["length"], row["module"], row["address"]))


def percent(share, digits=1):
    return f"{100 * share:.{digits}f} %"


def cell(values, sign=""):
    low, middle, high = values
    text = f"{100 * middle:{sign}.1f} %"
    return text if low == high else f"{text} ({100 * low:{sign}.1f} to {100 * high:{sign}.1f})"


def table(header, rows):
    return "\n".join([f"| {' | '.join(header)} |", "|" + "---|" * len(header)] +
                     [f"| {' | '.join(map(str, row))} |" for row in rows]) + "\n"


def metric_table(title, found, methods, key, sign=""):
    """Returns a table by program and method; averages are of sizes, without the sign."""
    rows = [[program.name] + [cell(program.metric(method, key), sign) for method in methods] for program in found]
    for name, average in (("mean", statistics.mean), ("median", statistics.median)):
        rows.append([f"**{name}**"] +
                    [percent(average([abs(program.metric(method, key)[1]) for program in found]))
                     for method in methods])
    return f"### {title[0].upper() + title[1:]}\n" + table(["program", *methods], rows)


def rank_table(found, methods):
    """Returns how many of the ten functions that execute most each method has among as many, and at the same rank."""
    rows = []
    for program in found:
        runs = {method: program.runs[method] for method in methods}
        medians = [[statistics.median(run[key] for run in runs[method]) for key in ("functions_found", "functions_in_place")]
                   for method in methods]
        functions = len(runs[methods[0]][0]["functions"])
        rows.append([program.name, functions] + [f"{among:g}, {in_place:g}" for among, in_place in medians])
    return ("### Hottest functions: found among as many, and at the same rank\n" +
            table(["program", "functions", *methods], rows))


def program_tables(found, methods):
    parts = [table(["program", "instructions"] + [f"samples: {source.name}" for source in methods.alone],
                   [[program.name, f"{program.instructions / 1e9:.2f} G"] +
                    [f"{statistics.median(program.samples[source.name]):,.0f}" for source in methods.alone]
                    for program in found])]
    parts += [metric_table(title, found, methods.names, key) for key, title in measuring.METRICS.items()]
    parts.append(metric_table("totals: error", found, methods.names, measuring.TOTAL_ERROR, "+"))
    parts.append(rank_table(found, methods.names))
    return "\n".join(parts)


def mnemonic_rows(program, methods, top):
    """Returns [(mnemonic, share of instructions, spread of its error by method)], most executed first."""
    errors = {method: program.mnemonic_errors(method) for method in methods}
    ranked = sorted(errors[methods[0]].items(), key=lambda item: (-item[1][0], item[0]))[:top]
    return [(mnemonic, instructions / program.instructions, [errors[method][mnemonic][1] for method in methods])
            for mnemonic, (instructions, _) in ranked]


def mnemonic_table(program, methods, top):
    rows = [[mnemonic, percent(share)] + [cell(error) for error in errors]
            for mnemonic, share, errors in mnemonic_rows(program, methods, top)]
    return f"### {program.name}: mnemonics\n" + table(["mnemonic", "share", *methods], rows)


def block_table(program, methods, top):
    total = sum(row["truth"] * row["length"] for row in program.blocks)
    rows = []
    for row in program.blocks[:top]:
        where = f"{pathlib.Path(row['module']).name} {row['address']}"
        rows.append([where, row["function"][:40].replace("|", "\\|"), row["length"],
                     percent(row["truth"] * row["length"] / total), f"{row['truth']:,.0f}"] +
                    [f"{100 * (row[method] - row['truth']) / row['truth']:+.1f} %" if row["truth"] else "-"
                     for method in methods])
    return (f"### {program.name}: blocks\n" +
            table(["block", "function", "length", "share", "executions"] + methods, rows))


def write_csv(directory, found, methods):
    directory.mkdir(parents=True, exist_ok=True)

    def write(name, header, rows):
        with open(directory / name, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows)

    runs = [(program, method, repeat, run["total"]) for program in found for method in methods
            for repeat, run in enumerate(program.runs[method])]
    metrics = [*measuring.METRICS, measuring.TOTAL_ERROR]
    write("programs.csv", ["program", "method", "repeat", "instructions", *metrics],
          [[program.name, method, repeat, total["instructions_ref"], *(total[key] for key in metrics)]
           for program, method, repeat, total in runs])
    write("mnemonics.csv", ["program", "method", "repeat", "mnemonic", "truth", "estimate", "error"],
          [[program.name, method, repeat, row["mnemonic"], row["ref"], row["est"], row["error"]]
           for program, method, repeat, total in runs for row in total["mnemonics"]])
    write("blocks.csv", ["program", "module", "function", "address", "length", "truth", *methods],
          [[program.name, row["module"], row["function"], row["address"], row["length"], row["truth"],
            *(row[method] for method in methods)] for program in found for row in program.blocks])


def write_svg(directory, found, methods, top):
    directory.mkdir(parents=True, exist_ok=True)
    for key, title in measuring.METRICS.items():
        groups = [(program.name, [program.metric(method, key) for method in methods]) for program in found]
        limit = BAR_LIMIT if key == "block_accuracy_error" else 1
        (directory / f"{key}.svg").write_text(bar_chart.bars(title, methods, groups, limit))
    for program in found:
        groups = [(f"{mnemonic} ({percent(share)})", errors)
                  for mnemonic, share, errors in mnemonic_rows(program, methods, top)]
        title = f"{program.name}: error of the {len(groups)} most executed mnemonics"
        (directory / f"mnemonics-{program.name}.svg").write_text(bar_chart.bars(title, methods, groups, 1))


def number_of_at_least(minimum):
    def parse(text):
        value = int(text)
        if value < minimum:
            raise argparse.ArgumentTypeError(f"{text} is less than {minimum}")
        return value
    return parse


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hbbp", help="the command")
    parser.add_argument("--kernels", metavar="DIRECTORY", help="bench/accuracy/kernels of the build; without, no kernels")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="some programs")
    parser.add_argument("--no-real", action="store_true", help="kernels only")
    parser.add_argument("--set", choices=programs.SETS, default=programs.TUNED,
                        help="programs that may be tuned on (tuned), the others, or all")
    parser.add_argument("--methods", nargs="+", default=[], metavar="NAME", help="some methods: names or parts of names")
    parser.add_argument("--repeats", type=number_of_at_least(1), default=3)
    parser.add_argument("--event", default=measuring.Sources.CLOCK, help="what starts samples and bursts (task-clock)")
    parser.add_argument("--period", type=number_of_at_least(1), default=1_000_000,
                        help="of that event: ns, or instructions (1000000)")
    parser.add_argument("--period-modes", nargs="+", choices=("fixed", "prime", "random"), default=(), metavar="MODE",
                        help="sources with these modes of the period, too: fixed prime random")
    parser.add_argument("--outside", action="store_true", help="branch tracing from outside (ptrace), too")
    parser.add_argument("--scale", type=float, default=1, help="how long kernels run (1), and whole: real programs")
    parser.add_argument("--keep", metavar="DIRECTORY", help="what keeps truth, profiles and labels")
    parser.add_argument("--reuse", action="store_true", help="profiles that --keep has, too, and not only truth")
    parser.add_argument("--estimators", nargs="+", default=["streams", "tree", "flow"], metavar="NAME|FILE.json",
                        help="what counts hybrids: names and trees of hbbp compare --estimator (streams tree flow)")
    parser.add_argument("--mnemonics", action="store_true", help="a table of mnemonics for each program")
    parser.add_argument("--blocks", action="store_true", help="a table of blocks for each program")
    parser.add_argument("--top", type=number_of_at_least(1), default=20, help="rows of these tables (20)")
    parser.add_argument("--csv", type=pathlib.Path, metavar="DIRECTORY", help="everything as CSV")
    parser.add_argument("--svg", type=pathlib.Path, metavar="DIRECTORY", help="charts")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    sources = measuring.Sources(arguments.event, arguments.period, arguments.outside, arguments.period_modes)
    methods = Methods(sources, arguments.estimators, arguments.methods)
    with tempfile.TemporaryDirectory() as temporary:
        bench = measuring.Bench(arguments.hbbp, arguments.keep or temporary, arguments.reuse)
        chosen = []
        if arguments.kernels and arguments.set != programs.HELD_OUT:
            chosen += programs.kernels(arguments.kernels, arguments.scale)
        if not arguments.no_real:
            chosen += programs.real(bench.directory, max(1, round(arguments.scale)), arguments.set)
        if arguments.only:
            names = [name for name, _ in chosen]
            unknown = set(arguments.only) - set(names)
            if unknown:
                raise SystemExit(f"no program {', '.join(sorted(unknown))}; there are: {', '.join(names)}")
            chosen = [(name, command) for name, command in chosen if name in arguments.only]
        if not chosen:
            raise SystemExit(f"no programs: no kernels in {arguments.kernels}, and none of the set "
                             f"{arguments.set}; scripts/setup --laboratory installs what is missing")
        found = []
        for name, command in chosen:
            found.append(measure(bench, name, command, methods, arguments))
            print(f"{name}: done, {len(found)} of {len(chosen)}", file=sys.stderr, flush=True)
    print(program_tables(found, methods))
    for program in found:
        if arguments.mnemonics:
            print(mnemonic_table(program, methods.names, arguments.top))
        if arguments.blocks:
            print(block_table(program, methods.names, arguments.top))
    if arguments.csv:
        write_csv(arguments.csv, found, methods.names)
    if arguments.svg:
        write_svg(arguments.svg, found, methods.names, arguments.top)


if __name__ == "__main__":
    main()
