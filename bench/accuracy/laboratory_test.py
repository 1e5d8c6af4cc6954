"""Runs the laboratory on one small kernel: results are complete, plausible, and 0 where nothing differs.

The programs of parts with different speeds are run, too, and have to print the same twice.

usage: laboratory_test.py HBBP KERNELS. Exit status 77: skipped.
"""

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

import programs

SKIPPED = 77
LABORATORY = pathlib.Path(__file__).resolve().parent / "laboratory.py"
HBBP, KERNELS = sys.argv[1:3]
METHODS = ["EBS 1 ms", "SWBT 1 ms", "SWBT", "hybrid: tree", "hybrid: ebs", "hybrid: streams"]
METRICS = ["avg_weighted_error", "block_accuracy_error", "overlap", "mnemonic_overlap"]


def laboratory(directory, *options):
    return subprocess.run([sys.executable, "-B", LABORATORY, HBBP, "--kernels", KERNELS, "--no-real",
                           "--scale", "0.3", "--repeats", "2", "--only", "g4box", "--keep", directory, *options],
                          capture_output=True, text=True)


def hbbp_json(*arguments):
    result = subprocess.run([HBBP, *arguments, "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class LaboratoryTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="hbbp-laboratory-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        cls.result = laboratory(cls.directory, "--mnemonics", "--blocks", "--top", "5", "--csv", cls.directory / "csv",
                                "--svg", cls.directory / "svg", "--estimators", "tree", "ebs", "streams")

    def setUp(self):
        self.assertEqual(self.result.returncode, 0, self.result.stderr)

    def test_tables_are_complete(self):
        text = self.result.stdout
        for heading in ("### Mnemonics: avg. weighted error", "### Blocks: accuracy error", "### Overlap of blocks",
                        "### Overlap of mnemonics", "### Totals: error", "### g4box: mnemonics",
                        "### g4box: blocks"):
            self.assertIn(heading, text)
        self.assertEqual(text.count("| program | " + " | ".join(METHODS) + " |"), len(METRICS) + 1)
        for line in text.splitlines():
            if line.startswith("| g4box |") and "%" in line:
                self.assertEqual(len(re.findall(r"\d+\.\d %", line)), len(METHODS), line)
        self.assertNotIn("nan", text)

    def test_metrics_are_plausible(self):
        rows = rows_of(self.directory / "csv" / "programs.csv")
        self.assertEqual(sorted({row["method"] for row in rows}), sorted(METHODS))
        self.assertEqual(len(rows), len(METHODS) * 2)
        for row in rows:
            values = {key: float(row[key]) for key in METRICS}
            self.assertTrue(0 <= values["avg_weighted_error"] <= 2, row)
            self.assertTrue(0 <= values["block_accuracy_error"] <= 2, row)
            self.assertTrue(0 < values["overlap"] <= 1.000001, row)
            self.assertTrue(values["overlap"] <= values["mnemonic_overlap"] + 1e-9, row)
        # Bursts of branches record the outcomes of tests.
        swbt = [float(row["block_accuracy_error"]) for row in rows if row["method"] == "SWBT 1 ms"]
        self.assertLess(max(swbt), 0.3)

    def test_hybrid_of_one_family_is_that_family(self):
        rows = {(row["method"], row["repeat"]): row for row in rows_of(self.directory / "csv" / "programs.csv")}
        truth = self.directory / "truth" / "g4box.callgrind"
        for repeat in "01":
            both = self.directory / "profiles" / f"g4box-EBSandSWBT1ms-{repeat}.hbbp"
            for family in ("ebs", "streams"):
                total = hbbp_json("compare", both, "--truth", truth, "--estimator", family)["total"]
                for key in METRICS:
                    self.assertEqual(float(rows["hybrid: " + family, repeat][key]), total[key], key)
            # A block that, by chance, only the other family observed can be counted by that one alone.
            counted_by = {row["source"] for row in hbbp_json("blocks", both, "--estimator", "ebs")["rows"]
                          if row["share"] > 0.01}
            self.assertEqual(counted_by, {"ebs"})
            # Another run has other samples and, with other programs running, other speeds, which affects the
            # difference.
            errors = {method: float(rows[method, repeat]["block_accuracy_error"]) for method in METHODS}
            for hybrid, alone, other in (("ebs", "EBS 1 ms", "SWBT 1 ms"), ("streams", "SWBT 1 ms", "EBS 1 ms")):
                found = errors["hybrid: " + hybrid]
                self.assertLess(abs(found - errors[alone]), abs(found - errors[other]), errors)

    def test_errors_of_totals_are_before_scaling(self):
        truth = self.directory / "truth" / "g4box.callgrind"
        rows = [row for row in rows_of(self.directory / "csv" / "programs.csv") if row["method"] == "SWBT 1 ms"]
        for row in rows:
            profile = self.directory / "profiles" / f"g4box-SWBT1ms-{row['repeat']}.hbbp"
            total = hbbp_json("mix", profile)["total_instructions"]
            exact = hbbp_json("compare", profile, "--truth", truth)["total"]["instructions_ref"]
            # The program has some instructions in modules that only one side knows.
            self.assertAlmostEqual(float(row["total_error"]) + 1, total / exact, delta=0.02 * total / exact)

    def test_methods_can_be_chosen(self):
        for wanted, methods in ((["SWBT"], ["SWBT"]), (["1 ms"], METHODS[:2]), (["hybrid"], METHODS[3:])):
            result = laboratory(self.directory, "--reuse", "--estimators", "tree", "ebs", "streams", "--methods", *wanted)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout.count("| program | " + " | ".join(methods) + " |"), len(METRICS) + 1)
        result = laboratory(self.directory, "--methods", "LBR")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no method LBR; there are: EBS 1 ms, SWBT 1 ms, SWBT, hybrid: streams", result.stderr)

    def test_modes_of_periods_are_compared(self):
        result = laboratory(self.directory, "--period-modes", "fixed", "random", "--methods", ", fixed", ", random")
        self.assertEqual(result.returncode, 0, result.stderr)
        methods = [f"{kind} 1 ms, {mode}" for kind in ("EBS", "SWBT") for mode in ("fixed", "random")]
        self.assertEqual(result.stdout.count("| program | " + " | ".join(methods) + " |"), len(METRICS) + 1)
        for kind in ("EBS", "SWBT"):
            modes = [hbbp_json("info", self.directory / "profiles" / f"g4box-{kind}1ms,{mode}-0.hbbp")["sources"][0]
                     ["period_mode"] for mode in ("fixed", "random")]
            self.assertEqual(modes, ["fixed", "random"])

    def test_hottest_functions_are_ranked(self):
        profile = self.directory / "profiles" / "g4box-SWBT1ms-0.hbbp"
        compared = hbbp_json("compare", profile, "--truth", self.directory / "truth" / "g4box.callgrind")
        ranks = self.result.stdout.split("### Hottest functions")[1]
        found, = [line for line in ranks.splitlines() if line.startswith("| g4box |")]
        cells = found.strip("| ").split(" | ")
        self.assertEqual(int(cells[1]), len(compared["functions"]))
        self.assertEqual(len(cells), len(METHODS) + 2)
        for cell in cells[2:]:
            among, in_place = map(float, cell.split(", "))
            self.assertTrue(0 < in_place <= among <= len(compared["functions"]), cell)

    def test_kernels_are_not_held_out(self):
        result = laboratory(self.directory, "--set", "held-out")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no program g4box", result.stderr)

    def test_blocks_sum_up_to_the_metric(self):
        blocks = rows_of(self.directory / "csv" / "blocks.csv")
        total = sum(float(row["truth"]) * float(row["length"]) for row in blocks)
        first = {row["method"]: row for row in rows_of(self.directory / "csv" / "programs.csv") if row["repeat"] == "0"}
        self.assertGreater(total, 1e8)
        for method in ("EBS 1 ms", "SWBT 1 ms"):
            off = sum(abs(float(row[method]) - float(row["truth"])) * float(row["length"]) for row in blocks)
            self.assertAlmostEqual(off / total, float(first[method]["block_accuracy_error"]), delta=0.02)

    def test_charts_are_well_formed(self):
        charts = sorted(path.name for path in (self.directory / "svg").iterdir())
        self.assertEqual(charts, sorted([key + ".svg" for key in METRICS] + ["mnemonics-g4box.svg"]))
        for chart in charts:
            text = (self.directory / "svg" / chart).read_text()
            xml.dom.minidom.parseString(text)
            self.assertEqual(text.count('class="value"') % len(METHODS), 0, chart)

    def test_counts_against_themselves_are_no_error(self):
        profile = next((self.directory / "profiles").glob("g4box-SWBT1ms-0.hbbp"))
        total = hbbp_json("compare", profile, profile)["total"]
        self.assertAlmostEqual(total["avg_weighted_error"], 0)
        self.assertAlmostEqual(total["block_accuracy_error"], 0)
        self.assertAlmostEqual(total["overlap"], 1)

    def test_truth_is_kept(self):
        truth = self.directory / "truth" / "g4box.callgrind"
        before = truth.stat().st_mtime_ns
        again = laboratory(self.directory, "--reuse")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(truth.stat().st_mtime_ns, before)
        changed = laboratory(self.directory, "--reuse", "--scale", "0.05")
        self.assertEqual(changed.returncode, 0, changed.stderr)
        self.assertNotEqual(truth.stat().st_mtime_ns, before)

    def test_unknown_programs_are_named(self):
        result = laboratory(self.directory, "--only", "g5box")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no program g5box; there are: latency_biased", result.stderr)


class ProgramsTest(unittest.TestCase):

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="hbbp-laboratory-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def test_programs_of_different_speeds_print_the_same_twice(self):
        chosen = programs.hard_workloads.prepare(self.directory, 0.001)
        self.assertEqual([name for name, _ in chosen], list(programs.hard_workloads.ROUNDS))
        for name, command in chosen:
            first, second = (subprocess.run(command, capture_output=True, check=True) for _ in range(2))
            self.assertNotEqual(first.stdout, b"", name)
            self.assertEqual((first.stdout, first.stderr), (second.stdout, b""), name)

    def test_held_out_programs_are_not_tuned_on(self):
        chosen = programs.real(self.directory, 1, programs.HELD_OUT)
        self.assertEqual([name for name, _ in chosen],
                         [name for name, command in zip(programs.HOLD_OUTS, ["as", "php", "gs", "povray"])
                          if shutil.which(command)])
        self.assertTrue(set(programs.HOLD_OUTS).isdisjoint(programs.hard_workloads.ROUNDS))


def why_not():
    if shutil.which("valgrind") is None:
        return "no valgrind"
    if not os.access(pathlib.Path(KERNELS) / "g4box", os.X_OK):
        return "the kernels were not built"
    doctor = subprocess.run([HBBP, "doctor", "--format", "json"], capture_output=True, text=True)
    rows = {row["name"]: row for row in json.loads(doctor.stdout)["rows"]}
    return None if rows["task_clock"]["state"] == "supported" else rows["task_clock"]["detail"]


if __name__ == "__main__":
    reason = why_not()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
