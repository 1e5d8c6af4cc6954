#!/usr/bin/env python3
"""Shows which code ran below Python: hot functions, blocks and instructions of an extension module.

usage: native_code.py [sqlite | bz2 | zlib | numpy]
"""
import collections
import sys

import hbbp


def sqlite():
    import sqlite3
    database = sqlite3.connect(':memory:')
    database.execute('create table t(key integer, word text)')
    database.executemany('insert into t values(?, ?)',
                         ((i * 7919 % 100003, str(i)) for i in range(200_000)))
    for _ in range(20):
        database.execute('select count(*), sum(key * key % 97), max(length(word)) from t'
                         ' where key % 7 < 5').fetchall()


def text():
    return ''.join(f'{i * i} bottles of beer, ' for i in range(200_000)).encode()


def bz2():
    import bz2
    bz2.decompress(bz2.compress(text()))


def zlib():
    import zlib
    for _ in range(5):
        zlib.decompress(zlib.compress(text()))


def numpy():
    import numpy
    values = numpy.linspace(0, 10, 1_000_000)
    for _ in range(40):
        numpy.sqrt(values * values + 1).sum()


WORKLOADS = {'sqlite': sqlite, 'bz2': bz2, 'zlib': zlib, 'numpy': numpy}


def main():
    work = WORKLOADS.get(sys.argv[1] if len(sys.argv) > 1 else 'sqlite')
    if work is None:
        sys.exit(__doc__)
    try:
        with hbbp.Session(period=1_000_000) as session:
            work()
    except hbbp.Error as error:
        sys.exit(f'{error.status.name}: {error}')
    profile = session.profile()

    print(profile.pivot('module', values='instructions', top=5), end='\n\n')
    # Only functions that the interpreter called are listed, not its own.
    functions = profile.functions()
    native = collections.Counter()
    for function in functions:
        if not function.module_name.startswith(('python', 'libpython')):
            native[function.module_name] += function.instructions
    if not native:
        sys.exit('no sample outside the interpreter; give it more work')
    hottest = max(native, key=native.get)

    print(f'Instructions of {hottest}:')
    print(profile.pivot('category', where=f'module = "{hottest}"', top=8), end='\n\n')

    print(f'Hot blocks of {hottest}:')
    blocks = profile.blocks().where(lambda block: block.module_name == hottest)
    for block in blocks.top(3, 'instructions'):
        print(f'{block.function_name} {block.start:#x}: {block.count:,.0f} ± '
              f'{block.standard_error:,.0f}')
        for line in profile.annotate(functions[block.function]):
            if block.start <= line.address < block.end:
                print(f'    {line.address:#x}  {line.text}')


if __name__ == '__main__':
    main()
