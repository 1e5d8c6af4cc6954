"""Counts of each instruction and jump, by callgrind, as text that `hbbp import --binary` reads: what a sampler would see that
sees everything.

Callgrind counts instructions. Ranges of code that control ran through are put together from them: at an instruction that
ran more often than the one before it ranges begin, and at a branch those end that were taken.
"""
import collections
import re
import subprocess


class _Reader:
    """Reads callgrind's format: costs of instructions, jumps and calls of one object."""

    def __init__(self, name):
        self.name = name
        self.executed = collections.Counter()  # by address
        self.taken = collections.Counter()     # by origin and target
        self._objects = {}
        self._object = self._called_object = ''
        self._address = 0
        self._branch = None

    def _position(self, token):
        if token == '*':
            return self._address
        if token[0] in '+-':
            return self._address + int(token[0] + '1') * int(token[1:], 0)
        return int(token, 0)

    def _named(self, value):
        number, name = re.match(r'\((\d+)\)(?: (.*))?$', value).groups()
        if name:
            self._objects[number] = name
        return self._objects[number]

    def read(self, lines):
        for line in lines:
            key, _, value = line.rstrip('\n').partition('=')
            if key == 'ob':
                self._object = self._called_object = self._named(value)
            elif key == 'cob':
                self._called_object = self._named(value)
            elif key in ('calls', 'jump', 'jcnd'):
                count, target = value.split()[:2]
                self._branch = self._called_object, self._position(target), int(count.split('/')[0])
            elif re.match(r'[0-9+*-]', line):
                self._add(line.split())

    def _add(self, fields):
        self._address = self._position(fields[0])
        is_ours = self._object.endswith('/' + self.name)
        if self._branch is not None:  # the cost of it follows, with what it called
            target_object, target, count = self._branch
            if is_ours and target_object == self._object:
                self.taken[self._address, target] += count
            self._branch, self._called_object = None, self._object
        elif is_ours:
            self.executed[self._address] += int(fields[2])


def _instructions(binary):
    """Returns the address and mnemonic of each instruction."""
    listing = subprocess.run(['objdump', '-d', '--no-show-raw-insn', binary], capture_output=True, text=True, check=True)
    return [(int(address, 16), mnemonic)
            for address, mnemonic in re.findall(r'^ +([0-9a-f]+):\t(\S+)', listing.stdout, re.MULTILINE)]


class _Ranges:
    """Puts ranges together; those that began last end first."""

    def __init__(self):
        self.counts = collections.Counter()
        self._open = []  # start and count
        self.running = 0

    def begin(self, address, count):
        self._open.append((address, count))
        self.running += count

    def end(self, last, count):
        while count > 0 and self._open:
            start, running = self._open.pop()
            ended = min(running, count)
            self.counts[start, last] += ended
            if ended < running:
                self._open.append((start, running - ended))
            self.running -= ended
            count -= ended


def _find_ranges(instructions, executed, taken):
    leaving = collections.Counter()
    for (origin, _), count in taken.items():
        leaving[origin] += count
    ranges, last = _Ranges(), 0
    for address, mnemonic in instructions:
        count = executed[address]
        ranges.end(last, ranges.running - count)
        if count > ranges.running:
            ranges.begin(address, count - ranges.running)
        if re.match(r'jmp|ret|call|bnd|notrack', mnemonic):
            ranges.end(address, count)
        elif mnemonic[0] == 'j':
            ranges.end(address, leaving[address])
        last = address
    ranges.end(last, ranges.running)
    return ranges.counts


def write_exact_counts(binary, command, output):
    """Runs a command whose first word is the binary, under callgrind, and writes the text."""
    stripped, costs = output.with_suffix('.stripped'), output.with_suffix('.callgrind')
    # valgrind may not read the debug information. Addresses stay.
    subprocess.run(['objcopy', '-g', binary, stripped], check=True)
    subprocess.run(['valgrind', '--tool=callgrind', '--dump-instr=yes', '--collect-jumps=yes',
                    f'--callgrind-out-file={costs}', stripped, *command[1:]],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    reader = _Reader(stripped.name)
    with open(costs, encoding='utf-8') as lines:
        reader.read(lines)
    ranges = _find_ranges(_instructions(stripped), reader.executed, reader.taken)
    with open(output, 'w', encoding='utf-8') as text:
        for (origin, target), count in sorted(reader.taken.items()):
            text.write(f'B {origin:x} {target:x} {count} 0\n')
        for (start, last), count in sorted(ranges.items()):
            text.write(f'F {start:x} {last:x} {count}\n')
