#!/usr/bin/env python3
"""Tests of hbbp export with imported recordings: what their readers make of them is what they make of the recordings, or what
hbbp mix has."""
import json
import os
import re
import sqlite3
import unittest

import export_support
import record_support
from export_support import run

# Recordings with the recorded name and the file of the program.
RECORDINGS = (('autofdo/propeller_sample.perfdata', 'propeller_sample.bin', 'autofdo/propeller_sample.bin'),
              ('autofdo/test.lbr', 'test.binary', 'autofdo/test.binary'),
              ('autofdo/hierarchical_discriminator_test.x86_64.perf.data', 'hierarchical_discriminator_test',
               'autofdo/hierarchical_discriminator_test.x86_64'))


class ExportImportsTest(export_support.ExportTest):

    def import_it(self, recording, *options):
        result = self.run_tool('import', *options, '-o', self.file, record_support.recorded(recording))
        self.assertEqual(result.returncode, 0, result)

    def export(self, kind, *options):
        path = self.directory / f'exported.{kind}'
        result = self.run_tool('export', '--format', kind, *options, '-o', path, self.file)
        self.assertEqual(result.returncode, 0, result)
        return path

    def recordings(self):
        for recording, name, file in RECORDINGS:
            with self.subTest(recording):
                self.import_it(recording, '--file', f'{name}={record_support.recorded(file)}')
                yield
                (self.directory / self.file).unlink()

    def instructions(self):
        result = self.run_tool('mix', '--by', 'module', '--format', 'json', self.file)
        return sum(row['instructions'] for row in json.loads(result.stdout)['rows'])

    def assert_near(self, value, expected):
        self.assertGreater(expected, 0)
        self.assertAlmostEqual(value / expected, 1, delta=1e-4)

    def test_llvm_profgen_makes_the_same_of_perf_script(self):
        profgen, profdata = 'llvm-profgen-19', 'llvm-profdata-19'
        self.need(profgen, profdata)
        for text, program, options in (('noprobe.perfscript', 'noprobe', ('--binary',)),
                                       ('noprobe.mmap.perfscript', 'noprobe', ('--file',)),
                                       ('inline-noprobe.perfscript', 'inline-noprobe', ('--binary',))):
            with self.subTest(text):
                recorded, binary = (record_support.recorded(f'profgen/{name}') for name in (text, f'{program}.perfbin'))
                mapped = re.search(r'r-xp (\S+)', recorded.read_text())
                where = f'{mapped[1]}={binary}' if options == ('--file',) else binary
                self.import_it(f'profgen/{text}', *options, where)
                theirs = self.directory / 'theirs.prof'
                run(profgen, '--format=text', f'--perfscript={recorded}', f'--binary={binary}', '-o', theirs)
                # Instructions of no line have rows there, at a line before that of the function, and none in ours.
                theirs.write_text(re.sub(r'(?m)^ *65\d\d\d: .*\n', '', theirs.read_text()))
                listing = run(profdata, 'overlap', '--sample', theirs, self.export('llvm'))
                similarity = re.search(r'profile similarity: ([0-9.]+)%', listing)[1]
                self.assertGreater(float(similarity), 97, listing)
                (self.directory / self.file).unlink()

    def test_callgrind(self):
        self.need('callgrind_annotate')
        for _ in self.recordings():
            listing = run('callgrind_annotate', self.export('callgrind'))
            total = re.search(r'^([\d,]+) .*PROGRAM TOTALS', listing, re.MULTILINE)[1]
            self.assert_near(int(total.replace(',', '')), self.instructions())

    def test_pprof(self):
        self.need('go')
        for _ in self.recordings():
            listing = run('go', 'tool', 'pprof', '-raw', '-symbolize=none', self.export('pprof'),
                          env={**os.environ, 'HOME': str(self.directory), 'PPROF_TMPDIR': str(self.directory)})
            samples = re.search(r'Samples:\n.*\n((?:.|\n)*?)Locations', listing)[1]
            total = sum(int(number) for number in re.findall(r'^ +\d+ +(\d+):', samples, re.MULTILINE))
            self.assert_near(total, self.instructions())

    def test_sqlite(self):
        for _ in self.recordings():
            database = sqlite3.connect(':memory:')
            database.executescript(self.export('sql').read_text())
            total, = database.execute('SELECT sum(instructions) FROM functions').fetchone()
            database.close()
            self.assert_near(total, self.instructions())

    def test_bolt_reads_a_recording_of_taken_branches(self):
        """With functions at the addresses of the program, and no line that BOLT takes for damaged."""
        bolt = '/usr/lib/llvm-16/bin/llvm-bolt'
        self.need(bolt)
        recording, name, file = RECORDINGS[0]
        binary = record_support.recorded(file)
        self.import_it(recording, '--file', f'{name}={binary}')
        counts = self.export('bolt', '--module', name)
        listing = run(bolt, binary, f'-data={counts}', '-o', self.directory / 'bolted', '-reorder-blocks=ext-tsp')
        profiled = re.search(r'BOLT-INFO: (\d+) out of \d+ functions in the binary .* have non-empty execution profile', listing)
        self.assertGreater(int(profiled[1]), 0, listing)
        self.assertNotIn('invalid (possibly stale) profile', listing)


if __name__ == '__main__':
    record_support.main(ExportImportsTest)
