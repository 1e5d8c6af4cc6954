#!/usr/bin/env python3
"""Block counts inside other tools that have Python: gdb and perf script."""
import os
import re
import shutil
import subprocess
import unittest

import hbbp

import support

EXAMPLES = support.ROOT / 'examples' / 'python'
CODE = '''\
#include <stdio.h>
__attribute__((noinline)) unsigned crunch(unsigned rounds) {
  unsigned value = 1;
  for (unsigned i = 0; i < rounds; i++) value = (value + i) * 2654435761u ^ value >> 7;
  return value;
}
int main(void) { return printf("%u\\n", crunch(200000000)) < 0; }
'''


@support.needs_events
class PluginTest(support.FolderTest):

    @classmethod
    def setUpClass(cls):
        for program in ('cc', cls.tool):
            if not shutil.which(program):
                raise unittest.SkipTest(f'there is no {program}')

    def setUp(self):
        super().setUp()
        (self.folder / 'crunch.c').write_text(CODE)
        self.succeed('cc', '-O1', '-g', 'crunch.c', '-o', 'crunch')

    def succeed(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder,
                              stdin=subprocess.DEVNULL, timeout=100)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout + done.stderr


class GdbTest(PluginTest):
    tool = 'gdb'

    def gdb(self, *commands):
        # The last one decides how gdb ends.
        arguments = [word for command in (*commands, 'echo') for word in ('-ex', command)]
        told = self.succeed('gdb', '-nx', '-q', '-batch', '-x', EXAMPLES / 'gdb_counts.py',
                            *arguments, './crunch')
        if 'Scripting in the "Python" language is not supported' in told:
            self.skipTest('this gdb has no Python')
        return told

    def record(self):
        if not support.TOOL:
            self.skipTest('HBBP_TOOL is not set')
        self.succeed(support.TOOL, 'record', '--source', 'ebs', '-c', str(support.PERIOD_NS),
                     '-o', 'run.hbbp', '--', './crunch')

    def test_counts_beside_instructions(self):
        self.record()
        told = self.gdb('hbbp-load run.hbbp', 'hbbp-disassemble crunch', 'hbbp-hot 1')
        self.assertIn("<Profile of './crunch'", told)
        self.assertRegex(told, r'<\+0> +test edi, edi\n')
        count, = re.findall(r'> +([\d,]+)  imul ', told)
        block = hbbp.load(self.folder / 'run.hbbp').blocks().top(1, 'instructions')[0]
        self.assertEqual(count, f'{block.count:,.0f}')
        self.assertRegex(told, rf'{count}  crunch  crunch  {block.start:#x}-')

    def test_place_of_a_running_program(self):
        self.record()
        if not re.search('^Breakpoint 1, ', self.gdb('break crunch', 'run'), flags=re.M):
            self.skipTest('gdb cannot run programs here')
        told = self.gdb('hbbp-load run.hbbp', 'break crunch', 'run', 'stepi', 'hbbp-disassemble')
        self.assertRegex(told, r'=> 0x[0-9a-f]+ <\+2> ')
        self.assertEqual(told.count('=> 0x'), 1, told)

    def test_mistakes_are_told(self):
        self.assertIn('no profile yet: hbbp-load FILE', self.gdb('hbbp-disassemble main'))
        self.assertIn('nowhere', self.gdb('hbbp-load nowhere'))
        self.record()
        self.assertIn("did you mean 'crunch'?",
                      self.gdb('hbbp-load run.hbbp', 'hbbp-disassemble crun'))
        self.assertIn('the program does not run', self.gdb('hbbp-load run.hbbp',
                                                           'hbbp-disassemble'))


class PerfTest(PluginTest):
    tool = 'perf'

    def test_counts_beside_samples(self):
        if 'libpython: [ on' not in self.succeed('perf', 'version', '--build-options'):
            self.skipTest('this perf has no Python')
        self.succeed('perf', 'record', '-q', '-e', 'cpu-clock:u', '-F', '500', '-o', 'perf.data',
                     './crunch')
        told = self.succeed('perf', 'script', '-i', 'perf.data', '-s',
                            EXAMPLES / 'perf_counts.py')
        block = hbbp.import_recording(self.folder / 'perf.data').blocks().top(1, 'samples')[0]
        line = f'crunch count {block.count:,.0f} of {block.instruction_count} instructions'
        self.assertEqual(told.count(line), block.samples)
        path = re.escape(os.path.realpath(self.folder / 'crunch'))
        self.assertRegex(told, rf'\n +{block.samples} +[\d,]+ +[\d,]+  {path} crunch 0x')


# Only what has a tool is a test.
del PluginTest

if __name__ == '__main__':
    support.main(__name__)
