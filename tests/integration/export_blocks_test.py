#!/usr/bin/env python3
"""Tests exports of blocks: csv and json against hbbp blocks, and vectors by slices of time against hbbp mix."""
import csv
import json
import re
import subprocess

import export_support
import record_support
import recording_builder as built

COUNTS = ('count', 'standard_error', 'low', 'high')


class ExportBlocksTest(export_support.ExportTest):

    def exported_json(self, *options):
        return json.loads(self.export('json', *options).read_text())

    def exported_csv(self):
        with open(self.export('csv'), newline='', encoding='utf-8') as file:
            return list(csv.DictReader(file))

    def line_at(self, program, address):
        """Returns 'file:line' by addr2line."""
        out = subprocess.run(['addr2line', '-e', program, hex(address)], capture_output=True, text=True, check=True).stdout
        return out.split(' (discriminator')[0].strip()

    def check(self, program):
        """Checks json and csv against hbbp blocks. Returns the blocks of the program."""
        self.trace(program)
        expected = {(row['module'], int(row['start'], 16)): row for row in self.rows('blocks', self.file)}
        exported = self.exported_json()
        blocks = {(row['module'], row['start']): row for row in exported['blocks']}
        self.assertEqual(len(blocks), len(exported['blocks']))
        self.assertEqual(set(blocks), set(expected))
        modules = {module['name']: module['build_id'] for module in exported['modules']}
        for key, block in blocks.items():
            for name in ('instructions', 'count', 'standard_error', 'source', 'function'):
                self.assertEqual(block[name], expected[key][name], (key, name))
            self.assertEqual(block['end'], int(expected[key]['end'], 16))
            self.assertEqual(block['build_id'], modules[block['module']])
            self.assertLessEqual(block['low'], block['count'])
            self.assertGreaterEqual(block['high'], block['count'])
        found, = ((source['kind'], source['event'], source['period']) for source in exported['sources'])
        self.assertEqual(found, tuple(self.info()['sources'][0][key] for key in ('kind', 'event', 'period')))
        self.assert_same(self.exported_csv(), exported['blocks'])
        return [block for block in exported['blocks'] if block['module'] == str(program)]

    def assert_same(self, lines, blocks):
        self.assertEqual(len(lines), len(blocks))
        for line, block in zip(lines, blocks):
            self.assertEqual(list(line), list(block))
            read = {name: text or None for name, text in line.items()}
            for name in ('start', 'end', 'instructions', 'samples', 'line'):
                read[name] = read[name] and int(read[name], 0)
            for name in COUNTS:
                read[name] = read[name] and float(read[name])
            self.assertEqual(read, block)

    def test_tables_of_a_pie_and_its_library(self):
        self.need('addr2line')
        program = self.build('gcc', ('-O2', '-g', '-pie', '-fPIE'))
        blocks = self.check(program)
        with_lines = [block for block in blocks if block['line'] is not None]
        self.assertTrue(with_lines)
        for block in with_lines:
            self.assertEqual(f'{block["file"]}:{block["line"]}', self.line_at(program, block['start']))
        chosen = self.exported_json('--module', 'libchoose.so')
        self.assertEqual({block['symbol'] for block in chosen['blocks']} - {'library', 'twice'}, set())
        self.assertEqual([module['name'] for module in chosen['modules']], [str(program.with_name('libchoose.so'))])

    def test_tables_of_a_program_at_a_fixed_address(self):
        blocks = self.check(self.build('gcc', ('-O2', '-no-pie')))
        self.assertTrue(blocks)
        self.assertTrue(all(block['start'] > 0x400000 for block in blocks))

    def import_modules(self, samples):
        """Imports a recording of libraries {path: samples} at the start of their only function, in that order."""
        self.need('gcc', 'nm')
        event = built.Event(11, built.CYCLES, 'cycles:u')
        records, time = [], 10
        for number, (path, count) in enumerate(samples.items()):
            path.parent.mkdir(exist_ok=True)
            source = path.with_suffix('.s')
            source.write_text(f'.globl work\n.type work, @function\nwork: mov ${number}, %eax\nret\n.size work, .-work\n')
            export_support.run('gcc', '-shared', '-nostdlib', '-Wl,--build-id', '-o', path, source)
            start, = re.findall(r'(?m)^(\w+) T work$', export_support.run('nm', path))
            base = 0x10000000 * (1 + number)
            records.append(event.mapping(7, base, 0x10000, str(path)))
            for _ in range(count):
                time += 1
                records.append(event.sample(base + int(start, 16), 7, time))
        recording = self.directory / 'perf.data'
        recording.write_bytes(built.file([event], records))
        result = self.run_tool('import', '-o', self.file, recording)
        self.assertEqual(result.returncode, 0, result)

    def test_the_busiest_of_several_modules_of_a_name_is_chosen(self):
        first, second, third = (self.directory / name / 'same.so' for name in ('first', 'second', 'third'))
        for samples in {first: 2, second: 9, third: 4}, {second: 9, third: 4, first: 2}, {third: 4, first: 2, second: 9}:
            self.import_modules(samples)
            for name, module in ('same.so', second), (first, first), (third, third):
                with self.subTest(name=name, order=list(samples)):
                    blocks = self.exported_json('--module', name)['blocks']
                    self.assertEqual({block['module'] for block in blocks}, {str(module)})
            message = self.refused('export', '--format', 'json', '--module', 'ame.so', self.file)
            self.assertIn('no module of the profile', message)
            self.file.unlink()

    def vectors(self, text):
        """Returns [(slice, {block: instructions})]."""
        found = []
        for comment, line in re.findall(r'^# slice (\d+): from \d+ to \d+ ns\nT(.*)$', text, re.MULTILINE):
            pairs = re.findall(r':(\d+):(\d+) ', line)
            self.assertEqual(''.join(f':{block}:{number} ' for block, number in pairs), line)
            found.append((int(comment), {int(block): int(number) for block, number in pairs}))
        self.assertEqual(len(found), len(re.findall('^T', text, re.MULTILINE)))
        return found

    def check_vectors(self, *record_options):
        program = self.build('gcc', ('-O2', '-g'))
        reason = record_support.why_not_permitted()
        if reason:
            self.skipTest(reason)
        result = self.run_tool('record', '-e', 'task-clock', '-c', 500_000, '--time-quantum', '10ms', *record_options,
                               '-o', self.file, '--', program)
        self.assertEqual(result.returncode, 0, result)
        text = self.export('bbv').read_text()
        vectors = self.vectors(text)
        by_slice = {row['slice']: row['instructions'] for row in self.rows('mix', self.file, '--by', 'slice')
                    if row['slice'] != 'unknown'}
        found = {str(number): sum(vector.values()) for number, vector in vectors}
        self.assertEqual(set(found), {str(number) for number, sum in by_slice.items() if sum > 0})
        for number, instructions in by_slice.items():
            self.assertAlmostEqual(found.get(str(number), 0), instructions, delta=len(dict(vectors)[int(number)]))
        blocks = dict(re.findall(r'^# block (\d+): (0x\w+ .*)$', text, re.MULTILINE))
        self.assertEqual(set(map(int, blocks)), {block for _, vector in vectors for block in vector})
        self.assertEqual(sorted(map(int, blocks)), list(range(1, len(blocks) + 1)))
        starts = {f'{row["start"]} {row["module"]}' for row in self.rows('blocks', self.file)}
        self.assertLessEqual(set(blocks.values()), starts)

    def test_vectors_of_bursts(self):
        self.check_vectors()

    def test_vectors_of_samples(self):
        self.check_vectors('--source', 'ebs')

    def test_vectors_of_both(self):
        self.check_vectors('--source', 'ebs,swbt')

    def test_vectors_need_slices(self):
        self.trace(self.build('gcc', ('-O2',)))
        self.assertIn('--time-quantum', self.refused('export', '--format', 'bbv', self.file))


if __name__ == '__main__':
    record_support.main(ExportBlocksTest)
