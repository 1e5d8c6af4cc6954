"""Shared code of the tests of hbbp export: a program that compilers build, its profile, and tools that read it."""
import pathlib
import shutil
import subprocess

import record_support

# A hot loop of two functions, one of which is inlined, with a branch that is taken once in 64 times; and a library.
MAIN = '''#include <stdio.h>
#include <stdlib.h>
long library(long value);
static unsigned state = 1;

static unsigned draw(void) {
  state = state * 1664525 + 1013904223;
  return state >> 16;
}

__attribute__((noinline)) static long step(long sum, unsigned value) {
  if (value % 64 == 0) {
    sum += value % 1000;
    sum ^= sum >> 3;
  } else {
    sum += value;
  }
  return sum;
}

int main(int argc, char **argv) {
  long sum = 0, rounds = argc > 1 ? atol(argv[1]) : 40000000;
  for (long i = 0; i < rounds; i++) sum = step(sum, draw());
  for (long i = 0; i < rounds / 8; i++) sum += library(i);
  printf("%ld\\n", sum);
  return 0;
}
'''
LIBRARY = '''__attribute__((noinline)) static long twice(long value) { return value % 7 + value / 3; }
long library(long value) { return twice(value) ^ twice(value + 1); }
'''
# clang 14 and later read such profiles alike.
CLANG = 'clang-19' if shutil.which('clang-19') else 'clang-14'
DEBUG = ('-O2', '-g', '-fdebug-info-for-profiling')


def run(*words, **options):
    """Runs a command that must succeed; returns what it prints."""
    done = subprocess.run([str(word) for word in words], text=True,
                          **{'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **options})
    if done.returncode != 0:
        raise AssertionError(f'{words}: {done.returncode}\n{done.stdout}\n{done.stderr}')
    return done.stdout


class ExportTest(record_support.RecordTest):

    def need(self, *tools):
        for tool in tools:
            if shutil.which(tool) is None:
                self.skipTest(f'no {tool}')

    def build(self, compiler='gcc', options=DEBUG, name='choose'):
        """Builds the program and its library. Returns its path."""
        self.need(compiler)
        main, library = self.directory / 'choose.c', self.directory / 'library.c'
        main.write_text(MAIN)
        library.write_text(LIBRARY)
        program, shared = self.directory / name, self.directory / f'lib{name}.so'
        as_library = [option for option in options if option not in ('-no-pie', '-static')]
        run(compiler, *as_library, '-shared', '-fPIC', '-o', shared, library)
        run(compiler, *options, '-o', program, main, shared, f'-Wl,-rpath,{self.directory}')
        return program

    def trace(self, *command):
        """Records a program densely by software branch tracing."""
        reason = record_support.why_not_permitted()
        if reason:
            self.skipTest(reason)
        result = self.run_tool('record', '-e', 'task-clock', '-c', 1_000_000, '-o', self.file, '--', *command)
        self.assertEqual(result.returncode, 0, result)

    def export(self, name, *options, notes=None, status=0):
        """Exports the profile in a format. Returns the path of the file."""
        path = self.directory / f'out.{name}'
        result = self.run_tool('export', '--format', name, self.file, '-o', path, *options)
        self.assertEqual(result.returncode, status, result)
        if notes is not None:
            notes.extend(result.stderr.splitlines())
        return path

    def executions(self, function, module=None):
        """Returns the instructions that hbbp counts in a function."""
        rows = self.rows('mix', self.file, '--by', 'module,function')
        return sum(row['instructions'] for row in rows
                   if row['function'] == function and module in (None, pathlib.Path(row['module']).name))
