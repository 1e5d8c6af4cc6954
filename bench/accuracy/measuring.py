"""Records runs of a program by each source, and compares them with its truth."""

import dataclasses
import json
import pathlib
import subprocess

import truth

METRICS = {"avg_weighted_error": "mnemonics: avg. weighted error",
           "block_accuracy_error": "blocks: accuracy error",
           "overlap": "overlap of blocks",
           "mnemonic_overlap": "overlap of mnemonics"}
# Unlike the metrics, it has a sign: estimated / exact instructions - 1, before estimates are scaled.
TOTAL_ERROR = "total_error"


@dataclasses.dataclass(frozen=True)
class Source:
    """The options of hbbp record."""
    name: str
    options: tuple


class Sources:
    """The compared sources: each source by itself, with other modes of its period too, and both at once, by one event
    and period."""

    CLOCK = "task-clock"

    def __init__(self, event, period, outside=False, period_modes=()):
        sampling = ("--event", event, "--period", str(period))
        each = f"{period / 1e6:g} ms" if event == self.CLOCK else f"{period / 1e6:.3g} M {event}"
        self.alone = [Source(f"EBS {each}", ("--source", "ebs", *sampling)),
                      Source(f"SWBT {each}", ("--source", "swbt", *sampling)),
                      Source("SWBT", ("--source", "swbt", "--event", event))]
        if outside:
            self.alone.append(Source(f"SWBT from outside {each}", ("--source", "swbt", "--outside", *sampling)))
        for kind in ("EBS", "SWBT"):
            self.alone += [Source(f"{kind} {each}, {mode}", ("--source", kind.lower(), *sampling, "--period-mode", mode))
                           for mode in period_modes]
        self.both = Source(f"EBS and SWBT {each}", ("--source", "ebs,swbt", *sampling))


def file_name(*parts):
    return "-".join(str(part).replace(" ", "") for part in parts)


class Bench:
    """One hbbp, and a directory for what it writes."""

    def __init__(self, hbbp, directory, reuse=False):
        self.hbbp = str(pathlib.Path(hbbp).resolve())
        self.directory = pathlib.Path(directory)
        self.reuse = reuse
        for part in ("truth", "profiles", "labels", "held-out-labels"):
            (self.directory / part).mkdir(parents=True, exist_ok=True)

    def truth(self, name, command):
        return truth.callgrind(self.directory / "truth", name, command)

    def record(self, name, command, source, repeat):
        """Returns the profile of one run."""
        path = self.directory / "profiles" / (file_name(name, source.name, repeat) + ".hbbp")
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
        """Returns the result of hbbp compare for a profile, and TOTAL_ERROR in its total."""
        result = self._json("compare", profile, "--truth", callgrind, "--estimator", estimator)
        total = result["total"]
        total[TOTAL_ERROR] = total["instructions_est"] / result["scale"] / total["instructions_ref"] - 1
        return result

    def blocks(self, profile, estimator):
        return self._json("blocks", profile, "--estimator", estimator)["rows"]

    def label(self, runs, labels):
        """Writes labelled blocks. `runs` has (program, profile of both sources, its truth)."""
        words = []
        for name, profile, callgrind in runs:
            words += ["--profile", profile, "--truth", callgrind, "--program", name]
        truth.run([self.hbbp, "train", *map(str, words), "--labels", str(labels)])
