"""Block counts in gdb: what of a function ran, while you look at it.

    hbbp record -o run.hbbp -- ./program
    gdb -x gdb_counts.py ./program
    (gdb) hbbp-load run.hbbp
    (gdb) hbbp-disassemble [FUNCTION]     the one of the selected frame, if none is named
    (gdb) hbbp-hot [N]                    where it ran most

The package has to be where gdb's Python finds it: install it, or set PYTHONPATH.
"""
import os

import gdb
import hbbp

profile = None


def loaded():
    if profile is None:
        raise gdb.GdbError('no profile yet: hbbp-load FILE')
    return profile


class Load(gdb.Command):
    """hbbp-load FILE: a profile of hbbp, or a recording of perf."""

    def __init__(self):
        super().__init__('hbbp-load', gdb.COMMAND_FILES, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        global profile
        path = os.path.expanduser(argument)
        try:
            try:
                profile = hbbp.load(path)
            except hbbp.BadFormatError:
                profile = hbbp.import_recording(path)
        except hbbp.Error as error:
            raise gdb.GdbError(str(error))
        print(repr(profile))


class Disassemble(gdb.Command):
    """hbbp-disassemble [FUNCTION]: instructions with counts; => is where the program is."""

    def __init__(self):
        super().__init__('hbbp-disassemble', gdb.COMMAND_DATA, gdb.COMPLETE_SYMBOL)

    def invoke(self, argument, from_tty):
        offset = None
        module = None
        name = argument.strip()
        if not name:
            name, module, offset = self.place()
        try:
            listing = loaded().annotate(name, module)
        except hbbp.Error as error:
            raise gdb.GdbError(str(error))
        start = listing[0].address
        for line in listing:
            mark = '=>' if line.address - start == offset else '  '
            count = f'{line.count:,.0f}' if line.count else ''
            print(f'{mark} {line.address:#x} <+{line.address - start}>  {count:>15}  {line.text}')
        print('\n'.join(listing.notes))

    @staticmethod
    def place():
        """Function, file and distance from the function's start of the selected frame."""
        try:
            frame = gdb.selected_frame()
        except gdb.error:
            raise gdb.GdbError('the program does not run: hbbp-disassemble FUNCTION')
        if frame.function() is None:
            raise gdb.GdbError(f'no function is known at {frame.pc():#x}')
        path = gdb.solib_name(frame.pc()) or gdb.current_progspace().filename
        start = int(frame.function().value().address)
        return frame.function().linkage_name, os.path.basename(path), frame.pc() - start


class Hot(gdb.Command):
    """hbbp-hot [N]: the blocks with most instructions."""

    def __init__(self):
        super().__init__('hbbp-hot', gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        for block in loaded().blocks().top(int(argument or 10), 'instructions'):
            print(f'{block.count:>15,.0f}  {block.module_name}  {block.function_name}  '
                  f'{block.start:#x}-{block.end:#x}')


Load()
Disassemble()
Hot()
