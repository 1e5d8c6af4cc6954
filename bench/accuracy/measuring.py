"""Runs of a program: recorded by each source, and compared with its truth."""

import dataclasses
import json
import pathlib
import subprocess

import truth

METRICS = {"avg_weighted_error": "mnemonics: avg. weighted error",
           "block_accuracy_error": "blocks: accuracy error",
           "overlap": "overlap of blocks",
           "mnemonic_overlap": "overlap of mnemonics"}


@dataclasses.dataclass(frozen=True)
class Source:
    """What hbbp record is told."""
    name: str
    options: tuple


MS = 1_000_000
EBS = Source("EBS 1 ms", ("--source", "ebs", "--period", str(MS)))
SWBT = Source("SWBT 1 ms", ("--source", "swbt", "--period", str(MS)))
SWBT_DEFAULT = Source("SWBT", ("--source", "swbt"))
BOTH = Source("EBS and SWBT 1 ms", ("--source", "ebs,swbt", "--period", str(MS)))


def file_name(*parts):
    return "-".join(str(part).replace(" ", "") for part in parts)


class Bench:
    """One hbbp, and a folder for what it writes."""

    def __init__(self, hbbp, folder, reuse=False):
        self.hbbp = str(pathlib.Path(hbbp).resolve())
        self.folder = pathlib.Path(folder)
        self.reuse = reuse
        for part in ("truth", "profiles", "labels"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)

    def truth(self, name, command):
        return truth.callgrind(self.folder / "truth", name, command)

    def record(self, name, command, source, repeat):
        """The profile of one run."""
        path = self.folder / "profiles" / (file_name(name, source.name, repeat) + ".hbbp")
        if not (self.reuse and path.exists()):
            truth.run([self.hbbp, "record", *source.options, "-o", str(path), "--", *command])
        return path

    def _json(self, *arguments):
        result = subprocess.run([self.hbbp, *map(str, arguments), "--format", "json"], capture_output=True)
        if result.returncode != 0:
            raise SystemExit(result.stderr.decode())
        return json.loads(result.stdout)

    def samples(self, profile):
        return sum(source["samples"] for source in self._json("info", profile)["sources"])

    def compare(self, profile, callgrind, estimator="auto"):
        """What hbbp compare says of a profile."""
        return self._json("compare", profile, "--truth", callgrind, "--estimator", estimator)

    def blocks(self, profile, estimator):
        return self._json("blocks", profile, "--estimator", estimator)["rows"]

    def label(self, runs, labels):
        """Writes labelled blocks. `runs`: (program, profile of both sources, its truth)."""
        words = []
        for name, profile, callgrind in runs:
            words += ["--profile", profile, "--truth", callgrind, "--program", name]
        truth.run([self.hbbp, "train", *map(str, words), "--labels", str(labels)])
