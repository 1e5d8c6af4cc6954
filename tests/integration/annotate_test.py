"""Tests hbbp annotate on a recorded program: its instructions are those of objdump, its counts
those of hbbp blocks, its lines those of addr2line."""
import csv
import http.server
import io
import json
import os
import pty
import re
import subprocess
import threading

import record_support

SOURCE = '''#include <cstdio>
#include <cstdint>
static inline uint64_t Mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  return x ^ (x >> 29);
}
namespace work {
__attribute__((noinline)) uint64_t Loop(uint64_t n) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < n; ++i) {
    for (int j = 0; j < 7; ++j)
      sum += Mix(i + j);  // the hot line
    if ((i & 1023) == 0)
      sum ^= 1;
  }
  return sum;
}
}
namespace {
struct Sum {
  __attribute__((noinline)) uint64_t operator()(uint64_t n) const {
    uint64_t sum = n;
    for (uint64_t i = 0; i < n; ++i) sum = Mix(sum + i);
    return sum;
  }
};
}
int main() {
#ifdef WITH_LIBRARY
  char text[64];
  for (int i = 0; i < 1000000; ++i) std::snprintf(text, sizeof(text), "%d", i);
#endif
#ifdef WITH_SUM
  const Sum sum;
  std::printf("%llu\\n", (unsigned long long)sum(40000000));
#endif
  std::printf("%llu\\n", (unsigned long long)work::Loop(40000000));
}
'''
FUNCTION = 'work::Loop'
SYMBOL = '_ZN4work4LoopEm'
ESCAPE = '\033'


class AnnotateTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        self.source = self.directory / 'loop.cc'
        self.program = self.directory / 'loop'
        self.source.write_text(SOURCE)
        self.build('-O1', '-g')

    def build(self, *flags):
        try:
            subprocess.run(['g++', *flags, self.source, '-o', self.program], check=True)
        except FileNotFoundError:
            self.skipTest('no g++')

    def annotate(self, *arguments, **options):
        result = self.run_tool('annotate', self.file, *arguments, **options)
        self.assertEqual(result.returncode, 0, result)
        return result.stdout

    def instructions(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.annotate('--format', 'csv', *arguments))))

    def objdump(self):
        out = subprocess.run(['objdump', '-d', '--no-show-raw-insn', f'--disassemble={SYMBOL}',
                              self.program], capture_output=True, text=True, check=True).stdout
        return re.findall(r'^ +([0-9a-f]+):\t(\S+)', out, re.M)

    def test_instructions_are_those_of_objdump(self):
        self.record(self.program)
        rows = self.instructions('--function', FUNCTION)
        found = [(row['address'][2:], row['instruction'].split()[0]) for row in rows]
        expected = self.objdump()
        self.assertEqual([address for address, _ in found], [address for address, _ in expected])
        # Only the first letters are compared, because AT&T's names end with sizes.
        for (address, ours), (_, theirs) in zip(found, expected):
            self.assertEqual(ours[:2], theirs[:2], address)

    def test_counts_are_those_of_blocks(self):
        self.record(self.program)
        blocks = {row['start']: row for row in self.rows('blocks', self.file)
                  if row['function'].startswith(FUNCTION)}
        rows = self.instructions('--function', SYMBOL)
        seen = [row for row in rows if row['count']]
        self.assertGreater(len(seen), 10)
        for row in seen:
            block = blocks[row['block']]
            self.assertAlmostEqual(float(row['count']), block['count'])
            self.assertAlmostEqual(float(row['standard_error']), block['standard_error'])
            self.assertEqual(row['source'], 'ebs')
            self.assertLessEqual(int(block['start'], 16), int(row['address'], 16))
            self.assertLess(int(row['address'], 16), int(block['end'], 16))
        self.assertEqual({row['block'] for row in seen}, set(blocks))
        self.assertAlmostEqual(sum(float(row['share_of_function']) for row in seen), 1, places=6)

    def test_lines_are_those_of_addr2line(self):
        self.record(self.program)
        rows = self.instructions('--function', FUNCTION)
        out = subprocess.run(['addr2line', '-i', '-a', '-e', self.program,
                              *(row['address'] for row in rows)],
                             capture_output=True, text=True, check=True).stdout
        chains = [[re.sub(r' \(.*', '', line) for line in part.splitlines()[1:]]
                  for part in re.split(r'^(?=0x)', out, flags=re.M)[1:]]
        self.assertEqual([[frame.split('@')[1] for frame in row['inlined'].split(';')]
                          for row in rows], chains)
        self.assertTrue(any(len(chain) == 2 for chain in chains))
        inlined = [row for row in rows if row['inlined'].startswith('Mix')]
        self.assertEqual({row['line'] for row in inlined}, {'4', '5', '6'})

    def test_text_has_source_labels_and_inlining(self):
        self.record(self.program)
        text = self.annotate('--function', FUNCTION, '--all')
        self.assertIn('sum += Mix(i + j);  // the hot line', text)
        self.assertIn(f'[Mix inlined into {FUNCTION}(unsigned long) (loop.cc:13)]', text)
        self.assertIn(' ± ', text)
        labels = re.findall(r'^[ │]+(L[0-9]+):$', text, re.M)
        self.assertGreater(len(labels), 1)
        self.assertLessEqual(set(re.findall(r'# (L[0-9]+)', text)), set(labels))
        self.assertRegex(text, r'jne 0x[0-9a-f]+  # L[0-9]+ \(back\)')
        plain = self.annotate('--function', FUNCTION, '--all', '--no-source')
        self.assertNotIn('loop.cc', plain)
        self.assertEqual(re.findall(r'0x[0-9a-f]+:', plain), re.findall(r'0x[0-9a-f]+:', text))

    def test_loops_have_depth_and_trips(self):
        result = self.run_tool('record', '--source', 'swbt', '-o', self.file, '--', self.program)
        if result.returncode != 0:
            self.skipTest(result.stderr)
        rows = self.instructions('--function', FUNCTION)
        depths = {row['line']: row['loop_depth'] for row in rows if row['count']}
        # The function of lines 4 to 6 was inlined into the inner loop.
        self.assertEqual([depths[line] for line in ('4', '5', '6', '15')], ['2', '2', '2', '1'])
        inner = [row for row in rows if row['loop_depth'] == '2']
        self.assertEqual(len({row['loop_header'] for row in inner}), 1)
        self.assertIn(inner[0]['loop_header'], {row['address'] for row in inner})
        trips, error = float(inner[0]['trip_count']), float(inner[0]['trip_count_error'])
        self.assertLess(abs(trips - 7), max(5 * error, 0.7))
        listed = [row for row in self.rows('loops', self.file)
                  if row['header'] == inner[0]['loop_header']]
        self.assertAlmostEqual(listed[0]['trip_count'], trips)
        text = self.annotate('--function', FUNCTION)
        self.assertRegex(text, r'\[loop of depth 2: [67][.0-9]* ± [.0-9e-]+ trips on average\]')
        # The arrow of the inner loop is nearer to the code than that of the outer one.
        self.assertRegex(text, f'│╭→ {inner[0]["loop_header"]}:')
        self.assertRegex(text, r'│╰─ 0x[0-9a-f]+:  jne')

    def on_terminal(self, *arguments, **environment):
        """Returns what hbbp annotate prints on a terminal."""
        main, terminal = pty.openpty()
        process = subprocess.Popen([record_support.TOOL, 'annotate', self.file, *arguments],
                                   stdin=terminal, stdout=terminal, stderr=subprocess.DEVNULL,
                                   env={**os.environ, 'TERM': 'xterm', **environment})
        os.close(terminal)
        out = b''
        try:
            while chunk := os.read(main, 65536):
                out += chunk
        except OSError:  # the other end is closed
            pass
        os.close(main)
        self.assertEqual(process.wait(), 0)
        return out.decode()

    def test_colour_is_for_terminals(self):
        self.record(self.program)
        self.assertNotIn(ESCAPE, self.annotate())
        self.assertIn(ESCAPE + '[31m', self.on_terminal('--no-pager', NO_COLOR=''))
        self.assertNotIn(ESCAPE, self.on_terminal('--no-pager', NO_COLOR='1'))
        self.assertNotIn(ESCAPE, self.on_terminal('--no-pager', NO_COLOR='', TERM='dumb'))

    def test_pagers_are_for_terminals(self):
        self.record(self.program)
        plain = self.annotate()
        shown = self.directory / 'shown'
        chosen = {'HBBP_PAGER': f'cat > {shown}', 'PAGER': 'false', 'NO_COLOR': '1'}
        self.assertEqual(self.on_terminal(**chosen), '')
        self.assertEqual(shown.read_text(), plain)
        for others in ({'HBBP_PAGER': ''}, {'HBBP_PAGER': 'cat'}, {'TERM': 'dumb'},
                       {'HBBP_PAGER': 'no-such-pager 2>/dev/null'}):
            with self.subTest(**others):
                self.assertEqual(self.on_terminal(**{**chosen, **others}).replace('\r\n', '\n'), plain)
        # A pager that is left at once is not a failure (on_terminal checks the exit status).
        self.assertEqual(self.on_terminal(HBBP_PAGER='true'), '')

        # less is found by its name, and begins a little above the hottest block.
        less = self.directory / 'less'
        less.write_text(f'#!/bin/sh\necho "$LESS $*" > {shown}\ncat > {shown}.text\n')
        less.chmod(0o755)
        path = {'PATH': f'{self.directory}:{os.environ["PATH"]}', 'NO_COLOR': '1', 'LESS': 'R'}
        for pager in ({}, {'PAGER': 'less'}, {'PAGER': f'{less} -i'}):
            with self.subTest(**pager):
                self.on_terminal('--function', FUNCTION, **path, **pager)
                line = int(re.fullmatch(r'R (?:-i )?\+([0-9]+)\n', shown.read_text())[1])
                text = (self.directory / 'shown.text').read_text()
                start = re.search('hottest block (0x[0-9a-f]+) to', text)[1]
                below = text.splitlines()[line - 1:line + 10]
                self.assertTrue(any(f' {start}:' in each for each in below), (line, start, below))

    def test_hottest_block_is_that_of_hbbp_blocks(self):
        self.record(self.program)
        text = self.annotate('--function', FUNCTION)
        hottest = max((row for row in self.rows('blocks', self.file)
                       if row['function'].startswith(FUNCTION)),
                      key=lambda row: row['count'] * row['instructions'])
        self.assertIn(f'  hottest block {hottest["start"]} to {hottest["end"]}, ', text)
        # Its bar is the longest, as it is the inner loop.
        self.assertRegex(text, f'█████ .* {hottest["start"]}:')

    def test_code_that_was_not_seen_is_folded(self):
        self.build('-O1', '-g', '-DWITH_LIBRARY')
        self.record(self.program)
        choice = ('--top', '2')
        rows = self.instructions(*choice)
        seen = [row['address'] for row in rows if float(row['count'] or 0) > 0]
        self.assertLess(len(seen), len(rows))
        text = self.annotate(*choice, '--no-source')
        listed = re.findall(r' (0x[0-9a-f]+):  ', text)
        self.assertLessEqual(set(seen), set(listed))
        folds = [(int(count), start, end) for count, start, end in re.findall(
            r'\.\.\. ([0-9]+) instructions were not seen to run, (0x[0-9a-f]+) to (0x[0-9a-f]+)\n', text)]
        self.assertTrue(folds)
        folded = sum(count for count, _, _ in folds)
        self.assertEqual(folded + len(listed), len(rows))
        self.assertIn(f'note: {folded:,} instructions that were not seen to run are left out; --all', text)
        for _, start, _ in folds:
            self.assertNotIn(start, listed)
        whole = self.annotate(*choice, '--no-source', '--all')
        self.assertEqual(re.findall(r' (0x[0-9a-f]+):  ', whole), [row['address'] for row in rows])
        self.assertNotIn('not seen to run', whole)

    def test_json_has_the_same_rows(self):
        self.record(self.program)
        whole = json.loads(self.annotate('--format', 'json', '--function', FUNCTION))
        rows = self.instructions('--function', FUNCTION)
        self.assertEqual([row['address'] for row in whole['rows']],
                         [row['address'] for row in rows])
        self.assertEqual(whole['functions'], 1)
        self.assertGreater(whole['total_instructions'], 0)

    def test_address_and_module_choose(self):
        self.record(self.program)
        by_name = self.instructions('--function', FUNCTION)
        middle = by_name[len(by_name) // 2]['address']
        self.assertEqual(self.instructions('--address', middle, '--module', 'loop'), by_name)
        self.assertEqual(self.instructions('--top', '1'), by_name)
        for almost in ('work::Lop', 'Loop'):
            self.assertIn("did you mean 'work::Loop'?",
                          self.refused('annotate', self.file, '--function', almost))
        self.assertIn('there are: loop',
                      self.refused('annotate', self.file, '--module', 'nothing.so'))
        self.assertIn('no number', self.refused('annotate', self.file, '--address', 'main'))
        self.assertIn('no function with a count is at 0x1',
                      self.refused('annotate', self.file, '--address', '0x1'))

    def test_names_need_no_parameters_wherever_parentheses_stand(self):
        self.build('-O1', '-g', '-DWITH_SUM')
        self.record(self.program)
        name = '(anonymous namespace)::Sum::operator()'
        of_sum = self.instructions('--function', name)
        self.assertEqual({row['function'] for row in of_sum}, {f'{name}(unsigned long) const'})
        self.assertEqual(self.instructions('--function', f'{name}(unsigned long) const'), of_sum)
        self.assertIn('no function', self.refused('annotate', self.file, '--function',
                                                  '(anonymous namespace)::Sum::operator'))

        whole = json.loads(self.annotate('--format', 'json'))
        functions = {(row['module'], row['function']) for row in whole['rows']}
        self.assertGreater(len(functions), 1)
        self.assertEqual(whole['functions'], len(functions))

        def executed(condition):
            return sum(row['instructions'] for row in self.rows('mix', self.file, '--where', condition))
        counted = sum(float(row['count'] or 0) for row in of_sum)
        for condition in (f"function = '{name}'", f'function = {name}', f'function={name}',
                          f'function={name}(unsigned long) const'):
            self.assertAlmostEqual(executed(condition), counted, delta=1e-6 * counted, msg=condition)
        hot = SOURCE.splitlines().index('      sum += Mix(i + j);  // the hot line') + 1
        self.assertGreater(executed(f'line = loop.cc:{hot}'), 0)
        self.assertEqual(executed(f'line = loop.cc:{hot}'), executed(f'line = {self.source}:{hot}'))

    def test_missing_source_and_debug_files_are_named(self):
        self.record(self.program)
        moved = self.source.rename(self.directory / 'elsewhere.cc')
        text = self.annotate()
        self.assertIn(f'note: there is no source file {self.source}', text)
        self.assertIn('loop.cc:13\n', text)
        moved.rename(self.source)

        debug = self.directory / 'loop.debug'
        subprocess.run(['objcopy', '--only-keep-debug', self.program, debug], check=True)
        subprocess.run(['objcopy', '--strip-debug', f'--add-gnu-debuglink={debug}', self.program],
                       check=True)
        self.assertIn('the hot line', self.annotate('--function', FUNCTION))
        debug.unlink()
        text = self.annotate('--function', FUNCTION, '--all')
        self.assertNotIn('the hot line', text)
        self.assertIn(f'note: {self.program}: no debug information', text)
        self.assertIn(str(debug), text)
        self.assertEqual([address for address, _ in self.objdump()],
                         re.findall(r' 0x([0-9a-f]+):', text))

    def test_debug_file_of_another_build_is_refused(self):
        self.record(self.program)
        debug = self.directory / 'loop.debug'
        recorded = self.program.read_bytes()
        self.build('-O2', '-g')
        subprocess.run(['objcopy', '--only-keep-debug', self.program, debug], check=True)
        self.program.write_bytes(recorded)
        subprocess.run(['objcopy', '--strip-debug', f'--add-gnu-debuglink={debug}', self.program],
                       check=True)
        text = self.annotate('--function', FUNCTION)
        self.assertIn(f'{debug}: of build ID', text)
        self.assertIn('this very version', text)

    def test_servers_are_asked_if_that_is_wanted(self):
        self.record(self.program)
        whole = self.program.read_bytes()
        subprocess.run(['objcopy', '--strip-debug', self.program], check=True)
        asked = []

        class Server(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                self.send_response(200)
                self.send_header('Content-Length', str(len(whole)))
                self.end_headers()
                self.wfile.write(whole)

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(('127.0.0.1', 0), Server) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.shutdown)
            environment = {**os.environ, 'DEBUGINFOD_CACHE_PATH': str(self.directory / 'cache'),
                           'DEBUGINFOD_URLS': f'http://127.0.0.1:{server.server_port}/'}
            environment.pop('http_proxy', None)
            text = self.annotate('--function', FUNCTION, env=environment)
            self.assertNotIn('the hot line', text)
            self.assertIn('or allow debuginfod', text)
            self.assertEqual(asked, [])
            text = self.annotate('--function', FUNCTION, '--debuginfod', env=environment)
            if 'libdebuginfod cannot be loaded' in text:
                self.skipTest('no libdebuginfod')
            self.assertIn('the hot line', text)
            self.assertEqual(len(asked), 1)
            self.assertRegex(asked[0], '/buildid/[0-9a-f]{40}/debuginfo')

    def test_replaced_program_is_reported(self):
        self.record(self.program)
        self.build('-O2', '-g')
        error = self.refused('annotate', self.file, '--function', FUNCTION)
        self.assertIn(f'{self.program}: build ID', error)
        self.assertIn('was replaced', error)

    def test_replaced_program_is_reported_where_other_modules_have_code(self):
        self.build('-O1', '-g', '-DWITH_LIBRARY')
        self.record(self.program)
        self.build('-O2', '-g')
        self.assertIn('libc', self.annotate('--top', '1'))
        for wanted in (('--function', FUNCTION), ('--address', '0x10')):
            error = self.refused('annotate', self.file, *wanted)
            self.assertIn(f'{self.program}: build ID', error)
            self.assertIn('was replaced', error)


if __name__ == '__main__':
    record_support.main(AnnotateTest)
