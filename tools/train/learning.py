"""Learns which source to believe, and measures that on programs that were not learned from.

The error of a choice is that of the library's metric: sum |estimate - truth| * length over all blocks of a program, by
sum truth * length. How many labels a tree gets right does not matter: most blocks hardly run.
"""

import dataclasses
import statistics

import numpy
from sklearn.tree import DecisionTreeClassifier

import decision_tree
import labelled_blocks
from labelled_blocks import CLASSES

EBS, STREAMS = CLASSES.index("ebs"), CLASSES.index("streams")
LEAVES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
MIN_SAMPLES = (1, 10, 50, 200)
GROUPS = 5
# Blocks that together have less than this share of a program's instructions, by truth and by both sources, are not
# learned from: they are most of all blocks, and carry no information.
NEGLIGIBLE = 1e-3


@dataclasses.dataclass(frozen=True)
class Settings:
    leaves: int
    min_samples: int
    weights: str

    def __str__(self):
        return f"{self.leaves} leaves, {self.min_samples} blocks a child, weights: {self.weights}"


@dataclasses.dataclass(frozen=True)
class Grid:
    """The settings that are compared. A choice of the user's is the only value."""
    leaves: tuple = LEAVES
    min_samples: tuple = MIN_SAMPLES
    weights: tuple = labelled_blocks.WEIGHTS

    def settings(self):
        return [Settings(leaves, min_samples, weights) for weights in self.weights
                for min_samples in self.min_samples for leaves in self.leaves]


# For a single program, on which no settings can be compared.
DEFAULT = Settings(8, 50, "executions")


def fallback(grid):
    """Returns the default settings as far as the grid contains them."""
    values = {field.name: getattr(DEFAULT, field.name) for field in dataclasses.fields(DEFAULT)}
    for name, value in values.items():
        if value not in getattr(grid, name):
            values[name] = getattr(grid, name)[0]
    return Settings(**values)


def add_weights(blocks):
    """Adds the weight of each block's label, as columns. Every program weighs the same, however long
    it ran. Blocks that hardly ran, which are most, weigh nothing, nor do those whose label is
    arbitrary because both sources are as wrong, or saw nothing.

    executions: truth * length, as in the paper. difference: by how much the wrong source is worse.
    """
    sizes = (blocks["truth"] + blocks["ebs"] + blocks["streams"]) * blocks.length
    difference = numpy.abs(misses(blocks, STREAMS) - misses(blocks, EBS))
    kinds = {"executions": numpy.where(difference > 0, blocks["weight"], 0), "difference": difference,
             "none": (difference > 0).astype(float)}
    for program in blocks.names():
        rows = numpy.flatnonzero(blocks.rows_of([program]))
        ascending = rows[numpy.argsort(sizes[rows], kind="stable")]
        below = numpy.cumsum(sizes[ascending])
        for weights in kinds.values():
            weights[ascending[below < NEGLIGIBLE * below[-1]]] = 0
            total = weights[rows].sum()
            if total > 0:
                weights[rows] /= total
    for kind, weights in kinds.items():
        blocks.columns[kind] = weights


def misses(blocks, choice):
    """Returns the error of each block in instructions. `choice` is one class, or one a row."""
    estimate = numpy.where(numpy.equal(choice, STREAMS), blocks["streams"], blocks["ebs"])
    return numpy.abs(estimate - blocks["truth"]) * blocks.length


def block_error(blocks, choice):
    instructions = (blocks["truth"] * blocks.length).sum()
    return misses(blocks, choice).sum() / instructions if instructions > 0 else 0.0


def oracle(blocks):
    return numpy.where(misses(blocks, STREAMS) <= misses(blocks, EBS), STREAMS, EBS)


def fit(blocks, settings):
    """Returns a DecisionTreeClassifier. None has one leaf only, so it has at least two if it can."""
    weights = blocks[settings.weights]
    if not weights.sum() > 0:
        weights = numpy.ones(len(blocks))
    used = weights > 0
    classifier = DecisionTreeClassifier(max_leaf_nodes=max(settings.leaves, 2),
                                        min_samples_leaf=settings.min_samples, random_state=0)
    return classifier.fit(blocks.features[used], blocks["label"][used], sample_weight=weights[used])


