"""Learns a decision tree from labelled blocks. `hbbp train` runs it with its options."""

import argparse
import importlib.util
import json
import os
import sys

DEBIANS_PYTHON = "/usr/bin/python3"
EXIT_FAILURE = 2


def fail(message):
    print(f"hbbp train: {message}", file=sys.stderr)
    sys.exit(EXIT_FAILURE)


def require_packages():
    missing = [name for name in ("numpy", "sklearn") if importlib.util.find_spec(name) is None]
    if not missing:
        return
    # PATH may have another python3 before the one that Debian's packages are for.
    if os.path.exists(DEBIANS_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(DEBIANS_PYTHON):
        os.execv(DEBIANS_PYTHON, [DEBIANS_PYTHON, "-B", *sys.argv])
    fail(f"python3 has no {missing[0]}; install the Debian package python3-sklearn (apt-get install "
         "python3-sklearn), or scikit-learn by pip")


require_packages()

import decision_tree  # noqa: E402
import labelled_blocks  # noqa: E402

MAX_LEAVES = 256


def whole_number(minimum, maximum):
    def parse(text):
        try:
            value = int(text)
        except ValueError:
            value = minimum - 1
        if not minimum <= value <= maximum:
            raise argparse.ArgumentTypeError(f"{text} is not a number from {minimum} to {maximum}")
        return value
    return parse


class Parser(argparse.ArgumentParser):
    def error(self, message):
        fail(message)


def parse_arguments():
    parser = Parser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("files", nargs="+", metavar="LABELLED.csv")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--leaves", type=whole_number(1, MAX_LEAVES))
    parser.add_argument("--min-samples", type=whole_number(1, 1_000_000))
    parser.add_argument("--weights", choices=labelled_blocks.WEIGHTS)
    parser.add_argument("--hold-out", action="append", default=[])
    parser.add_argument("--report")
    parser.add_argument("--drawing")
    return parser.parse_args()


def write(path, text):
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        fail(f"{path}: {error.strerror}")


def split(blocks, names):
    """Returns the blocks to learn from, and those of the held-out programs."""
    programs = blocks.names()
    unknown = [name for name in names if name not in programs]
    if unknown:
        fail(f"--hold-out: no program {', '.join(unknown)} in the labels; there are: {', '.join(programs)}")
    if set(programs) == set(names):
        fail("--hold-out: all programs are held out; none is left to learn from")
    held_out = blocks.rows_of(names)
    return ~held_out, held_out


def main():
    arguments = parse_arguments()
    held_out = sorted({name for names in arguments.hold_out for name in names.split(",") if name})
    try:
        every = labelled_blocks.read(arguments.files)
    except labelled_blocks.BadInput as problem:
        fail(problem)
    learned_from, rest = split(every, held_out)

    # The import takes a second, so it comes after the input was checked.
    import learning
    import sklearn
    import training_report

    grid = learning.Grid(
        leaves=(arguments.leaves,) if arguments.leaves else learning.LEAVES,
        min_samples=(arguments.min_samples,) if arguments.min_samples else learning.MIN_SAMPLES,
        weights=(arguments.weights,) if arguments.weights else labelled_blocks.WEIGHTS)
    learning.add_weights(every)
    blocks, tested = every.where(learned_from), every.where(rest)
    programs = blocks.names()

    if len(set(blocks["label"].tolist())) == 1:
        only = labelled_blocks.CLASSES[blocks["label"][0]]
        print(f"hbbp train: note: {only} is closer in all blocks, so the tree has one leaf", file=sys.stderr)

    parts = ["# A tree that chooses between sources\n", training_report.inputs(every)]
    by_settings = {}
    if len(programs) > 1:
        by_settings = learning.joined(learning.errors_left_out(blocks, grid, group)
                                      for group in learning.groups_of(programs))
        settings = learning.best(by_settings)
        results = learning.leave_one_out(blocks, grid)
        parts.append(training_report.held_out(
            "Each program by a tree that was learned from the others", results))
    else:
        settings = learning.fallback(grid)
        results = {}
        print("hbbp train: note: one program alone cannot show how a tree does on others; label more of them",
              file=sys.stderr)
    nodes, importance = learning.learn(blocks, settings)
    tested_results = {}
    for program in held_out:
        rows = tested.of([program])
        tested_results[program] = (learning.compare(rows, decision_tree.classes(nodes, rows.features)), None)
    if tested_results:
        parts.append(training_report.held_out("Programs that were held out, by the tree below", tested_results))
    parts += [training_report.experiments(by_settings, settings), training_report.importances(importance),
              training_report.tree(nodes, settings)]
    report = "\n".join(part for part in parts if part)

    errors = {program: {**result, "settings": str(used or settings)}
              for program, (result, used) in {**results, **tested_results}.items()}
    write(arguments.output, json.dumps(
        {"format": "hbbp-tree", "version": 1, "nodes": nodes,
         "training": {"programs": programs, "blocks": len(blocks), "settings": vars(settings),
                      "learner": f"scikit-learn {sklearn.__version__}",
                      "importances": dict(zip(labelled_blocks.FEATURES, importance.tolist())),
                      "block_error_held_out": errors}}, indent=1) + "\n")
    if arguments.drawing:
        write(arguments.drawing, decision_tree.to_svg(
            nodes, decision_tree.weight_by_node(nodes, blocks.features, blocks["executions"])))
    if arguments.report:
        write(arguments.report, report)
    else:
        sys.stdout.write(report)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.stderr.close()
