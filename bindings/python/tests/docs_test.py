#!/usr/bin/env python3
"""Tests that the code in the documentation works, and the examples do."""
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import unittest

import hbbp

import support

GUIDE = support.ROOT / 'docs' / 'guide' / 'python.md'
README = support.PACKAGE / 'README.md'
EXAMPLES = support.ROOT / 'examples' / 'python'


def snippets(path, language):
    fenced = re.findall(r'^```(\w*)\n(.*?)^```$', path.read_text(), flags=re.M | re.S)
    return [text for name, text in fenced if name == language]


@support.needs_events
class SnippetTest(support.DirectoryTest):

    def run_snippets(self, path):
        """Runs all in one namespace, as a reader would type them."""
        namespace = {'__name__': '__main__'}
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.directory)
        count = 0
        for snippet in snippets(path, 'python'):
            if 'perf.data' in snippet:
                self.fetch_recording()
            with self.subTest(snippet), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(snippet, str(path), 'exec'), namespace)
            count += 1
        return count

    def fetch_recording(self):
        os.makedirs('copy')
        shutil.copy(support.recording('autofdo/test.lbr'), 'perf.data')
        shutil.copy(support.recording('autofdo/test.binary'), 'copy')

    def test_guide(self):
        self.assertGreater(self.run_snippets(GUIDE), 10)

    def test_readme(self):
        self.assertEqual(self.run_snippets(README), 1)

    @support.needs('IPython')
    def test_cells_of_the_guide(self):
        shell = support.ipython_shell()
        cells = [cell for cell in snippets(GUIDE, '') if cell.startswith('%')]
        self.assertEqual(len(cells), 2)
        for cell in cells:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertTrue(shell.run_cell(cell).success)
        self.assertIn('instructions in all', out.getvalue())
        self.assertIsInstance(shell.user_ns['profile'], hbbp.Profile)

    def test_guide_names_what_there_is(self):
        text = GUIDE.read_text()
        for name in re.findall(r'\bhbbp\.(\w+)', text):
            if name not in ('md', 'h') and not text.count(f"'run.{name}'"):
                self.assertTrue(hasattr(hbbp, name), name)
        for name in re.findall(r'`profile\.(\w+)', text):
            self.assertTrue(hasattr(hbbp.Profile, name), name)


@support.needs_events
class ExampleTest(unittest.TestCase):

    def run_example(self, *arguments):
        done = subprocess.run([sys.executable, '-B', *map(str, arguments)], capture_output=True,
                              text=True, cwd=EXAMPLES, timeout=100)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def test_self_profile(self):
        program = (EXAMPLES / 'self_profile.py').read_text()
        lines = [line for line in program.split('"""')[-1].splitlines() if line.strip()]
        self.assertLess(len(lines), 10)
        self.assertRegex(self.run_example('self_profile.py'),
                         r'(?s)sum = 16\..*mnemonic.*mov .* instructions in all')

    def assert_sees(self, workload, library, instructions):
        shown = self.run_example('native_code.py', workload)
        self.assertRegex(shown, rf'Hot blocks of {library}')
        self.assertRegex(shown, rf'(?s)Hot blocks.* ± .*0x[0-9a-f]+  ({instructions}) ')
        share = re.search(rf'{library}\S* +\S+ +\S+ +([\d.]+) %', shown)
        self.assertGreater(float(share.group(1)), 25, shown)
        return shown

    def test_sees_sqlite(self):
        self.assert_sees('sqlite', 'libsqlite3', r'mov\w*')

    def test_sees_bz2(self):
        self.assert_sees('bz2', 'libbz2', 'mov')

    def test_sees_zlib(self):
        self.assert_sees('zlib', 'libz', 'mov|movzx')

    @support.needs('numpy')
    def test_sees_numpy(self):
        # Which of the vector loops are hottest depends on the processor.
        shown = self.assert_sees('numpy', '_multiarray_umath', r'v?(?:add|mul|sqrt)pd')
        self.assertRegex(shown, r'(?m)^sqrt +[0-9,]{7,} ')


if __name__ == '__main__':
    support.main(__name__)
