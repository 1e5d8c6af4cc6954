#!/usr/bin/env python3
"""Compiles and runs the code in a document.

usage: snippets_test.py DOCUMENT.md

The environment names the command (HBBP_TOOL), the headers (HBBP_INCLUDE), the library (HBBP_LIBRARY), the
compilers (CC, CXX) and the directory of the Python package (HBBP_PYTHON, may be empty). Fenced blocks by their
language, with comments of the document above them that readers do not see:

  sh                      every option of an hbbp command must exist;
                          after <!-- run --> the block is run, all of a document in one directory
  c, cpp                  compiled, with warnings as errors; a program is linked, what has no main is the body of a
                          function after the declarations of <!-- given: ... -->; run after <!-- run -->
  python                  compiled; after <!-- run --> run
  json                    parsed
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

BLOCK = re.compile(r'((?:^<!--.*?-->\n)*)^```(\w+)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
WARNINGS = ['-Wall', '-Wextra', '-Werror', '-Wno-unused-variable', '-Wno-unused-but-set-variable']
SECONDS = 120


class Failure(Exception):
    pass


def run(words, directory, **options):
    done = subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=SECONDS,
                          stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        raise Failure(f'{" ".join(map(str, words))[:200]}: status {done.returncode}\n{done.stdout}{done.stderr}')
    return done.stdout


class Document:

    def __init__(self, path, directory):
        self.text = path.read_text()
        self.directory = directory
        self.tool = pathlib.Path(os.environ['HBBP_TOOL'])
        self.help = {}
        self.environment = dict(os.environ, PATH=f'{self.tool.parent}:{os.environ["PATH"]}',
                                LD_LIBRARY_PATH=str(pathlib.Path(os.environ['HBBP_LIBRARY']).parent),
                                PYTHONPATH=os.environ.get('HBBP_PYTHON', ''))

    def check(self):
        """Returns (blocks checked, failures)."""
        failures, checked = [], 0
        for match in BLOCK.finditer(self.text):
            comments, language, code = match.groups()
            check = getattr(self, f'check_{language}', None)
            if check is None:
                continue
            checked += 1
            try:
                check(code, comments)
            except Failure as failure:
                line = self.text.count('\n', 0, match.start(3)) + 1
                failures.append(f'line {line}: {failure}')
        return checked, failures

    def check_sh(self, code, comments):
        for line in code.replace('\\\n', ' ').splitlines():
            self.check_options(line)
        if '<!-- run -->' in comments:
            run(['sh', '-eu', '-c', code], self.directory, env=self.environment)

    def check_options(self, line):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            return  # it is a quotation that continues
        while 'hbbp' in words:
            words = words[words.index('hbbp') + 1:]
            if not words or words[0].startswith('-'):
                continue
            known = self.options_of(words[0])
            for word in words[1:]:
                if word in ('--', '|', '&&', ';'):
                    break
                option = word.split('=')[0]
                if re.match(r'-[-a-zA-Z]', option) and option not in known:
                    raise Failure(f'hbbp {words[0]} has no {option}')

    def options_of(self, command):
        if command not in self.help:
            text = run([self.tool, command, '--help'], self.directory)
            self.help[command] = set(re.findall(r'(?<![\w-])(--?[a-zA-Z][-\w]*)', text))
        return self.help[command]

    def check_c(self, code, comments):
        self.compile(code, comments, 'c', os.environ['CC'], '-std=gnu11')

    def check_cpp(self, code, comments):
        self.compile(code, comments, 'cc', os.environ['CXX'], '-std=c++17')

    def compile(self, code, comments, suffix, compiler, standard):
        is_program = re.search(r'\bmain\(', code)
        source = self.directory / f'snippet.{suffix}'
        source.write_text(code if is_program else self.as_function(code, comments, suffix))
        words = [compiler, standard, *WARNINGS, '-I', os.environ['HBBP_INCLUDE'], source, '-o', 'snippet']
        if not is_program:
            run([*words, '-c'], self.directory)
            return
        run([*words, os.environ['HBBP_LIBRARY'], '-pthread', '-lm'], self.directory)
        if '<!-- run -->' in comments:
            run(['./snippet'], self.directory, env=self.environment)

    def as_function(self, code, comments, suffix):
        given = '\n'.join(re.findall(r'<!-- given:\s(.*?)-->', comments, re.DOTALL))
        headers = ['<hbbp/hbbp.hpp>', '<cstdio>'] if suffix == 'cc' else ['<hbbp/hbbp.h>', '<stdint.h>', '<stdio.h>']
        lines = code.splitlines()
        shown = [line for line in lines if line.startswith('#include')]
        body = [line for line in lines if not line.startswith('#include')]
        return '\n'.join(['#define _GNU_SOURCE', *(f'#include {header}' for header in headers), *shown, given,
                          'void snippet(void);', 'void snippet(void) {', *body, '}', ''])

    def check_python(self, code, comments):
        try:
            compile(code, 'snippet.py', 'exec')
        except SyntaxError as error:
            raise Failure(str(error)) from error
        if '<!-- run -->' in comments:
            run([sys.executable, '-c', code], self.directory, env=self.environment)

    def check_json(self, code, comments):
        try:
            json.loads(code)
        except ValueError as error:
            raise Failure(str(error)) from error


def main():
    path = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix='hbbp-docs-') as directory:
        checked, failures = Document(path, pathlib.Path(directory)).check()
    for failure in failures:
        print(f'{path.name}: {failure}')
    print(f'{checked} snippets, {len(failures)} failures')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
