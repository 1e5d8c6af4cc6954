"""Says of every sample of perf how often the block that it is in was executed.

    hbbp import -o profile.hbbp perf.data     (or a profile of any other run of the same files)
    perf script -i perf.data -s hbbp_blocks.py profile.hbbp
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), os.pardir))
import profile_blocks  # pylint: disable=wrong-import-position

BLOCKS = None
FOUND = [0, 0]  # samples without a block, and with one
CODE_STARTS = {}  # offset of the executable segment, by file


def offset_of_code(path):
    if path not in CODE_STARTS:
        offsets = [segment.offset & ~4095 for segment in profile_blocks.segments(path)
                   if segment.flags & profile_blocks.PF_X]
        CODE_STARTS[path] = offsets[0] if offsets else 0
    return CODE_STARTS[path]


def trace_begin():
    global BLOCKS
    if len(sys.argv) != 2:
        sys.exit('usage: perf script -s hbbp_blocks.py PROFILE')
    BLOCKS = profile_blocks.ProfileBlocks(sys.argv[1])


def process_event(event):
    # perf does not say which part of a file a mapping is: of code there is one.
    path, ip = event.get('dso'), event['sample']['ip']
    row = None
    if path and 'dso_map_start' in event:
        address = profile_blocks.address_of_offset(path, ip - event['dso_map_start'] + offset_of_code(path))
        row = None if address is None else BLOCKS.find(path, address)
    FOUND[row is not None] += 1
    place = f'{event.get("symbol", hex(ip))}+0x{event.get("symoff", 0):x}'
    print(f'{event["comm"]} {event["sample"]["pid"]} {place}: '
          f'{profile_blocks.text_of(row) if row else "in no block of the profile"}')


def trace_end():
    print(f'{FOUND[1]} samples in blocks of {sys.argv[1]}, {FOUND[0]} in none; {BLOCKS.unit}')
