#!/usr/bin/env python3
"""Tests exports as tables of SQL by SQLite itself, in Python and in its shell, against hbbp mix and csv."""
import collections
import csv
import re
import sqlite3

import export_support
import record_support

THREADS = '''#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *argument) {
  unsigned long x = 1, rounds = *(unsigned long *)argument;
  for (unsigned long i = 0; i < rounds; i++) x = x * 6364136223846793005u + (x >> 7);
  return (void *)x;
}
int main(void) {
  unsigned long few = 20000000, many = 60000000;
  pthread_t first, second;
  pthread_create(&first, NULL, work, &few);
  pthread_create(&second, NULL, work, &many);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  return 0;
}
'''


class ExportSqlTest(export_support.ExportTest):

    def by(self, key, *options):
        """Returns {value: instructions} by hbbp mix; functions of several modules may have one name."""
        sums = collections.defaultdict(float)
        for row in self.rows('mix', self.file, '--by', key, *options):
            sums[str(row[key.replace('-', '_')])] += row['instructions']
        return sums

    def open_sql(self):
        """Returns the tables of --format sql."""
        database = sqlite3.connect(':memory:')
        text = self.export('sql').read_text()
        numbers = re.findall(r'(?<=,)\d+\.\d+(?=[,)])', text)
        # SQLite reads a number exactly if it has all its digits.
        self.assertEqual(numbers, [f'{float(number):.17g}' for number in numbers])
        database.executescript(text)
        self.assertEqual(database.execute('PRAGMA integrity_check').fetchall(), [('ok',)])
        self.assertEqual(database.execute('PRAGMA foreign_key_check').fetchall(), [])
        return database

    def assert_same_sums(self, found, expected):
        self.assertEqual({key for key, instructions in found.items() if instructions},
                         {key for key, instructions in expected.items() if instructions})
        for key, instructions in expected.items():
            self.assertAlmostEqual(found.get(key, 0), instructions, delta=1e-6 * instructions + 1e-6, msg=key)

    def check(self):
        database = self.open_sql()
        for key in ('mnemonic', 'category', 'operand-kinds', 'memory', 'vector-bits', 'length', 'addressing'):
            column = key.replace('-', '_')
            found = dict(database.execute(f'SELECT "{column}", sum(count) FROM executed GROUP BY 1'))
            self.assert_same_sums({str(value): sum for value, sum in found.items()}, self.by(key))
        # Here names are as in the symbol table; of C++ there is only the library that records, at times.
        is_c = "symbol NOT LIKE '\\_Z%' ESCAPE '\\'"
        found = dict(database.execute(f'SELECT symbol, sum(instructions) FROM functions WHERE {is_c} GROUP BY 1'))
        self.assert_same_sums(found, {name: sum for name, sum in self.by('function').items() if '::' not in name})
        self.assert_same_sums(dict(database.execute('SELECT module, sum(count) FROM executed GROUP BY 1')), self.by('module'))
        with open(self.export('csv'), newline='', encoding='utf-8') as file:
            rows = {(row['module'], int(row['start'], 16)): row for row in csv.DictReader(file)}
        blocks = database.execute('SELECT path, address, end_address, instructions, count, standard_error, source, samples '
                                  'FROM blocks JOIN modules ON modules.id = module').fetchall()
        self.assertEqual(len(blocks), len(rows))
        for path, address, end, instructions, count, error, source, samples in blocks:
            row = rows[path, address]
            self.assertEqual((f'{end:#x}', str(instructions), source, str(samples)),
                             (row['end'], row['instructions'], row['source'], row['samples']))
            self.assertEqual((count, error), (float(row['count']), float(row['standard_error'])))
        return database

    def test_tables_of_a_pie_and_its_library(self):
        self.trace(self.build('gcc', ('-O2', '-g', '-pie', '-fPIE')))
        database = self.check()
        lines = database.execute('SELECT file, line, innermost, sum(count) FROM executed '
                                 "WHERE function = 'main' AND file LIKE '%choose.c' GROUP BY 1, 2, 3").fetchall()
        self.assertIn('draw', {innermost for _, _, innermost, _ in lines})
        profile = dict(database.execute('SELECT * FROM profile'))
        self.assertTrue(profile['command'].endswith('choose'))
        source, = database.execute('SELECT kind, event, is_counted FROM sources')
        self.assertEqual(source, ('swbt', 'task-clock', 1))

    def test_tables_of_a_program_at_a_fixed_address(self):
        self.trace(self.build('gcc', ('-O2', '-no-pie')))
        self.assertTrue(self.check().execute('SELECT 1 FROM executed WHERE address > 0x400000').fetchone())

    def test_threads_and_slices(self):
        self.need('gcc')
        source = self.directory / 'threads.c'
        source.write_text(THREADS)
        program = self.directory / 'threads'
        export_support.run('gcc', '-O2', '-pthread', '-o', program, source)
        reason = record_support.why_not_permitted()
        if reason:
            self.skipTest(reason)
        result = self.run_tool('record', '-e', 'task-clock', '-c', 500_000, '--time-quantum', '10ms', '-o', self.file, '--', program)
        self.assertEqual(result.returncode, 0, result)
        database = self.check()
        sums = 'SELECT {}, sum(observations.count * instructions) FROM observations JOIN blocks ON blocks.id = block GROUP BY 1'
        slices = {str(key): sum for key, sum in database.execute(sums.format("coalesce(slice, 'unknown')"))}
        self.assert_same_sums(slices, self.by('slice'))
        threads = dict(database.execute(sums.format('(SELECT CAST(tid AS TEXT) FROM threads WHERE id = thread)')))
        self.assert_same_sums(threads, self.by('thread'))
        self.assertGreaterEqual(len(threads), 2)
        width, = database.execute("SELECT value FROM profile WHERE name = 'slice_ns'").fetchone()
        self.assertEqual(database.execute('SELECT DISTINCT end_ns - start_ns FROM slices').fetchall(), [(width,)])

    def test_the_shell_reads_the_statements_and_the_database(self):
        self.need('sqlite3')
        self.trace(self.build('gcc', ('-O2', '-g')))
        made = self.directory / 'made.db'
        with open(self.export('sql'), encoding='utf-8') as statements:
            export_support.run('sqlite3', '-bail', made, stdin=statements)
        written = self.export('sqlite')
        query = 'SELECT mnemonic, sum(count) FROM executed GROUP BY 1 ORDER BY 1'
        expected = export_support.run('sqlite3', '-bail', made, query)
        self.assertEqual(export_support.run('sqlite3', '-bail', written, query), expected)
        self.assertEqual(export_support.run('sqlite3', written, '.schema'), export_support.run('sqlite3', made, '.schema'))
        connection = sqlite3.connect(f'file:{written}?mode=ro', uri=True)
        mnemonics = {row[0]: row[1] for row in connection.execute(query)}
        self.assert_same_sums(mnemonics, self.by('mnemonic'))


if __name__ == '__main__':
    record_support.main(ExportSqlTest)
