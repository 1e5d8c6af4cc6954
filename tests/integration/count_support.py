"""Makes exact counts for tests by hbbp count and valgrind, and reads their files."""
import collections
import os
import subprocess

# The C library of the counted program must not use what valgrind lacks.
ENVIRONMENT = dict(
    os.environ,
    GLIBC_TUNABLES='glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-RTM,'
                   '-Prefer_No_VZEROUPPER')


def symbols(path):
    """Returns {name: address} of a file's symbol table."""
    listing = subprocess.run(['nm', path], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}


class Counts:
    """Reads a file of callgrind's format: {path: {address: count}} and {address: function}."""

    def __init__(self, path):
        self.modules = collections.defaultdict(collections.Counter)
        self.functions = collections.defaultdict(collections.Counter)
        self.header = {}
        names, position, skip = {}, 0, False
        module = function = None
        columns = 1

        def named(kind, text):
            number, _, name = text.partition(')')
            if not text.startswith('('):
                return text
            if name.strip():
                names[kind, number] = name.strip()
            return names[kind, number]

        with open(path) as file:
            for line in map(str.rstrip, file):
                key, _, value = line.partition('=')
                if line[:1] in '+-*0123456789' and line:
                    words = line.split()
                    if words[0][0] in '+-':
                        position += int(words[0])
                    elif words[0] != '*':
                        position = int(words[0], 0)
                    if skip:
                        skip = False
                    elif len(words) > columns:
                        self.modules[module][position] += int(words[columns])
                        self.functions[module][function] += int(words[columns])
                elif key in ('ob', 'cob'):
                    found = named('ob', value)
                    module = found if key == 'ob' else module
                elif key in ('fn', 'cfn'):
                    found = named('fn', value)
                    function = found if key == 'fn' else function
                elif key == 'calls':
                    skip = True
                elif ': ' in line:
                    name, _, text = line.partition(': ')
                    self.header.setdefault(name, text)
                    if name == 'positions':
                        columns = len(text.split())

    def total(self):
        return sum(sum(counts.values()) for counts in self.modules.values())

    def of(self, path):
        return self.modules[os.path.realpath(path)]


def valgrind(tool, *words, program):
    return subprocess.run(['valgrind', '-q', f'--tool={tool}', *words, '--', *map(str, program)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=240,
                          env=ENVIRONMENT)
