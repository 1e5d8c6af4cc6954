#!/usr/bin/env python3
"""Tests profiles in callgrind's format by what reads them: callgrind_annotate, and hbbp compare, which reads it as truth."""
import json
import re

import export_support
import record_support
from export_support import run

CXX = '''#include <algorithm>
#include <cstdio>
#include <vector>

namespace shop {
template <typename T> struct Bag {
  std::vector<T> things;
  long sum() const {
    long all = 0;
    for (const T &thing : things) all += thing;
    return all;
  }
};
__attribute__((noinline)) long serve(Bag<int> &bag, long rounds) {
  long all = 0;
  for (long i = 0; i < rounds; ++i) {
    std::rotate(bag.things.begin(), bag.things.begin() + 1, bag.things.end());
    all += bag.sum();
  }
  return all;
}
}  // namespace shop

int main() {
  shop::Bag<int> bag;
  for (int i = 0; i < 1000; ++i) bag.things.push_back(i % 13);
  std::printf("%ld\\n", shop::serve(bag, 200000));
}
'''


class ExportCallgrindTest(export_support.ExportTest):

    def check(self, *command):
        self.trace(*command)
        path = self.export('callgrind')
        self.need('callgrind_annotate')
        said = run('callgrind_annotate', '--threshold=100', path)
        total = int(re.search(r'^\s*([\d,]+) \(100.0%\)\s+PROGRAM TOTALS', said, re.MULTILINE).group(1).replace(',', ''))
        rows = self.rows('mix', self.file, '--by', 'module,function')
        expected = sum(row['instructions'] for row in rows)
        self.assertAlmostEqual(total, expected, delta=expected / 1000)
        # hbbp reads the file as exact counts, by addresses: then it is right.
        result = self.run_tool('compare', self.file, '--truth', path, '--format', 'json')
        self.assertEqual(result.returncode, 0, result)
        modules = [row for row in json.loads(result.stdout)['modules'] if row.get('instructions_ref')]
        self.assertTrue(modules)
        return said, modules

    def assert_right(self, modules):
        for row in modules:
            self.assertLess(row['block_accuracy_error'], 0.001, row)
            self.assertLess(row['avg_weighted_error'], 0.001, row)

    def test_pie_and_its_library(self):
        said, modules = self.check(self.build('gcc', ('-O2', '-g', '-pie', '-fPIE')))
        self.assertRegex(said, r'choose\.c:step ')
        self.assertRegex(said, r'library\.c:(twice|library) ')
        self.assert_right(modules)

    def test_program_at_a_fixed_address(self):
        said, modules = self.check(self.build('gcc', ('-O2', '-g', '-no-pie')))
        self.assertRegex(said, r'choose\.c:step ')
        self.assert_right(modules)

    def test_inlined_code_is_of_its_own_file(self):
        self.need('g++')
        source = self.directory / 'shop.cc'
        source.write_text(CXX)
        run('g++', '-O2', '-g', '-o', self.directory / 'shop', source)
        said, modules = self.check(self.directory / 'shop')
        self.assertRegex(said, r'shop\.cc:shop::serve\(shop::Bag<int>&, long\)')
        self.assertRegex(said, r'stl_\w+\.h:shop::serve\(shop::Bag<int>&, long\)')
        self.assert_right(modules)


if __name__ == '__main__':
    record_support.main(ExportCallgrindTest)
