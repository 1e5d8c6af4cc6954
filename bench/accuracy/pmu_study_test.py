#!/usr/bin/env python3
"""Tests the arithmetic of pmu_study.py on synthetic blocks, and runs each study once on one kernel.

usage: pmu_study_test.py BUILD_DIRECTORY
"""

import math
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pmu_study  # noqa: E402

BUILD = pathlib.Path(sys.argv[1])
STUDY = pathlib.Path(pmu_study.__file__)


def rows(lengths_and_counts):
    return {start: {"instructions": length, "count": count}
            for start, (length, count) in lengths_and_counts.items()}


class Arithmetic(unittest.TestCase):

    def setUp(self):
        # Blocks have 2, 20 and 40 instructions. The exact counts belong to the first ones only, 13.
        truth = {0: 10, 100: 2, 200: 1}
        ebs = rows({0: (2, 20), 100: (20, 2), 200: (40, 1)})
        streams = rows({0: (2, 10), 100: (20, 2.5), 200: (40, 2)})
        self.errors = pmu_study.BlockErrors()
        self.errors.add(truth, ebs, streams, 1)
        self.total = 13

    def test_errors_of_lengths(self):
        ebs, streams, share = self.errors.of(range(1, 10))
        self.assertAlmostEqual(ebs, 1)
        self.assertAlmostEqual(streams, 0)
        self.assertAlmostEqual(share, 10 * 2 / self.total)
        ebs, streams, _ = self.errors.of(range(10, 30))
        self.assertAlmostEqual(ebs, 0)
        self.assertAlmostEqual(streams, 0.25)
        self.assertIsNone(self.errors.of(range(50, 60)))

    def test_rules(self):
        self.assertAlmostEqual(self.errors.error_of_rule(0), 20 / self.total)
        self.assertAlmostEqual(self.errors.error_of_rule(2), 0)
        self.assertAlmostEqual(self.errors.error_of_rule(20), 10 / self.total)
        self.assertAlmostEqual(self.errors.error_of_rule(math.inf), 50 / self.total)
        self.assertEqual(self.errors.best_cutoffs(), (2, 2, 2))

    def test_no_cutoff(self):
        truth, right = {0: 1}, rows({0: (5, 1)})
        wrong = rows({0: (5, 3)})
        only_streams, only_ebs = pmu_study.BlockErrors(), pmu_study.BlockErrors()
        only_streams.add(truth, wrong, right, 1)
        only_ebs.add(truth, right, wrong, 1)
        self.assertEqual(only_streams.best_cutoffs(), (5, math.inf, math.inf))
        self.assertEqual(only_ebs.best_cutoffs(), (0, 0, 0))

    def test_blocks_that_a_family_missed_count_0(self):
        errors = pmu_study.BlockErrors()
        errors.add({0: 4}, {}, rows({0: (3, 4)}), 1)
        self.assertEqual(errors.of([3])[:2], (1, 0))


class Studies(unittest.TestCase):

    def setUp(self):
        if not (BUILD / "bench/accuracy/kernels/static").is_dir() or not shutil.which("valgrind"):
            self.skipTest("needs valgrind, and a static C library")
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="hbbp-study-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def study(self, name, *options):
        result = subprocess.run(
            [sys.executable, "-B", STUDY, name, "--build", BUILD, "--rounds", "4", "--repeats",
             "2", "--kernels", "fitter_sse", "--csv", self.directory / "numbers.csv", *options],
            capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout, (self.directory / "numbers.csv").read_text().splitlines()

    def test_table1(self):
        text, numbers = self.study("table1")
        self.assertIn("| fitter_sse |", text)
        self.assertEqual(len(numbers), 1 + 2 * len(pmu_study.METHODS))

    def test_draws(self):
        text, numbers = self.study("draws")
        self.assertIn("| random, drawn for 20 |", text)
        self.assertEqual(len(numbers), 1 + 2 * len(pmu_study.DRAWS))

    def test_cutoff(self):
        text, numbers = self.study("cutoff", "--settings", "no anomaly", "LBR depth 8")
        self.assertIn("| no anomaly |", text)
        self.assertGreater(len(numbers), 10)

    def test_hybrid(self):
        text, numbers = self.study("hybrid", "--model-options", "--skid", "0")
        self.assertIn("| kernel | ebs | streams | tree | flow |", text)
        self.assertEqual(len(numbers), 1 + 2 * 4)

    def test_a_kept_trace_is_of_this_build(self):
        kept = self.directory / "kept"
        options = ("--keep", kept, "--model-options", "--skid", "0")
        first = self.study("hybrid", *options)
        traces = list(kept.glob("*.trace"))
        self.assertEqual(len(traces), 1)
        self.assertEqual(self.study("hybrid", *options), first)
        traces[0].rename(kept / "fitter_sse.4.0123456789abcdef.trace")
        self.assertEqual(self.study("hybrid", *options), first)
        self.assertEqual(len(list(kept.glob("*.trace"))), 2)

    def test_wrong_build_is_reported(self):
        result = subprocess.run([sys.executable, "-B", STUDY, "table1", "--build", self.directory],
                                capture_output=True, text=True, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("--build", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
