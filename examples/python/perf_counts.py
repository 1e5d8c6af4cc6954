"""Block counts in perf script: each sample with how often the block that it is in ran.

    perf record -o perf.data ./program
    perf script -i perf.data -s perf_counts.py [perf.data]

At the end the blocks that had most samples. The package has to be where perf's Python finds it:
install it, or set PYTHONPATH.
"""
import bisect
import collections
import sys

import hbbp

RECORDING = sys.argv[1] if len(sys.argv) > 1 else 'perf.data'

functions = {}  # starts, by path and name
blocks = {}  # by path, in order of their starts, with a list of these
samples = collections.Counter()
outside = 0


def trace_begin():
    try:
        profile = hbbp.import_recording(RECORDING)
    except hbbp.Error as error:
        sys.exit(str(error))
    paths = [module.path for module in profile.modules()]
    for function in profile.functions():
        functions[paths[function.module], function.name] = function.start
    for block in profile.blocks():
        of_module, starts = blocks.setdefault(paths[block.module], ([], []))
        of_module.append(block)
        starts.append(block.start)
    for caveat in profile.caveats():
        print(f'note: {caveat}')


def block_at(path, name, offset):
    if path not in blocks or (path, name) not in functions:
        return None
    address = functions[path, name] + offset
    of_module, starts = blocks[path]
    i = bisect.bisect_right(starts, address) - 1
    return of_module[i] if i >= 0 and address < of_module[i].end else None


def process_event(event):
    global outside
    block = block_at(event.get('dso'), event.get('symbol'), event.get('symoff', 0))
    if block is None:
        outside += 1
        return
    samples[event['dso'], block] += 1
    sample = event['sample']
    print(f'{event["comm"]} {sample["tid"]} {sample["ip"]:#x} {event["symbol"]} '
          f'count {block.count:,.0f} of {block.instruction_count} instructions')


def trace_end():
    print(f'\n{"samples":>8}  {"count":>15}  {"error":>12}  block')
    for (path, block), number in samples.most_common(10):
        print(f'{number:>8}  {block.count:>15,.0f}  {block.standard_error:>12,.0f}  '
              f'{path} {block.function_name} {block.start:#x}-{block.end:#x}')
    print(f'{outside} samples in no block that is known')
