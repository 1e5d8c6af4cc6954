#!/usr/bin/env python3
"""Tests `hbbp import` and `hbbp compare` with simulated recordings, whose truth is known.

usage: pipeline_test.py [TEST]; HBBP_TOOL, HBBP_PMU_MODEL and HBBP_KERNELS name the command, the
simulation and the directory of the kernels. Exit status 77: skipped.
"""

import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

TOOL = os.environ["HBBP_TOOL"]
MODEL = os.environ["HBBP_PMU_MODEL"]
KERNELS = pathlib.Path(os.environ["HBBP_KERNELS"]) / "static"
SKIPPED = 77

# Options for a PMU without bias.
IDEAL = ["--skid", 0, "--skid-spread", 0, "--shadow", 0, "--lbr-skid", 0, "--lbr-skid-spread", 0,
         "--sticky-share", 0, "--next-ip", 0]


def run(*words):
    command = [str(word) for word in words]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {result.stderr}")
    return result


def counts_of(path):
    """Returns {address: executions} of exact counts."""
    counts = {}
    for line in path.read_text().splitlines():
        if line.startswith("0x"):
            address, count = line.split()
            counts[int(address, 16)] = int(count)
    return counts


class PipelineTest(unittest.TestCase):

    def setUp(self):
        if not KERNELS.is_dir():
            self.skipTest("no static C library to link kernels with")
        if shutil.which("valgrind") is None:
            self.skipTest("no valgrind")
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="hbbp-simulation-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def trace(self, kernel, rounds, *options):
        """Makes a trace of the kernel; its exact counts are next to it."""
        trace = self.directory / f"{kernel}.trace"
        run(MODEL, "--save-trace", trace, "--truth", self.truth(kernel), "-o",
            self.directory / "unused.data", *options, "--", KERNELS / kernel, rounds)
        return trace

    def truth(self, kernel):
        return self.directory / f"{kernel}.callgrind"

    def sample(self, kernel, method, *options, repeats=1):
        """Returns profiles of so many recordings of a trace."""
        out = self.directory / "recordings"
        out.mkdir(exist_ok=True)
        run(MODEL, "--trace", self.directory / f"{kernel}.trace", "--method", method, "--repeat",
            repeats, "-o", out / f"{method}.0.data" if repeats == 1 else out, *options)
        profiles = []
        for i in range(repeats):
            profiles.append(self.directory / f"{kernel}.{method}.{i}.hbbp")
            run(TOOL, "import", "-o", profiles[-1], out / f"{method}.{i}.data")
        return profiles

    def test_code_in_a_page_with_other_data_is_traced(self):
        source, program = self.directory / "far.c", self.directory / "far"
        # The page of the file that has .far has the end of another segment before it.
        source.write_text("const char text[] = \"constant\";\n"
                          "__attribute__((section(\".far\"), noinline)) int far(int n) {\n"
                          "  for (int i = 0; i < 1000; ++i) __asm__ volatile(\"\" : \"+r\"(n));\n"
                          "  return n;\n"
                          "}\n"
                          "int main(int count, char **words) { return far(count) + text[count] + (words == 0) == 0; }\n")
        run("cc", "-O1", "-static", "-no-pie", "-Wl,--section-start=.far=0x40022cb0", "-o", program, source)
        segments = [line.split() for line in run("readelf", "-lW", program).stdout.splitlines() if " LOAD " in line]
        page = next(int(words[1], 16) & -4096 for words in segments if int(words[2], 16) == 0x40022cb0)
        self.assertTrue(any(int(words[1], 16) <= page < int(words[1], 16) + int(words[4], 16) and "E" not in words[6:-1]
                            for words in segments), segments)
        truth = self.truth("far")
        traced = run(MODEL, "--save-trace", self.directory / "far.trace", "--truth", truth, "-o",
                     self.directory / "unused.data", "--", program)
        self.assertNotIn("left out", traced.stderr)
        counts = counts_of(truth)
        self.assertEqual(max(counts.get(address, 0) for address in range(0x40022cb0, 0x40022d00)), 1000)

    def compare(self, kernel, profile, estimator="auto"):
        return json.loads(run(TOOL, "compare", profile, "--truth", self.truth(kernel),
                              "--estimator", estimator, "--format", "json").stdout)["total"]

    def mean_error(self, kernel, profiles, estimator="auto"):
        return statistics.mean(self.compare(kernel, profile, estimator)["block_accuracy_error"]
                               for profile in profiles)

    def blocks(self, profile, estimator="auto"):
        return json.loads(run(TOOL, "blocks", profile, "--estimator", estimator, "--format", "json").stdout)

    def test_truth_as_samples_has_no_error(self):
        self.trace("test40", 1)
        every_instruction = self.sample("test40", "default", *IDEAL, "--period", 1, "--phase", 0)
        every_stream = self.sample("test40", "lbr", *IDEAL, "--branch-period", 1, "--phase", 1,
                                   "--lbr-depth", 2)
        for profile in every_instruction + every_stream:
            with self.subTest(profile.name):
                total = self.compare("test40", profile)
                self.assertGreater(total["instructions_ref"], 100_000)
                self.assertEqual(total["instructions_est"], total["instructions_ref"])
                self.assertEqual(total["block_accuracy_error"], 0)
                self.assertEqual(total["avg_weighted_error"], 0)
                info = json.loads(run(TOOL, "info", profile, "--format", "json").stdout)
                self.assertEqual([source["unexplained"] for source in info["sources"]], [0])

    def test_tracers_and_callgrind_agree(self):
        self.trace("call_chain", 1)
        by_lackey = counts_of(self.truth("call_chain"))
        self.trace("call_chain", 1, "--tracer", "step")
        by_steps = counts_of(self.truth("call_chain"))
        run("valgrind", "--tool=callgrind", "--dump-instr=yes", "--dump-line=no", "--compress-pos=no",
            f"--callgrind-out-file={self.directory / 'callgrind'}", KERNELS / "call_chain", 1)
        by_callgrind = counts_of_callgrind(self.directory / "callgrind")
        symbols = run("nm", "-S", KERNELS / "call_chain").stdout.splitlines()
        links = [line.split() for line in symbols if " Link" in line]
        self.assertEqual(len(links), 10)
        for start, size, _, name in links:
            inside = [address for address in by_lackey
                      if int(start, 16) <= address < int(start, 16) + int(size, 16)]
            self.assertGreater(len(inside), 1, name)
            for address in inside:
                self.assertEqual(by_lackey[address], by_steps[address], name)
                self.assertEqual(by_lackey[address], by_callgrind[address], name)

    def test_error_falls_as_the_root_of_samples(self):
        # The run is so long that blocks with hardly any sample, whose error stays, have little weight.
        self.trace("g4box", 100)
        points = []
        for period in (8000, 2000, 500):
            profiles = self.sample("g4box", "random", *IDEAL, "--period", period, repeats=8)
            points.append((math.log(period), math.log(self.mean_error("g4box", profiles))))
        slope = statistics.linear_regression(*zip(*points)).slope
        # The slope is by the number of samples, the inverse of the period. Eight repeats leave an error of some 3 %.
        self.assertAlmostEqual(-slope, -0.5, delta=0.08)

    def coverage(self, profiles, truth, estimator, smallest):
        """Returns how often counts are within one and two standard errors of the truth."""
        deviations = []
        for profile in profiles:
            for row in self.blocks(profile, estimator)["rows"]:
                if row["count"] > 0 and row["count"] >= smallest * row["standard_error"]:
                    reference = truth[int(row["start"], 16)]
                    deviations.append(abs(row["count"] - reference) / row["standard_error"])
        self.assertGreater(len(deviations), 400)
        return [sum(d <= limit for d in deviations) / len(deviations) for limit in (1, 2)]

    def test_standard_errors_cover_the_truth(self):
        self.trace("g4box", 20)
        truth = counts_of(self.truth("g4box"))
        poisson = [*IDEAL, "--period-mode", "poisson"]
        samples = self.sample("g4box", "default", *poisson, "--period", 1000, repeats=60)
        one, two = self.coverage(samples, truth, "ebs", 4)
        self.assertAlmostEqual(one, 0.683, delta=0.04)
        self.assertAlmostEqual(two, 0.954, delta=0.02)
        # The errors are known by 16 replicates: Student's t with 15 degrees of freedom. Counts of one recording are too
        # high or too low together: sixty are known to 0.03.
        stacks = self.sample("g4box", "lbr", *poisson, "--branch-period", 500, repeats=60)
        one, two = self.coverage(stacks, truth, "streams", 4)
        self.assertAlmostEqual(one, 0.667, delta=0.08)
        self.assertAlmostEqual(two, 0.936, delta=0.04)

    def division_bias(self, kernel, profile):
        """Returns the executions of the block with most divisions: estimate / truth."""
        total = self.compare(kernel, profile)
        division = max((row for row in total["mnemonics"] if row["mnemonic"] == "divsd"),
                       key=lambda row: row["ref"])
        return division["est"] / division["ref"]

    def test_late_samples_find_divisions_too_often(self):
        self.trace("latency_biased", 10)
        late = self.sample("latency_biased", "default", "--period", 997)
        exact = self.sample("latency_biased", "prec_dist", "--period", 997)
        self.assertGreater(self.division_bias("latency_biased", late[0]), 1.3)
        self.assertAlmostEqual(self.division_bias("latency_biased", exact[0]), 1, delta=0.15)
        shadow = self.sample("latency_biased", "prime", "--period", 997, "--next-ip", 0)
        self.assertGreater(self.division_bias("latency_biased", shadow[0]), 1.3)

    def test_round_periods_resonate(self):
        self.trace("latency_biased", 20)
        counts = counts_of(self.truth("latency_biased"))
        # Two iterations of the loop, one with the division and one without, are 12 instructions.
        loop = [count for count in counts.values() if count > 100_000]
        self.assertGreater(sum(loop), 1_900_000)
        fixed = self.sample("latency_biased", "precise", *IDEAL, "--period", 1200)
        prime = self.sample("latency_biased", "prime", *IDEAL, "--period", 1200)
        random = self.sample("latency_biased", "random", *IDEAL, "--period", 1200)
        self.assertGreater(self.mean_error("latency_biased", fixed), 0.4)
        self.assertLess(self.mean_error("latency_biased", prime), 0.15)
        self.assertLess(self.mean_error("latency_biased", random), 0.15)

    def test_ip_plus_one_is_repaired(self):
        self.trace("call_chain", 10)
        # All three sample the same instructions, since there is no delay. A shift by one adds as many instructions to
        # blocks as it takes away, except for chance.
        ideal = [*IDEAL, "--next-ip", 1, "--period", 499, "--phase", 17]

        def counted(method):
            profile, = self.sample("call_chain", method, *ideal)
            return {row["start"]: row["count"] for row in self.blocks(profile, "ebs")["rows"]
                    if row["count"] > 0}, profile
        exact, _ = counted("prec_dist")
        raw, _ = counted("prime")
        repaired, profile = counted("ip+1")
        self.assertGreater(sum(raw.get(start) != count for start, count in exact.items()), 10)
        self.assertEqual(repaired, exact)
        info = json.loads(run(TOOL, "info", profile, "--format", "json").stdout)
        ebs, = [source for source in info["sources"] if source["kind"] == "ebs"]
        moved = ebs["counters"]["ip-moved-to-branch"] + ebs["counters"]["ip-moved-before"]
        self.assertEqual(ebs["ebs_method"], "ip+1")
        self.assertEqual(moved, ebs["samples"])

    def test_the_anomaly_sets_the_bias_flag(self):
        self.trace("g4box", 20)
        common = ["--branch-period", 50]
        with_anomaly = self.sample("g4box", "lbr", *IDEAL, *common, "--sticky-share", 0.2,
                                   "--sticky-chance", 0.8)
        self.assertGreater(self.blocks(with_anomaly[0])["biased_blocks"], 3)
        without = self.sample("g4box", "lbr", *IDEAL, *common)
        self.assertEqual(self.blocks(without[0])["biased_blocks"], 0)

    def test_hybrid_takes_both(self):
        self.trace("fitter_sse", 20)
        profile, = self.sample("fitter_sse", "hybrid", "--period", 500, "--branch-period", 50)
        sources = {row["source"] for row in self.blocks(profile, "tree")["rows"]}
        self.assertEqual(sources, {"ebs", "lbr"})
        self.assertLess(self.compare("fitter_sse", profile, "tree")["block_accuracy_error"], 0.2)

    def test_flow_holds_totals_where_stacks_are_few(self):
        self.trace("test40", 20)
        profile, = self.sample("test40", "hybrid", *IDEAL, "--period", 500, "--branch-period",
                               20000)
        self.assertEqual({row["source"] for row in self.blocks(profile)["rows"]}, {"combined"})
        total = self.compare("test40", profile)
        self.assertAlmostEqual(total["instructions_est"] / total["instructions_ref"], 1, delta=0.05)
        self.assertLess(total["block_accuracy_error"],
                        self.compare("test40", profile, "streams")["block_accuracy_error"])

    def test_wrong_use_is_reported(self):
        damaged = self.directory / "damaged"
        damaged.write_bytes(b"hbbp simulation trace 1\n" + b"\xff" * 100)
        for words, expected in (
                ([], "--help"),
                (["--trace", damaged], "byte 32"),
                (["--trace", self.directory / "missing"], "missing"),
                (["--", self.directory / "missing"], "missing"),
                (["--tracer", "step", "--", self.directory / "missing"], "could not be started"),
                (["--period", "0", "--", "true"], "--period"),
                (["--skid", "-1", "--", "true"], "--skid"),
                (["--method", "magic", "--", "true"], "magic")):
            with self.subTest(words=words):
                result = subprocess.run([MODEL, *map(str, words)], capture_output=True, text=True,
                                        cwd=self.directory, check=False)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(expected, result.stderr + result.stdout)
                self.assertFalse((self.directory / "simulated.data").exists())


def counts_of_callgrind(path):
    """Returns {address: executions} of a file of callgrind's, for all objects. Lines of calls
    also have the cost of the called function, and are ignored."""
    counts, is_call = {}, False
    for line in path.read_text().splitlines():
        if line.startswith("calls="):
            is_call = True
        elif line.startswith("0x"):
            words = line.split()
            if not is_call:
                address = int(words[0], 16)
                counts[address] = counts.get(address, 0) + int(words[-1])
            is_call = False
    return counts


def main():
    result = unittest.main(argv=[sys.argv[0]] + ["PipelineTest." + name for name in sys.argv[1:]],
                           exit=False).result
    if result.skipped and not result.failures and not result.errors:
        print(result.skipped)
        sys.exit(SKIPPED)
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
