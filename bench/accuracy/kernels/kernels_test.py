#!/usr/bin/env python3
"""Tests that every kernel does the same in every run and however it is linked, and refuses wrong arguments.

usage: kernels_test.py DIRECTORY NAME..., the directory that they were built into and their names
"""

import pathlib
import subprocess
import sys
import unittest

DIRECTORY = pathlib.Path(sys.argv[1])
NAMES = sys.argv[2:]
NO_AVX = 77


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def checksum(program, rounds):
    """Returns None without AVX."""
    result = run(program, str(rounds))
    if result.returncode == NO_AVX and "AVX" in result.stderr:
        return None
    assert result.returncode == 0 and result.stdout.strip(), (program, rounds, result)
    return result.stdout


class Kernels(unittest.TestCase):
    def test_same_in_every_run(self):
        for name in NAMES:
            with self.subTest(name):
                self.assertEqual(checksum(DIRECTORY / name, 40), checksum(DIRECTORY / name, 40))

    def test_rounds_count(self):
        for name in NAMES:
            with self.subTest(name):
                few = checksum(DIRECTORY / name, 1)
                if few is not None:
                    self.assertNotEqual(few, checksum(DIRECTORY / name, 5))

    def test_static_twin(self):
        twins = [name for name in NAMES if (DIRECTORY / "static" / name).exists()]
        for name in twins:
            with self.subTest(name):
                self.assertEqual(checksum(DIRECTORY / name, 9), checksum(DIRECTORY / "static" / name, 9))

    def test_vectors_agree(self):
        sse = checksum(DIRECTORY / "fitter_sse", 30)
        for name in ("fitter_avx", "fitter_avx_calls"):
            self.assertIn(checksum(DIRECTORY / name, 30), (sse, None))
        x87 = checksum(DIRECTORY / "fitter_x87", 30)
        for a, b in zip(x87.split(), sse.split()):
            self.assertAlmostEqual(float(a), float(b), delta=1e-3 * abs(float(b)))

    def test_wrong_arguments(self):
        for name in NAMES:
            for arguments in ((), ("0",), ("-1",), ("7x",), ("",), ("99999999999999999999",),
                              ("1", "1")):
                with self.subTest(name, arguments=arguments):
                    result = run(DIRECTORY / name, *arguments)
                    self.assertEqual(result.returncode, 2)
                    self.assertIn("ROUNDS", result.stderr)
                    self.assertEqual(result.stdout, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
