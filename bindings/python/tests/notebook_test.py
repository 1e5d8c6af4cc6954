#!/usr/bin/env python3
"""Tests tables as HTML, and the cell magic %%hbbp in IPython."""
import contextlib
import html.parser
import io
import unittest

import hbbp

import support


class Outline(html.parser.HTMLParser):
    """Counts opened tags, and records those that are closed wrongly."""

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.texts, self.counts = [], [], [], {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


class HtmlTest(unittest.TestCase):

    def assert_html(self, shown, rows):
        outline = Outline(shown._repr_html_())
        self.assertEqual((outline.open, outline.wrong), ([], []))
        self.assertEqual(outline.counts['tr'], rows + 1)
        return outline

    def test_tables_are_html(self):
        profile = support.fed_profile()
        self.assertIn('15,000', self.assert_html(profile.blocks(), 2).texts)
        self.assert_html(profile.mix(), 3)
        self.assert_html(profile.pivot('mnemonic', 'function'), 3)
        self.assert_html(hbbp.diff(profile, profile), 3)
        self.assert_html(profile.annotate(), 3)
        self.assert_html(profile, 1)
        self.assert_html(hbbp.capabilities(), len(hbbp.capabilities()))
        self.assert_html(profile.branches(), 0)
        profile.close()
        self.assertIn('closed', profile._repr_html_())

    def test_names_are_escaped(self):
        with hbbp.Feed(order='as-added', command='<b>') as feed:
            feed.add_events([support.generated_code('<script>')])
            source = feed.add_source('ebs', 'instructions', period=1)
            feed.add_samples(source, [hbbp.FeedSample(ip=support.LOOP_ADDRESS,
                                                       pid=support.PID, tid=1)])
            feed.flush()
            profile = feed.profile()
        for shown in (profile, profile.functions(), profile.pivot('function'), profile.annotate()):
            self.assertNotIn('<script', shown._repr_html_())
            self.assertNotIn('<b>', shown._repr_html_())

    def test_long_tables_are_cut(self):
        profile = support.fed_profile()
        rows = list(profile.blocks()) * 50
        table = hbbp.Table(hbbp.rows.Block, rows)
        outline = self.assert_html(table, 20)
        self.assertIn('20 of 100 rows', outline.texts)


@support.needs('IPython')
@support.needs_events
class MagicTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.shell = support.ipython_shell()
        cls.shell.run_line_magic('load_ext', 'hbbp')

    def run_cell(self, cell):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            outcome = self.shell.run_cell(cell)
        return outcome, out.getvalue()

    def test_cell_is_profiled(self):
        outcome, shown = self.run_cell(
            '%%hbbp -s ebs -c 1000000 --top 3 -o mine\n'
            'numbers = sorted(str(i) for i in range(400000))\n'
            'print(len(numbers))')
        self.assertTrue(outcome.success, shown)
        self.assertIn('400000\n', shown)
        self.assertRegex(shown, r'module +function +instructions')
        self.assertRegex(shown, r'3 of \d+ rows')
        self.assertGreater(self.shell.user_ns['mine'].info().samples, 10)
        self.assertEqual(len(self.shell.user_ns['numbers']), 400000)

    def test_columns_and_conditions(self):
        _, shown = self.run_cell(
            '%%hbbp -c 1000000 --by mnemonic --columns memory --where "memory != none"\n'
            'len(sorted(str(i) for i in range(600000)))')
        self.assertRegex(shown, r'mnemonic +.*read')

    def test_error_in_the_cell_is_shown(self):
        outcome, shown = self.run_cell('%%hbbp\n1 / 0')
        self.assertIn('ZeroDivisionError', shown)
        self.assertNotIn('instructions in all', shown)

    def test_wrong_options_are_reported(self):
        for options, expected in (('--source pebs', "'pebs' is not a name of SourceKind"),
                                  ('--period often', 'often')):
            outcome, shown = self.run_cell(f'%%hbbp {options}\npass')
            self.assertIn(expected, shown + str(outcome.error_in_exec))

    def test_wrong_key_is_reported(self):
        _, shown = self.run_cell('%%hbbp --by functions\npass')
        self.assertIn('functions', shown)
        self.assertIn('UsageError', shown)

    def test_table_is_displayed_as_html(self):
        formatter = self.shell.display_formatter
        data, _ = formatter.format(support.fed_profile().mix())
        self.assertTrue({'text/html', 'text/plain'} <= set(data))


if __name__ == '__main__':
    support.main(__name__)
