#!/usr/bin/env python3
"""Tests kernel_code.py: what it makes of a kernel's code, on synthetic code, and all of it where BPF programs may be loaded.

usage: kernel_code_test.py HBBP. Exit status 77: skipped.
"""

import argparse
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import kernel_code

SKIPPED = 77
SCRIPT = pathlib.Path(kernel_code.__file__)
HBBP = sys.argv[1]
ENTRY, CALLED, THUNK = 0xffffffffc0002010, 0xffffffffc0012344, 0xffffffff82202da0


def distance(to, after):
    return struct.pack("<i", to - after)


def synthetic_code():
    """Returns the code of a function that calls another one 5 times and returns 42, and of that one."""
    entry = bytes.fromhex("31c0" "b905000000")  # xor eax, eax; mov ecx, 5
    call = ENTRY + len(entry)
    entry += b"\xe8" + distance(CALLED, call + 5) + bytes.fromhex("ffc9" "75f7" "83c020")  # dec ecx; jne call; add eax, 32
    entry += b"\xe9" + distance(THUNK, ENTRY + len(entry) + 5)
    called = bytes.fromhex("83c002")  # add eax, 2
    return entry, called + b"\xe9" + distance(THUNK, CALLED + len(called) + 5)


def image_text():
    entry, called = synthetic_code()
    return f"{ENTRY:x} {entry.hex()}\n{CALLED:x} {called.hex()}\n"


KALLSYMS = f"""ffffffff81000000 T _text
{THUNK:x} T its_return_thunk
{THUNK + 16:x} T __x86_return_thunk
{CALLED:x} t bpf_prog_02_F\t[bpf]
{ENTRY:x} t bpf_prog_01_synthetic\t[bpf]
"""
COUNTS = {0: 1, 2: 1, 7: 5, 12: 5, 14: 5, 16: 1, 19: 1}  # by distance from ENTRY


class Code(unittest.TestCase):

    def setUp(self):
        self.image = kernel_code.read_image(image_text(), KALLSYMS)

    def test_functions_are_named_and_return_thunks_found(self):
        self.assertEqual([(function.address, function.name) for function in self.image.functions],
                         [(ENTRY, "bpf_prog_01_synthetic"), (CALLED, "bpf_prog_02_F")])
        self.assertEqual(self.image.entry, "bpf_prog_01_synthetic")
        self.assertEqual(self.image.thunks, {THUNK: "its_return_thunk"})
        self.assertIn(CALLED, self.image)
        self.assertNotIn(CALLED - 1, self.image)
        self.assertNotIn(THUNK, self.image)

    def test_programs_that_kallsyms_lacks_are_refused(self):
        with self.assertRaises(SystemExit) as raised:
            kernel_code.read_image(image_text(), KALLSYMS.replace("_synthetic\t[bpf]", "_synthetic\t[other]"))
        self.assertIn(f"{ENTRY:x}", str(raised.exception))

    def test_the_core_file_has_the_code_at_its_addresses(self):
        core = kernel_code.core_file(self.image)
        self.assertEqual(core[:4], b"\x7fELF")
        for number, code in enumerate(synthetic_code()):
            kind, _, offset, address, _, size, _, _ = struct.unpack_from("<IIQQQQQQ", core, 64 + 56 * number)
            self.assertEqual((kind, address), (1, self.image.functions[number].address))
            self.assertEqual(core[offset:offset + size], code)

    def test_costs_of_calls_are_not_executions(self):
        text = "positions: instr\nevents: Ir\n\nfn=(1)\n0x10 3\n0x14 2\ncfn=(2)\ncalls=2 0x20\n0x14 400\n0x18 2\nfn=(2)\n0x14 1\n"
        self.assertEqual(kernel_code.executions(text), {0x10: 3, 0x14: 3, 0x18: 2})

    def test_truth_has_a_total(self):
        text = kernel_code.truth_text("[kernel]", {0xffffffffc0000010: 3, 0xffffffffc0000000: 4})
        self.assertIn("ob=[kernel]\n", text)
        self.assertTrue(text.endswith("0xffffffffc0000000 4\n0xffffffffc0000010 3\ntotals: 7\n"), text)


