"""Builds a program of four functions, of which two are vector code, and counts its instructions without hbbp."""
import pathlib
import re
import shutil
import subprocess
import unittest

import count_support

SOURCE = r'''
#include <stdlib.h>
enum { N = 1024 };
static double a[N], b[N];
static float f[N], g[N];
__attribute__((noipa)) void Triad(double s) {
  for (int i = 0; i < N; ++i) a[i] += s * b[i];
}
__attribute__((noipa)) void Single(float s) {
  for (int i = 0; i < N; ++i) f[i] = f[i] * s + g[i];
}
__attribute__((noipa)) double Recurrence(double x) {
  double y = 1;
  for (int i = 0; i < N; ++i) y = y * x + b[i];
  return y;
}
__attribute__((noipa)) unsigned Integer(unsigned n) {
  for (int i = 0; i < N; ++i) n = n * 1664525u ^ (n >> 7);
  return n;
}
int main(int argc, char** argv) {
  double sum = 0;
  unsigned n = 1;
  for (int i = 0; i < N; ++i) b[i] = g[i] = i;
  for (long round = atol(argv[argc - 1]); round > 0; --round) {
    Triad(1e-9);
    Single(0.5f);
    sum += Recurrence(1e-3);
    n = Integer(n);
  }
  return sum < 0 || n == 42;
}
'''
FUNCTIONS = ('Triad', 'Single', 'Recurrence', 'Integer')
VECTORS = ('-O3', '-mavx2', '-mfma')
SCALAR = ('-O3', '-fno-tree-vectorize', '-mavx2', '-mfma')


# The compiler turns the condition, which holds of every other element, into write masks.
MASKED_SOURCE = r'''
#include <stdlib.h>
enum { N = 4096 };
static float a[N], b[N];
__attribute__((noipa)) void Masked(float s) {
  for (int i = 0; i < N; ++i) {
    if (a[i] > s) b[i] = a[i] * s;
  }
}
int main(int argc, char** argv) {
  for (int i = 0; i < N; ++i) a[i] = i % 2;
  for (long round = atol(argv[argc - 1]); round > 0; --round) Masked(0.5f);
  return b[N - 1] < 0;
}
'''
MASKED = ('-O3', '-mavx512f', '-mavx512vl', '-mprefer-vector-width=512')


def build(directory, name, options, source=SOURCE, needs=('avx2', 'fma')):
    """Returns the path of the program; skips where it cannot be built or run."""
    flags = re.search(r'^flags\s*:(.*)', pathlib.Path('/proc/cpuinfo').read_text(), re.MULTILINE)
    if shutil.which('gcc') is None or flags is None or not set(needs) <= set(flags.group(1).split()):
        raise unittest.SkipTest(f'no gcc, or no {", ".join(needs)}')
    text, source, program = source, directory / f'{name}.c', directory / name
    source.write_text(text)
    subprocess.run(['gcc', *options, '-g', '-o', program, source], check=True)
    return program


class Instruction:
    """What objdump's text says of an instruction compiled for AVX2."""

    def __init__(self, text):
        self.mnemonic = text.split()[0]
        arithmetic = re.fullmatch(r'v(?:add|sub|mul|div|sqrt|max|min|fn?m(?:add|sub)\d+)([ps])[sd]', self.mnemonic)
        self.computes = arithmetic is not None
        is_packed = re.search(r'p[sd]$', self.mnemonic) is not None or self.mnemonic.startswith('vp')
        self.vector_bits = 256 if '%ymm' in text else 128 if '%xmm' in text and is_packed else 0
        self.is_packed = self.vector_bits != 0


def disassemble(program):
    """Yields (function, address, text) of each instruction."""
    listing = subprocess.run(['objdump', '-d', '--no-show-raw-insn', program], capture_output=True, text=True,
                             check=True).stdout
    function = None
    for line in listing.splitlines():
        symbol = re.fullmatch(r'[0-9a-f]+ <(.*)>:', line)
        function = symbol.group(1) if symbol else function
        instruction = re.match(r' +([0-9a-f]+):\t(.*)', line)
        if instruction:
            yield function, int(instruction.group(1), 16), instruction.group(2)


def last_loop(program, function):
    """Returns what objdump prints of the instructions up to the last branch backwards, from where that leads to."""
    code = {address: text for name, address, text in disassemble(program) if name == function}
    first, last = [(int(text.split()[1], 16), address) for address, text in code.items()
                   if re.match(r'j\w+ +[0-9a-f]+ ', text) and int(text.split()[1], 16) <= address][-1]
    return [text for address, text in code.items() if first <= address <= last]


def count(program, *arguments):
    """Returns [(function, Instruction, executions)] of FUNCTIONS, by callgrind and objdump."""
    out = pathlib.Path(f'{program}.callgrind')
    count_support.valgrind('callgrind', '--dump-instr=yes', '--skip-plt=no', f'--callgrind-out-file={out}',
                           program=[program, *arguments])
    counts = count_support.Counts(out).of(program)
    return [(function, Instruction(text), counts[address]) for function, address, text in disassemble(program)
            if counts[address] and function in FUNCTIONS]
