"""Tests that hbbp import says what of a recording it leaves out, how much, why, and what helps."""
import pathlib
import re
import subprocess

import recording_builder as built
import record_support

PID = 7
AARCH64 = 183  # EM_AARCH64
STACK = [(0x400030, 0x400010), (0x400030, 0x400020)]


class ImportLossesTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        self.recording = self.directory / 'perf.data'

    def import_it(self, *arguments):
        """Returns the lines that the command prints, without its name."""
        result = self.run_tool('import', '-o', self.file, self.recording, *arguments)
        self.assertEqual(result.returncode, 0, result)
        lines = result.stderr.splitlines()
        self.assertTrue(all(line.startswith('hbbp import: note: ') for line in lines), lines)
        return [line.removeprefix('hbbp import: note: ') for line in lines]

    def record_stacks(self, branch_kinds):
        """Makes a recording of two samples of user code with branch stacks."""
        event = built.Event(11, built.INSTRUCTIONS, 'instructions:u', branch_kinds=branch_kinds,
                            sample_type=built.SAMPLE_TYPE | built.BRANCH_STACK)
        self.recording.write_bytes(built.file(
            [event], [event.mapping(PID, 0x400000, 0x1000, '/opt/server'),
                      *(event.sample(0x400010, PID, 10 + number, branches=STACK) for number in range(2))]))

    def test_stacks_that_perf_inject_makes_of_traces_are_streams(self):
        for kinds in (built.HW_INDEX, built.HW_INDEX | built.USER_BRANCHES):
            self.record_stacks(kinds)
            lines = self.import_it()
            self.assertFalse([line for line in lines if 'left out' in line], lines)
            ebs, lbr = self.info()['sources']
            self.assertEqual((lbr['kind'], lbr['samples'], ebs['counters']), ('lbr', 2, {}))

    def test_stacks_of_some_kinds_of_branches_are_reported(self):
        self.record_stacks(built.ANY_CALL | built.ANY_RETURN | built.HW_INDEX | built.USER_BRANCHES)
        self.assertIn('2 branch stacks left out: they have only the kinds any_call,any_ret, so no streams lie '
                      'between their entries: record with -j any', self.import_it())

    def test_samples_of_guests_are_reported(self):
        event = built.Event(11, built.INSTRUCTIONS, 'instructions:G')
        self.recording.write_bytes(built.file(
            [event], [event.mapping(PID, 0x400000, 0x1000, '/opt/server'),
                      *(event.sample(0x400010, PID, 10 + number, misc=built.GUEST_USER) for number in range(3))]))
        self.assertIn('3 samples of guests and of the hypervisor left out, whose code is not known here: record '
                      'inside of the guest', self.import_it())

    def test_traces_and_other_architectures_are_reported(self):
        event = built.Event(11, built.INSTRUCTIONS, 'arm_spe_0//')
        trace = built.record(71, 0, built.struct.pack('<QQQIIII', 16, 0, 0, 0, 0, 0, 0)) + b'\0' * 16
        self.recording.write_bytes(built.file(
            [event], [event.mapping(PID, 0x400000, 0x1000, '/opt/server'), event.sample(0x400010, PID, 10), trace,
                      trace], {built.ARCH: built.padded('aarch64')}))
        lines = self.import_it()
        self.assertIn('2 parts of a hardware trace left out (AUXTRACE: Intel PT, Arm SPE, CoreSight), which is not '
                      'decoded: perf inject --itrace=i1000il makes samples and branch stacks of it', lines)
        self.assertIn('recorded on aarch64: samples and branches are counted by address, but only code of x86-64 is '
                      'decoded, so that there are no blocks', lines)

    def test_branch_stacks_of_arm_are_streams_by_address(self):
        """BRBE of aarch64 gives stacks in the same records. Three entries are two streams, of code that is not decoded."""
        event = built.Event(11, built.CYCLES, 'cycles:u', branch_kinds=built.ANY_BRANCH | built.USER_BRANCHES,
                            sample_type=built.SAMPLE_TYPE | built.BRANCH_STACK)
        library, _ = record_support.build_library(self)
        code = bytearray(library.read_bytes())
        built.struct.pack_into('<H', code, 18, AARCH64)
        library.write_bytes(code)
        stack = [(0x400030, 0x400010), (0x400040, 0x400020), (0x400030, 0x400010)]
        self.recording.write_bytes(built.file(
            [event], [event.mapping(PID, 0x400000, 0x1000, str(library)),
                      *(event.sample(0x400010, PID, 10 + number, branches=stack) for number in range(5))],
            {built.ARCH: built.padded('aarch64')}))
        self.assertIn('recorded on aarch64: samples and branches are counted by address, but only code of x86-64 is '
                      'decoded, so that there are no blocks', self.import_it())
        listing = subprocess.run([record_support.program('branch_listing'), self.file], capture_output=True, text=True,
                                 check=True).stdout
        self.assertEqual(listing.splitlines(), [f'branch {library} 30 {library} 10 10',
                                                f'branch {library} 40 {library} 20 5',
                                                f'range {library} 10 40 5', f'range {library} 20 30 5'])
        self.assertEqual(self.rows('blocks', self.file), [])
        module, = (module for module in self.info()['modules'] if module['samples'])
        self.assertEqual(module['code'], 'missing')
        self.assertRegex(module['problem'], 'x86-64')

    def test_files_that_are_not_here_are_reported(self):
        event = built.Event(11, built.INSTRUCTIONS, 'instructions:u')
        self.recording.write_bytes(built.file(
            [event], [event.mapping(PID, 0x400000, 0x1000, '/opt/server'),
                      event.mapping(PID, 0x500000, 0x1000, '/opt/idle'),
                      *(event.sample(0x400010, PID, 10 + number) for number in range(2))],
            {built.BUILD_ID: built.build_id('/opt/server', bytes(range(1, 21)))}))
        remedy = 'and in no block: --symfs DIR or --file RECORDED=HERE says where the recorded ones are'
        self.assertIn(f'2 samples or branches are in files that are not here (/opt/server), {remedy}',
                      self.import_it())
        self.assertIn(f'2 samples or branches are in files that have other build IDs here (/bin/true), {remedy}',
                      self.import_it('--file', 'server=/bin/true'))

    def test_samples_of_another_kernel_are_reported(self):
        event = built.Event(11, built.CYCLES, 'cycles:k')
        kernel = 2**64 - 2**31
        records = [event.mapping(2**32 - 1, kernel, 2**24, '[kernel.kallsyms]_text'),
                   *(event.sample(kernel + 64, PID, 10 + number, misc=1) for number in range(3))]
        features = {built.OS_RELEASE: built.padded('5.4.0-tiny')}
        expected = ('3 samples or branches are in a kernel {} (5.4.0-tiny), and have no symbols unless '
                    '--kallsyms, --vmlinux or --kcore names the files of that kernel: they are counted by kernel '
                    'module')
        self.recording.write_bytes(built.file([event], records, features))
        self.assertIn(expected.format('whose build ID is not known'), self.import_it())
        self.recording.write_bytes(built.file([event], records, {
            **features, built.BUILD_ID: built.build_id('[kernel.kallsyms]', bytes(range(1, 21)))}))
        self.assertIn(expected.format('that does not run here'), self.import_it())
        notes = pathlib.Path('/sys/kernel/notes')
        found = re.search(rb'\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})', notes.read_bytes(), re.S) if notes.exists() else None
        if found is None:
            self.skipTest('the kernel shows no build ID')
        self.recording.write_bytes(built.file([event], records, {
            **features, built.BUILD_ID: built.build_id('[kernel.kallsyms]', found[1])}))
        self.assertFalse([line for line in self.import_it() if 'does not run here' in line])

    def test_options_that_lead_nowhere_are_reported(self):
        self.record_stacks(built.ANY_BRANCH)
        lines = self.import_it('--symfs', 'none', '--file', 'client=/bin/true', '--binary', '/bin/true')
        self.assertIn(f'{self.directory}/none: not a directory, so no file was found there: check --symfs', lines)
        self.assertIn('client: not the path or name of any file of the recording: check --file', lines)
        self.assertIn('/bin/true: not used, as a recording says which files it is of: --binary is for text without '
                      'mappings', lines)
        lines = self.import_it('--file', 'server=/bin/true')
        self.assertFalse([line for line in lines if 'check' in line or 'not used' in line], lines)

    def test_a_binary_for_text_with_mappings_is_reported(self):
        self.recording.write_text('PERF_RECORD_MMAP2 7/7: [0x400000(0x1000) @ 0 08:01 77 5]: r-xp /opt/server\n'
                                  ' 400010 0x400030/0x400010/P/-/-/0 0x400030/0x400020/P/-/-/0\n')
        lines = self.import_it('--binary', '/bin/true')
        self.assertIn('/bin/true: not used, as the text has mappings: --binary is for text without', lines)

    def throttled_recording(self, has_times=True):
        """Makes a recording of 200 ticks of 4 ms, of which the kernel stops the counter after 1 ms with 20 samples."""
        sample_type = built.SAMPLE_TYPE if has_times else built.SAMPLE_TYPE & ~built.TIME
        event = built.Event(11, built.INSTRUCTIONS, 'instructions:u', sample_type=sample_type)
        library, work = record_support.build_library(self)
        microsecond = 1000
        records = [event.mapping(PID, 0x400000, 0x8000, str(library))]
        for tick in range(1, 201):
            start = tick * 4000
            records += [event.sample(work, PID, (start + 50 * number) * microsecond) for number in range(20)]
            records += [event.throttle((start + 1000) * microsecond),
                        event.throttle((start + 4000) * microsecond, is_throttled=False)]
        self.recording.write_bytes(built.file([event], records))

    def instructions(self):
        row, = self.rows('blocks', self.file)
        return row['count'] * row['instructions']

    def test_counts_are_raised_by_what_throttling_took(self):
        self.throttled_recording()
        lines = self.import_it()
        self.assertIn('sampling was held back 200 times, for 75 % of the time: counts were raised 3.98 times to make up '
                      'for it: record with a longer period', lines)
        # 1000 each 50 us in 200 ticks of 4 ms. The first gap and the last one have no samples on both sides.
        self.assertAlmostEqual(self.instructions() / (200 * 80 * 1000), 1, delta=0.01)
        source, = self.info()['sources']
        self.assertEqual((source['samples'], source['throttled'], source['smallest_period'], source['largest_period']),
                         (4000, 200, 1000, 1000))

    def test_without_times_the_counts_stay_and_the_import_says_so(self):
        self.throttled_recording(has_times=False)
        self.assertIn('sampling was held back 200 times, for how long is not in the recording: counts are too low, '
                      'shares stay right: record with a longer period', self.import_it())
        self.assertEqual(self.instructions(), 4000 * 1000)

    def test_counts_are_raised_by_the_turns_of_others(self):
        """The counter ran for a third of the time at first, and then for all of it."""
        event = built.Event(11, built.INSTRUCTIONS, 'instructions:u', sample_type=built.SAMPLE_TYPE | built.READ,
                            read_format=built.FORMAT_TIMES)
        library, work = record_support.build_library(self)
        times = [(3000, 1000), (6000, 2000), (7000, 3000), (8000, 4000)]
        self.recording.write_bytes(built.file(
            [event], [event.mapping(PID, 0x400000, 0x8000, str(library)),
                      *(event.sample(work, PID, 10 + number, read=built.struct.pack('<3Q', 0, enabled, running))
                        for number, (enabled, running) in enumerate(times))]))
        self.assertIn('the counter ran for 50 % of the time, in turns with others, and counts were raised to make up '
                      'for it: record fewer events at once', self.import_it())
        self.assertEqual(self.instructions(), 3000 + 3000 + 1000 + 1000)

    def test_a_directory_is_one_of_threads_only_if_it_looks_like_it(self):
        directory = self.directory / 'recorded'
        directory.mkdir()
        self.assertIn(f'{directory}: a directory and not a recording; name the file',
                      self.refused('import', directory))
        (directory / 'data').write_bytes(b'PERFILE2')
        self.assertIn('as perf record --threads writes it', self.refused('import', directory))

    def test_what_is_not_known_has_no_name_or_number(self):
        text = self.directory / 'perf.txt'
        text.write_text(' 400010 0x400030/0x400010/P/-/-/0 0x400030/0x400020/P/-/-/0\n')
        result = self.run_tool('import', '-o', self.file, text)
        self.assertIn('lbr of an unnamed event: 1 branch stacks', result.stderr)
        info = self.run_tool('info', self.file).stdout
        self.assertIn('process   unknown\n', info)
        self.assertIn('lbr of an unnamed event', info)

    def test_several_processes_have_no_common_number(self):
        event = built.Event(11, built.INSTRUCTIONS, 'instructions:u', period=1)
        idle = built.Event(12, built.DUMMY, 'dummy:HG', built.SOFTWARE, period=1)
        self.recording.write_bytes(built.file(
            [event, idle], [event.mapping(7, 0x400000, 0x1000, '/opt/server'),
                            event.mapping(8, 0x400000, 0x1000, '/opt/server'),
                            event.sample(0x400010, 7, 10, 1), event.sample(0x400010, 8, 20, 1)]))
        self.import_it()
        self.assertIn('process   2 processes\n', self.run_tool('info', self.file).stdout)
        self.assertEqual([source['period_mode'] for source in self.info()['sources']], ['fixed', 'fixed'])

    def test_only_the_generated_functions_of_a_kernel_are_known(self):
        event = built.Event(11, built.CYCLES, 'cycles:k')
        kernel = 2**64 - 2**31
        for number, known in ((1, '1 function of this kernel is'), (2, '2 functions of this kernel are')):
            functions = [event.kernel_function(kernel + 2**23 + 64 * i, 64, f'bpf_prog_0123_{i}')
                         for i in range(number)]
            self.recording.write_bytes(built.file(
                [event], [event.mapping(2**32 - 1, kernel, 2**24, '[kernel.kallsyms]_text'), *functions,
                          event.sample(kernel + 64, PID, 10, misc=1)]))
            self.import_it()
            problem, = (module['problem'] for module in self.info()['modules'] if module['samples'])
            self.assertEqual(problem, f'only {known} known here, by name; its kallsyms, vmlinux or kcore can be given')


if __name__ == '__main__':
    record_support.main(ImportLossesTest)