def classes_by_leaves(classifier, features, counts):
    """Returns {leaves: class of each row} of the trees with at most so many leaves.

    scikit-learn splits the leaf that gains most, and numbers nodes in that order, so that the
    first 2k - 1 nodes of a tree are the tree that has k leaves.
    """
    tree = classifier.tree_
    parent = numpy.zeros(tree.node_count, dtype=int)
    for children in (tree.children_left, tree.children_right):
        parent[children[children >= 0]] = numpy.flatnonzero(children >= 0)
    node_class = classifier.classes_[tree.value[:, 0].argmax(axis=1)]
    leaf_of_row = classifier.apply(features)
    result = {}
    for count in counts:
        stands_for = numpy.arange(tree.node_count)
        while True:
            outside = stands_for >= 2 * count - 1
            if not outside.any():
                break
            stands_for[outside] = parent[stands_for[outside]]
        result[count] = node_class[stands_for[leaf_of_row]]
    return result


def groups_of(programs):
    """Returns groups of programs that are left out together, which is faster than one by one."""
    count = min(GROUPS, len(programs))
    return [programs[i::count] for i in range(count)]


def errors_left_out(blocks, grid, programs):
    """Returns {settings: {program: block error of the tree that was learned without `programs`}}."""
    errors = {settings: {} for settings in grid.settings()}
    others = blocks.of(set(blocks.names()) - set(programs))
    tested = {program: blocks.of([program]) for program in programs}
    for weights in grid.weights:
        for min_samples in grid.min_samples:
            classifier = fit(others, Settings(max(grid.leaves), min_samples, weights))
            for program, rows in tested.items():
                chosen = classes_by_leaves(classifier, rows.features, grid.leaves)
                for leaves, choice in chosen.items():
                    errors[Settings(leaves, min_samples, weights)][program] = block_error(rows, choice)
    return errors


def joined(parts):
    """Merges several results of errors_left_out, which have different programs."""
    result = {}
    for part in parts:
        for settings, by_program in part.items():
            result.setdefault(settings, {}).update(by_program)
    return result


def mean(by_program):
    return sum(by_program.values()) / len(by_program)


def standard_error(values):
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def best(errors):
    """Returns the settings with the fewest leaves that are not clearly worse than those of the smallest error: by less
    than the standard error of the difference, program by program."""
    means = {settings: mean(by_program) for settings, by_program in errors.items()}
    smallest = errors[min(means, key=means.get)]
    good = []
    for settings, by_program in errors.items():
        worse_by = [by_program[program] - smallest[program] for program in smallest]
        if statistics.mean(worse_by) <= standard_error(worse_by):
            good.append(settings)
    return min(good, key=lambda settings: (settings.leaves, means[settings], -settings.min_samples,
                                           settings.weights))


def learn(blocks, settings):
    """Returns (nodes, importances): the same tree as scikit-learn's in the library's format."""
    classifier = fit(blocks, settings)
    if settings.leaves == 1:
        only = classifier.classes_[classifier.tree_.value[0, 0].argmax()]
        return [{"class": CLASSES[only]}], numpy.zeros(blocks.features.shape[1])
    nodes = decision_tree.from_sklearn(classifier.tree_, classifier.classes_)
    differing = numpy.flatnonzero(decision_tree.classes(nodes, blocks.features) !=
                                  classifier.predict(blocks.features))
    if len(differing):
        raise AssertionError(f"the exported tree differs from scikit-learn's in {len(differing)} of "
                             f"{len(blocks)} blocks: this is an error of hbbp train")
    return nodes, classifier.feature_importances_


def compare(blocks, choice):
    """Returns the errors on one program of each source alone, the published rule, `choice`, and the best
    possible choice."""
    return {"ebs": block_error(blocks, EBS), "streams": block_error(blocks, STREAMS),
            "published": block_error(blocks, decision_tree.classes(decision_tree.PUBLISHED, blocks.features)),
            "trained": block_error(blocks, choice), "oracle": block_error(blocks, oracle(blocks))}


def leave_one_out(blocks, grid):
    """{program: (what compare gives, settings)} by trees that were learned from the other programs.

    The settings are chosen without the program, too: by the errors on other groups than its own, of
    trees that knew neither group.
    """
    groups = groups_of(blocks.names())
    without = {}
    if len(groups) > 2:
        for i, first in enumerate(groups):
            for second in groups[i + 1:]:
                errors = errors_left_out(blocks, grid, first + second)
                for own, other in ((first, second), (second, first)):
                    part = {settings: {program: by_program[program] for program in other}
                            for settings, by_program in errors.items()}
                    without.setdefault(own[0], []).append(part)
    result = {}
    for group in groups:
        settings = best(joined(without[group[0]])) if without else fallback(grid)
        for program in group:
            rows = blocks.of([program])
            nodes, _ = learn(blocks.of(set(blocks.names()) - {program}), settings)
            result[program] = compare(rows, decision_tree.classes(nodes, rows.features)), settings
    return dict(sorted(result.items()))
