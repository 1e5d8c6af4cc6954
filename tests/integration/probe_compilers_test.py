"""Tests the profiles that hbbp probe writes for clang: it promotes the indirect calls that the program makes most."""
import export_support
import record_support
from export_support import CLANG, DEBUG, run

# apply() calls brighten() in 90 % of its calls, invert() in 10 %.
FILTERS = '''#include <stdio.h>
typedef unsigned (*Filter)(unsigned);
static unsigned brighten(unsigned pixel) { return pixel + 16; }
static unsigned invert(unsigned pixel) { return ~pixel; }
static Filter const filters[] = {brighten, invert};

__attribute__((noinline)) static unsigned apply(Filter filter, unsigned pixel) {
  return filter(pixel) * 3;
}

int main(int argc, char **argv) {
  unsigned sum = 0;
  for (unsigned i = 0; i < 1000; i++) sum += apply(filters[i % (9 + argc) == 0], i);
  printf("%u\\n", sum);
  return 0;
}
'''
PROMOTED = ['Promote indirect call to brighten with count 900 out of 1000',
            'Promote indirect call to invert with count 100 out of 100']


class ProbeCompilersTest(export_support.ExportTest):

    def setUp(self):
        super().setUp()
        self.need(CLANG)
        self.source, self.program = self.directory / 'filter.c', self.directory / 'filter'
        self.source.write_text(FILTERS)
        run(CLANG, *DEBUG, '-o', self.program, self.source)

    def probe(self, productions, *options):
        """Returns the text of the sample profile of a run."""
        profile = self.directory / 'filter.prof'
        result = self.run_tool('probe', '-p', productions, '--sample-profile', profile, '--module', 'filter', *options, '--',
                               self.program)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        return profile.read_text()

    def promoted(self, *options):
        """Returns which calls clang says that it promotes."""
        messages = run(CLANG, '-O2', '-g', *options, '-Rpass=pgo-icall-prom', '-c', '-o', self.directory / 'filter.o', self.source,
                       stderr=-2)
        return [line.split('remark: ')[1].split(' [')[0] for line in messages.splitlines() if 'remark: ' in line]

    def test_clang_promotes_indirect_calls(self):
        self.assertEqual(self.promoted(), [])
        self.assertEqual(self.probe('indirect-targets', '--exhaustive'), 'apply:1000:0\n 1: 1000 brighten:900 invert:100\n')
        self.assertEqual(self.promoted(f'-fprofile-sample-use={self.directory / "filter.prof"}'), PROMOTED)

    def test_all_lines_and_calls(self):
        text = self.probe('sample-profile', '--exhaustive')
        self.assertRegex(text, r'(?m)^apply:\d+:1000\n( \d.*\n)*? 1: 1000 brighten:900 invert:100\n')
        self.assertRegex(text, r'(?m)^brighten:\d+:900\n 0: 900\n')
        self.assertRegex(text, r'(?m)^main:\d+:1\n( \d.*\n)*? 2(\.\d+)?: 1000 apply:1000\n( \d.*\n)*? 3: 1 printf:1\n')
        self.assertEqual(self.promoted(f'-fprofile-sample-use={self.directory / "filter.prof"}'), PROMOTED)

    def test_profiles_in_bursts(self):
        text = self.probe('indirect-targets', '--sample-freq', '7', '--burst-length', '5')
        self.assertRegex(text, r'^apply:\d+:0\n 1: \d+ brighten:\d+ invert:\d+\n$')

    def test_what_cannot_be_written(self):
        profile = self.directory / 'none.prof'
        self.assertIn("needs productions that count by pc, as 'sample-profile' and 'indirect-targets' do",
                      self.refused('probe', '--sample-profile', profile, '--', 'true'))
        self.assertIn('--module chooses the file of --sample-profile', self.refused('probe', '--module', 'filter', '--', 'true'))
        run('strip', self.program)
        result = self.run_tool('probe', '-p', 'indirect-targets', '--exhaustive', '--sample-profile', profile, '--module', 'filter',
                               '--', self.program)
        self.assertEqual(result.returncode, 2)
        self.assertIn('note: no lines of ', result.stdout)
        self.assertIn('build with debug information (clang -g -fdebug-info-for-profiling)', result.stderr)
        self.assertFalse(profile.exists())


if __name__ == '__main__':
    record_support.main(ProbeCompilersTest)
