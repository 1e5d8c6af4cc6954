#!/usr/bin/env python3
"""Measures the speed of adding samples from Python, and of reading profiles as arrays.

    HBBP_LIBRARY=build/release/lib/capi/libhbbp.so.0 PYTHONPATH=bindings/python/src \
        bench/python_arrays.py [--samples N] [--runs N]

Each sample has another address, and another block. Figures are medians of CPU time, which other work
on the machine changes less than wall-clock time. The first two include the time of the library, which
looks up and counts each address. It needs numpy and pandas.
"""
import argparse
import statistics
import time

import numpy

import hbbp

CODE_ADDRESS = 0x1000000
FUNCTION_BLOCKS = 1000
STACK_BRANCHES = 32
BRANCH = [('from', 'u8'), ('to', 'u8'), ('flags', 'u8')]


def feed_with(blocks):
    """Makes a feed of generated code in which each instruction is a block: a jump to the next one."""
    feed = hbbp.Feed(order='as-added')
    code = b'\xeb\0' * FUNCTION_BLOCKS
    feed.add_events(
        hbbp.FeedEvent(hbbp.FeedEventKind.CODE, pid=1, address=CODE_ADDRESS + start, size=len(code),
                       code=code, name=f'function {start}')
        for start in range(0, 2 * blocks, len(code)))
    return feed


def samples_of(addresses):
    samples = numpy.zeros(len(addresses), dtype=[('ip', 'u8'), ('pid', 'u4'), ('tid', 'u4')])
    samples['ip'], samples['pid'], samples['tid'] = addresses, 1, 1
    return samples


def stacks_of(addresses):
    """Makes branch stacks of the jump at each address, and of the jumps before it."""
    samples = numpy.zeros(len(addresses) // STACK_BRANCHES,
                          dtype=[('pid', 'u4'), ('tid', 'u4'), ('branches', BRANCH,
                                                                STACK_BRANCHES)])
    samples['pid'], samples['tid'] = 1, 1
    jumps = addresses[:len(samples) * STACK_BRANCHES].reshape(-1, STACK_BRANCHES)[:, ::-1]
    samples['branches']['from'], samples['branches']['to'] = jumps, jumps + 2
    return samples


def seconds(function, *arguments):
    start = time.process_time()
    made = function(*arguments)
    return time.process_time() - start, made


def run(count):
    """Returns {what: (how many, seconds)}."""
    addresses = CODE_ADDRESS + 2 * numpy.arange(count, dtype='u8')
    samples, stacks = samples_of(addresses), stacks_of(addresses)
    one_by_one = [hbbp.FeedSample(ip=ip, pid=1, tid=1) for ip in addresses.tolist()]
    feed = feed_with(count)
    source = feed.add_source('ebs', 'instructions', period=1000)
    branches = feed.add_source('lbr', 'taken-branches', period=1000)
    figures = {}
    figures['samples in, an array'] = count, seconds(feed.add_samples, source, samples)[0]
    figures['samples in, FeedSamples'] = (
        count, seconds(feed.add_samples, source, one_by_one)[0])
    figures['branches in, an array'] = (
        stacks['branches'].size, seconds(feed.add_samples, branches, stacks)[0])
    profile = feed.profile()
    profile.analysis()
    taken, blocks = seconds(profile.blocks)
    figures['blocks out'] = len(blocks), taken
    figures['blocks as an array'] = len(blocks), taken + seconds(blocks.to_numpy)[0]
    figures['blocks as a frame'] = len(blocks), taken + seconds(blocks.to_pandas)[0]
    taken, rows = seconds(profile.branches)
    figures['branches as an array'] = len(rows), taken + seconds(rows.to_numpy)[0]
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--samples', type=int, default=1_000_000)
    parser.add_argument('--runs', type=int, default=3)
    arguments = parser.parse_args()
    runs = [run(arguments.samples) for _ in range(arguments.runs)]
    print('| what | rows | CPU s | millions a second |')
    print('|---|---|---|---|')
    for what, (rows, _) in runs[0].items():
        taken = statistics.median(figures[what][1] for figures in runs)
        print(f'| {what} | {rows:,} | {taken:.2f} | {rows / taken / 1e6:.1f} |')


if __name__ == '__main__':
    main()
