"""Tests the page of hbbp export --format html in a browser."""
import collections
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import unittest

import browser
import record_support
import report_fixture

NARROW = 400
WIDE = 1280
LEAST_CONTRAST = 4.5
LEAST_CONTRAST_OF_SHAPES = 3
HOSTILE = ('</script><script>window.harm = 1</script><img src=x onerror="window.harm = 1">'
           '<!-- &lt; "\'` \u202e\u0000\u2028 ' + 'long' * 60)
SECTIONS = ['summary', 'mix', 'icicle', 'time', 'pivot', 'threads', 'functions', 'blocks', 'loops', 'unseen']
CELLS = '#{} tbody tr > :nth-child({})'


def numbers(texts):
    """Parses "12.3 M" and the like."""
    factors = {'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12, 'P': 1e15}
    values = []
    for text in texts:
        words = text.replace(',', '').replace('%', '').split()
        values.append(float(words[0]) * (factors[words[1]] if len(words) > 1 else 1))
    return values


class ReportTest(record_support.RecordTest):
    @classmethod
    def setUpClass(cls):
        reason = browser.why_no_browser()
        if reason:
            raise unittest.SkipTest(reason)
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        super().setUp()
        self.page = self.directory / 'report.html'
        self.browser.forget()

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])
        requests = set(self.browser.requests())
        self.assertLessEqual(requests, {f'file://{self.page}'}, 'asks for more than itself')

    def export(self, *arguments):
        result = self.run_tool('export', self.file, '--format', 'html', '-o', self.page, *arguments)
        self.assertEqual(result.returncode, 0, result)
        return self.page.read_text()

    def record_bzip2(self):
        if not shutil.which('bzip2'):
            self.skipTest('no bzip2')
        data = self.directory / 'data'
        data.write_bytes(bytes((i * i) >> 7 & 0xff for i in range(3_000_000)))
        result = self.run_tool('record', '--source', 'swbt', '-e', 'task-clock', '-c', 2_000_000, '-o', self.file, '--', 'bzip2',
                               '-k', data)
        self.assertEqual(result.returncode, 0, result)

    def open_fixture(self, data=None, **how):
        self.file = self.directory / 'none.data'
        if not self.file.exists():
            self.record('true')
        self.page.write_text(report_fixture.page_with(self.export(), data or report_fixture.report()))
        self.browser.open(self.page, **how)

    def cells(self, section, column):
        return self.browser.texts(CELLS.format(section, column))

    def test_says_what_the_command_says(self):
        self.record_bzip2()
        self.export()
        self.browser.open(self.page)
        self.assertEqual(self.browser.texts('#command')[0].split()[0], 'bzip2')
        # Several modules may have functions of one name, as `free@plt`.
        by_function = self.rows('mix', self.file, '--by', 'module,function')
        names = self.cells('functions', 1)
        self.assertEqual(len(names), min(15, len(by_function)))
        # Functions that ran equally often may come in any order.
        counts = collections.defaultdict(list)
        for row in by_function:
            counts[row['function']].append(row['instructions'])
        for name, row in zip(names, by_function):
            self.assertTrue(any(abs(count - row['instructions']) <= 1e-9 * row['instructions'] for count in counts[name]),
                            (name, row))
        for shown, row in zip(numbers(self.cells('functions', 3)), by_function):
            self.assertAlmostEqual(shown, row['instructions'], delta=0.01 * row['instructions'])
        self.browser.choose('#pivot-row-0', 'mnemonic')
        self.browser.choose('#pivot-row-1', '')
        mix = self.rows('mix', self.file)
        self.assertEqual(self.cells('pivot', 1)[0], mix[0]['mnemonic'])
        for column, key in ((2, 'instructions'), (3, 'standard_error')):
            shown = numbers(self.cells('pivot', column))
            for one, row in zip(shown, mix):
                self.assertAlmostEqual(one, row[key], delta=0.01 * row[key] + 0.5)

    def test_loops_are_those_of_the_command(self):
        self.record_bzip2()
        data = report_fixture.data_of(self.export())
        loops = self.rows('loops', self.file)
        self.assertEqual(data['loop_count'], len(loops))
        self.assertEqual([int(header, 16) for header in data['loops']['header'][:3]],
                         [int(row['header'], 16) for row in loops[:3]])
        for shown, row in zip(data['loops']['trips'], loops):
            if row['trip_count'] is None:
                self.assertIsNone(shown)
            else:
                self.assertAlmostEqual(shown, row['trip_count'], delta=1e-5 * row['trip_count'])
        in_loops = [loop for loop in data['blocks']['loop'] if loop >= 0]
        self.assertGreater(len(in_loops), 3)
        self.browser.open(self.page)
        known = [int(row['header'], 16) for row in loops[:500] if row['trip_count'] is not None]
        self.assertEqual([int(header, 16) for header in self.cells('loops', 1)[:1]], known[:1])

    def test_a_recording_of_perf(self):
        """The page reports what its sources lack, with the numbers of hbbp info; its kernel's modules have no code here."""
        recorded = pathlib.Path(os.environ.get('HBBP_TEST_DATA', '')) / 'autofdo/propeller_sample.perfdata'
        if not recorded.is_file():
            self.skipTest('no recordings (HBBP_TEST_DATA)')
        binary = recorded.with_name('propeller_sample.bin')
        result = self.run_tool('import', '-o', self.file, recorded, '--file', f'propeller_sample.bin={binary}')
        self.assertEqual(result.returncode, 0, result)
        data = report_fixture.data_of(self.export())
        lbr = next(source for source in self.info()['sources'] if source['kind'] == 'lbr')
        shown = next(source for source in data['sources'] if source['kind'] == 'lbr')
        self.assertEqual(shown['unexplained'], lbr['unexplained'])
        self.assertEqual({name: number for name, number in shown['reasons']},
                         {name: number for name, number in lbr['unexplained_reasons'].items() if number})
        self.browser.open(self.page)
        self.assertIn('main', self.cells('functions', 1)[:3])
        # Block counts that Propeller found in main have another scale: 23039 and 22714.
        counts = {row['start']: row['count'] for row in self.rows('blocks', self.file)
                  if row['function'] == 'main'}
        listed = {int(start, 16): count for start, count in zip(data['blocks']['start'], data['blocks']['count'])}
        for start in ('0x121d', '0x1210'):
            self.assertAlmostEqual(listed[int(start, 16)], counts[start], delta=1e-5 * counts[start])

    def test_what_is_not_listed_is_summed(self):
        self.record_bzip2()
        whole = report_fixture.data_of(self.export())
        part = report_fixture.data_of(self.export('--functions', '2', '--blocks', '3'))
        self.assertEqual(len(part['functions']['name']), 2)
        self.assertEqual(len(part['blocks']['start']), 3)
        self.assertEqual(part['block_count'], whole['block_count'])
        # Errors of streams add up, whether a block is listed or not.
        errors = [sum(error * len(code) for error, code in zip(data['blocks']['error'], data['blocks']['code']))
                  + sum(data['rest']['error']) for data in (whole, part)]
        self.assertEqual({source['kind'] for source in whole['sources']}, {'swbt'})
        self.assertGreater(sum(part['rest']['error']), 0)
        self.assertAlmostEqual(errors[0], errors[1], delta=1e-4 * errors[0])
        for data in (whole, part):
            listed = sum(count * len(code)
                         for count, code in zip(data['blocks']['count'], data['blocks']['code']))
            rest = sum(data['rest']['instructions'])
            self.assertAlmostEqual(listed + rest, data['instructions'], delta=1e-4 * data['instructions'])
        self.browser.open(self.page)
        self.assertIn(f'2 of {whole["function_count"]} functions', self.browser.texts('#unseen')[0])
        self.assertIn('100.00 % of all', self.browser.texts('#pivot [role=status]')[0])

    def test_sorts_by_click_and_by_key(self):
        self.open_fixture()
        self.assertEqual(self.cells('functions', 1), ['hot', 'cold'])
        self.assertEqual(self.browser.find('#functions th:nth-child(3)').get_attribute('aria-sort'), 'descending')
        self.browser.click('#functions th:nth-child(3) button')
        self.assertEqual(self.cells('functions', 1), ['cold', 'hot'])
        self.assertEqual(self.browser.find('#functions th:nth-child(3)').get_attribute('aria-sort'), 'ascending')
        self.browser.js('document.querySelector("#functions th button").focus()')
        self.browser.press('ENTER')
        self.assertEqual(self.browser.find('#functions th').get_attribute('aria-sort'), 'ascending')
        self.browser.press('SPACE')
        self.assertEqual(self.cells('functions', 1), ['hot', 'cold'])
        self.assertEqual(self.browser.js('return document.activeElement.innerText.split(" ")[0]'), 'Function')

    def test_sorts_addresses_by_their_value(self):
        data = report_fixture.report()
        starts = ['ffffffff81000a10', 'ffffffff81000f9', 'a9']
        data['blocks']['start'] = starts
        data['loops']['header'] = [starts[0], starts[1]]
        data['blocks']['loop'] = [0, 1, -1]
        self.open_fixture(data)
        ascending = ['0xa9', '0xffffffff81000f9', '0xffffffff81000a10']
        self.browser.click('#blocks th button')
        self.assertEqual(self.cells('blocks', 1), ascending)
        self.browser.click('#blocks th button')
        self.assertEqual(self.cells('blocks', 1), ascending[::-1])
        self.browser.click('#loops th button')
        self.assertEqual(self.cells('loops', 1), ascending[1:])
        self.browser.choose('#pivot-row-1', '')
        self.browser.choose('#pivot-row-0', 'block')
        self.browser.click('#pivot th button')
        self.assertEqual(self.cells('pivot', 1), [*ascending, 'not listed'])
        self.browser.choose('#pivot-row-0', 'loop')
        self.browser.click('#pivot th button')
        self.assertEqual([text.split(' in ')[0] for text in self.cells('pivot', 1)],
                         [*ascending[1:], 'no loop', 'not listed'])

    def test_regroups(self):
        self.open_fixture()
        self.browser.choose('#pivot-row-0', 'extension')
        self.browser.choose('#pivot-row-1', 'mnemonic')
        self.assertEqual(self.cells('pivot', 1), ['▸BASE', '▸AVX', '▸SSE2'])
        self.assertEqual(numbers(self.cells('pivot', 2)), [2920, 1000, 800])
        self.browser.click('#pivot tbody button.open')
        self.assertEqual(self.cells('pivot', 1)[:3], ['▾BASE', 'add', 'jne'])
        self.assertEqual(self.browser.js('return document.activeElement.getAttribute("aria-expanded")'), 'true')
        self.browser.press('ENTER')
        self.assertEqual(len(self.cells('pivot', 1)), 3)
        self.browser.choose('#pivot-column', 'vector-bits')
        titles = self.browser.texts('#pivot thead th')
        self.assertEqual([title.split(' ↕')[0] for title in titles[4:]], ['no vector', '256', '128'])
        self.browser.choose('#pivot-filter', 'function')
        self.browser.choose('#pivot-value', '1')
        self.assertEqual(numbers(self.cells('pivot', 2)), [800, 800])
        self.assertIn('2 rows, 1.60 k instructions', self.browser.texts('#pivot [role=status]')[0])

    def test_keeps_apart_what_has_one_name(self):
        self.open_fixture(report_fixture.report_of_twins())
        self.browser.choose('#pivot-row-1', '')

        def sums_by(key):
            self.browser.choose('#pivot-row-0', key)
            return dict(zip(self.cells('pivot', 1), map(round, numbers(self.cells('pivot', 2)))))

        self.assertEqual(sums_by('module'), {'/lib/one/same.so': 3120, '/lib/two/same.so': 1600})
        self.assertEqual(sums_by('function'), {'same (/lib/one/same.so)': 3020, 'same (/lib/two/same.so)': 1600,
                                               'other functions': 100})
        self.assertEqual(sums_by('block'), {'0x1000 (/lib/one/same.so)': 3000, '0x1000 (/lib/two/same.so)': 1600,
                                            '0x1020': 20, 'not listed': 100})
        self.assertEqual(sums_by('address')['0x1004 (/lib/two/same.so)'], 400)
        self.assertEqual(sums_by('loop'), {'0x1000 in same (/lib/one/same.so)': 3000,
                                           '0x1000 in same (/lib/two/same.so)': 1600, 'no loop': 20, 'not listed': 100})
        self.assertEqual(sums_by('file'), {'/src/one/same.c': 3020, '/src/two/same.c': 1600, 'not listed': 100})
        self.assertEqual(sums_by('line'), {'/src/one/same.c:10': 1010, '/src/one/same.c:11': 1010, '/src/one/same.c:12': 1000,
                                           '/src/two/same.c:10': 400, '/src/two/same.c:11': 400, '/src/two/same.c:12': 400,
                                           '/src/two/same.c:13': 400, 'not listed': 100})
        self.assertEqual(sums_by('inlined'), {'same (/lib/one/same.so)': 2010, 'same (/lib/two/same.so)': 1200,
                                              'same (inlined)': 1410, 'not listed': 100})
        self.browser.choose('#pivot-column', 'function')
        titles = [title.split(' ↕')[0] for title in self.browser.texts('#pivot thead th')[4:]]
        self.assertEqual(titles, ['same (/lib/one/same.so)', 'same (/lib/two/same.so)', 'other functions'])
        self.browser.choose('#pivot-filter', 'function')
        self.browser.choose('#pivot-value', '1')
        self.assertEqual(sums_by('block'), {'0x1000': 1600})

    def test_errors_add_up_as_samples_do(self):
        self.open_fixture()
        self.browser.choose('#pivot-row-0', 'mnemonic')
        self.browser.choose('#pivot-row-1', '')
        errors = dict(zip(self.cells('pivot', 1), numbers(self.cells('pivot', 3))))
        self.assertEqual(errors['vaddpd'], 77)
        self.assertAlmostEqual(errors['jne'], (30 ** 2 + 3 ** 2 + 20 ** 2) ** 0.5, delta=0.1)
        self.assertEqual(errors['mulsd'], 40)

    def test_a_bar_leads_to_its_functions(self):
        self.open_fixture()
        self.assertEqual(self.browser.texts('#mix figcaption'),
                         ['By ISA extension', 'By vector width', 'By memory access', 'By category', 'By mnemonic'])
        widths = self.browser.js('return [...document.querySelectorAll("#mix figure:first-of-type .fill")].map((e) => parseFloat(e.style.width))')
        for width, instructions in zip(widths, (2920, 1000)):
            self.assertAlmostEqual(width, 100 * instructions / 4720, delta=0.01)
        self.assertEqual(self.browser.texts('#mix figure:first-of-type tbody tr:first-child > *')[0::2], ['BASE', '61.86 %'])
        self.browser.click('#mix figure table tr:nth-child(2) button')
        self.assertEqual(self.cells('pivot', 1), ['hot'])
        self.assertEqual(self.browser.find('#pivot-value').get_attribute('value'), 'AVX')

    def test_opens_functions_blocks_and_loops(self):
        self.open_fixture()
        self.assertFalse(self.browser.find('#code').is_displayed())
        self.browser.click('#functions tbody a')
        self.assertIn('Code of hot', self.browser.texts('#code h3'))
        self.assertEqual(self.browser.texts('#code td.code'), ['vaddpd plain', 'add plain', 'jne plain', 'add plain', 'jne plain'])
        self.assertEqual(self.browser.texts('#code td.address')[1], '0x1004')
        self.assertEqual(self.browser.texts('#code td.place')[:2], ['plain.c:10', 'plain.c:11, inlined_plain'])
        self.assertIn('1.00 k ± 30 times', self.browser.texts('#code .block th')[0])
        self.assertIn('loop of depth 1, 100 trips', self.browser.texts('#code .block th')[0])
        self.assertEqual(len(self.browser.find_all('#code .block .whisker')), 2)
        self.assertEqual(len(self.browser.find_all('#code .gap')), 2)
        self.assertEqual(self.cells('loops', 5), ['100 ± 4', '2 ± < 0.01'])
        self.browser.click('#loops tbody tr:nth-child(2) a')
        self.assertIn('Code of cold', self.browser.texts('#code h3'))
        self.browser.js('document.querySelectorAll("#blocks tbody th a")[1].focus()')
        self.browser.press('ENTER')
        self.assertEqual(self.browser.js('return document.activeElement.innerText'), 'Code of cold')
        self.browser.click('#code .close')
        self.assertFalse(self.browser.find('#code').is_displayed())

    def title_of_code(self):
        return ''.join(self.browser.texts('#code:not([hidden]) h3'))

    def go(self, direction, title):
        """Goes back or forward, and waits for the code that is shown then."""
        getattr(self.browser.driver, direction)()
        deadline = time.monotonic() + 60
        while self.title_of_code() != title and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(self.title_of_code(), title)

    def test_links_lead_back_and_forth(self):
        data = report_fixture.report()
        # The first function calls the second one, which jumps back to its own block.
        data['blocks']['code'][0][2][2] = 'call 0x2000'
        data['blocks']['code'][2][3][2] = 'jne 0x2000'
        self.open_fixture(data)
        self.browser.click('#functions tbody a')
        self.browser.click('#code td.code a')
        self.assertEqual(self.title_of_code(), 'Code of cold')
        self.assertEqual(self.focused(), ['functions', 'Code of cold'])
        self.assertEqual(self.browser.texts('#code .callers'), ['Called from hot 1.00 k times'])
        self.browser.click('#code .callers a')
        self.assertEqual(self.title_of_code(), 'Code of hot')
        self.assertEqual(self.browser.texts('#code .block.target .address'), ['0x1000'])
        for title in ('Code of cold', 'Code of hot', ''):
            self.go('back', title)
        self.assertEqual(self.focused(), ['functions', 'hot'])
        self.go('forward', 'Code of hot')
        # Back opens what was closed.
        self.browser.press('ESCAPE')
        self.assertEqual(self.title_of_code(), '')
        self.go('back', 'Code of hot')
        # From blocks and code to loops and to the list of functions, and from loops to code.
        self.browser.click('#blocks tbody td a[href="#loop-1"]')
        self.assertEqual(self.focused(), ['loops', '0x2000'])
        self.browser.click('#loops tr.target th a')
        self.assertEqual(self.title_of_code(), 'Code of cold')
        self.browser.click('#code .block a')
        self.assertEqual(self.focused(), ['loops', '0x2000'])
        self.go('back', 'Code of cold')
        self.browser.click('#code p a')
        self.assertEqual(self.focused(), ['functions', 'cold'])
        # A link works again where the address is the same, and in a page that is opened with it.
        self.browser.click('#functions tbody a')
        self.browser.js('window.scrollTo(0, 0)')
        self.browser.click('#functions tbody a')
        self.assertEqual(self.focused(), ['functions', 'Code of hot'])
        self.browser.driver.refresh()
        self.assertEqual(self.title_of_code(), 'Code of hot')

    def test_a_link_shows_a_row_that_was_not_shown(self):
        data = report_fixture.report()
        for key, column in data['loops'].items():
            data['loops'][key] = column + [column[1]] * 38
        data['loops']['instructions'] = list(range(40, 0, -1))
        data['blocks']['loop'] = [0, -1, 39]
        self.open_fixture(data)
        self.assertEqual(len(self.cells('loops', 1)), 15)
        self.browser.click('#blocks tbody td a[href="#loop-39"]')
        self.assertEqual(len(self.cells('loops', 1)), 40)
        self.assertEqual(self.browser.js('return document.activeElement.closest("tr").id'), 'row-loop-39')

    def code_in_view(self):
        """Returns the addresses of the blocks in the order in which they are on the screen, from the top of the view of code."""
        return self.browser.js('''
            const scroll = document.querySelector("#code .scroll:has(table)");
            const top = scroll.querySelector("thead th").getBoundingClientRect().bottom - 1;
            return [...scroll.querySelectorAll(".block")].filter((row) => row.getBoundingClientRect().top >= top)
              .map((row) => row.querySelector(".address").innerText)''')

    def test_code_starts_at_the_hottest_block(self):
        data = report_fixture.with_many_blocks(report_fixture.report())
        counts = [1] * 100
        counts[40:45] = [60, 900, 3000, 300, 2000]
        data['blocks']['count'] = counts
        self.open_fixture(data)
        self.browser.click('#functions tbody a')
        self.assertEqual(self.code_in_view()[0], '0x12a0')
        self.assertEqual(self.browser.js('return [...document.querySelectorAll("#code [data-heat]")].map((e) => e.dataset.heat)')[39:46],
                         ['1', '2', '4', '5', '3', '5', '1'])
        self.assertEqual(self.browser.js('return new Set([...document.querySelectorAll("#code td.address")]'
                                         '.map((cell) => getComputedStyle(cell).backgroundColor)).size'), 5)
        self.browser.click('#blocks tbody tr:nth-child(2) a')
        self.assertEqual(self.code_in_view()[0], '0x12c0')

    def boxes(self):
        labels = self.browser.js('return [...document.querySelectorAll(".graph-block")].map((box) => box.ariaLabel)')
        return [' '.join(label.split()) for label in labels]

    def test_a_graph_shows_how_control_went(self):
        self.open_fixture()
        self.browser.click('#functions tbody a')
        self.assertEqual(self.boxes(), [
            'Block 0x1000: 1.00 k ± 30 times, 63.56 % of all instructions; branches to 0x1000 990 times; goes on to 0x1020 10 times',
            'Block 0x1020: 10 ± 3 times, 0.42 % of all instructions'])
        self.assertEqual(self.browser.js('return [...document.querySelectorAll(".graph-count")].map((text) => text.textContent)'), ['990', '10'])
        widths = self.browser.js("""
            return [...document.querySelectorAll(".graph-edge")].map((edge) => [edge.querySelector("title").textContent, Number(edge.querySelector("path").getAttribute("stroke-width"))])""")
        self.assertEqual([text for text, _ in widths], ['0x1000 goes on to 0x1020 10 times', '0x1000 branches to 0x1000 990 times'])
        self.assertGreater(widths[1][1], 3 * widths[0][1])
        # Below the block that leads to it, and inside of the drawing.
        tops = self.browser.js('return [...document.querySelectorAll(".graph-block rect")].map((box) => box.getBoundingClientRect().top)')
        self.assertLess(tops[0], tops[1])

    def test_the_graph_leads_to_code_and_back(self):
        data = report_fixture.with_many_blocks(report_fixture.report())
        data['edges'] = report_fixture.columns(['from', 'to', 'kind', 'count'], [(at, at + 1, 'next', 900 - at) for at in range(99)])
        self.open_fixture(data)
        self.browser.click('#functions tbody a')
        self.browser.click('.graph-block[data-block="3"]')
        self.assertEqual(self.browser.texts('#code .block.target .address'), ['0x1030'])
        self.assertEqual(self.code_in_view()[0], '0x1030')
        self.assertEqual(self.focused(), ['functions', 'In the graph'])
        self.browser.press('ENTER')
        block = 'return document.activeElement.dataset.block'
        self.assertEqual(self.browser.js(block), '3')
        for key, expected in (('ARROW_DOWN', '4'), ('ARROW_UP', '3'), ('HOME', '0'), ('END', '99')):
            self.browser.press(key)
            self.assertEqual(self.browser.js(block), expected)
        self.assertTrue(self.browser.js("""
            const [box, view] = [document.activeElement, document.querySelector(".graph .scroll")].map((one) => one.getBoundingClientRect());
            return view.top <= box.top && box.bottom <= view.bottom && view.left <= box.left && box.right <= view.right"""))
        self.browser.press('ENTER')
        self.assertEqual(self.browser.texts('#code .block.target .address'), ['0x1630'])
        self.browser.press('ENTER')
        width = 'return document.querySelector(".graph svg").width.baseVal.value'
        before = self.browser.js(width)
        self.browser.js('document.querySelector(".graph-block").dispatchEvent(new KeyboardEvent("keydown", {key: "+", bubbles: true}))')
        self.assertAlmostEqual(self.browser.js(width), 1.25 * before, delta=1)
        self.browser.click('.graph-tools button:nth-child(2)')
        self.assertAlmostEqual(self.browser.js(width), before, delta=1)
        self.browser.click('[data-view="code"]')
        self.assertFalse(self.browser.find('.graph').is_displayed())
        self.browser.click('[data-view="graph"]')
        self.assertTrue(self.browser.find('.graph').is_displayed())

    def test_a_large_graph_shows_what_ran_most(self):
        data = report_fixture.with_many_blocks(report_fixture.report())
        for key, column in data['blocks'].items():
            data['blocks'][key] = column + [column[-1]] * 300
        data['blocks']['start'] = [f'{0x1000 + 16 * at:x}' for at in range(400)]
        data['blocks']['count'] = [1000 if at % 4 == 0 or at < 20 else 1 for at in range(400)]
        edges = [(at, at + 1, 'next', min(data['blocks']['count'][at:at + 2])) for at in range(399)]
        data['edges'] = report_fixture.columns(['from', 'to', 'kind', 'count'], edges)
        self.open_fixture(data)
        self.browser.click('#functions tbody a')
        self.assertEqual(len(self.boxes()), 120)
        self.assertIn('The 120 of 400 blocks that ran most often', self.browser.texts('.graph p')[0])
        # What is left out is a dashed edge.
        self.assertIn('0x1240 leads, through blocks that are not shown, to 0x1280',
                      self.browser.js('return [...document.querySelectorAll(".graph-edge.unknown title")].map((title) => title.textContent)'))
        self.browser.click('.graph p button')
        self.assertEqual(len(self.boxes()), 400)
        self.assertEqual(self.browser.js('return document.activeElement.dataset.block'), '0')
        self.assertEqual(self.browser.js('return document.querySelectorAll(".graph-edge.unknown").length'), 0)

    def test_edges_are_those_of_the_run(self):
        if not shutil.which('gcc'):
            self.skipTest('no gcc')
        source = self.directory / 'turns.c'
        source.write_text('volatile long sum;\n'
                          '__attribute__((noinline)) void turns(long n) {\n'
                          '  for (long i = 0; i < n; ++i) {\n'
                          '    if (i % 8 == 0) sum += 3;\n'
                          '    else { sum += 1; sum += 2; }\n'
                          '  }\n}\n'
                          'int main(void) { for (int i = 0; i < 300; ++i) turns(1000000); }\n')
        program = self.directory / 'turns'
        subprocess.run(['gcc', '-O1', '-fno-if-conversion', '-o', program, source], check=True)
        result = self.run_tool('record', '--source', 'swbt', '-e', 'task-clock', '-c', 2_000_000, '-o', self.file, '--', program)
        self.assertEqual(result.returncode, 0, result)
        data = report_fixture.data_of(self.export())
        turns = data['functions']['name'].index('turns')
        hot = [at for at, function in enumerate(data['blocks']['function']) if function == turns and data['blocks']['count'][at] > 1e6]
        edges = [dict(zip(data['edges'], row)) for row in zip(*data['edges'].values())]
        self.assertEqual([edge for edge in edges if edge['count'] is None and edge['from'] in hot], [])
        shares = []
        for at in hot:
            count = data['blocks']['count'][at]
            leaving = [edge['count'] for edge in edges if edge['from'] == at]
            self.assertAlmostEqual(sum(leaving), count, delta=0.01 * count)
            self.assertAlmostEqual(sum(edge['count'] for edge in edges if edge['to'] == at), count, delta=0.1 * count)
            shares += [part / count for part in leaving]
        # Of every eight turns one goes the other way.
        self.assertTrue(any(abs(part - 1 / 8) < 0.03 for part in shares), shares)
        self.browser.open(self.page)
        self.browser.click(f'#functions a[href="#function-{turns}"]')
        self.assertEqual(len(self.boxes()), data['blocks']['function'].count(turns))

    def test_code_has_the_text_of_its_source_lines(self):
        data = report_fixture.report()
        data['source_text'] = [{'10': '  for (i = 0; i < n; ++i)', '11': '    sum <b>+=</b> a[i];'}]
        self.open_fixture(data)
        self.browser.click('#functions tbody a')
        self.assertEqual(self.browser.texts('#code .source'),
                         ['plain.c:10 for (i = 0; i < n; ++i)', 'plain.c:11, inlined_plain sum <b>+=</b> a[i];', 'plain.c:12',
                          'plain.c:10 for (i = 0; i < n; ++i)', 'plain.c:11, inlined_plain sum <b>+=</b> a[i];'])
        self.assertEqual(self.browser.texts('#code thead th'), ['Address', 'Executions', 'Share', 'Instruction'])

    def test_source_text_is_that_of_the_files(self):
        if not shutil.which('gcc'):
            self.skipTest('no gcc')
        source = self.directory / 'sum.c'
        source.write_text('int main(int c, char** v) {\n  volatile double sum = c;\n'
                          '  for (long i = 0; i < 200000000; ++i)\n    sum = sum + 1.5;  // <hot>\n  return sum < 0;\n}\n')
        program = self.directory / 'sum'
        subprocess.run(['gcc', '-g', '-O1', '-o', program, source], check=True)
        result = self.run_tool('record', '--source', 'swbt', '-e', 'task-clock', '-c', 2_000_000, '-o', self.file, '--', program)
        self.assertEqual(result.returncode, 0, result)

        def text_of(data):
            return [text for path, lines in zip(data['source_files'], data['source_text']) if path == str(source)
                    for text in lines.items()]

        self.assertIn(('4', '    sum = sum + 1.5;  // <hot>'), text_of(report_fixture.data_of(self.export())))
        self.browser.open(self.page)
        self.browser.click('#functions tbody a')
        self.assertIn('sum.c:4 sum = sum + 1.5; // <hot>', self.browser.texts('#code .source'))
        without = report_fixture.data_of(self.export('--no-source'))
        self.assertIn(str(source), without['source_files'])
        self.assertEqual(text_of(without), [])

    def record_lines(self, text):
        """Records a program of such a file, and returns the file."""
        if not shutil.which('gcc'):
            self.skipTest('no gcc')
        source = self.directory / 'lines.c'
        source.write_text(text)
        program = self.directory / 'lines'
        subprocess.run(['gcc', '-g', '-O1', '-o', program, source], check=True)
        result = self.run_tool('record', '--source', 'swbt', '-e', 'task-clock', '-c', 2_000_000, '-o', self.file, '--', program)
        self.assertEqual(result.returncode, 0, result)
        return source

    def source_lines(self):
        return self.browser.texts('.source-lines tbody tr')

    def test_source_is_next_to_the_code(self):
        data = report_fixture.report()
        data['source_text'] = [{'9': 'void hot() {', '10': '  for (i = 0; i < n; ++i)', '11': '    sum <b>+=</b> a[i];', '12': '', '13': '}'}]
        self.open_fixture(data)
        self.browser.click('#functions tbody a')
        self.browser.click('[data-view="source"]')
        self.assertFalse(self.browser.find('.graph').is_displayed())
        # Lines 10 and 11 are of both blocks.
        self.assertEqual(self.source_lines(), ['plain.c', '9 void hot() {', '10 21.40 % for (i = 0; i < n; ++i)', '11 21.40 % sum <b>+=</b> a[i];',
                                               '12 21.19 %', '13 }'])
        self.browser.click('.source-lines button[aria-label="Code of line 11"]')
        self.assertEqual(self.browser.texts('#code .sides > :last-child tr.target .address'), ['0x1004', '0x1024'])
        self.assertEqual(self.focused(), ['functions', 'plain.c:11'])
        self.browser.js("document.querySelectorAll('.to-source')[2].focus()")
        self.browser.press('ENTER')
        self.assertEqual(self.browser.texts('.source-lines tr.target'), ['12 21.19 %'])
        self.assertEqual(self.browser.js('return document.activeElement.ariaLabel'), 'Code of line 12')

    def test_source_says_what_it_lacks(self):
        for state, words in (('missing', 'is not where hbbp export ran'), ('newer', 'is newer than what ran'),
                             ('refused', 'is not named like a source file'), ('left-out', 'is left out')):
            data = report_fixture.report()
            data.update(source_states=[state], source_problems=['this is why'])
            self.open_fixture(data)
            self.browser.click('#functions tbody a')
            self.browser.click('[data-view="source"]')
            self.assertIn(words, self.source_lines()[0])
            self.assertEqual(self.source_lines()[1:], ['10 21.40 %', '11 21.40 %', '12 21.19 %'])
            self.assertIn('Of source text: this is why', self.browser.texts('#unseen .notes li'))

    def test_source_text_is_of_listed_functions(self):
        source = self.record_lines('#include <stdio.h>\n'
                                   'int unused(void) { return printf("not in the page"); }\n\n\n\n\n'
                                   'int main(int c, char** v) {\n  volatile double sum = c;\n\n  // in the page\n\n'
                                   '  for (long i = 0; i < 200000000; ++i)\n    sum = sum + 1.5;\n  return sum < 0;\n}\n')
        data = report_fixture.data_of(self.export())
        at = data['source_files'].index(str(source))
        self.assertEqual(data['source_states'][at], 'read')
        self.assertEqual(data['source_text'][at].get('10'), '  // in the page')
        self.assertNotIn('not in the page', self.page.read_text())
        main = data['functions']['name'].index('main')
        file, first, last = data['functions']['source'][main]
        self.assertEqual((file, first), (at, 5))
        self.assertGreaterEqual(last, 15)
        self.browser.open(self.page)
        self.browser.click(f'#functions a[href="#function-{main}"]')
        self.browser.click('[data-view="source"]')
        self.assertIn('10 // in the page', self.source_lines())

    def test_source_that_changed_or_is_gone(self):
        source = self.record_lines('int main(int c, char** v) {\n  volatile double sum = c;\n'
                                   '  for (long i = 0; i < 200000000; ++i)\n    sum = sum + 1.5;\n  return sum < 0;\n}\n')
        later = (self.directory / 'lines').stat().st_mtime + 60
        os.utime(source, (later, later))

        def exported():
            result = self.run_tool('export', self.file, '-o', self.page)
            data = report_fixture.data_of(self.page.read_text())
            return result.stderr, data['source_states'][data['source_files'].index(str(source))], '+ 1.5' in json.dumps(data['source_text'])

        notes, state, has_text = exported()
        self.assertIn('newer than what ran', notes)
        self.assertEqual((state, has_text), ('newer', True))
        source.unlink()
        notes, state, has_text = exported()
        self.assertIn('source files are not here', notes)
        self.assertEqual((state, has_text), ('missing', False))

    def test_files_that_are_no_source_stay_out(self):
        """Debug information may name any file, as a private key or a link to one."""
        secret = self.directory / 'key.pem'
        secret.write_text('a secret\n' * 20)
        link = self.directory / 'key.c'
        link.symlink_to(secret)
        for named in (secret, link):
            self.record_lines(f'#line 5 "{named}"\nint main(int c, char** v) {{\n  volatile double sum = c;\n'
                              '  for (long i = 0; i < 200000000; ++i)\n    sum = sum + 1.5;\n  return sum < 0;\n}\n')
            page = self.export()
            data = report_fixture.data_of(page)
            self.assertEqual(data['source_states'][data['source_files'].index(str(named))], 'refused')
            self.assertNotIn('a secret', page)

    def test_loops_that_cannot_say_their_trips_are_left_out(self):
        data = report_fixture.report()
        data['loops'].update(trips=[100, None], trips_error=[4, None])
        self.open_fixture(data)
        self.assertEqual(self.cells('loops', 1), ['0x1000'])
        self.assertIn('Left out: 1 loop whose trips', self.browser.texts('#loops')[0])
        data['loops'].update(trips=[None, None], trips_error=[None, None])
        self.open_fixture(data)
        self.assertEqual(self.browser.find_all('#loops table'), [])

    def focused(self):
        return self.browser.js('const e = document.activeElement; return [e.closest("section")?.id, e.innerText || e.ariaLabel]')

    def test_closing_the_code_gives_the_focus_back(self):
        self.open_fixture()
        for close in ('ENTER', 'ESCAPE'):
            self.browser.js('document.querySelectorAll("#blocks tbody th a")[1].focus()')
            self.browser.press('ENTER')
            if close == 'ENTER':
                self.browser.js('document.querySelector("#code .close").focus()')
            self.browser.press(close)
            self.assertFalse(self.browser.find('#code').is_displayed())
            self.assertEqual(self.focused(), ['blocks', '0x2000'])
        self.browser.press('ENTER')
        self.browser.js('document.querySelector("#blocks th button").click()')
        self.browser.click('#code .close')
        self.assertEqual(self.focused(), ['functions', 'hot'])

    def test_showing_the_last_rows_gives_them_the_focus(self):
        self.open_fixture(report_fixture.with_many_blocks(report_fixture.report()))
        self.browser.js('document.querySelector("#blocks .more").focus()')
        self.browser.press('ENTER')
        self.assertEqual(self.focused(), ['blocks', 'Show more (60 of 100 shown)'])
        self.browser.press('ENTER')
        self.assertEqual(len(self.cells('blocks', 1)), 100)
        self.assertEqual(self.focused(), ['blocks', self.cells('blocks', 1)[60]])
        self.browser.choose('#pivot-row-1', '')
        self.browser.choose('#pivot-row-0', 'block')
        self.browser.js('document.querySelector("#pivot .more").focus()')
        self.browser.press('ENTER', 'ENTER')
        self.assertEqual(len(self.cells('pivot', 1)), 101)
        self.assertEqual(self.browser.js('return document.activeElement.ariaLabel'), 'Instructions by Block')

    def row(self):
        """Returns the row of the tree grid that has the focus."""
        return self.browser.js('''const e = document.activeElement;
            return [e.innerText.split("\\t")[0], e.ariaLevel, e.ariaExpanded, e.ariaPosInSet, e.ariaSetSize]''')

    def test_an_opened_row_shows_its_first_rows(self):
        self.open_fixture(report_fixture.with_many_blocks(report_fixture.report()))
        self.browser.choose('#pivot-row-1', 'block')
        self.browser.click('#pivot tbody button.open')
        self.assertEqual(self.row(), ['▾hot', '1', 'true', '1', '2'])
        self.assertEqual(len(self.browser.find_all('#pivot tbody [data-depth="1"]')), 10)
        self.browser.click('#pivot tbody th.more button')
        self.assertEqual(len(self.browser.find_all('#pivot tbody [data-depth="1"]')), 40)
        self.assertEqual(self.row(), ['0x10a0', '2', None, '11', '100'])
        self.assertEqual(self.browser.texts('#pivot th.more'), ['Show more (40 of 100 shown)'])
        self.browser.click('#pivot tbody th.more button')
        self.assertEqual(len(self.browser.find_all('#pivot tbody [data-depth="1"]')), 100)
        self.assertEqual(self.browser.find_all('#pivot th.more'), [])
        self.assertEqual(self.row()[3:], ['41', '100'])

    def test_keys_walk_the_rows_that_open(self):
        self.open_fixture(report_fixture.with_many_blocks(report_fixture.report()))
        self.browser.choose('#pivot-row-1', 'block')
        self.assertEqual(self.browser.find('#pivot table').get_attribute('role'), 'treegrid')
        self.assertEqual(len(self.browser.find_all('#pivot tbody tr[tabindex="0"]')), 1)
        self.browser.js('document.querySelector("#pivot tbody tr").focus()')
        self.assertEqual(self.row()[:3], ['▸hot', '1', 'false'])
        self.browser.press('ARROW_RIGHT')
        self.assertEqual(self.row()[:3], ['▾hot', '1', 'true'])
        self.browser.press('ARROW_RIGHT', 'ARROW_DOWN')
        self.assertEqual(self.row()[:4], ['0x1010', '2', None, '2'])
        self.browser.press('ARROW_UP')
        self.assertEqual(self.row()[3], '1')
        self.browser.press('ARROW_LEFT')
        self.assertEqual(self.row()[:2], ['▾hot', '1'])
        for _ in range(11):
            self.browser.press('ARROW_DOWN')
        self.assertEqual(self.row()[0], 'Show more (10 of 100 shown)')
        self.browser.press('ENTER')
        self.assertEqual(self.row()[3], '11')
        self.browser.press('END')
        self.assertEqual(self.row()[:2], ['▸other functions', '1'])
        self.browser.press('HOME', 'ARROW_LEFT')
        self.assertEqual(self.row()[:3], ['▸hot', '1', 'false'])
        self.assertEqual(len(self.cells('pivot', 1)), 2)

    def test_threads_and_processes(self):
        self.open_fixture(report_fixture.with_threads(report_fixture.report()))
        self.assertIn('3 processes, 6 threads. The busiest 4 threads are listed', self.browser.texts('#threads')[0])
        self.assertIn('the busiest 3 threads apart', self.browser.texts('#threads')[0])
        self.assertEqual(self.cells('threads', 1), ['▸7 main', '9 other'])
        self.assertEqual(self.cells('threads', 2), ['3', '1'])
        self.assertEqual(numbers(self.cells('threads', 3)), [3820, 700])
        self.assertEqual(numbers(self.cells('threads', 4)), [50, 20])
        self.browser.click('#threads tbody button.open')
        self.assertEqual(self.cells('threads', 1), ['▾7 main', '8 worker', '7 main', '10 rare', '9 other'])
        self.assertEqual(self.cells('threads', 5)[0], '80.93 %')

        self.browser.choose('#pivot-row-1', '')
        self.browser.choose('#pivot-row-0', 'thread')
        self.assertEqual(self.cells('pivot', 1), ['8 worker', '7 main', '9 other', 'other threads', 'other threads of 7'])
        self.assertEqual(numbers(self.cells('pivot', 2)), [2000, 1800, 700, 200, 20])
        self.assertEqual(numbers(self.cells('pivot', 3)), [40, 30, 20, 20, 6])
        self.assertIn('4.72 k instructions, 100.00 %', self.browser.texts('#pivot [role=status]')[0])
        data = report_fixture.with_threads(report_fixture.report())
        data['thread_count'] = 4
        self.open_fixture(data)
        self.browser.choose('#pivot-row-1', '')
        self.browser.choose('#pivot-row-0', 'process')
        errors = dict(zip(self.cells('pivot', 1), numbers(self.cells('pivot', 3))))
        self.assertAlmostEqual(errors['7 main'], (30 ** 2 + 40 ** 2 + 1) ** 0.5, delta=0.1)
        self.assertEqual(errors['9 other'], 20)
        self.browser.choose('#pivot-column', 'process')
        self.assertEqual([title.split(' ↕')[0] for title in self.browser.texts('#pivot thead th')[4:]],
                         ['7 main', '9 other', 'other processes'])
        self.browser.choose('#pivot-row-0', 'block')
        self.browser.choose('#pivot-filter', 'process')
        self.browser.choose('#pivot-value', '7')
        self.assertEqual(dict(zip(self.cells('pivot', 1), numbers(self.cells('pivot', 2)))),
                         {'0x1000': 3000, '0x2000': 800, '0x1020': 20})

    def test_over_time(self):
        self.open_fixture()
        self.assertEqual(self.browser.find_all('#time'), [])
        self.open_fixture(report_fixture.with_slices(report_fixture.report()))
        text = self.browser.texts('#time')[0]
        self.assertIn('6 slices of 100.0 ms, of which 2 are one bar here', text)
        self.assertIn('15.25 % of the instructions are of samples whose time is not known', text)
        self.assertEqual(self.browser.texts('#time .legend li'), ['arithmetic 50.85 %', 'branch 33.90 %'])
        self.browser.choose('#time-unit', 'instructions')
        self.browser.choose('#time-key', 'extension')
        # The slices have 3000, 0 and 1000 instructions, and the three parts of the first one fill the chart.
        bars = self.browser.js('''return [...document.querySelectorAll("#time svg rect")].map((bar) =>
            [Math.floor(bar.x.baseVal.value), bar.height.baseVal.value, bar.textContent])''')
        self.assertEqual([slice for slice, _, _ in bars], [0, 2, 0, 0, 2])
        self.assertAlmostEqual(sum(height for slice, height, _ in bars if slice == 0), 100, delta=1.6)
        self.assertAlmostEqual(sum(height for slice, height, _ in bars if slice == 2), 100 / 3, delta=1.1)
        self.assertEqual(' '.join(bars[0][2].split()), 'From 0.0 s on, BASE: 2.00 k')
        self.assertEqual(self.browser.texts('#time .heights span'), ['3.00 k', '2.25 k', '1.50 k', '750', '0'])
        self.assertEqual(self.browser.texts('#time .legend li'), ['BASE 47.67 %', 'AVX 14.83 %', '3 others 22.25 %'])
        self.browser.click('#time summary')
        self.assertEqual(self.browser.texts('#time thead th'), ['From second', 'Samples', 'Instructions', 'BASE', 'AVX', '3 others'])
        self.assertEqual(self.browser.texts('#time tbody tr'),
                         ['0.0 4 3.00 k 66.67 % 23.33 % 10.00 %', '0.2 0 0', '0.4 1 1.00 k 25.00 % 0.00 % 75.00 %'])
        self.browser.click('#time .legend button')
        self.assertEqual(self.browser.find('#pivot-value').get_attribute('value'), 'BASE')
        self.browser.choose('#time-key', 'function')
        self.assertEqual(self.browser.texts('#time .legend li'), ['hot 63.56 %', 'cold 21.19 %'])

    def cells_of_icicle(self):
        """Returns name and left and right edge of each part, in percent of the view."""
        return self.browser.js("""
            const view = document.querySelector(".icicle").getBoundingClientRect();
            const percent = (x) => Math.round((x - view.left) / view.width * 100);
            return [...document.querySelectorAll(".icicle .cell")].map((cell) => {
              const { left, right } = cell.getBoundingClientRect();
              return [cell.ariaLabel.replaceAll("\u00a0", " "), Number(cell.ariaLevel), percent(left), percent(right)];
            })""")

    def test_an_icicle_is_as_wide_as_what_ran(self):
        self.open_fixture()
        cells = self.cells_of_icicle()
        self.assertEqual(cells[:4], [['All: 100.00 %', 1, 0, 100], ['plain: 100.00 %', 2, 0, 100], ['hot: 63.98 %', 3, 0, 64],
                                     ['loop at 0x1000: 63.56 %', 4, 0, 64]])
        self.assertIn(['cold: 33.90 %', 3, 64, 98], cells)
        self.assertIn(['other functions: 2.12 %', 3, 98, 100], cells)
        self.assertEqual(self.browser.texts('#icicle [role=status]'), ['All: 4.72 k instructions, 100.00 % of all.'])
        # 1000, 10 and 400 executions.
        self.browser.choose('#icicle-unit', 'executions')
        self.assertIn(['hot: 71.63 %', 3, 0, 72], self.cells_of_icicle())
        self.assertNotIn('other functions', str(self.cells_of_icicle()))

    def test_an_icicle_zooms_by_click_and_by_key(self):
        self.open_fixture()
        self.browser.click('.icicle .cell:nth-child(3)')
        self.assertIn(['hot: 63.98 %', 3, 0, 100], self.cells_of_icicle())
        self.assertEqual([cell[0].split(':')[0] for cell in self.cells_of_icicle()], ['All', 'plain', 'hot', 'loop at 0x1000', '0x1000', '0x1020'])
        status = self.browser.texts('#icicle [role=status]')[0]
        self.assertEqual(status, 'hot, function: 3.02 k ± 9 instructions, 63.98 % of all, 63.98 % of its module. Its code')
        active = 'return document.activeElement.ariaLabel.split(":")[0]'
        self.browser.press('ARROW_DOWN', 'ARROW_RIGHT')
        self.assertEqual(self.browser.js(active), '0x1020')
        self.browser.press('ENTER')
        self.assertEqual(self.cells_of_icicle()[-1][0::2], ['0x1020: 0.42 %', 0])
        self.browser.press('ESCAPE', 'HOME')
        self.assertEqual(self.browser.js(active), 'All')
        self.browser.press('ENTER', 'ARROW_DOWN', 'ARROW_DOWN', 'ARROW_RIGHT')
        self.assertEqual(self.browser.js(active), 'cold')
        self.assertEqual(len(self.browser.find_all('.icicle [tabindex="0"]')), 1)
        self.browser.click('#icicle [role=status] a')
        self.assertEqual(self.title_of_code(), 'Code of cold')

    def test_the_search_marks_parts_of_the_icicle(self):
        self.open_fixture()
        self.search('COLD')
        self.assertEqual(self.browser.js('return [...document.querySelectorAll(".icicle [data-match]")].map((cell) => cell.ariaLabel.split(":")[0])'), ['cold'])
        self.assertIn('“COLD”: 33.90 % of instructions.', self.browser.texts('#icicle p'))
        # What is below another one that is found is not added again.
        self.search('0x1000')
        self.assertIn('“0x1000”: 97.46 % of instructions.', self.browser.texts('#icicle p'))
        self.search('')
        self.assertEqual(self.browser.find_all('.icicle [data-match]'), [])

    def record_threads(self, threads, turns):
        script = self.directory / 'threads.py'
        script.write_text('import json, re, threading\n'
                          'def work():\n'
                          f'    for i in range({turns}):\n'
                          '        text = json.dumps({str(k): [k, k / 7] for k in range(i, i + 300)})\n'
                          '        json.loads(re.sub("[17]", "2", text).title())\n'
                          f'threads = [threading.Thread(target=work) for _ in range({threads})]\n'
                          'for t in threads: t.start()\n'
                          'for t in threads: t.join()\n')
        result = self.run_tool('record', '--source', 'swbt', '-e', 'task-clock', '-c', 300_000, '--time-quantum', '2ms', '-o', self.file,
                               '--', '/usr/bin/python3', script)
        self.assertEqual(result.returncode, 0, result)

    def test_threads_are_those_of_the_command(self):
        self.record_threads(20, 15)
        by_thread = {row['thread']: row['instructions'] for row in self.rows('mix', self.file, '--by', 'thread')}
        if len(by_thread) < 17:
            self.skipTest('too few of its threads were sampled')

        def sums_by_task(data):
            sums = [0] * max(1, len(data['tasks']))
            blocks = data['blocks']
            for tasks, count, code in zip(blocks['tasks'], blocks['count'], blocks['code']):
                for task, part, _ in tasks if isinstance(tasks, list) else [(tasks, count, 0)]:
                    sums[task] += part * len(code)
            for task, instructions in zip(data['rest']['task'], data['rest']['instructions']):
                sums[task] += instructions
            return sums

        # The busiest are distinguished, until that takes too much.
        distinguished = []
        for arguments in (('--functions', '2', '--blocks', '3'), ('--functions', '100000', '--blocks', '100000')):
            data = report_fixture.data_of(self.export(*arguments))
            total = data['instructions']
            self.assertEqual({one['tid'] for one in data['threads'] if one['instructions']}, by_thread.keys())
            for one in data['threads']:
                self.assertAlmostEqual(one['instructions'], by_thread.get(one['tid'], 0), delta=1e-5 * total)
            sums = sums_by_task(data)
            self.assertAlmostEqual(sum(sums), total, delta=1e-4 * total)
            listed = [task['thread'] for task in data['tasks'] if task['thread'] >= 0]
            self.assertEqual(listed, list(range(len(listed))))
            for task, found in zip(data['tasks'], sums):
                if task['thread'] >= 0:
                    self.assertAlmostEqual(found, by_thread[data['threads'][task['thread']]['tid']], delta=1e-4 * total)
            distinguished.append(len(listed))
        self.assertEqual(distinguished[0], 16)
        self.assertLess(distinguished[1], 16)
        self.browser.open(self.page)
        self.assertEqual(len(self.cells('threads', 1)), min(15, len(data['threads'])))

    def test_slices_are_those_of_the_command(self):
        self.record_threads(2, 400)
        data = report_fixture.data_of(self.export())
        total = data['instructions']
        slices = data['slices']
        listing = json.loads(self.run_tool('phases', self.file, '--format', 'json').stdout)
        # Slices in which nothing ran are not in the data, but the page shows them.
        ran = {row['slice']: row for row in listing['rows']}
        nothing = {'samples': 0, 'instructions': 0}
        phases = [ran.get(i, nothing) for i in range(len(ran) + listing['empty_slices'])]
        self.assertEqual(slices['count'], len(phases))
        self.assertEqual(slices['joined'], -(-len(phases) // 120))
        self.assertGreater(slices['joined'], 1)
        self.assertEqual(len(slices['samples']), -(-len(phases) // slices['joined']))
        for at, (shown, samples) in enumerate(zip(slices['instructions'], slices['samples'])):
            of_slice = phases[at * slices['joined']:(at + 1) * slices['joined']]
            self.assertEqual(samples, sum(row['samples'] for row in of_slice))
            self.assertAlmostEqual(shown, sum(row['instructions'] for row in of_slice), delta=1e-5 * total)
        timelines = {one['key']: one for one in slices['timelines']}
        self.assertLessEqual({'category', 'extension', 'function', 'module', 'thread'}, timelines.keys())
        for key in ('extension', 'thread'):
            by_key = {row[key]: row['instructions'] for row in self.rows('mix', self.file, '--by', key)}
            found = timelines[key]
            self.assertEqual(found['other_values'], max(0, len(by_key) - 7))
            for value, parts in zip(found['values'], found['instructions']):
                value = int(value.split()[0]) if key == 'thread' else value
                self.assertAlmostEqual(sum(parts), by_key[value], delta=1e-4 * total)
        self.browser.open(self.page)
        self.assertEqual(len(self.browser.find_all('#time tbody tr')), len(slices['samples']))

    def test_says_why_lines_are_missing(self):
        self.record_bzip2()
        result = self.run_tool('export', self.file, '-o', self.page)
        notes = [line.removeprefix('hbbp export: note: ') for line in result.stderr.splitlines()]
        data = report_fixture.data_of(self.page.read_text())
        problems = data['line_problems']
        # Where there is debug information of libc, its sources are missing.
        self.assertEqual(notes, problems + data['source_problems'])
        # Modules without any are in one line, which says what to do.
        self.assertEqual(['no debug information' in problem for problem in problems], [True] + [False] * (len(problems) - 1))
        self.assertIn('compile with -g', problems[0])
        self.assertIn('debuginfod', problems[0])
        self.browser.open(self.page)
        self.assertIn(f'Source lines are missing: {problems[0]}', self.browser.texts('#unseen .notes li'))

    def test_tells_files_of_one_name_apart(self):
        self.open_fixture(report_fixture.report_of_twins())
        self.assertEqual(self.cells('functions', 2), ['/lib/one/same.so', '/lib/two/same.so'])
        self.browser.click('#functions tbody tr:nth-child(2) a')
        self.assertEqual(self.browser.texts('#code td.place')[0], '/src/two/same.c:10')
        self.open_fixture(report_fixture.with_builds(report_fixture.report_of_twins()))
        self.assertEqual(self.cells('functions', 2), ['same.so 01234567', 'same.so 98765432'])

    def test_long_names_are_short_until_the_reader_wants_them_whole(self):
        whole = ['void json::lexer<json::basic_json<std::map>, char const*>::scan(json::input_adapter const&, int)', 'main']
        self.open_fixture(report_fixture.report(whole))
        short = 'json::lexer<...>::scan(...)'
        self.assertEqual(self.cells('functions', 1), [short, 'main'])
        self.assertEqual(self.browser.find('#functions tbody .name').get_attribute('title'), whole[0])
        self.assertEqual(self.cells('pivot', 1)[0], f'▸{short}')
        self.browser.choose('#pivot-row-0', 'loop')
        self.assertIn(f'▸0x1000 in {short}', self.cells('pivot', 1))
        self.browser.js('document.querySelector("#whole-names").focus()')
        self.browser.press('SPACE')
        self.assertEqual(self.cells('functions', 1), whole)
        self.assertIn(f'▸0x1000 in {whole[0]}', self.cells('pivot', 1))
        self.browser.click('#functions tbody a')
        self.assertEqual(self.browser.texts('#code h3'), [f'Code of {whole[0]}'])
        self.browser.click('#whole-names')
        self.assertEqual(self.browser.texts('#code h3'), [f'Code of {short}'])
        self.open_fixture()
        self.assertFalse(self.browser.find('#names').is_displayed())

    def test_short_names_differ_where_whole_ones_do(self):
        # Tables of the command have the same.
        directory = pathlib.Path(__file__).parents[1]
        shortened = json.loads((directory / 'unit/tools/short_names.json').read_text())
        if not shutil.which('node'):
            self.skipTest('no node (Debian: nodejs)')
        script = ("import { shortNames } from 'NAMES'; console.log(JSON.stringify(Object.fromEntries(shortNames(JSON.parse(process.argv[1])))));"
                  .replace('NAMES', str(pathlib.Path(__file__).parents[2] / 'web/src/names.js')))
        found = json.loads(subprocess.run(['node', '--input-type=module', '-e', script, json.dumps(list(shortened))],
                                          capture_output=True, check=True).stdout)
        self.maxDiff = None
        self.assertEqual({name: found.get(name, name) for name in shortened}, shortened)

    def search(self, text):
        self.browser.js("""
            const field = document.querySelector("#search");
            field.value = arguments[0];
            field.dispatchEvent(new Event("input"));""", text)
        return self.browser.driver.execute_async_script(
            'requestAnimationFrame(() => requestAnimationFrame(() => arguments[0](document.querySelector("#found").innerText)))')

    def saved(self, selector, name):
        """Chooses something and returns the text of the file that the browser saves then."""
        self.browser.save_to(self.directory)
        self.browser.click(selector)
        deadline = time.monotonic() + 60
        while not (self.directory / name).exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        return (self.directory / name).read_text()

    def test_tables_can_be_saved(self):
        self.open_fixture(report_fixture.report(('f(std::vector<int> const&, "a")', '=1+2')))
        rows = list(csv.reader(io.StringIO(self.saved('#functions .csv', 'functions.csv'))))
        self.assertEqual([float(row.pop(4)) for row in rows[1:]], [3020 / 4720, 1600 / 4720])
        self.assertEqual(rows, [['Function', 'Module', 'Instructions', '± Error', 'Share', 'Samples'],
                                ['f(std::vector<int> const&, "a")', 'plain', '3020', '9', '5'],
                                ["'=1+2", 'plain', '1600', '9', '5']])
        self.search('0x2007')
        self.assertEqual(len(self.saved('#blocks .csv', 'blocks.csv').splitlines()), 2)
        # Rows that open have a column for each level; it has those that are not open, too.
        self.browser.choose('#pivot-row-0', 'extension')
        self.browser.choose('#pivot-row-1', 'mnemonic')
        rows = list(csv.reader(io.StringIO(self.saved('#pivot .csv', 'instructions-by-isa-extension-mnemonic.csv'))))
        self.assertEqual(rows[0][:3], ['ISA extension', 'Mnemonic', 'Instructions'])
        self.assertEqual(sorted(row[:3] for row in rows[1:]),
                         [['AVX', 'vaddpd', '1000'], ['BASE', 'add', '1510'], ['BASE', 'jne', '1410'], ['SSE2', 'mulsd', '800']])

    def test_the_data_can_be_saved(self):
        data = report_fixture.report((HOSTILE, 'b'))
        self.open_fixture(data)
        self.assertEqual(json.loads(self.saved('#json', 'hbbp-report.json')), data)

    def test_search_leaves_the_rows_that_match(self):
        self.open_fixture(report_fixture.report(('json::Lexer<std::vector<char>, int>::scan(long)', 'main')))
        self.assertEqual(self.search('lexer SCAN').split(), ['1', 'function', '2', 'blocks', '1', 'loop'])
        self.assertEqual(self.cells('functions', 1), ['json::Lexer<...>::scan(long)'])
        # Whole names are searched, and addresses find what is around them.
        self.assertEqual(self.search('vector<char').split()[:2], ['1', 'function'])
        self.assertEqual(self.search('0x2007').split(), ['1', 'function', '1', 'block', '0', 'loops'])
        self.assertEqual(self.cells('blocks', 1), ['0x2000'])
        self.assertEqual(self.search('nowhere').split(), ['0', 'functions', '0', 'blocks', '0', 'loops'])
        self.assertEqual(self.cells('functions', 1), [])
        # A link to a row that is not among them shows all of them.
        self.search('main')
        self.browser.driver.execute_async_script(
            'addEventListener("hashchange", () => setTimeout(arguments[0]), {once: true}); location.hash = "#listed-0"')
        self.assertEqual(len(self.cells('functions', 1)), 2)
        self.assertEqual(self.search(''), '')
        self.assertEqual(len(self.cells('blocks', 1)), 3)

    def test_search_by_keys(self):
        self.open_fixture()
        self.browser.find('body').send_keys('/')
        self.assertEqual(self.browser.js('return document.activeElement.id'), 'search')
        self.browser.find('#search').send_keys('cold/')
        self.assertEqual(self.browser.find('#search').get_attribute('value'), 'cold/')
        self.browser.press('BACK_SPACE', 'ENTER')
        self.assertTrue(self.browser.js('return location.hash === "#functions"'))
        self.assertEqual(self.cells('functions', 1), ['cold'])

    def test_links_to_sections_stay_in_view(self):
        for width in (NARROW, WIDE):
            self.open_fixture(self.everything(), width=width)
            for section in ('pivot', 'functions', 'unseen'):
                self.browser.js(f'document.querySelector("#sections a[href=\'#{section}\']").click()')
                self.browser.driver.execute_async_script('requestAnimationFrame(() => requestAnimationFrame(() => arguments[0]()))')
                bar, top = self.browser.js(f"""
                    return [document.querySelector(".sticky").getBoundingClientRect(), document.querySelector("#{section} h2").getBoundingClientRect().top]""")
                self.assertEqual(bar['top'], 0)
                if section != 'unseen':
                    self.assertGreaterEqual(top, bar['bottom'] - 1, 'the heading is behind the links')
            self.browser.js('location.hash = "#pivot"')
            current = self.browser.driver.execute_async_script("""
                const done = arguments[0];
                const look = () => { const at = document.querySelector("#sections [aria-current]"); at?.hash === "#pivot" ? done(at.innerText) : requestAnimationFrame(look); };
                look();""")
            self.assertEqual(current, 'Pivot')

    def test_code_can_be_read_on_a_narrow_page(self):
        long = 'std::vector<std::map<long, long>>::' * 5
        for names, text in ((('hot', 'cold'), {}), ((HOSTILE, 'b'), {}), (('hot', 'cold'), {'11': long})):
            data = report_fixture.report(names, 'ymm11, ymm12, ymmword ptr [rax+r12*8+0x1000]')
            data.update(source_text=[text], inlined=[long + 'f'])
            self.open_fixture(data, width=NARROW)
            self.browser.click('#functions tbody a')
            inner, whole, right = self.browser.js('''
                const scroll = document.querySelector("#code .scroll:has(table)");
                return [scroll.clientWidth, scroll.scrollWidth,
                        Math.max(...[...document.querySelectorAll("#code td.code")].map((e) => e.getBoundingClientRect().right))]''')
            self.assertLessEqual(whole, inner)
            self.assertLess(right, NARROW)

    def test_ratios(self):
        self.open_fixture()
        self.assertEqual(self.cells('ratios', 1), ['bytes read', 'flops by instruction', 'packed'])
        self.assertEqual(self.cells('ratios', 3), ['12.5 bytes', '0.00771 operations/instruction', '25.00 %'])
        self.assertEqual(self.cells('ratios', 4), ['± 0.750', '± 0.000250', '± 1.25 %'])
        self.assertIn('Zero: flops half.', self.browser.texts('#ratios')[0])

    def test_ratios_are_those_of_the_command(self):
        self.record_bzip2()
        shown = {ratio['name']: ratio for ratio in report_fixture.data_of(self.export())['ratios']}
        listed = {row['name']: row for row in self.rows('mix', self.file, '--summary')}
        known = [name for name, row in listed.items() if row['value'] is not None]
        self.assertEqual(list(shown), known)
        for name in known:
            for one, other in (('value', 'value'), ('error', 'standard_error')):
                self.assertAlmostEqual(shown[name][one], listed[name][other], delta=1e-5 * abs(listed[name][other]))

    def test_ibs(self):
        self.open_fixture()
        self.assertEqual(self.browser.find_all('#ibs'), [])
        self.open_fixture(report_fixture.with_ibs(report_fixture.report()))
        self.assertEqual(self.titles_of('Instructions by IBS'),
                         ['Instruction', 'Code', 'Function', 'Module', 'op samples', 'L1 data misses', 'tag to retire cycles'])
        self.assertEqual(self.rows_of('Instructions by IBS'), ['0x1004 add plain hot plain 30 2 500', 'without code plain 10 7 300'])
        self.assertIn('In all: 40 op samples, 9 L1 data misses, 800 tag to retire cycles.', self.browser.texts('#ibs p'))
        self.assertIn('The 2 of 7 instructions with the most samples.', self.browser.texts('#ibs p')[0])
        self.assertEqual(self.browser.texts('#ibs .charts figure tbody tr'), ['16 to 19 75.00 % 75.00 %', '20 25.00 % 100.00 %'])
        self.browser.click('#ibs tbody a')
        self.assertEqual(self.browser.texts('#code .block.target .address'), ['0x1000'])

    def rows_of(self, label):
        return self.browser.texts(f'#ibs [aria-label="{label}"] tbody tr')

    def titles_of(self, label):
        return [re.sub(' [↕▼▲]$', '', title) for title in self.browser.texts(f'#ibs .scroll[aria-label="{label}"] thead th')]

    def test_ibs_latencies_are_by_level_of_memory(self):
        self.open_fixture(report_fixture.with_ibs(report_fixture.report()))
        label = 'Loads by level of memory'
        self.assertEqual(self.titles_of(label), ['Instruction › Level', 'Code', 'Function', 'Module', 'Loads', 'Share', 'Half below',
                                                 '90 % below', 'All below'])
        self.assertEqual(self.rows_of(label), ['▸0x1000 vaddpd plain hot plain 100 1 512 512', '▸without code plain 7 1,280 1,280 1,280'])
        self.browser.click('#ibs [role="treegrid"] .open')
        self.assertEqual(self.rows_of(label)[1:4],
                         ['l1 60 60.00 %', 'l2 20 20.00 % 16 16 16', 'local-dram 20 20.00 % 512 512 512'])
        self.assertEqual(self.browser.texts('.levels thead th'), ['Cycles', 'l1', 'l2', 'local-dram'])
        self.assertEqual(self.browser.texts('.levels tbody tr'), ['0 60', '12 to 13 5 1', '14 to 15 15', '448 to 511 19'])
        self.browser.choose('#ibs-load', '1')
        self.assertEqual(self.browser.texts('.levels tbody tr'), ['1,024 to 1,279 7'])

    def test_ibs_memory_is_by_object_line_and_page(self):
        self.open_fixture(report_fixture.with_ibs(report_fixture.report()))
        numbers = ['Samples', 'Loads', 'Stores', 'L1 data misses', 'Miss cycles', 'Local', 'Remote', 'Threads']
        self.assertEqual(self.titles_of('Data objects'), ['Object', 'Module', 'Address', 'Bytes', *numbers])
        self.assertEqual(self.rows_of('Data objects'), ['table_plain plain 0x4010 64 30 20 10 5 1.00 k 4 1 2', '[other memory] 17 17 0 0 0 0 0 1'])
        self.assertEqual(self.titles_of('Cache lines'), ['Line', *numbers, 'NUMA node'])
        self.assertEqual(self.rows_of('Cache lines'), ['0x7f0000001040 40 30 10 4 900 3 1 2 0 (75.00 %), 1 (25.00 %)',
                                                       '0x7f0000001080 5 5 0 1 100 1 0 1'])
        self.assertEqual(self.titles_of('Pages'), ['Page', 'Process', *numbers, 'NUMA node'])
        self.assertEqual(self.rows_of('Pages'), ['0x7f0000001000 7 45 35 10 5 1.00 k 4 1 2 0', '0x7f0000001000 8 2 2 0 0 0 0 0 1 1'])
        self.assertIn('The 2 of 9 with the most samples.', self.browser.texts('#ibs p'))

    def test_code_has_what_ibs_and_other_events_sampled(self):
        self.open_fixture(report_fixture.with_ibs(report_fixture.report()))
        self.browser.click('#functions tbody a')
        self.assertEqual(self.browser.texts('#code thead th'), ['Address', 'Executions', 'Share', 'cycles samples', 'IBS ops', 'L1 data misses',
                                                                'Mean miss cycles', 'Instruction', 'Source'])
        rows = self.browser.js('return [...document.querySelectorAll("#code tr[data-line]")].map((row) => '
                               '[...row.querySelectorAll("td.number")].slice(2).map((cell) => cell.textContent))')
        self.assertEqual(rows, [['3', '30', '2', '251'], ['40', '', '', ''], ['', '', '', ''], ['', '', '', ''], ['0', '5', '0', '']])
        # Code of which nothing was sampled has no such columns.
        self.browser.click('#functions a[href="#function-1"]')
        self.assertEqual(self.browser.texts('#code thead th')[:4], ['Address', 'Executions', 'Share', 'Instruction'])

    def test_what_was_not_seen(self):
        self.open_fixture()
        seen = dict(zip(self.cells('unseen', 1), self.cells('unseen', 3)))
        for what, number in (('lost', '10'), ('times', '1'), ('samples in no known', '3'), ('samples that are', '4'),
                             ('of these: the code is missing', '4'), ('superseded', '6')):
            self.assertEqual([seen[key] for key in seen if key.startswith(what)], [number], what)
        self.assertIn('Modules whose code was not found', self.browser.texts('#unseen caption'))

    def test_light_and_dark(self):
        background = 'return getComputedStyle(document.body).backgroundColor'
        self.open_fixture()
        light = self.browser.js(background)
        self.browser.open(self.page, scheme='dark')
        dark = self.browser.js(background)
        self.assertNotEqual(light, dark)
        found = [dark]
        for _ in range(3):
            self.browser.click('#theme')
            found.append(self.browser.js(background))
        self.assertEqual(found, [dark, light, dark, dark])
        self.browser.click('#theme')
        self.browser.open(self.page, scheme='dark')
        self.assertEqual(self.browser.js(background), light)

    def test_text_can_be_read(self):
        for scheme in ('light', 'dark'):
            self.open_fixture(self.everything(), scheme=scheme)
            self.browser.js('document.querySelectorAll("details").forEach((one) => { one.open = true; })')
            self.browser.click('#functions tbody a')
            for heat in range(1, 6):
                self.assertGreaterEqual(self.browser.contrast('--text', f'--heat-{heat}'), LEAST_CONTRAST, (scheme, heat))
            contrasts = self.browser.contrasts()
            self.assertGreater(len(contrasts), 100)
            self.assertEqual([one for one in contrasts if one[0] < LEAST_CONTRAST], [], scheme)

    def everything(self, *names):
        return report_fixture.with_ibs(report_fixture.with_slices(report_fixture.with_threads(report_fixture.report(*names))))

    def test_shapes_can_be_seen(self):
        """Checks the contrast of charts, bars and of the focus with their background."""
        for scheme in ('light', 'dark'):
            self.open_fixture(scheme=scheme)
            names = [f'--series-{at}' for at in range(7)] + ['--other', '--link', '--whisker', '--bar']
            for behind in ('--page', '--card'):
                for name in names:
                    self.assertGreaterEqual(self.browser.contrast(name, behind), LEAST_CONTRAST_OF_SHAPES, (scheme, name))

    def test_names_and_roles(self):
        self.open_fixture(self.everything())
        self.browser.click('#functions tbody a')
        nameless = self.browser.js('''
          return [...document.querySelectorAll('button, select, input, a, svg, table, section, [role=region]')].filter((element) =>
            !(element.ariaLabel || element.labels?.[0]?.textContent || element.caption?.textContent
              || document.getElementById(element.getAttribute('aria-labelledby'))?.textContent
              || (/^(BUTTON|A)$/.test(element.tagName) && element.textContent.trim()))).map((element) => element.outerHTML.slice(0, 80))''')
        self.assertEqual(nameless, [])
        self.assertEqual(self.browser.js('return [...document.querySelectorAll("th:not([scope])")].length'), 0)
        self.assertEqual(self.browser.js('return document.querySelectorAll("tbody tr:not(:has(th)):not(#code tr)").length'), 0)
        identifiers = self.browser.js('return [...document.querySelectorAll("[id]")].map((element) => element.id)')
        self.assertEqual(len(identifiers), len(set(identifiers)))

    def test_the_keyboard_reaches_everything(self):
        """Everything is reached by Tab, with a visible focus; the contents of a row that opens by the keys of that row, and the
        blocks of a graph by those of the graph."""
        self.open_fixture(self.everything())
        self.browser.click('#functions tbody a')
        self.browser.js('''
            document.querySelectorAll("details").forEach((one) => { one.open = true; });
            document.activeElement.blur();
            window.scrollTo(0, 0);''')
        controls = self.browser.js('''
            const all = [...document.querySelectorAll("a[href], button, select, input, summary, .scroll, [role=treegrid] tbody tr[tabindex='0']")];
            window.controls = all.filter((e) => e.id !== "skip" && e.checkVisibility() && !e.closest("[role=treegrid] tbody button, .graph a[tabindex='-1']"));
            return window.controls.map((e) => e.outerHTML.slice(0, 60));''')
        reached = set()
        for _ in range(len(controls) + 20):
            self.browser.press('TAB')
            at, outline = self.browser.js(
                'const e = document.activeElement; return [window.controls.indexOf(e), getComputedStyle(e).outlineStyle]')
            if at >= 0:
                self.assertNotEqual(outline, 'none', f'no focus is seen in {controls[at]}')
                reached.add(at)
        self.assertGreater(len(controls), 60)
        self.assertEqual([one for at, one in enumerate(controls) if at not in reached], [])

    def test_nothing_sticks_out(self):
        for names in (('hot', 'cold'), (HOSTILE, 'n' * 3000)):
            for width in (NARROW, WIDE):
                self.open_fixture(self.everything(names, names[0]), width=width)
                self.browser.js('document.querySelectorAll("details").forEach((one) => { one.open = true; })')
                self.browser.choose('#pivot-column', 'mnemonic')
                self.browser.choose('#pivot-filter', 'function')
                self.browser.js('document.querySelector("#functions tbody a").click()')
                found, seen = self.browser.widths()
                self.assertEqual(seen, width)
                self.assertLessEqual(found, width)
                self.assertEqual([section for section in SECTIONS
                                  if not self.browser.find(f'#{section}').is_displayed()], [])

    def test_figures_are_in_view_on_a_narrow_page(self):
        for names in (('hot', 'cold'), (HOSTILE, 'n' * 3000)):
            self.open_fixture(self.everything(names, names[0]), width=NARROW)
            self.browser.choose('#pivot-column', 'mnemonic')
            self.browser.click('#pivot tbody button.open')
            figures, hidden = self.browser.js("""
                const sections = ["ratios", "pivot", "threads", "functions", "blocks", "loops", "unseen"].map((id) => document.getElementById(id));
                const figures = sections.flatMap((one) => [...one.querySelectorAll("tbody .number")]).filter((one) => one.checkVisibility());
                return [figures.length, [
                  ...figures.filter((one) => { const { left, right } = one.getBoundingClientRect(); return left < 0 || right > innerWidth; }),
                  ...figures.filter((one) => one.scrollWidth > one.clientWidth),
                  ...sections.flatMap((one) => [...one.querySelectorAll(".scroll")]).filter((one) => one.scrollWidth > one.clientWidth),
                ].map((one) => one.outerHTML.slice(0, 200))]""")
            self.assertGreater(figures, 80)
            self.assertEqual(hidden, [])
        # Cells keep their roles, which other boxes would take from them, and say what they are.
        self.assertEqual(self.browser.js('return document.querySelectorAll(".table :is(table, thead, tbody, tr, th, td):not([role])").length'), 0)
        self.assertEqual(self.browser.js('return getComputedStyle(document.querySelector("#functions td.number"), "::before").content'),
                         '"Instructions"')

    def test_hostile_names_are_only_text(self):
        self.open_fixture(report_fixture.report((HOSTILE, 'b'), HOSTILE))
        self.browser.click('#functions tbody a')
        self.browser.choose('#pivot-filter', 'function')
        self.assertIsNone(self.browser.js('return window.harm'))
        self.assertEqual(self.browser.find_all('main img'), [])
        self.assertIn('window.harm = 1', self.browser.texts('#code h3')[0])

    def test_a_program_that_did_nothing(self):
        empty = report_fixture.report()
        empty.update(instructions=0, blocks=report_fixture.columns(['start', 'code'], []),
                     functions=report_fixture.columns(['name', 'start'], []), edges={}, loops={}, rest={}, mixes=[])
        self.open_fixture(empty)
        self.assertIn('nothing to show', self.browser.texts('#unseen')[0])

    def test_says_why_it_cannot(self):
        self.assertIn('absent.data', self.refused('export', 'absent.data'))
        self.record('true')
        self.assertIn('absent', self.refused('export', self.file, '-o', self.directory / 'absent' / 'out.html'))
        self.assertIn('pdf', self.refused('export', self.file, '--format', 'pdf'))


if __name__ == '__main__':
    record_support.main(ReportTest)
