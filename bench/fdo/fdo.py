#!/usr/bin/env python3
"""What a profile is worth to a compiler: programs rebuilt by clang with profiles of several kinds, timed in turns.

usage: fdo.py HBBP [--sources DIR] [--only NAME,..] [--rounds N] [--trainings N] [--period NS] [--profi] [--keep DIR]
       fdo.py HBBP --similarity [--sources DIR] [--only NAME,..] [--trainings N] [--keep DIR]

HBBP is the command. Sources are those of Debian (apt-get source bzip2 lua5.4 sqlite3 libzstd xz-utils python3.11
cppcheck), unpacked in DIR; what is missing is fetched there. Builds, all by clang -O2:

  none          without a profile; with debug information, as the profiled build
  ours          -fprofile-sample-use of hbbp export --format llvm, of branch tracing by a clock
  clock         the same of clock samples alone, which is what perf has without LBR
  exact         the same of exact counts, by callgrind: the most that a sampler could have
  instrumented  -fprofile-use of an instrumented run: what can be had
  bolt          no compiler: llvm-bolt with hbbp export --format bolt of the build without a profile
  bolt-own      the same with counts that llvm-bolt instruments for
  both          `ours`, profiled again, and the same as bolt

A profile is of so many runs as --trainings says, merged. The program that is measured does what the profiled one did, with
other data. Times are user time of the process, in rounds of all builds in turn; medians, and gain = none / other - 1.
`share` is our gain of the instrumented one's. Similarities with the profile of exact counts are those of llvm-profdata
overlap, of our profile and of that of the clock. With --similarity they are all that is measured, by period.
"""
import argparse
import concurrent.futures
import math
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

import exact_counts

CLANG = {'.c': 'clang-19', '.cpp': 'clang++-19'}
PROFDATA = 'llvm-profdata-19'
BOLT = '/usr/lib/llvm-16/bin/llvm-bolt'
DEBUG = ['-g', '-fdebug-info-for-profiling']
OPTIONS = ['-O2', '-w']
PERIODS_NS = (250_000, 1_000_000, 4_000_000, 20_000_000)
PROFI = ['-mllvm', '-sample-profile-use-profi']

LUA = '''
local function trees(depth)
  if depth == 0 then return {} end
  return {trees(depth - 1), trees(depth - 1)}
end
local function count(tree) return tree[1] and 1 + count(tree[1]) + count(tree[2]) or 1 end
local function sieve(n)
  local composite, primes = {}, 0
  for i = 2, n do
    if not composite[i] then
      primes = primes + 1
      for j = i * i, n, i do composite[j] = true end
    end
  end
  return primes
end
local function words(n)
  local seen, state = {}, SEED
  for _ = 1, n do
    state = (state * 1103515245 + 12345) % 2147483648
    local word = string.format("w%d", state % 5000)
    seen[word] = (seen[word] or 0) + 1
  end
  local list = {}
  for word, times in pairs(seen) do list[#list + 1] = {word, times} end
  table.sort(list, function(a, b) return a[2] > b[2] or a[2] == b[2] and a[1] < b[1] end)
  return list[1][1]:gsub("w", "x"):upper()
end
for _ = 1, SIZE do
  io.write(count(trees(13)), " ", sieve(200000), " ", words(100000), "\\n")
end
'''


PYTHON = '''
class Random:
    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 1103515245 + 12345) % 2147483648
        return self.state % limit


class Node:
    def __init__(self, left=None, right=None):
        self.left, self.right = left, right

    def count(self):
        return 1 + sum(child.count() for child in (self.left, self.right) if child is not None)


def tree(depth):
    return Node() if depth == 0 else Node(tree(depth - 1), tree(depth - 1))


def queens(size, row=0, columns=frozenset(), rising=frozenset(), falling=frozenset()):
    if row == size:
        return 1
    return sum(queens(size, row + 1, columns | {column}, rising | {row + column}, falling | {row - column})
               for column in range(size)
               if column not in columns and row + column not in rising and row - column not in falling)


def words(random, number):
    seen = {}
    for _ in range(number):
        word = f"w{random.below(5000)}"
        seen[word] = seen.get(word, 0) + 1
    return sorted(seen.items(), key=lambda item: (-item[1], item[0]))[:3]


def sieve(limit):
    composite = bytearray(limit)
    for i in range(2, int(limit ** 0.5) + 1):
        if not composite[i]:
            for j in range(i * i, limit, i):
                composite[j] = 1
    return limit - sum(composite)


def waves(number):
    total = 0.0
    for i in range(number):
        x = i * 0.001
        total += x - x ** 3 / 6 + x ** 5 / 120
    return round(total, 3)


random = Random(SEED)
for _ in range(SIZE):
    text = " ".join(word for word, _ in words(random, 60000))
    print(tree(13).count(), queens(7), text.upper().split(), sieve(200000), waves(100000), 3 ** 3000 % 1000007)
'''


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, **options)
    if done.returncode != 0:
        sys.exit(f'{" ".join(map(str, words))}: {done.returncode}\n{done.stderr.decode(errors="replace")[-2000:]}')
    return done.stdout


