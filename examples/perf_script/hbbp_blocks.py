"""Prints for every sample of perf how often its block was executed, and the blocks with most samples.

    perf script -i perf.data -s hbbp_blocks.py [FILE]

FILE has the counts: perf.data, which is the default, or a profile of any other run of the same files.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), os.pardir))
import profile_blocks  # pylint: disable=wrong-import-position

FILE = sys.argv[1] if len(sys.argv) > 1 else 'perf.data'
BLOCKS = None
SAMPLES = collections.Counter()  # by module and start of a block; None for samples outside of blocks
CODE_STARTS = {}  # offset of the executable segment, by file


def offset_of_code(path):
    if path not in CODE_STARTS:
        offsets = [segment.offset & ~4095 for segment in profile_blocks.segments(path)
                   if segment.flags & profile_blocks.PF_X]
        CODE_STARTS[path] = offsets[0] if offsets else 0
    return CODE_STARTS[path]


def trace_begin():
    global BLOCKS
    try:
        BLOCKS = profile_blocks.ProfileBlocks(FILE)
    except (OSError, RuntimeError) as error:
        sys.exit(str(error))
    for note in BLOCKS.notes:
        print(f'note: {note}')


def process_event(event):
    # perf does not report which part of a file a mapping is, but there is only one with code.
    path, ip = event.get('dso'), event['sample']['ip']
    row = None
    if path and 'dso_map_start' in event:
        address = profile_blocks.address_of_offset(path, ip - event['dso_map_start'] + offset_of_code(path))
        row = None if address is None else BLOCKS.find(path, address)
    SAMPLES[row and (row['module'], row['start'])] += 1
    location = f'{event.get("symbol", hex(ip))}+0x{event.get("symoff", 0):x}'
    print(f'{event["comm"]} {event["sample"]["pid"]} {location}: '
          f'{profile_blocks.text_of(row) if row else "in no block of the profile"}')


def trace_end():
    without = SAMPLES.pop(None, 0)
    print(f'{sum(SAMPLES.values())} samples in blocks of {FILE}, {without} in none; {BLOCKS.unit}')
    for (module, start), samples in SAMPLES.most_common(10):
        row = BLOCKS.find(module, start)
        print(f'{samples:>8} samples: {module} {row["function"]} {profile_blocks.text_of(row)}')
