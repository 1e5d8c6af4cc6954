#!/usr/bin/env python3
"""Tests profiles of native code that Python calls: functions, blocks, loops, instructions and source lines."""
import ctypes
import gc
import shutil
import subprocess
import unittest

import hbbp

import support

CODE = '''\
static inline unsigned mixed(unsigned value) {
  return value * 2654435761u ^ value >> 7;  /* line 2 */
}

unsigned crunch(unsigned rounds) {
  unsigned value = 1;
  for (unsigned i = 0; i < rounds; i++) {
    value = mixed(value + i);  /* line 8 */
  }
  return value;
}
'''
ROUNDS = 100_000_000


@support.needs_events
class NativeTest(support.DirectoryTest):

    @classmethod
    def setUpClass(cls):
        if not shutil.which('cc'):
            raise unittest.SkipTest('there is no cc')

    def setUp(self):
        super().setUp()
        source, self.library = self.directory / 'crunch.c', self.directory / 'libcrunch.so'
        source.write_text(CODE)
        subprocess.run(['cc', '-O1', '-g', '-shared', '-fPIC', '-Wl,--build-id', source, '-o',
                        self.library], check=True)
        self.profile = self.profiled(self.library)

    def profiled(self, library):
        crunch = ctypes.CDLL(str(library)).crunch
        with hbbp.Session('ebs', event='task-clock', period=support.PERIOD_NS) as session:
            crunch(ROUNDS)
        return session.profile()

    def test_function_blocks_and_instructions(self):
        function = self.profile.functions().top(1, 'instructions')[0]
        self.assertEqual((function.name, function.module_name), ('crunch', 'libcrunch.so'))
        pivot = self.profile.pivot('mnemonic', where='function = crunch', sort='instructions')
        self.assertGreater(self.profile.pivot(where='function = crunch').total().share, 0.8)
        self.assertIn('imul', [row[0].text for row in pivot.rows])
        block = self.profile.blocks().top(1, 'count')[0]
        self.assertEqual(block.function_name, 'crunch')
        loop = self.profile.loops().top(1, 'own_instructions')[0]
        self.assertEqual((loop.function_name, loop.depth), ('crunch', 1))
        self.assertEqual(loop.header, block.start)

    def test_source_lines(self):
        listing = self.profile.annotate('crunch', module='libcrunch.so')
        hot = [line for line in listing if line.count > 0]
        self.assertTrue(all(line.loop_depth == 1 for line in hot), listing)
        multiply, = [line for line in hot if line.text.startswith('imul')]
        if multiply.line == 0 and any('libdw' in note for note in listing.notes):
            self.skipTest(listing.notes[0])
        self.assertTrue(multiply.file.endswith('crunch.c'), multiply)
        self.assertEqual((multiply.line, multiply.inlined), (2, 'mixed'))
        module = self.profile.functions().top(1, 'instructions')[0].module
        lines = self.profile.analysis().lines_of(module, multiply.address)
        self.assertEqual([(frame.function, frame.line) for frame in lines.frames],
                         [('mixed', 2), ('crunch', 8)])
        self.assertTrue(lines.start <= multiply.address < lines.end)
        self.assertEqual(self.profile.analysis().debug_problem(module), '')
        lines = self.profile.pivot('line', where='function = crunch').rows
        self.assertTrue(any(label.text.endswith('crunch.c:2') or label.number == 2
                            for row in lines for label in row), lines)

    @unittest.skipUnless(shutil.which('objcopy'), 'there is no objcopy')
    def test_debug_information_elsewhere(self):
        separate = self.directory / 'separate.debug'
        subprocess.run(['objcopy', '--only-keep-debug', self.library, separate], check=True)
        subprocess.run(['objcopy', '--strip-debug', self.library, self.directory / 'libbare.so'],
                       check=True)
        profile = self.profiled(self.directory / 'libbare.so')
        function = profile.functions().top(1, 'instructions')[0]
        with self.assertRaisesRegex(hbbp.NotFoundError, 'libbare.so'):
            profile.analysis().lines_of(function.module, function.start)
        build_id = profile.modules()[function.module].build_id
        path = self.directory / '.build-id' / build_id[:2] / f'{build_id[2:]}.debug'
        path.parent.mkdir(parents=True)
        separate.rename(path)
        analysis = profile.analyze(debug_root=self.directory)
        frames = analysis.lines_of(function.module, function.start).frames
        self.assertEqual(frames[-1].function, 'crunch')

    def test_analysis_outlives_the_profile(self):
        analysis = self.profile.analyze()
        part = self.profile.select(tid=self.profile.threads().top(1, 'samples')[0].tid)
        self.profile.close()
        del self.profile
        gc.collect()
        for outliving in (analysis, part):
            self.assertTrue(any(line.line for line in outliving.annotate('crunch')))
        self.assertIn('crunch', [row[0].text for row in analysis.pivot('function').rows])
        self.assertTrue(analysis.modules()[0].path)

    def test_reading_lines_can_be_cancelled(self):
        cancel, reported = hbbp.Cancel(), []
        analysis = self.profile.analyze(
            debug_cancel=cancel,
            debug_progress=lambda module, done, total: reported.append((done, total)))
        function = analysis.functions().top(1, 'instructions')[0]
        self.assertEqual(reported, [])
        cancel.set()
        for _ in range(2):
            with self.assertRaises(hbbp.CancelledError):
                analysis.lines_of(function.module, function.start)
        cancel.clear()
        frames = analysis.lines_of(function.module, function.start).frames
        self.assertTrue(frames)
        self.assertTrue(reported and all(done <= total for done, total in reported), reported)
        # The analysis keeps the flag, and everything that was read before is known.
        cancel.set()
        cancel.close()
        del cancel
        gc.collect()
        self.assertEqual(analysis.lines_of(function.module, function.start).frames, frames)
        with self.assertRaises(hbbp.InvalidStateError):
            closed = hbbp.Cancel()
            closed.close()
            self.profile.analyze(debug_cancel=closed)

    def test_file_is_gone_and_the_profile_stays(self):
        before = self.profile.blocks()
        self.library.unlink()
        saved = self.directory / 'saved.hbbp'
        self.profile.save(saved)
        self.assertEqual(hbbp.load(saved).blocks(), before)
        module = hbbp.load(saved).analysis().modules()[before.top(1, 'count')[0].module]
        self.assertEqual(module.code, hbbp.CodeState.PROFILE)


if __name__ == '__main__':
    support.main(__name__)
