"""Tests hbbp import on recordings made here, so that every number is known, and some of real hardware."""
import json
import os
import re
import shutil
import struct
import subprocess
import unittest

import perf_data_parts
import record_support

HEADER_BYTES = 104
ATTR_BYTES = 112
IP, TID, TIME, PERIOD, BRANCH_STACK = 1 << 0, 1 << 1, 1 << 2, 1 << 8, 1 << 11
ANY_BRANCH, ANY_CALL = 1 << 3, 1 << 4
CYCLES, INSTRUCTIONS, REF_CYCLES = 0, 1, 9  # PERF_COUNT_HW_*
USER = 2
EXACT_IP = 1 << 14
BUILD_ID_RECORD, BUILD_ID_FEATURE = 67, 2
# The text sets the title of a window, clears the screen, and has U+009B, which starts sequences like ESC [.
ESCAPES = '\033]0;title\007\033[2J\x9b31m\r'
CONTROL = re.compile('[\0-\x08\x0b-\x1f\x7f-\x9f]')


def record(kind, misc, payload):
    return struct.pack('<IHH', kind, misc, 8 + len(payload)) + payload


def mapping(pid, start, size, path):
    name = path.encode() + b'\0'
    name += b'\0' * (-len(name) % 8)
    return record(10, USER, struct.pack('<IIQQQIIQQII', pid, pid, start, size, 0, 8, 1, 77, 0, 5, 2) +
                  name + struct.pack('<IIQ', pid, pid, 1))


def sample(ip, pid, time, period, branches, misc=USER, cycles=0):
    stack = b''.join(struct.pack('<QQQ', source, target, cycles << 4) for source, target in branches)
    return record(9, misc, struct.pack('<QIIQQQ', ip, pid, pid, time, period, len(branches)) + stack)


def build_id_record(build_id, path):
    """Makes a build ID of the header as before Linux 5.11: 20 bytes without their number."""
    name = path.encode() + b'\0'
    name += b'\0' * (-len(name) % 8)
    return record(BUILD_ID_RECORD, USER, struct.pack('<i', -1) + build_id.ljust(24, b'\0') + name)


def recording(*records, branch_kinds=ANY_BRANCH, period=1000, precise_ip=0, build_ids=(),
              event=INSTRUCTIONS):
    """Makes a recording like perf record: one event with branch stacks."""
    sample_type = IP | TID | TIME | PERIOD | BRANCH_STACK
    sample_id_all = 1 << 18
    flags = sample_id_all | precise_ip << 15
    attr = struct.pack('<IIQQQQQIIQQQ', 0, ATTR_BYTES, event, period, sample_type, 0, flags, 0, 0, 0, 0,
                       branch_kinds)
    attr = attr.ljust(ATTR_BYTES, b'\0') + struct.pack('<QQ', 0, 0)
    data = b''.join(records)
    header = b'PERFILE2' + struct.pack('<9Q', HEADER_BYTES, len(attr), HEADER_BYTES, len(attr),
                                       HEADER_BYTES + len(attr), len(data), 0, 0,
                                       1 << BUILD_ID_FEATURE if build_ids else 0)
    file = header.ljust(HEADER_BYTES, b'\0') + attr + data
    if not build_ids:
        return file
    feature = b''.join(build_ids)
    return file + struct.pack('<QQ', len(file) + 16, len(feature)) + feature


class ImportTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        self.recording = self.directory / 'perf.data'
        self.recording.write_bytes(recording(
            mapping(7, 0x400000, 0x1000, '/opt/server'),
            sample(0x400010, 7, 10, 1000, [(0x400030, 0x400010), (0x400030, 0x400020)]),
            sample(0x400010, 7, 20, 1000, [(0x400040, 0x400010)]),
            sample(0x900000, 7, 30, 1000, [])))

    def import_it(self, *arguments, **options):
        result = self.run_tool('import', '-o', self.file, *arguments, **options)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(result.stdout, '')
        return result.stderr

    def test_sources_of_an_event_with_branch_stacks(self):
        message = self.import_it(self.recording)
        self.assertIn(f'wrote {self.file}', message)
        info = self.info()
        ebs, lbr = info['sources']
        self.assertEqual((ebs['kind'], ebs['event'], ebs['period'], ebs['samples']),
                         ('ebs', 'instructions', 1000, 3))
        self.assertEqual((lbr['kind'], lbr['event_name'], lbr['samples']),
                         ('lbr', 'instructions', 2))
        self.assertEqual((ebs['unmapped'], lbr['unmapped']), (1, 0))
        self.assertEqual([(thread['pid'], thread['tid']) for thread in info['thread_list']],
                         [(7, 7)])
        self.assertEqual([module['name'] for module in info['modules'] if module['samples']],
                         ['/opt/server'])

    def test_stacks_of_some_kinds_of_branches_make_no_streams(self):
        self.recording.write_bytes(recording(
            mapping(7, 0x400000, 0x1000, '/opt/server'),
            sample(0x400010, 7, 10, 1000, [(0x400030, 0x400010), (0x400030, 0x400020)]),
            branch_kinds=ANY_CALL))
        self.import_it(self.recording)
        source, = self.info()['sources']
        self.assertEqual((source['kind'], source['samples']), ('ebs', 1))
        self.assertEqual(source['counters'], {'filtered-branch-stacks': 1})

    def test_precise_samples_are_of_the_instruction_before(self):
        stack = [(0x400030, 0x400010)]
        self.recording.write_bytes(recording(
            mapping(7, 0x400000, 0x1000, '/opt/server'),
            sample(0x400010, 7, 10, 1009, stack), sample(0x400018, 7, 20, 1009, stack),
            sample(0x400010, 7, 30, 1009, stack, USER | EXACT_IP), sample(0x400010, 7, 40, 1009, []),
            period=1009, precise_ip=1))
        corrected = {'ip-moved-to-branch': 1, 'ip-moved-before': 1, 'ip-exact': 1, 'ip-kept': 1}
        for words, method, counters in [([], 'ip+1', corrected), (['ip+1'], 'ip+1', corrected),
                                        (['plain'], 'plain', {})]:
            self.import_it(self.recording, *(f'--ebs-method={word}' for word in words))
            ebs, lbr = self.info()['sources']
            self.assertEqual((ebs['ebs_method'], ebs['counters']), (method, counters))
            self.assertEqual((ebs['precise_ip'], ebs['period_mode']), (1, 'prime'))
            self.assertEqual((lbr['ebs_method'], lbr['smallest_period']), ('plain', 1009))

    def test_listings_warn_of_samples_that_are_not_precise(self):
        for precise_ip in (0, 2):
            self.recording.write_bytes(recording(
                mapping(7, 0x400000, 0x1000, '/opt/server'), sample(0x400010, 7, 10, 1009, []),
                period=1009, precise_ip=precise_ip))
            self.import_it(self.recording)
            for listing in ('mix', 'blocks', 'info'):
                text = self.run_tool(listing, self.file).stdout
                warning = 'note: samples of instructions are not precise and may lie behind'
                self.assertEqual(warning in text, precise_ip == 0, (listing, text))

    def test_info_advises_against_resonance_skid_and_shadow(self):
        for period, precise_ip, expected in ((1009, 3, []), (1000, 3, ['resonance']), (1009, 0, ['skid']),
                                             (1009, 2, ['shadow']), (1000, 1, ['resonance', 'shadow'])):
            self.recording.write_bytes(recording(
                mapping(7, 0x400000, 0x1000, '/opt/server'), sample(0x400010, 7, 10, period, []),
                period=period, precise_ip=precise_ip))
            self.import_it(self.recording)
            ebs = self.info()['sources'][0]
            self.assertEqual([advice.partition(':')[0] for advice in ebs['advice']], expected, ebs)
            text = self.run_tool('info', self.file).stdout
            for word in ('resonance', 'skid', 'shadow'):
                self.assertEqual(f'  advice    {word}: ' in text, word in expected, text)

    def test_how_periods_were_chosen(self):
        def mode(*periods):
            self.recording.write_bytes(recording(
                *(sample(0x400010, 7, 10 + i, period, []) for i, period in enumerate(periods))))
            self.import_it(self.recording)
            source = self.info()['sources'][0]
            return source['period_mode'], source['smallest_period'], source['largest_period']
        self.assertEqual(mode(1000, 1000), ('fixed', 1000, 1000))
        self.assertEqual(mode(1010, 993, 1000), ('random', 993, 1010))

    def test_real_precise_samples_are_exact(self):
        """In a recording with cycles:ppp nothing is corrected, whatever the option."""
        recorded = record_support.recorded('quipper/perf.data.branch-4.14')
        self.import_it(recorded, '--ebs-method', 'ip+1')
        ebs = self.info()['sources'][0]
        self.assertEqual(ebs['precise_ip'], 3)
        self.assertEqual(ebs['counters'].get('ip-exact'), ebs['samples'])

    def test_named_pipe(self):
        pipe = self.directory / 'pipe'
        os.mkfifo(pipe)
        with subprocess.Popen(['cp', self.recording, pipe]):
            self.import_it(pipe)
        self.assertEqual(self.info()['sources'][0]['samples'], 3)

    def test_files_that_moved(self):
        for how in (['--file', f'server={self.directory}/x'], ['--file', f'/opt/server={self.directory}/x']):
            self.assertIn(f'({self.directory}/x)', self.import_it(self.recording, *how))
            self.assertEqual(self.module()['name'], '/opt/server')
        self.assertIn('(/images/opt/server)', self.import_it(self.recording, '--symfs', '/images'))
        self.assertEqual(self.module()['name'], '/opt/server')

    def record_library(self, build_id):
        """Makes a library with that build ID, and a recording of samples in its function, whose header
        pads the ID. Returns the library."""
        library = self.directory / 'built' / 'lib.so'
        library.parent.mkdir(exist_ok=True)
        source = library.with_suffix('.c')
        source.write_text('int work(int n) { return n * 3 + 1; }\n')
        if shutil.which('cc') is None:
            raise unittest.SkipTest('no compiler')
        self.run_command('cc', '-shared', '-nostdlib', '-O1', f'-Wl,--build-id=0x{build_id.hex()}',
                         '-o', library, source)
        symbols = self.run_command('nm', library).split('\n')
        offset, = (int(line.split()[0], 16) for line in symbols if line.endswith(' work'))
        self.work = 0x400000 + offset
        self.recording.write_bytes(recording(
            mapping(7, 0x400000, 0x8000, '/opt/lib.so'),
            sample(self.work, 7, 10, 1000, []),
            build_ids=[build_id_record(build_id, '/opt/lib.so')]))
        return library

    def module(self):
        found, = (module for module in self.info()['modules'] if module['samples'])
        return found

    def test_a_build_id_that_the_header_pads_is_that_of_the_file(self):
        for size in (8, 16, 20):
            build_id = bytes(range(1, size + 1))
            library = self.record_library(build_id)
            self.import_it(self.recording, '--file', f'lib.so={library}')
            found = self.module()
            self.assertEqual((found['code'], found['build_id'], found['problem']),
                             ('file', build_id.hex(), ''))
            row, = self.rows('blocks', self.file)
            self.assertEqual(row['function'], 'work')

    def test_another_build_id_is_a_mismatch(self):
        library = self.record_library(bytes(range(1, 9)))
        recorded = self.recording.read_bytes()
        self.recording.write_bytes(recorded.replace(bytes(range(1, 9)), bytes(range(2, 10))))
        self.import_it(self.recording, '--file', f'lib.so={library}')
        found = self.module()
        self.assertEqual(found['code'], 'mismatch')
        self.assertIn('0203040506070809 was profiled', found['problem'])

    def test_symfs_is_searched_by_build_id_and_the_file_named(self):
        build_id = bytes(range(1, 9))
        library = self.record_library(build_id)
        root = self.directory / 'root'
        for path in ('opt/lib.so', '.build-id/01/02030405060708', 'any/where.so'):
            shutil.rmtree(root, ignore_errors=True)
            file = root / path
            file.parent.mkdir(parents=True)
            shutil.copy(library, file)
            message = self.import_it(self.recording, '--symfs', root)
            found = self.module()
            self.assertEqual((found['name'], found['code'], found['build_id']),
                             ('/opt/lib.so', 'file', build_id.hex()))
            is_at_path = path == 'opt/lib.so'
            self.assertEqual(f'{root}/opt/lib.so: took {file}' in message, not is_at_path)
            row, = self.rows('blocks', self.file)
            self.assertEqual(row['function'], 'work')

    def hostile_library(self):
        """Does the same as record_library, with names of a function, a file and a process that a terminal would
        obey, and with paths out of every directory, a jitdump among them."""
        library = self.record_library(bytes(range(1, 9)))
        renamed = library.with_name(f'{ESCAPES}.so')
        self.run_command('objcopy', '--redefine-sym', f'work=f{ESCAPES}', library, renamed)
        name = f'c{ESCAPES[:10]}'.encode()[:15].ljust(16, b'\0')
        up = '../' * 20
        self.recording.write_bytes(recording(
            record(3, USER, struct.pack('<II', 7, 7) + name + struct.pack('<IIQ', 7, 7, 1)),
            mapping(7, 0x400000, 0x8000, str(renamed)),
            mapping(7, 0x500000, 0x1000, f'/opt/{up}{self.directory}/victim'),
            mapping(7, 0x600000, 0x1000, f'/opt/{up}{self.directory}/jit-7.dump'),
            mapping(7, 0x700000, 0x1000, f'{up}{self.directory}/victim\033[2J'),
            *(sample(address, 7, 10 + number, 1000, [])
              for number, address in enumerate((self.work, 0x500010, 0x600010, 0x700010)))))
        return renamed

    def test_names_of_recordings_are_not_obeyed_by_terminals(self):
        self.hostile_library()
        file, other = self.file, self.directory / 'merged.data'
        for words in (['import', '-o', file, self.recording], ['info', file],
                      ['mix', file, '--by', 'module,function'], ['mix', file, '--by', 'thread'],
                      ['blocks', file], ['annotate', file], ['loops', file], ['diff', file, file],
                      ['simd', file, '--by', 'module,function'], ['assert', file, f'share(module ~ *{ESCAPES}*) < 1%'],
                      ['merge', '-o', other, file, file], ['phases', file], ['ibs', file],
                      ['blocks', f'{file}{ESCAPES}'], ['import', '--symfs', f'/{ESCAPES}', file]):
            result = self.run_tool(*words)
            shown = result.stdout + result.stderr
            self.assertTrue(shown, words)
            self.assertEqual([line for line in shown.split('\n') if CONTROL.search(line)], [], words)
        self.assertIn('f?]0;', self.run_tool('mix', file, '--by', 'function').stdout)

    def test_paths_of_recordings_are_only_read(self):
        self.hostile_library()
        for name in ('victim', 'jit-7.dump'):
            (self.directory / name).write_text('kept')
        before = {path: path.read_bytes() for path in self.directory.rglob('*') if path.is_file()}
        for how in ([], ['--symfs', self.directory / 'built']):
            self.run_tool('import', '-o', self.file, *how, self.recording)
            for command in ('info', 'mix', 'blocks', 'annotate', 'loops'):
                self.run_tool(command, self.file)
            after = {path: path.read_bytes() for path in self.directory.rglob('*') if path.is_file()}
            self.assertEqual(after.keys() - before.keys(), {self.file})
            self.assertEqual({path: after[path] for path in before}, before)

    def test_standard_input(self):
        with self.recording.open('rb') as recorded:
            self.import_it('-', stdin=recorded)
        self.assertEqual(self.info()['sources'][0]['samples'], 3)

    def test_what_remains_of_a_cut_recording_is_used_and_the_rest_reported(self):
        whole = self.recording.read_bytes()
        self.recording.write_bytes(whole[:-20])
        message = self.import_it(self.recording)
        ebs = self.info()['sources'][0]
        self.assertEqual(ebs['samples'], 2)
        self.assertIn('at byte', ebs['note'])
        for part in ebs['note'].split('; '):
            self.assertIn(part, message)

    def test_what_is_no_recording_is_refused(self):
        self.recording.write_text('not what perf writes, but long enough for any header' * 9)
        message = self.refused('import', '-o', self.file, self.recording)
        self.assertIn(str(self.recording), message)
        self.assertFalse(self.file.exists())
        self.assertIn('/nonexistent', self.refused('import', '-o', self.file, '/nonexistent'))
        self.assertIn('RECORDED=HERE', self.refused('import', '--file', 'x', self.recording))

    def test_blocks_of_a_recorded_program(self):
        recorded = record_support.recorded('autofdo/test.lbr')
        self.import_it(recorded, '--file', f'test.binary={recorded.with_name("test.binary")}')
        source, = self.info()['sources']
        self.assertEqual((source['event_name'], source['samples']), ('br_inst_exec:taken', 9232))
        blocks = self.run_tool('blocks', '--format', 'csv', self.file)
        self.assertEqual(blocks.returncode, 0)
        self.assertIn('longest_match', blocks.stdout)

    def test_streams_of_all_recordings_are_explained_or_reported(self):
        """Nearly all streams in files that exist here run from their start to their end."""
        recorded = record_support.recorded('autofdo/propeller_sample.perfdata')
        binary = recorded.with_name('propeller_sample.bin')
        self.import_it(recorded, '--file', f'propeller_sample.bin={binary}')
        lbr = self.info()['sources'][1]
        self.assertEqual(lbr['counters'], {'empty-entries': 366})
        reasons = lbr['unexplained_reasons']
        self.assertEqual(sum(reasons.values()), lbr['unexplained'])
        # Duplicated newest entries make streams that run backwards or past a branch.
        self.assertEqual(reasons['backwards'] + reasons['passes-branch'], 1048)

    def test_blocks_are_biased_beyond_thresholds(self):
        recorded = record_support.recorded('autofdo/propeller_sample.perfdata')
        binary = recorded.with_name('propeller_sample.bin')
        self.import_it(recorded, '--file', f'propeller_sample.bin={binary}')

        def biased(*thresholds):
            result = self.run_tool('blocks', '--format', 'json', self.file, *thresholds)
            listing = json.loads(result.stdout)
            rows = [row for row in listing['rows'] if row['bias'] == 'biased']
            self.assertEqual(listing['biased_blocks'], len(rows))
            return [row['start'] for row in rows]
        self.assertEqual(biased(), [])
        self.assertEqual(biased('--bias-ratio', 1.4), ['0x1225', '0x1270'])
        self.assertEqual(biased('--bias-ratio', 1.2, '--bias-chance', 1e-4),
                         ['0x1225', '0x1270', '0x12c9'])
        self.assertEqual(biased('--bias-ratio', 1.2, '--bias-chance', 1e-20), ['0x1270'])

    def test_streams_from_the_kernel_to_user_code_are_left_out(self):
        kernel = 0xffffffff81000000
        self.recording.write_bytes(recording(
            mapping(7, 0x400000, 0x1000, '/opt/server'),
            sample(0x400010, 7, 10, 1000, [(0x400030, 0x400010), (0x400030, 0x400020),
                                           (0x400040, kernel), (0x400030, 0x400010)])))
        self.import_it(self.recording)
        lbr = self.info()['sources'][1]
        self.assertEqual((lbr['samples'], lbr['counters']), (1, {'kernel-crossing-streams': 1}))

    def two_loops(self):
        """Makes a library with two loops, of two instructions each. Returns it and the loops: their first
        instruction, and their branch."""
        if shutil.which('cc') is None:
            raise unittest.SkipTest('no compiler')
        library = self.directory / 'loops.so'
        source = library.with_suffix('.s')
        source.write_text('.globl quick, slow\n' + ''.join(
            f'.type {name}, @function\n{name}: dec %rdi\n{name}_branch: jnz {name}\nret\n'
            f'.size {name}, . - {name}\n' for name in ('quick', 'slow')))
        self.run_command('cc', '-shared', '-nostdlib', '-o', library, source)
        symbols = {words[2]: int(words[0], 16) for words in
                   map(str.split, self.run_command('nm', library).splitlines()) if len(words) == 3}
        return library, [(symbols[name], symbols[f'{name}_branch']) for name in ('quick', 'slow')]

    def test_loops_of_other_cycles_an_iteration_are_counted_right_by_the_cycles_of_stacks(self):
        """Both take as many cycles, 50 samples, and an iteration takes 2 of them or 20."""
        library, loops = self.two_loops()
        base, period, samples = 0x400000, 1_000_000, 50

        def counts(event, with_cycles):
            self.recording.write_bytes(recording(
                mapping(7, base, 0x8000, '/opt/loops.so'),
                *(sample(base + start, 7, 10 + i, period, [(base + branch, base + start)] * 32,
                         cycles=cycles * with_cycles)
                  for i in range(samples) for (start, branch), cycles in zip(loops, (2, 20))),
                event=event, period=period))
            self.import_it(self.recording, '--file', f'loops.so={library}')
            listing = json.loads(self.run_tool('blocks', '--estimator', 'streams', '--format', 'json',
                                               self.file).stdout)
            rows = {row['function']: row['count'] for row in listing['rows']}
            is_by_factor = any('are proportional to these' in note for note in listing['notes'])
            return (round(rows['quick']), round(rows['slow']), is_by_factor,
                    self.info()['sources'][1]['extent_in_events'])
        cycles = samples * period
        self.assertEqual(counts(CYCLES, True), (cycles // 2, cycles // 20, False, True))
        self.assertEqual(counts(CYCLES, False), (cycles, cycles, True, False))
        for event in (INSTRUCTIONS, REF_CYCLES):
            quick, slow, _, is_by_event = counts(event, True)
            self.assertEqual((quick / slow, is_by_event), (1, False))

    def test_iterations_of_a_recording_of_cycles_are_as_many_as_its_code_says(self):
        """The loop of each of three processes ends after 0x2faf0800 iterations. There is a sample each 14
        million cycles, and the newest entry of a quarter of the stacks is there twice."""
        recorded = record_support.recorded('autofdo/propeller_sample.perfdata')
        binary = recorded.with_name('propeller_sample.bin')
        self.import_it(recorded, '--file', f'propeller_sample.bin={binary}')
        iterations = 3 * 0x2faf0800
        counts = {row['start']: row['count'] for row in self.rows('blocks', self.file)}
        for start in ('0x1190', '0x1210', '0x1225', '0x1270', '0x12c9'):
            self.assertAlmostEqual(counts[start] / iterations, 1, delta=0.08, msg=start)

    def test_a_recording_of_cycles_without_those_of_stacks_weighs_by_time(self):
        """145 stacks of 16 branches on Haswell. By construction a loop runs 8 times as often as the other; sampled by
        cycles, which its stacks do not have, it is seen 2.6 times as often (test recording of AutoFDO)."""
        recorded = record_support.recorded('autofdo/hierarchical_discriminator_test.x86_64.perf.data')
        binary = str(recorded).removesuffix('.perf.data')
        self.import_it(recorded, '--file', f'hierarchical_discriminator_test={binary}')
        ebs, lbr = self.info()['sources']
        self.assertEqual((ebs['samples'], lbr['samples'], lbr['extent_in_events']), (145, 145, False))
        counts = {row['start']: row['count'] for row in self.rows('blocks', '--estimator', 'streams', self.file)}
        self.assertEqual(round(counts['0x401240'] / counts['0x4011c8'], 1), 2.6)

    def test_text_with_events_and_periods_counts_as_its_recording(self):
        if shutil.which('perf') is None:
            raise unittest.SkipTest('no perf here')
        recorded = record_support.recorded('autofdo/propeller_sample.perfdata')
        binary = recorded.with_name('propeller_sample.bin')
        text = self.directory / 'perf.txt'

        def weighed(recording):
            self.import_it(recording, '--file', f'propeller_sample.bin={binary}')
            source, = (source for source in self.info()['sources'] if source['kind'] == 'lbr')
            keys = ('event', 'event_name', 'samples', 'smallest_period', 'largest_period',
                    'extent_in_events')
            counts = {row['start']: round(row['count'])
                      for row in self.rows('blocks', '--estimator', 'streams', self.file)
                      if row['module'].endswith('.bin')}
            self.assertGreater(len(counts), 9)
            return {key: source[key] for key in keys}, counts
        fields = 'comm,pid,tid,time,period,event,ip,brstack'
        text.write_text(self.run_command('perf', 'script', '-i', recorded, '--show-mmap-events',
                                         '-F', fields))
        # Text does not say when sampling was held back.
        unthrottled = self.directory / 'unthrottled.perfdata'
        perf_data_parts.copy_without_gaps(recorded, unthrottled)
        self.assertEqual(weighed(text), weighed(unthrottled))
        text.write_text(self.run_command('perf', 'script', '-i', recorded, '--show-mmap-events',
                                         '-F', fields.replace(',period', '')))
        source, _ = weighed(text)
        self.assertEqual((source['event'], source['event_name'], source['extent_in_events']),
                         ('other', 'cycles', False))

    def test_profiles_of_stacks_with_and_without_cycles_stay_apart(self):
        profiles = []
        for cycles in (0, 5, 5):
            self.recording.write_bytes(recording(
                mapping(7, 0x400000, 0x1000, '/opt/server'),
                sample(0x400010, 7, 10, 1000, [(0x400030, 0x400010)] * 3, cycles=cycles),
                event=CYCLES))
            self.import_it(self.recording)
            profiles.append(self.directory / f'{len(profiles)}.hbbp')
            self.file.rename(profiles[-1])
        result = self.run_tool('merge', '-o', self.file, *profiles)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual([(source['samples'], source['extent_in_events'])
                          for source in self.info()['sources'] if source['kind'] == 'lbr'],
                         [(1, False), (2, True)])

    def test_samples_of_ibs_are_counted_for_what_they_were(self):
        self.import_it(record_support.recorded('ibs/zen4_genoa.ibs.perf.data'))
        source, = self.info()['sources']
        self.assertEqual((source['kind'], source['samples']), ('ibs', 1))
        counters = source['counters']
        self.assertEqual((counters['op-dc-misses'], counters['op-nb-local-dram'],
                          counters['op-dc-load-miss-cycles']), (1, 1, 476))

    def test_perf_sees_the_same_samples(self):
        if shutil.which('perf') is None:
            raise unittest.SkipTest('no perf here')
        script = self.run_command('perf', 'script', '-i', self.recording, '-F', 'ip')
        self.import_it(self.recording)
        self.assertEqual(len(script.split()), self.info()['sources'][0]['samples'])

    def run_command(self, *words):
        return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              check=True).stdout


if __name__ == '__main__':
    record_support.main(ImportTest)
