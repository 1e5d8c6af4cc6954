#!/usr/bin/env python3
"""Tests traces for Perfetto: by what its format demands of packets, against hbbp mix by slices, and by protoc."""
import collections
import subprocess

import export_support
import record_support

THREADS = '''#include <pthread.h>
volatile double result;
__attribute__((noinline)) static void integers(unsigned long rounds) {
  unsigned long x = 1;
  for (unsigned long i = 0; i < rounds; i++) x = x * 6364136223846793005u + (x >> 7);
  result = x;
}
__attribute__((noinline)) static void floats(unsigned long rounds) {
  double x = 1;
  for (unsigned long i = 0; i < rounds; i++) x = x * 1.0000001 + 0.5;
  result = x;
}
static void *work(void *rounds) {
  pthread_setname_np(pthread_self(), "worker");
  integers(*(unsigned long *)rounds);
  floats(*(unsigned long *)rounds);
  return 0;
}
int main(void) {
  unsigned long few = 20000000, many = 60000000;
  pthread_t first, second;
  pthread_create(&first, 0, work, &few);
  pthread_create(&second, 0, work, &many);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
'''
QUANTUM_NS = 10_000_000
# Of protos/perfetto/trace: TrackEvent.Type.
BEGIN, END, COUNTER = 1, 2, 4


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def fields(data):
    """Returns {field: [number or bytes]} of a message."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        else:
            assert key & 7 == 0, key
        found[key >> 3].append(value)
    assert at == len(data)
    return found


class Trace:
    """The tracks of a trace, and their events."""

    def __init__(self, data):
        self.processes, self.threads, self.counters = {}, {}, {}
        self.events = collections.defaultdict(list)
        self.clocks = {}
        self.times = []
        for message in fields(data)[1]:
            self.add(fields(message))

    def add(self, packet):
        assert packet[10] == [1]
        for snapshot in packet[6]:
            for clock in map(fields, fields(snapshot)[1]):
                self.clocks[clock[1][0]] = clock[2][0]
        for descriptor in map(fields, packet[60]):
            uuid, = descriptor[1]
            assert uuid not in self.processes | self.threads | self.counters
            if descriptor[3]:
                process = fields(descriptor[3][0])
                self.processes[uuid] = (process[1][0], process[2][0].decode() if process[2] else None)
            elif descriptor[4]:
                thread = fields(descriptor[4][0])
                assert thread[1][0] == self.processes[descriptor[5][0]][0]
                self.threads[uuid] = (thread[2][0], thread[5][0].decode())
            else:
                assert descriptor[8]
                self.counters[uuid] = (descriptor[2][0].decode(), descriptor[5][0])
        for event in map(fields, packet[11]):
            self.times += packet[8]
            self.add_event(packet[8][0], event)

    def add_event(self, time, event):
        (type_,), (track,) = event[9], event[11]
        if type_ == COUNTER:
            assert track in self.counters
            self.events[track].append((time, event[30][0]))
            return
        assert track in self.threads
        if type_ == BEGIN:
            notes = {note[10][0].decode(): (note[3] or note[6])[0] for note in map(fields, event[4])}
            self.events[track].append([time, None, event[23][0].decode(), notes])
        else:
            assert type_ == END
            assert self.events[track][-1][1] is None
            self.events[track][-1][1] = time

    def values(self, counter):
        """Returns {slice: value}, which holds until the next one."""
        found, events = {}, self.events[counter]
        assert events[-1][1] == 0
        for (time, value), (end, _) in zip(events, events[1:]):
            for slice_ in range(time // QUANTUM_NS, end // QUANTUM_NS):
                if value:
                    found[slice_] = value
        return found


class ExportPerfettoTest(export_support.ExportTest):

    def record(self, *options):
        self.need('gcc')
        source, program = self.directory / 'threads.c', self.directory / 'threads'
        source.write_text(THREADS)
        export_support.run('gcc', '-O1', '-g', '-pthread', '-o', program, source)
        reason = record_support.why_not_permitted()
        if reason:
            self.skipTest(reason)
        result = self.run_tool('record', '-e', 'task-clock', '-c', 500_000, *options, '-o', self.file, '--', program)
        self.assertEqual(result.returncode, 0, result)
        return program

    def mix(self, *keys):
        """Returns {keys: instructions} of what has a time."""
        rows = self.rows('mix', self.file, '--by', ','.join(keys), '--top', 1_000_000)
        return {tuple(row[key] for key in keys): row['instructions'] for row in rows
                if row['slice'] != 'unknown' and row['instructions'] > 0}

    def check(self, *options):
        program = self.record('--time-quantum', '10ms', *options)
        path = self.export('perfetto')
        trace = Trace(path.read_bytes())
        self.assertEqual(trace.times, sorted(trace.times))
        self.assertEqual({time % QUANTUM_NS for time in trace.times}, {0})
        info = self.info()
        (pid, command), = trace.processes.values()
        self.assertEqual((pid, command), (info['pid'], str(program)))
        self.check_threads(trace)
        self.check_groups(trace)
        return path, trace

    def check_threads(self, trace):
        by_thread = self.mix('slice', 'thread')
        functions = collections.defaultdict(dict)
        for (slice_, thread, function), instructions in self.mix('slice', 'thread', 'function').items():
            functions[slice_, thread][function] = instructions
        counters = {parent: uuid for uuid, (name, parent) in trace.counters.items() if parent in trace.threads}
        self.assertEqual(set(counters), set(trace.threads))
        found = {}
        for uuid, (tid, _) in trace.threads.items():
            values = trace.values(counters[uuid])
            for start, end, name, notes in trace.events[uuid]:
                slice_ = start // QUANTUM_NS
                self.assertEqual(end - start, QUANTUM_NS)
                found[slice_, tid] = notes['instructions']
                self.assertEqual(values[slice_], notes['instructions'])
                busiest = max(functions[slice_, tid].values())
                self.assertAlmostEqual(functions[slice_, tid][name], busiest, delta=1e-6 * busiest)
                self.assertAlmostEqual(notes['instructions of the function'], busiest, delta=1)
        self.assertEqual(set(found), set(by_thread))
        for key, instructions in by_thread.items():
            self.assertAlmostEqual(found[key], instructions, delta=1)

    def check_groups(self, trace):
        expected = self.mix('slice', 'groups')
        found = {}
        for uuid, (name, parent) in trace.counters.items():
            if parent in trace.processes:
                group = name.removeprefix('instructions: ')
                found.update({(slice_, group): value for slice_, value in trace.values(uuid).items()})
        self.assertEqual(set(found), set(expected))
        for key, instructions in expected.items():
            self.assertAlmostEqual(found[key], instructions, delta=1)

    def test_bursts(self):
        path, trace = self.check()
        self.assertIn('worker', {name for _, name in trace.threads.values()})
        names = [event[2] for uuid in trace.threads for event in trace.events[uuid]]
        self.assertIn('integers', names)
        self.assertIn('floats', names)
        # The trace begins when the profile does: the time of day (clock 1) at time 0 of the trace's clock (6).
        self.assertEqual(trace.clocks[6], 0)
        self.assertGreater(trace.clocks[1], 1_600_000_000_000_000_000)
        self.need('protoc')
        with open(path, 'rb') as file:
            text = subprocess.run(['protoc', '--decode_raw'], stdin=file, capture_output=True, check=True, text=True).stdout
        self.assertEqual(text.count('\n1 {') + text.startswith('1 {'), len(fields(path.read_bytes())[1]))

    def test_samples(self):
        self.check('--source', 'ebs')

    def test_only_one_module(self):
        self.record('--time-quantum', '10ms')
        trace = Trace(self.export('perfetto', '--module', 'threads').read_bytes())
        names = {event[2] for uuid in trace.threads for event in trace.events[uuid]}
        self.assertLessEqual(names, {'integers', 'floats', 'work', 'main'})

    def test_traces_need_slices(self):
        self.record()
        self.assertIn('--time-quantum', self.refused('export', '--format', 'perfetto', self.file))


if __name__ == '__main__':
    record_support.main(ExportPerfettoTest)
