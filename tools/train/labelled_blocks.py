"""Reads labelled blocks, the CSV files of `hbbp train --labels`, and checks them."""

import csv
import math

import numpy

FEATURES = ["length", "bytes", "biased", "ebs_count", "ebs_error", "streams_count", "streams_error",
            "long_latency_share", "memory_share", "call_share", "division_share", "previous_length",
            "next_length", "taken_ratio"]
CLASSES = ["ebs", "streams"]
# Ways to weigh a block, see learning.add_weights.
WEIGHTS = ("executions", "difference", "none")
KEYS = ["program", "module", "function", "address"]
NUMBERS = ["truth", "ebs", "streams", "weight"]
MAX_BLOCKS = 5_000_000


class BadInput(Exception):
    """Describes a problem of the input, and where it is, in one line."""


class Blocks:
    """Columns of labelled blocks, sorted by program, module and address."""

    def __init__(self, keys, labels, numbers, features):
        order = sorted(range(len(keys)), key=keys.__getitem__)
        numbers = numpy.array(numbers, dtype=numpy.float64).reshape(-1, len(NUMBERS))[order]
        self.all_names = sorted({key[0] for key in keys})
        index = {name: i for i, name in enumerate(self.all_names)}
        self.columns = {
            "program": numpy.array([index[keys[i][0]] for i in order], dtype=numpy.int32),
            "label": numpy.array([labels[i] for i in order], dtype=numpy.int8),
            "features": numpy.array(features, dtype=numpy.float64).reshape(-1, len(FEATURES))[order],
            **dict(zip(NUMBERS, numbers.T.copy()))}

    def __len__(self):
        return len(self.columns["label"])

    def __getitem__(self, column):
        return self.columns[column]

    @property
    def features(self):
        return self.columns["features"]

    @property
    def length(self):
        return self.features[:, FEATURES.index("length")]

    def names(self):
        """Returns the names of the programs that have blocks here."""
        return [self.all_names[i] for i in numpy.unique(self.columns["program"])]

    def rows_of(self, programs):
        return numpy.isin(self.columns["program"], [self.all_names.index(name) for name in programs])

    def of(self, programs):
        """Returns the blocks of these programs."""
        return self.where(self.rows_of(programs))

    def where(self, chosen):
        part = object.__new__(Blocks)
        part.all_names = self.all_names
        part.columns = {name: column[chosen] for name, column in self.columns.items()}
        return part


def _number(text, where, column, minimum=-math.inf):
    try:
        value = float(text)
    except (TypeError, ValueError):
        raise BadInput(f"{where}: {column} is {text!r}, not a number") from None
    if not math.isfinite(value):
        raise BadInput(f"{where}: {column} is {text}; only finite numbers can be learned from")
    if value < minimum:
        raise BadInput(f"{where}: {column} is {text}, less than {minimum:g}")
    return value


def _header(reader, path):
    try:
        header = next(reader)
    except StopIteration:
        raise BadInput(f"{path}: empty; `hbbp train --labels` writes such files") from None
    missing = [name for name in KEYS + NUMBERS + ["label"] + FEATURES if name not in header]
    if missing:
        raise BadInput(f"{path}:1: no column {', '.join(missing)}; labels of another version of hbbp?")
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise BadInput(f"{path}:1: column {', '.join(sorted(twice))} is there twice")
    return {name: index for index, name in enumerate(header)}, len(header)


def read(paths):
    """Returns the blocks of all files. Raises BadInput."""
    keys, labels, numbers, features, first_seen = [], [], [], [], {}
    for path in paths:
        try:
            file = open(path, newline="", encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{path}: {error.strerror}") from None
        with file:
            reader = csv.reader(file, strict=True)
            try:
                columns, width = _header(reader, path)
                rows_before = len(keys)
                for row in reader:
                    where = f"{path}:{reader.line_num}"
                    if len(row) != width:
                        raise BadInput(f"{where}: {len(row)} fields, where the header has {width}")
                    if len(keys) == MAX_BLOCKS:
                        raise BadInput(f"{where}: more than {MAX_BLOCKS:,} blocks; train on fewer files")
                    label = row[columns["label"]]
                    if label not in CLASSES:
                        raise BadInput(f"{where}: label is {label!r}, neither ebs nor streams")
                    program = row[columns["program"]]
                    if not program:
                        raise BadInput(f"{where}: program is empty")
                    key = (program, row[columns["module"]], row[columns["address"]])
                    if key in first_seen:
                        raise BadInput(f"{where}: block {key[2]} of {key[1]} in program {program} was "
                                       f"already in {first_seen[key]}; label every program once, or "
                                       "give runs of it names of their own by --program")
                    first_seen[key] = where
                    keys.append(key)
                    labels.append(CLASSES.index(label))
                    numbers.append([_number(row[columns[name]], where, name, 0) for name in NUMBERS])
                    features.append([_number(row[columns[name]], where, name) for name in FEATURES])
                if len(keys) == rows_before:
                    raise BadInput(f"{path}: no blocks, only a header")
            except csv.Error as error:
                raise BadInput(f"{path}:{reader.line_num}: {error}") from None
            except UnicodeDecodeError as error:
                raise BadInput(f"{path}: not UTF-8 at byte {error.start}") from None
    blocks = Blocks(keys, labels, numbers, features)
    if not (blocks["truth"] * blocks.length).sum() > 0:
        raise BadInput("no block ran: truth is 0 in every row, so there is nothing to compare with")
    return blocks
