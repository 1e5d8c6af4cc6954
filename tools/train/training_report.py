"""Writes the report of `hbbp train` in Markdown."""

import statistics

import decision_tree
from labelled_blocks import CLASSES, FEATURES
from learning import mean

METHODS = {"ebs": "ebs alone", "streams": "streams alone", "published": "published rule",
           "trained": "trained tree", "oracle": "always the closer"}


def percent(share):
    return f"{100 * share:.2f} %"


def table(header, rows):
    lines = [f"| {' | '.join(map(str, header))} |", "|" + "---|" * len(header)]
    return "\n".join(lines + [f"| {' | '.join(map(str, row))} |" for row in rows]) + "\n"


def inputs(blocks):
    rows = []
    for program in blocks.names():
        part = blocks.of([program])
        heavy = part["weight"].sum()
        is_streams = part["label"] == CLASSES.index("streams")
        rows.append([program, f"{len(part):,}", percent(is_streams.mean()),
                     percent(part["weight"][is_streams].sum() / heavy) if heavy else "-"])
    return ("## Blocks\n" +
            table(["program", "blocks", "streams is closer", "the same by executed instructions"], rows))


def held_out(title, results):
    """`results` is {program: (errors by method, settings or None)}."""
    errors = {program: result for program, (result, _) in results.items()}
    rows = []
    for program, (result, settings) in results.items():
        rows.append([program] + [percent(result[method]) for method in METHODS] + [settings or ""])
    for name, average in (("mean", statistics.mean), ("median", statistics.median)):
        rows.append([f"**{name}**"] + [percent(average(result[method] for result in errors.values()))
                                       for method in METHODS] + [""])
    text = f"## {title}\nAverage block error: sum |estimate - truth| * length / sum truth * length.\n\n"
    text += table(["program", *METHODS.values(), "settings"], rows)
    for method in ("published", "streams", "ebs"):
        better = sum(result["trained"] < result[method] for result in errors.values())
        worse = sum(result["trained"] > result[method] for result in errors.values())
        gain = statistics.mean(result[method] - result["trained"] for result in errors.values())
        text += (f"\nAgainst {METHODS[method]} the trained tree is better on {better} and worse on {worse} of "
                 f"{len(errors)} programs; {100 * gain:+.2f} points in the mean.\n")
    return text


def experiments(errors, chosen):
    """Tabulates errors by the number of leaves and each other setting, the third as chosen. `errors` is the
    result of learning.errors_left_out."""
    leaves = sorted({settings.leaves for settings in errors})
    parts = []
    for field, third, title in (("min_samples", "weights", "Leaves, and blocks that a child must have"),
                                ("weights", "min_samples", "Leaves, and weights of blocks")):
        values = list(dict.fromkeys(getattr(settings, field) for settings in errors))
        found = {(settings.leaves, getattr(settings, field)): mean(by_program)
                 for settings, by_program in errors.items()
                 if getattr(settings, third) == getattr(chosen, third)}
        if len(found) > 1:
            rows = [[count] + [percent(found[count, value]) for value in values] for count in leaves]
            parts.append(f"### {title}\n" + table(["leaves", *values], rows))
    if not parts:
        return ""
    return f"## Settings\nMean error on left-out programs. Chosen: {chosen}.\n\n" + "\n".join(parts)


def importances(values):
    ranked = sorted(zip(values, FEATURES), key=lambda pair: (-pair[0], FEATURES.index(pair[1])))
    return ("## Importance of features\n" +
            table(["feature", "share of what splits gain"],
                  [[name, percent(value)] for value, name in ranked if value > 0] or [["-", "no splits"]]))


def tree(nodes, settings):
    return (f"## The tree\nLearned from all of the programs above with {settings}; splits between leaves of one "
            f"class are left out, so {decision_tree.leaf_count(nodes)} are left.\n\n"
            f"```\n{decision_tree.to_text(nodes)}```\n")