class Process(unittest.TestCase):

    def setUp(self):
        if shutil.which("valgrind") is None or shutil.which("cc") is None:
            self.skipTest("needs valgrind and a C compiler")
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="hbbp-kernel-code-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.prefix = self.directory / "synthetic"
        (self.directory / "synthetic.image").write_text(image_text())
        (self.directory / "synthetic.kallsyms").write_text(KALLSYMS)

    def test_code_is_counted_at_its_addresses_in_the_kernel(self):
        recording = kernel_code.Recording(self.prefix, "0000002a 1")
        recording.make_truth()
        expected = {ENTRY + offset: count for offset, count in COUNTS.items()}
        expected.update({CALLED: 5, CALLED + 3: 5})
        self.assertEqual(recording.counts, expected)
        in_process = kernel_code.executions(recording.file("process-truth").read_text())
        self.assertEqual(in_process[THUNK - kernel_code.DISTANCE], 6)
        self.assertEqual(sum(in_process.values()), sum(expected.values()) + 6)

    def test_another_result_than_in_the_kernel_is_refused(self):
        with self.assertRaises(SystemExit) as raised:
            kernel_code.Recording(self.prefix, "0000002b 1").make_truth()
        self.assertIn("0000002a, but 0000002b in the kernel", str(raised.exception))


class Script(unittest.TestCase):

    def setUp(self):
        if shutil.which("valgrind") is None or shutil.which("cc") is None:
            self.skipTest("needs valgrind and a C compiler")

    def script(self, *options, before=()):
        return subprocess.run([*before, sys.executable, "-B", SCRIPT, HBBP, "--repeats", "1", "--seconds", "0.5", "--only",
                               "divisions", *options], capture_output=True, text=True, check=False)

    def test_tables_are_complete(self):
        result = self.script("--mnemonics", "--top", "3", "--period-modes", "fixed", "random")
        if result.returncode == kernel_code.REFUSED:
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        methods = ["kernel, fixed", "kernel, random", *kernel_code.IN_PROCESS]
        self.assertEqual(result.stdout.count("| program | " + " | ".join(methods) + " |"), 4)
        program, *metrics = [line for line in result.stdout.splitlines() if line.startswith("| divisions |")]
        samples, share = re.search(r"([\d,]+) \| ([\d.]+) %", program).groups()
        self.assertGreater(int(samples.replace(",", "")), 100)
        self.assertGreater(float(share), 30)
        self.assertEqual([len(re.findall(r"\d+\.\d %", line)) for line in metrics], [len(methods)] * 4)
        mnemonics = result.stdout.split("### divisions: mnemonics")[1]
        self.assertEqual(mnemonics.count("\n| "), 4)

    def test_programs_that_were_unloaded_have_their_names(self):
        """Another program may be before them in memory, and kallsyms has no sizes."""
        directory = pathlib.Path(tempfile.mkdtemp(prefix="hbbp-kernel-code-"))
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        arguments = argparse.Namespace(hbbp=HBBP, period=1_000_000, seconds=0.5)
        bench = kernel_code.Bench(arguments, directory)
        reason = bench.why_not()
        if reason:
            self.skipTest(reason)
        recording = bench.record_kernel("calls", "fixed", 0)
        rows = bench.json("mix", recording.file("hbbp"), "--by", "function")["rows"]
        names = {function.name for function in recording.image.functions}
        named = {row["function"].removesuffix(" [bpf]") for row in rows}
        self.assertEqual(len(names), 5)
        self.assertEqual(names - named, set(), rows[:10])

    def test_it_says_why_programs_cannot_be_loaded(self):
        if shutil.which("setpriv") is None:
            self.skipTest("no setpriv")
        without = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]
        if subprocess.run([*without, "true"], capture_output=True, check=False).returncode != 0:
            without = []
        result = self.script(before=without)
        self.assertEqual(result.returncode, kernel_code.REFUSED, result.stdout)
        self.assertEqual(result.stdout, "")
        self.assertIn("bpf(BPF_PROG_LOAD): ", result.stderr)
        self.assertIn("take root", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