def user_seconds(command, **options):
    """Runs a command; returns the user time of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   **options)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


class Program:
    """A program: its sources, how it is built, and two runs that differ in their data."""

    def __init__(self, name, directory):
        self.name = name
        self.directory = directory

    def build(self, path, options, link):
        """Makes a program of the sources, at a path."""
        def compile_one(source):
            target = path.with_name(f'{path.name}-{source.stem}.o')
            run(CLANG[source.suffix], *OPTIONS, *options, *self.options(), '-c', '-o', target, source)
            return target
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as compilers:
            objects = list(compilers.map(compile_one, self.sources()))
        run(CLANG[self.sources()[0].suffix], *OPTIONS, *options, *link, '-o', path, *objects, *self.libraries())

    def sources(self):
        raise NotImplementedError

    def options(self):
        return []

    def libraries(self):
        return []

    def prepare(self, work):
        """Makes what the runs need."""

    def command(self, binary, is_training):
        raise NotImplementedError


def every_second(paths, first, limit):
    """Returns the content of every second file, up to a number of bytes."""
    content = b''
    for path in paths[first::2]:
        content += path.read_bytes()
        if len(content) >= limit:
            break
    return content[:limit]


class Compressor(Program):

    def prepare(self, work):
        headers = sorted(path for path in pathlib.Path('/usr/include').rglob('*.h') if path.is_file())
        compiler = pathlib.Path(run('gcc', '-print-prog-name=cc1').decode().strip()).read_bytes()
        self.inputs = {}
        for first, is_training in enumerate((True, False)):
            path = work / f'{self.name}-{"train" if is_training else "measure"}.in'
            machine_code = compiler[first * 8_000_000:(first + 1) * 8_000_000]
            path.write_bytes(every_second(headers, first, 8_000_000) + machine_code)
            self.inputs[is_training] = path


class Bzip2(Compressor):

    def sources(self):
        names = ('blocksort', 'huffman', 'crctable', 'randtable', 'compress', 'decompress', 'bzlib', 'bzip2')
        return [self.directory / f'{name}.c' for name in names]

    def command(self, binary, is_training):
        return [binary, '-kc', self.inputs[is_training]]


class Zstd(Compressor):

    def sources(self):
        parts = ('lib/common', 'lib/compress', 'lib/decompress', 'lib/dictBuilder', 'programs')
        return sorted(path for part in parts for path in (self.directory / part).glob('*.c'))

    def options(self):
        return ['-DZSTD_DISABLE_ASM']

    def libraries(self):
        return ['-lpthread']

    def command(self, binary, is_training):
        return [binary, '-9', '-kc', '--single-thread', self.inputs[is_training]]


class Lua(Program):

    def sources(self):
        return sorted(path for path in (self.directory / 'src').glob('*.c') if path.name != 'luac.c')

    def options(self):
        return ['-DLUA_USE_POSIX', '-DLUA_USE_DLOPEN', f'-I{self.generated}']

    def libraries(self):
        return ['-lm', '-ldl', '-Wl,-E']

    def prepare(self, work):
        # Debian's rules make it.
        self.generated = work / 'lua-generated'
        self.generated.mkdir(exist_ok=True)
        (self.generated / 'lua5.4-deb-multiarch.h').write_text('#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"\n')
        self.scripts = {}
        for is_training, seed in ((True, 42), (False, 4711)):
            path = work / f'{seed}.lua'
            path.write_text(LUA.replace('SEED', str(seed)).replace('SIZE', '12'))
            self.scripts[is_training] = path

    def command(self, binary, is_training):
        return [binary, self.scripts[is_training]]


class Sqlite(Program):

    def sources(self):
        return [self.amalgamation / 'sqlite3.c', self.directory / 'test' / 'speedtest1.c']

    def options(self):
        return [f'-I{self.amalgamation}', '-DSQLITE_THREADSAFE=0', '-DSQLITE_OMIT_LOAD_EXTENSION']

    def libraries(self):
        return ['-lm']

    def prepare(self, work):
        self.amalgamation = work / 'amalgamation'
        self.amalgamation.mkdir(exist_ok=True)
        if not (self.amalgamation / 'sqlite3.c').exists():
            run(self.directory / 'configure', '--disable-tcl', cwd=self.amalgamation)
            run('make', 'sqlite3.c', cwd=self.amalgamation)

    def command(self, binary, is_training):
        return [binary, ':memory:', '--size', '25' if is_training else '40']


class Configured(Program):
    """A program with a configure script and a Makefile."""

    configuration = []
    made = ''  # what make is asked for
    result = ''

    def build(self, path, options, link):
        directory = path.with_name(f'{path.name}.build')
        shutil.rmtree(directory, ignore_errors=True)  # of a run that was interrupted
        directory.mkdir()
        flags = ' '.join(map(str, (*OPTIONS, *options)))
        run(self.directory / 'configure', *self.configuration, f'CC={CLANG[".c"]}', f'CFLAGS={flags}',
            f'LDFLAGS={" ".join(map(str, (*options, *link)))}', cwd=directory)
        run('make', f'-j{os.cpu_count()}', *self.made.split(), cwd=directory)
        shutil.copy(directory / self.result, path)


class Xz(Configured, Compressor):

    configuration = ['--disable-shared', '--disable-nls', '--disable-doc', '--disable-xzdec', '--disable-lzmadec']
    result = 'src/xz/xz'

    def command(self, binary, is_training):
        return [binary, '-3', '-kc', self.inputs[is_training]]


class Python(Configured):

    configuration = ['--without-ensurepip', '--with-computed-gotos', 'OPT=-DNDEBUG -fwrapv']
    made = 'python'
    result = 'python'

    def prepare(self, work):
        # The interpreter alone finds its library by this.
        os.environ['PYTHONPATH'] = str(self.directory / 'Lib')
        self.scripts = {}
        for is_training, seed in ((True, 42), (False, 4711)):
            path = work / f'{seed}.py'
            path.write_text(PYTHON.replace('SEED', str(seed)).replace('SIZE', '20' if is_training else '30'))
            self.scripts[is_training] = path

    def command(self, binary, is_training):
        return [binary, '-S', '-s', '-B', self.scripts[is_training]]


class Cppcheck(Program):

    def sources(self):
        parts = ('lib', 'cli', 'externals/simplecpp', 'externals/tinyxml2')
        return sorted(path for part in parts for path in (self.directory / part).glob('*.cpp'))

    def options(self):
        parts = ('lib', 'externals/simplecpp', 'externals/tinyxml2', 'externals/picojson')
        return ['-DNDEBUG', f'-DFILESDIR="{self.directory}"', *(f'-I{self.directory / part}' for part in parts)]

    def libraries(self):
        return ['-lpthread']

    def command(self, binary, is_training):
        names = ('path.cpp', 'pathmatch.cpp') if is_training else ('library.cpp',)
        return [binary, '-q', '--enable=all', *(self.directory / 'lib' / name for name in names)]


PROGRAMS = {'bzip2': (Bzip2, 'bzip2'), 'lua': (Lua, 'lua5.4'), 'sqlite': (Sqlite, 'sqlite3'), 'zstd': (Zstd, 'libzstd'),
            'xz': (Xz, 'xz-utils'), 'python': (Python, 'python3.11'), 'cppcheck': (Cppcheck, 'cppcheck')}


def similarity(first, second):
    """Returns how similar two profiles are to LLVM, which does not depend on their totals."""
    listing = run(PROFDATA, 'overlap', '--sample', first, second).decode()
    return float(re.search(r'Whole program profile similarity: ([0-9.]+)%', listing)[1]) / 100


class Experiment:

    def __init__(self, hbbp, program, work, arguments):
        self.hbbp = hbbp
        self.program = program
        self.work = work
        self.trainings = arguments.trainings
        self.period = ['-c', arguments.period] if arguments.period else []
        self.sample_options = PROFI if arguments.profi else []

    def file(self, ending):
        return self.work / f'{self.program.name}{ending}'

    def build(self, name, *options, link=()):
        """Builds once; returns the path."""
        path = self.file(f'-{name}')
        if not path.exists():
            self.program.build(path, options, link)
        return path

    def record(self, name, binary, *options):
        """Returns the merged profile of the runs of a binary."""
        merged = self.file(f'-{name}.data')
        if merged.exists():
            return merged
        parts = [self.file(f'-{name}-{index}.data') for index in range(self.trainings)]
        for part in parts:
            run(self.hbbp, 'record', *options, '-o', part, '--', *self.program.command(binary, True))
        run(self.hbbp, 'merge', '-o', merged, *parts)
        for part in parts:
            part.unlink()
        return merged

    def exact(self):
        """Returns the profile of exact counts of one run."""
        merged, text = self.file('-exact.data'), self.file('-exact.text')
        if not merged.exists():
            exact_counts.write_exact_counts(self.base, self.program.command(self.base, True), text)
            run(self.hbbp, 'import', '--binary', self.base, '-o', merged, text)
        return merged

    def export(self, name, data):
        profile = self.file(f'-{name}.prof')
        run(self.hbbp, 'export', '--format', 'llvm', '--module', self.base.name, '-o', profile, data)
        return profile

    def sampled(self, name, profile):
        return self.build(name, *DEBUG, f'-fprofile-sample-use={profile}', *self.sample_options, link=['-Wl,-q'])

    def instrumented(self):
        generating = self.build('generate', '-fprofile-generate')
        raw, profile = self.file('.profraw'), self.file('.profdata')
        run(*self.program.command(generating, True), env={**os.environ, 'LLVM_PROFILE_FILE': str(raw)})
        run(PROFDATA, 'merge', raw, '-o', profile)
        return self.build('instrumented', *DEBUG, f'-fprofile-use={profile}')

    def builds(self):
        """Returns {name: path}, and the similarities of our profile and that of the clock with exact counts."""
        # With relocations, for BOLT; they change nothing else.
        self.base = self.build('none', *DEBUG, link=['-Wl,-q'])
        tracing = ['-e', 'task-clock', *self.period]
        data = self.record('ours', self.base, *tracing)
        profiles = {'ours': self.export('ours', data),
                    'clock': self.export('clock', self.record('clock', self.base, '--source', 'ebs', '-e', 'task-clock',
                                                              '-c', '1000000')),
                    'exact': self.export('exact', self.exact())}
        found = {'none': self.base, 'instrumented': self.instrumented()}
        for name, profile in profiles.items():
            found[name] = self.sampled(name, profile)
        if shutil.which(BOLT) is not None:
            found['bolt'] = self.bolted('bolt', self.base, self.export_bolt('bolt', self.base, data))
            found['bolt-own'] = self.bolted('bolt-own', self.base, self.bolt_counts())
            again = self.record('again', found['ours'], *tracing)
            found['both'] = self.bolted('both', found['ours'], self.export_bolt('both', found['ours'], again))
        return found, [similarity(profiles['exact'], profiles[name]) for name in ('ours', 'clock')]

    def export_bolt(self, name, binary, data):
        fdata = self.file(f'-{name}.fdata')
        run(self.hbbp, 'export', '--format', 'bolt', '--module', binary, '-o', fdata, data)
        return fdata

    def bolt_counts(self):
        counting, fdata = self.file('-counting'), self.file('-counting.fdata')
        run(BOLT, self.base, '-instrument', f'-instrumentation-file={fdata}', '-o', counting)
        run(*self.program.command(counting, True))
        return fdata

    def bolted(self, name, binary, fdata):
        path = self.file(f'-{name}')
        run(BOLT, binary, '-data', fdata, '-o', path, '-reorder-blocks=ext-tsp', '-reorder-functions=hfsort',
            '-split-functions', '-split-all-cold', '-dyno-stats')
        return path

    def measure(self, builds, rounds):
        """Returns the median time of each build."""
        outputs = {name: run(*self.program.command(path, False)) for name, path in builds.items()}
        if self.program.name != 'sqlite' and len(set(outputs.values())) != 1:  # which prints times
            sys.exit(f'{self.program.name}: outputs differ')
        times = {name: [] for name in builds}
        for _ in range(rounds):
            for name, path in builds.items():
                times[name].append(user_seconds(self.program.command(path, False)))
        return {name: statistics.median(seconds) for name, seconds in times.items()}

    def similarities_by_period(self):
        """Yields those of one run, of branch tracing and of clock samples."""
        self.base = self.build('none', *DEBUG, link=['-Wl,-q'])
        exact = self.export('exact', self.exact())
        for period in PERIODS_NS:
            yield [similarity(exact, self.export(name, self.record(name, self.base, '--source', source, '-e', 'task-clock',
                                                                   '-c', str(period))))
                   for source in ('swbt', 'ebs') for name in [f'{source}-{period}']]


def fetch(package, sources):
    for is_fetched in (False, True):
        for path in sorted(sources.glob(f'{package}-*')):
            if path.is_dir():
                return path
        if not is_fetched:
            run('apt-get', 'source', package, cwd=sources)
    sys.exit(f'apt-get source {package} made no directory {package}-*')


def print_similarities(experiments):
    print(f'| program | source | {" | ".join(f"{period / 1e6:g} ms" for period in PERIODS_NS)} |')
    print('|---|---|' + '---|' * len(PERIODS_NS))
    for experiment in experiments:
        for source, values in zip(('swbt', 'ebs'), zip(*experiment.similarities_by_period())):
            cells = ' | '.join(f'{100 * value:.1f} %' for value in values)
            print(f'| {experiment.program.name} | {source} | {cells} |', flush=True)


def print_gains(experiments, rounds):
    # First all builds, then all times, for which the machine should have nothing else to do.
    builds = [experiment.builds() for experiment in experiments]
    gains = {}
    columns = ('ours', 'clock', 'exact', 'instrumented', 'bolt', 'bolt-own', 'both')
    print(f'| program | none, s | {" | ".join(columns)} | share | similarity of ours | of clock |')
    print('|---|---|' + '---|' * (len(columns) + 3), flush=True)
    for experiment, (paths, similarities) in zip(experiments, builds):
        times = experiment.measure(paths, rounds)
        gain = {build: times['none'] / seconds for build, seconds in times.items()}
        for build, value in gain.items():
            gains.setdefault(build, []).append(value)
        cells = [f'{100 * (gain[build] - 1):.1f} %' if build in gain else '-' for build in columns]
        share = (gain['ours'] - 1) / (gain['instrumented'] - 1) if gain['instrumented'] > 1 else math.nan
        cells += [f'{100 * value:.1f} %' for value in (share, *similarities)]
        print(f'| {experiment.program.name} | {times["none"]:.2f} | {" | ".join(cells)} |', flush=True)
    means = {build: math.exp(statistics.fmean(map(math.log, values))) - 1 for build, values in gains.items()}
    print('geometric means: ' + ', '.join(f'{build} {100 * mean:.1f} %' for build, mean in means.items() if build != 'none'))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('hbbp', type=pathlib.Path)
    parser.add_argument('--sources', type=pathlib.Path)
    parser.add_argument('--only', default=','.join(PROGRAMS))
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--trainings', type=int, default=10)
    parser.add_argument('--period', help='of our profile, in ns; otherwise that of hbbp record')
    parser.add_argument('--profi', action='store_true', help='let clang infer what sampling missed')
    parser.add_argument('--similarity', action='store_true')
    parser.add_argument('--keep', type=pathlib.Path, help='a directory where builds and profiles stay, and are taken from')
    arguments = parser.parse_args()
    for tool in (*CLANG.values(), PROFDATA, 'valgrind', 'objdump'):
        if shutil.which(tool) is None:
            sys.exit(f'no {tool}; apt-get install clang-19 llvm-19 libclang-rt-19-dev valgrind binutils')
    work = arguments.keep or pathlib.Path(tempfile.mkdtemp(prefix='hbbp-fdo-'))
    work.mkdir(exist_ok=True)
    sources = arguments.sources or work
    experiments = []
    for name in arguments.only.split(','):
        kind, package = PROGRAMS[name]
        program = kind(name, fetch(package, sources).resolve())
        program.prepare(work)
        experiments.append(Experiment(arguments.hbbp.resolve(), program, work.resolve(), arguments))
    if arguments.similarity:
        print_similarities(experiments)
    else:
        print_gains(experiments, arguments.rounds)
    if not arguments.keep:
        shutil.rmtree(work)


if __name__ == '__main__':
    main()
