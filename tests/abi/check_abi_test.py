#!/usr/bin/env python3
"""Tests that check_abi.py refuses libraries and headers with changes that break programs, and
accepts additions. Exit status 77: no abidiff here.

usage: check_abi_test.py BASELINE_DIRECTORY C_COMPILER
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import public_abi

CHECK = pathlib.Path(__file__).with_name('check_abi.py')


class Doctored:
    """A header and a library, as released until they are changed."""

    def __init__(self, baseline, compiler):
        self.compiler = compiler
        self.baseline = baseline
        self.header = (pathlib.Path(baseline) / 'hbbp.h.txt').read_text()
        self.hidden = set()
        self.node = 'HBBP_0.1'
        self.later_node = {}
        self.soname = 'libhbbp.so.0'

    def replace(self, old, new):
        assert self.header.count(old) == 1, f'{self.header.count(old)} times: {old}'
        self.header = self.header.replace(old, new)

    def in_struct(self, name, old, new):
        """Replaces within the definition of one struct."""
        start = self.header.index(f'struct {name} {{')
        end = self.header.index('}', start) + 1
        body = self.header[start:end]
        assert body.count(old) == 1, f'{body.count(old)} times: {old}'
        self.header = self.header[:start] + body.replace(old, new) + self.header[end:]

    def check(self):
        """Returns (exit status, output) of check_abi.py."""
        with tempfile.TemporaryDirectory() as directory:
            symbols = {name: self.later_node.get(name, self.node) for name in public_abi.functions(self.header)
                       if name not in self.hidden}
            library = public_abi.make_library(self.header, symbols, self.soname, self.compiler,
                                              directory)
            include = pathlib.Path(directory) / 'include/hbbp'
            include.mkdir(parents=True)
            (include / 'hbbp.h').write_text(self.header)
            done = subprocess.run(
                [sys.executable, '-B', CHECK, library, include.parent, self.baseline, self.compiler],
                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout


ADDED = 'HBBP_API uint32_t hbbp_abi_version(void);\nHBBP_API int32_t hbbp_added(int32_t argument);'

# The changes: a name, what the report must contain (nothing: it is compatible), and the change.
CASES = [
    ('nothing', None, lambda it: None),
    ('a function is removed', 'hbbp_profile_slice_count', lambda it: it.replace(
        'size_t hbbp_profile_slice_count(const hbbp_profile *profile)',
        'uint32_t hbbp_unrelated(void)')),
    ('the library lacks a function', 'hbbp_mix_total',
     lambda it: it.hidden.add('hbbp_mix_total')),
    ('a function has another version', 'hbbp_mix_total',
     lambda it: setattr(it, 'node', 'HBBP_0.2')),
    ('the SONAME is another one', 'SONAME', lambda it: setattr(it, 'soname', 'libhbbp.so.1')),
    ('a parameter has another type', 'hbbp_profile_slice_count', lambda it: it.replace(
        'hbbp_profile_slice_count(const hbbp_profile *profile)',
        'hbbp_profile_slice_count(uint32_t profile)')),
    ('a function gives another type', 'hbbp_profile_slice_count', lambda it: it.replace(
        'size_t hbbp_profile_slice_count', 'uint32_t hbbp_profile_slice_count')),
    ('a type is another integer', 'hbbp_status', lambda it: it.replace(
        'typedef int32_t hbbp_status', 'typedef int64_t hbbp_status')),
    ('a field is wider', 'hbbp_slice', lambda it: it.in_struct(
        'hbbp_slice', 'uint32_t reserved', 'uint64_t reserved')),
    ('a field is signed', 'hbbp_slice', lambda it: it.in_struct(
        'hbbp_slice', 'uint64_t samples', 'int64_t samples')),
    ('a field is inserted', 'hbbp_slice', lambda it: it.in_struct(
        'hbbp_slice', 'uint64_t start_ns;', 'uint64_t first_ns; uint64_t start_ns;')),
    ('a field is gone', 'hbbp_slice', lambda it: it.in_struct(
        'hbbp_slice', 'uint64_t samples;', '')),
    ('fields are swapped', 'hbbp_slice', lambda it: (
        it.in_struct('hbbp_slice', 'start_ns', 'swapped'),
        it.in_struct('hbbp_slice', 'end_ns', 'start_ns'),
        it.in_struct('hbbp_slice', 'swapped', 'end_ns'))),
    ('a struct grows, and a field of it changes', 'hbbp_slice', lambda it: (
        it.in_struct('hbbp_slice', 'uint32_t reserved', 'float reserved'),
        it.in_struct('hbbp_slice', 'uint64_t samples;', 'uint64_t samples; uint64_t more;'))),
    ('a struct of fixed size grows', 'hbbp_moved_file', lambda it: it.in_struct(
        'hbbp_moved_file', 'const char *here;', 'const char *here; const char *build_id;')),
    ('an enumerator has another value', 'HBBP_FLOW_TRAP is 9, was 8', lambda it: it.replace(
        'HBBP_FLOW_TRAP = 8', 'HBBP_FLOW_TRAP = 9')),
    ('an enumerator is gone', 'HBBP_FLOW_TRAP is gone', lambda it: it.replace(
        'HBBP_FLOW_TRAP', 'HBBP_FLOW_ABORT')),
    ('a macro has another value', 'HBBP_MAX_SLICES is 512, was 1024', lambda it: it.replace(
        'HBBP_MAX_SLICES 1024u', 'HBBP_MAX_SLICES 512u')),
    ('a struct grows', None, lambda it: it.in_struct(
        'hbbp_slice', 'uint64_t samples;', 'uint64_t samples; uint64_t more;')),
    ('an element of arrays grows', None, lambda it: it.in_struct(
        'hbbp_feed_sample', 'uint32_t reserved;', 'uint32_t reserved; uint64_t more;')),
    ('an enumerator is added', None, lambda it: it.replace(
        'HBBP_FLOW_TRAP = 8', 'HBBP_FLOW_TRAP = 8, HBBP_FLOW_ABORT = 9')),
    ('a function is added', None, lambda it: it.replace(
        'HBBP_API uint32_t hbbp_abi_version(void);', ADDED)),
    ('a function is added under a later version', None, lambda it: (
        it.later_node.update(hbbp_added='HBBP_0.2'),
        it.replace('HBBP_API uint32_t hbbp_abi_version(void);', ADDED))),
    ('a function moves to a later version', 'hbbp_mix_total',
     lambda it: it.later_node.update(hbbp_mix_total='HBBP_0.2')),
    ('a function is added, and HBBP_ABI_VERSION stays', 'HBBP_ABI_VERSION has not grown', lambda it: (
        it.replace('HBBP_API uint32_t hbbp_abi_version(void);', ADDED),
        it.replace('HBBP_VERSION_STRING "', 'HBBP_VERSION_STRING "9.'))),
    ('so is the ABI version', None, lambda it: (
        it.replace('HBBP_API uint32_t hbbp_abi_version(void);', ADDED),
        it.replace('HBBP_VERSION_STRING "', 'HBBP_VERSION_STRING "9.'),
        it.replace('#define HBBP_ABI_VERSION ', '#define HBBP_ABI_VERSION 9'))),
]


def main():
    baseline, compiler = sys.argv[1:]
    if not shutil.which('abidiff'):
        print('SKIPPED: no abidiff (Debian package abigail-tools)')
        return 77
    failures = 0
    for name, word, change in CASES:
        doctored = Doctored(baseline, compiler)
        change(doctored)
        status, output = doctored.check()
        is_right = status == 0 if word is None else status == 1 and word in output
        if not is_right:
            failures += 1
            print(f'{name}: exit status {status}, expected {word or "that it is compatible"}:\n'
                  f'{output}', file=sys.stderr)
    print(f'{len(CASES)} cases, {failures} failed')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
