"""Tests names of functions in the tables of a C++ program with templates that are alike: short, and whole where that is asked for."""
import csv
import io
import json
import shutil
import subprocess

import record_support

# Both instantiations of Scan are shop::Index<...>::Scan(...) without what is long.
SOURCE = r'''
#include <cstdlib>
#include <map>
#include <string>
#include <vector>
namespace shop {
using Prices = std::map<std::string, std::vector<long>>;
using Names = std::map<long, std::string>;
template <typename Table>
struct Index {
  static __attribute__((noinline)) double Scan(const Table& table, long end) {
    volatile double sum = static_cast<double>(table.size());
    for (long i = 1; i < end; ++i) sum = sum + 1.5;
    return sum;
  }
};
__attribute__((noinline)) double Spend(const std::map<std::string, std::string>& all, long end) {
  volatile double sum = static_cast<double>(all.size());
  for (long i = 1; i < end; ++i) sum = sum * 1.0000001;
  return sum;
}
}
int main(int, char** argv) {
  const long end = std::atol(argv[1]);
  const double sum = shop::Index<shop::Prices>::Scan({}, end) + shop::Index<shop::Names>::Scan({}, end) + shop::Spend({}, end);
  return sum < 0;
}
'''
ROUNDS = 30_000_000
STRING = 'std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >'


# clang makes functions of no bytes, at the addresses of those behind them.
EMPTY = '''
#include <stdio.h>
#include <stdlib.h>
#define LOOP(name, factor) \\
  __attribute__((noinline)) long name(long n) { \\
    long r = 1; \\
    for (long i = 0; i < n; i++) { r = r * factor + i; __asm__ volatile("" : "+r"(r)); } \\
    return r; \\
  }
void empty(void) { __builtin_unreachable(); }
LOOP(first, 31)
LOOP(second, 33)
void other(void) { __builtin_unreachable(); }
LOOP(third, 37)
int main(int argc, char **argv) {
  long n = atol(argv[argc - 1]);
  printf("%ld\\\\n", first(n) + second(n) + third(n));
}
'''


class FunctionNamesTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        if shutil.which('g++') is None:
            self.skipTest('no g++')
        source, self.program = self.directory / 'shop.cc', self.directory / 'shop'
        source.write_text(SOURCE)
        subprocess.run(['g++', '-O1', '-o', self.program, source], check=True)
        self.record(self.program, ROUNDS, options=('--time-quantum', '100ms'))
        symbols = subprocess.run(['nm', '-C', self.program], capture_output=True, text=True, check=True).stdout
        self.whole = sorted(name for name in (line.split(None, 2)[-1] for line in symbols.splitlines())
                            if name.startswith(('shop::Index', 'shop::Spend')))
        self.assertEqual(len(self.whole), 3, symbols)
        # The two of Index keep what they differ in.
        prices, names, spend = sorted(self.whole, key=lambda name: ('Spend' in name, 'vector' not in name))
        strings = {name: name.replace(STRING, 'std::string') for name in (prices, names)}
        self.short = {spend: 'shop::Spend(...)'}
        for name, text in strings.items():
            self.short[name] = text[:text.index('(')] + '(...)'

    def text(self, *arguments):
        result = self.run_tool(*arguments)
        self.assertEqual(result.returncode, 0, result)
        return result.stdout

    def check(self, *command):
        short, full = self.text(*command), self.text(*command, '--full-names')
        for name in self.whole:
            self.assertIn(self.short[name], short)
            self.assertNotIn(name, short)
            self.assertIn(name, full)
        self.assertEqual(len(set(self.short.values())), 3)
        for names in ((), ('--full-names',)):
            parsed = json.loads(self.text(*command, '--format', 'json', *names))
            rows = list(csv.reader(io.StringIO(self.text(*command, '--format', 'csv', *names))))
            for name in self.whole:
                self.assertTrue(any(name in str(cell) for row in parsed['rows'] for cell in row.values()), (name, parsed))
                self.assertTrue(any(name in cell for row in rows for cell in row), (name, rows))
        return short

    def test_functions_behind_empty_ones_are_found_without_symbols(self):
        if shutil.which('clang-14') is None or shutil.which('ld.lld-14') is None and shutil.which('ld.lld') is None:
            self.skipTest('no clang-14 with lld')
        source, program = self.directory / 'empty.c', self.directory / 'empty'
        source.write_text(EMPTY)
        subprocess.run(['clang-14', '-O2', '-fuse-ld=lld', '-o', program, source], check=True)
        symbols = subprocess.run(['nm', program], capture_output=True, text=True, check=True).stdout
        starts = {hex(int(line.split()[0], 16)) for line in symbols.splitlines()
                  if line.endswith((' first', ' second', ' third'))}
        subprocess.run(['strip', program], check=True)
        self.record(program, 60_000_000)
        listing = self.run_tool('mix', self.file, '--by', 'function', '--format', 'json')
        self.assertEqual(listing.returncode, 0, listing)
        rows = [row for row in json.loads(listing.stdout)['rows'] if row['share'] > 0.05]
        self.assertEqual({row['function'] for row in rows}, starts, listing.stdout)
        self.assertEqual(len(rows), 3)

    def test_names_are_short_in_tables_only(self):
        for command in (('mix', self.file, '--by', 'function'), ('report', self.file), ('blocks', self.file),
                        ('loops', self.file), ('mix', self.file, '--by', 'function,mnemonic', '--top', '100'),
                        ('diff', self.file, self.file, '--by', 'function', '--top', '100')):
            with self.subTest(command[0]):
                self.check(*command)
        with self.subTest('columns'):
            self.check('mix', self.file, '--by', 'module', '--columns', 'function', '--values', 'instructions')

    def test_phases_have_short_names(self):
        self.check('phases', self.file, '--top', '9')

    def test_columns_stay_aligned(self):
        lines = self.text('mix', self.file, '--by', 'function', '--values', 'instructions,share').splitlines()
        title = lines[0].index('function')
        for line in lines[1:]:
            if 'shop::' in line:
                self.assertEqual(line.index('shop::'), title, lines)


if __name__ == '__main__':
    record_support.main(FunctionNamesTest)
