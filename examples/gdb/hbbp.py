"""Shows in gdb how often the blocks of a function were executed, next to its code.

    (gdb) source hbbp.py
    (gdb) hbbp-load FILE          a profile, or a recording of perf
    (gdb) hbbp-blocks             for the function of the selected frame
    (gdb) hbbp-blocks FUNCTION
    (gdb) hbbp-hot [N]            the blocks with most executed instructions
"""
import os
import sys

import gdb

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import profile_blocks  # pylint: disable=wrong-import-position

BLOCKS = None


def address_in_file(pc):
    """Returns (path of the file, address there) for an address of the program."""
    pid = gdb.selected_inferior().pid
    if pid == 0:  # not started: addresses are those of the file
        return gdb.current_progspace().filename, pc
    with open(f'/proc/{pid}/maps') as maps:
        for line in maps:
            words = line.rstrip('\n').split(maxsplit=5)
            start, end = (int(word, 16) for word in words[0].split('-'))
            if start <= pc < end and len(words) == 6:
                offset = pc - start + int(words[2], 16)
                return words[5], profile_blocks.address_of_offset(words[5], offset)
    return None, None


def code_of(name):
    """Returns the instructions of a function, as gdb's disassemble lists them."""
    listing = gdb.execute(f'disassemble {name}', to_string=True)
    for line in listing.splitlines():
        words = line.replace('=>', '  ', 1).split(maxsplit=1)
        if words and words[0].startswith('0x'):
            yield int(words[0], 16), line


class Load(gdb.Command):
    """hbbp-load FILE: read the block counts of a profile, or of a recording of perf."""

    def __init__(self):
        super().__init__('hbbp-load', gdb.COMMAND_FILES, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        global BLOCKS
        words = gdb.string_to_argv(argument)
        if len(words) != 1:
            raise gdb.GdbError('usage: hbbp-load FILE')
        try:
            BLOCKS = profile_blocks.ProfileBlocks(os.path.expanduser(words[0]))
        except (OSError, RuntimeError) as error:
            raise gdb.GdbError(str(error)) from error
        print(f'{sum(map(len, BLOCKS.modules.values()))} blocks of {len(BLOCKS.modules)} files')
        for note in BLOCKS.notes:
            print(f'note: {note}')


def loaded():
    if BLOCKS is None:
        raise gdb.GdbError('no profile; hbbp-load one first')
    return BLOCKS


class Blocks(gdb.Command):
    """hbbp-blocks [FUNCTION]: the code of a function with how often each of its blocks was executed.
Without FUNCTION, it is that of the selected frame."""

    def __init__(self):
        super().__init__('hbbp-blocks', gdb.COMMAND_DATA, gdb.COMPLETE_SYMBOL)

    def invoke(self, argument, from_tty):
        blocks = loaded()
        shown = None
        for pc, line in code_of(argument):
            path, address = address_in_file(pc)
            row = None if address is None else blocks.find(os.path.realpath(path), address)
            if row is not None and row is not shown:
                print(f'# {profile_blocks.text_of(row)}')
            shown = row
            print(f'{"" if row is None else format(row["count"], ",.0f"):>15} {line}')


class Hot(gdb.Command):
    """hbbp-hot [N]: the N blocks in which most instructions ran, 10 if no number is given."""

    def __init__(self):
        super().__init__('hbbp-hot', gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        for row in loaded().hottest(int(gdb.parse_and_eval(argument or '10'))):
            print(f'{os.path.basename(row["module"])} {row["function"]} {profile_blocks.text_of(row)}')


Load()
Blocks()
Hot()
