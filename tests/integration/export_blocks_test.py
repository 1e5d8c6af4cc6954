#!/usr/bin/env python3
"""Tests exports of blocks: csv and json against hbbp blocks."""
import csv
import json
import subprocess

import export_support
import record_support

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


if __name__ == '__main__':
    record_support.main(ExportBlocksTest)
