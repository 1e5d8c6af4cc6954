"""Tests that failures print one line, have exit status 2, and leave no files behind."""
import errno
import json
import os
import pathlib
import re
import shutil
import subprocess

import record_support
from record_support import NOBODY, PERIOD_NS, needs_root, program


class RecordErrorsTest(record_support.RecordTest):

    def setUp(self):
        super().setUp()
        self.marker = self.directory / 'ran'

    def refused_record(self, *arguments, **options):
        """The requested program has not run, and nothing was written."""
        before = set(self.directory.iterdir())
        message = self.refused('record', *arguments, 'touch', self.marker, **options)
        self.assertFalse(self.marker.exists())
        self.assertEqual(set(self.directory.iterdir()), before)
        return message

    def refused_program(self, *command):
        before = set(self.directory.iterdir())
        message = self.refused('record', '-o', self.file, '--', *command)
        self.assertEqual(set(self.directory.iterdir()), before)
        return message

    def test_unknown_option(self):
        self.assertIn('--nonsense', self.refused_record('--nonsense'))

    def test_missing_command(self):
        self.assertIn('CMD', self.refused('record', '-o', self.file))
        self.assertIn('CMD', self.refused('record', '-o', self.file, '--'))

    def test_command_not_found(self):
        self.assertIn('nonexistent', self.refused_program('nonexistent-program', 'x'))

    def test_command_not_executable(self):
        file = self.directory / 'plain'
        file.write_text('text')
        self.assertIn('ermission', self.refused_program(file))

    def test_command_is_a_directory(self):
        self.assertIn('ermission', self.refused_program(self.directory))

    def test_no_such_directory(self):
        self.assertIn('No such file', self.refused_record('-o', self.directory / 'none' / 'file'))

    def test_output_is_a_directory(self):
        self.assertIn('directory', self.refused_record('-o', self.directory))

    @needs_root
    def test_output_is_a_device(self):
        device = self.directory / 'null'
        os.mknod(device, 0o666 | 0o020000, os.makedev(1, 3))
        self.assertIn('not a regular file', self.refused_record('-o', device))
        self.assertTrue(device.is_char_device())

    @needs_root
    def test_directory_without_permission(self):
        self.directory.chmod(0o755)
        message = self.refused_record('-o', self.file, user=NOBODY, group=NOBODY)
        self.assertIn('ermission', message)

    def test_read_only_file_system(self):
        self.assertIn('cannot write', self.refused_record('-o', '/proc/hbbp.data'))

    def test_standard_output_is_the_program_s_own(self):
        for command in ('record', 'count'):
            self.assertIn("standard output is the program's own; name a file",
                          self.refused(command, '-o', '-', '--', 'true'))

    def test_period_and_frequency(self):
        self.assertIn('one, not both', self.refused_record('-c', '1000000', '-F', '100'))

    def test_values_that_are_none(self):
        for option in (('-c', '-1'), ('-c', 'many'), ('-F', '1e'), ('--duration', '-1'),
                       ('--duration', 'nan'), ('-e', 'sunspots'), ('--source', 'crystal-ball'),
                       ('--period-mode', 'odd'), ('--mode', 'odd'),
                       ('--source', 'swbt', '--burst', '-1'),
                       ('--source', 'swbt', '--burst', '1'),
                       ('--source', 'swbt', '--burst', '65537'), ('--source', 'swbt', '--kernel')):
            self.refused_record(*option)

    def test_options_of_perf_are_refused_with_a_reason(self):
        for option, word in (('-g', 'perf record -g'), ('--call-graph=dwarf', 'callers'), ('-a', '-p'),
                             ('-j', '--source lbr'), ('-b', '--source lbr'), ('-t', '-p'), ('-u', '-p')):
            with self.subTest(option):
                message = self.refused_record(option)
                self.assertIn(f'{option.split("=")[0]}: ', message)
                self.assertIn(word, message)
        self.assertIn("did you mean '--duration'?", self.refused_record('--durration', '1'))

    def test_numbers_and_times_as_people_type_them(self):
        for number in ('1M', '1e6', '1000k'):
            with self.subTest(number):
                self.trace_for_a_moment('-c', number, '--duration', '100ms')
                self.assertEqual({source['period'] for source in self.info()['sources']}, {1000000})
        self.assertIn('such as', self.refused_record('-c', '1.5'))
        self.assertIn('such as', self.refused_record('--duration', '5x'))

    def trace_for_a_moment(self, *options):
        result = self.run_tool('record', '-o', self.file, '--source', 'ebs', '-e', 'task-clock', '--period-mode', 'fixed',
                               *options, '--', program('ends'), 'return', 50)
        self.assertEqual(result.returncode, 0, result)

    def test_more_sources_than_one(self):
        self.assertIn('ibs,swbt', self.refused_record('--source', 'ibs,swbt'))

    def test_options_of_another_source(self):
        self.assertIn('--burst', self.refused_record('--source', 'ebs', '--burst', '16'))
        self.assertIn('--mode', self.refused_record('--source', 'ebs', '--mode', 'verify'))

    def test_options_that_a_source_has_no_use_for(self):
        for source, *options in (('swbt', '--branch-period', 3), ('ebs', '--branch-period', 3),
                                 ('swbt', '--imprecise'), ('ibs', '--imprecise'),
                                 ('swbt', '--ebs-method', 'ip+1'), ('swbt', '--expect', 10),
                                 ('ibs', '--event', 'cycles'), ('ebs', '-e', 'ibs_op,ibs_fetch')):
            with self.subTest(source=source, options=options):
                message = self.refused_record('--source', source, *options)
                self.assertIn(options[0], message)
                self.assertIn(source, message)
        self.assertIn('--period-mode', self.refused_record(
            '--period-mode', 'random', '-F', 100))

    def test_frequency_above_what_the_kernel_allows(self):
        self.assertIn('max_sample_rate', self.refused_record('-F', '100000000'))

    def test_event_without_pmu(self):
        doctor = self.rows('doctor')
        if any(row['name'] == 'hardware_instructions' and row['state'] == 'supported'
               for row in doctor):
            self.skipTest('this machine has a PMU')
        message = self.refused_record('-o', self.file, '-e', 'instructions')
        self.assertIn('instructions', message)
        self.assertIn('task-clock', message)

    def test_installed_where_ld_preload_cannot_reach(self):
        directory = self.directory / 'a directory'
        tool = directory / 'hbbp'
        (directory / 'preload').mkdir(parents=True)
        shutil.copy(record_support.TOOL, tool)
        for library in pathlib.Path(record_support.TOOL).parent.glob('preload/*.so'):
            shutil.copy(library, directory / 'preload')
        result = subprocess.run([tool, 'record', '-o', self.file, 'true'], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=record_support.TIMEOUT_S)
        self.assertEqual(result.returncode, 2)
        self.assertIn('another directory', result.stderr)

    @needs_root
    def test_setuid_program(self):
        self.let_everybody_in()
        copy = self.directory / 'setuid'
        shutil.copy(program('ends'), copy)
        copy.chmod(0o4755)
        message = self.refused('record', '-o', self.file, copy, 'return', '10', user=NOBODY,
                               group=NOBODY)
        self.assertIn('setuid', message)
        self.assert_no_parts()

    def test_methods_of_samples(self):
        result = self.run_tool('record', '--source', 'ebs', '--ebs-method', 'ip+1', '-o', self.file,
                               program('ends'), 'return', '100')
        self.assertEqual(result.returncode, 0, result)
        source, = self.info()['sources']
        stacks, = [row for row in self.rows('doctor') if row['name'] == 'branch_stack']
        self.assertEqual(source['ebs_method'],
                         'ip+1' if stacks['state'] == 'supported' else 'plain')
        self.refused_record('--ebs-method', 'guess')

    def test_unknown_event(self):
        self.assertIn('no_such_event', self.refused_record('-e', 'no_such_event'))

    def test_names_that_doctor_prints(self):
        for name in ('task_clock', 'cpu_clock'):
            self.assertEqual(self.run_tool('record', '-e', name, '-o', self.file, 'true').returncode, 0)
            self.assertEqual({source['event'] for source in self.info()['sources']}, {name.replace('_', '-')})
        rows = self.rows('doctor')
        for name, source in (('branch_stack', 'lbr'), ('ibs_op', 'ibs'), ('ibs_fetch', 'ibs'), ('branch_tracing', 'swbt')):
            self.assertIn(name, {row['name'] for row in rows})
            self.assertIn(f'--source {source}', self.refused('record', '-e', name, 'true'))
        for name in ('hardware_instructions', 'precise_instructions'):
            self.assertIn(name, {row['name'] for row in rows})
            result = self.run_tool('record', '-e', name, '-o', self.file, 'true')
            self.assertNotIn('libpfm4', result.stderr)

    def test_doctor_says_what_the_settings_of_the_kernel_take(self):
        rows = {row['name']: row for row in self.rows('doctor')}
        settings = pathlib.Path('/proc/sys/kernel')
        for name, setting in (('nmi_watchdog', 'nmi_watchdog'), ('sample_rate', 'perf_event_max_sample_rate')):
            try:
                value = int((settings / setting).read_text())
            except OSError:
                self.assertEqual(rows[name]['state'], 'unknown')
                continue
            if name == 'sample_rate':
                self.assertIn(f'at most {value:,} samples', rows[name]['detail'])
            else:
                self.assertEqual(rows[name]['state'], 'denied' if value else 'supported')

    def test_doctor_says_what_the_default_is_exposed_to(self):
        rows = {row['name']: row for row in self.rows('doctor')}
        risks = [rows[name] for name in ('against_resonance', 'against_skid', 'against_shadow')]
        result = self.run_tool('record', '-o', self.file, program('ends'), 'return', '300')
        self.assertEqual(result.returncode, 0, result)
        kinds = {source['kind'] for source in self.info()['sources']}
        if kinds & {'lbr', 'swbt'}:
            self.assertEqual([row['state'] for row in risks[1:]], ['supported'] * 2, risks)
            self.assertIn('branch', risks[1]['detail'])
        else:
            self.assertEqual(risks[2]['state'] == 'supported', 'precise_ip 3' in rows['precise_instructions']['detail'], risks)
        for row in risks:
            self.assertTrue(row['state'] != 'missing' or row['advice'], row)
        text = self.run_tool('doctor').stdout
        for row in risks:
            self.assertIn(row['detail'], text)
        refused = subprocess.run([program('refuse_perf'), str(errno.EACCES), record_support.TOOL, 'doctor', '--format', 'json'],
                                 stdout=subprocess.PIPE, text=True)
        if refused.returncode == 77:
            self.skipTest('no seccomp filters')
        rows = {row['name']: row for row in json.loads(refused.stdout)['rows']}
        self.assertEqual(rows['against_resonance']['state'], 'missing')
        self.assertIn('perf events', rows['against_resonance']['advice'])

    def test_events_by_name(self):
        result = self.run_tool('record', '--source', 'ebs', '-e', 'perf::page-faults', '-c', '1',
                               '-o', self.file, program('ends'), 'return', '50')
        if 'libpfm4' in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result)
        source, = self.info()['sources']
        self.assertEqual(source['event_name'], 'perf::page-faults:u')
        self.assertEqual(source['unit'], 'events')
        self.assertGreater(source['samples'], 0)
        clock = self.run_tool('record', '--source', 'ebs', '-e', 'perf::task-clock', '-c', '1000000',
                              '-o', self.file, program('ends'), 'return', '200')
        self.assertEqual(clock.returncode, 0, clock)
        source, = self.info()['sources']
        self.assertEqual(source['unit'], 'nanoseconds')
        self.assertGreater(source['samples'], 100)

    def test_branch_records_without_pmu(self):
        if any(row['name'] == 'branch_stack' and row['state'] == 'supported'
               for row in self.rows('doctor')):
            self.skipTest('this machine has branch records')
        message = self.refused_record('-o', self.file, '--source', 'lbr')
        self.assertIn('branch stacks', message)

    def test_ops_without_ibs(self):
        if any(row['name'] == 'ibs_op' and row['state'] == 'supported'
               for row in self.rows('doctor')):
            self.skipTest('this machine has IBS')
        message = self.refused_record('-o', self.file, '--source', 'ibs')
        self.assertIn('ibs_op', message)

    def test_the_best_source_says_what_was_not_to_be_had(self):
        result = self.run_tool('record', '-o', self.file, program('ends'), 'return', '300', '3')
        self.assertEqual(result.returncode, 3, result)
        sources = self.info()['sources']
        self.assertGreater(sources[0]['samples'], 0)
        if sources[-1]['kind'] != 'lbr':
            self.assertEqual(sources[0]['kind'], 'swbt')
            self.assertIn('no lbr: perf_event_open', sources[0]['note'])

    def test_outside_and_process_do_not_go_with_everything(self):
        for option in (('--pid', '1', '--', 'true'), ('--pid', '1', '--outside'),
                       ('--pid', '4294967296')):
            result = self.run_tool('record', '-o', self.file, *option)
            self.assertEqual(result.returncode, 2, result)
            self.assertEqual(len(result.stderr.splitlines()), 1, result)

    def test_process_that_is_not_there(self):
        ended = subprocess.Popen(['true'])
        ended.wait()
        self.assertIn(f'process {ended.pid}', self.refused('record', '-o', self.file, '--pid',
                                                           ended.pid))

    def test_child_without_profile_is_reported(self):
        result = self.record('sh', '-c', f'"{program("ends_static")}" return 1000; exit 4',
                             status=4)
        self.assertIn('of user CPU time', result.stderr)

    def test_time_of_handlers_is_none_that_profiles_miss(self):
        # Handlers take most of the time.
        result = self.run_tool('record', '--source', 'swbt', '-c', 20_000, '-o', self.file, '--', program('ends'),
                               'return', 3000)
        self.assertEqual(result.returncode, 0, result)
        self.assertNotIn('of user CPU time', result.stderr)

    def test_child_without_profile_is_reported_whatever_is_counted(self):
        result = self.run_tool('record', '--source', 'ebs', '-o', self.file, '--', 'sh', '-c',
                               f'"{program("ends_static")}" return 1000; exit 4')
        self.assertEqual(result.returncode, 4, result)
        self.assertIn('of user CPU time', result.stderr)

    def run_without_perf(self, error_number):
        result = subprocess.run([program('refuse_perf'), str(error_number), record_support.TOOL,
                                 'record', '--source', 'ebs', '-o', self.file, 'touch',
                                 self.marker], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=record_support.TIMEOUT_S)
        if result.returncode == 77:
            self.skipTest('no seccomp filters')
        self.assertEqual(result.returncode, 2, result)
        self.assertFalse(self.marker.exists())
        self.assertEqual(list(self.directory.iterdir()), [])
        self.assertEqual(len(result.stderr.splitlines()), 1, result)
        return result.stderr

    def test_seccomp_refuses_with_eperm(self):
        message = self.run_without_perf(errno.EPERM)
        self.assertIn('EPERM', message)
        self.assertIn('seccomp', message)

    def test_seccomp_refuses_with_eacces(self):
        self.assertIn('EACCES', self.run_without_perf(errno.EACCES))

    def test_seccomp_refuses_with_enosys(self):
        message = self.run_without_perf(errno.ENOSYS)
        self.assertIn('ENOSYS', message)
        self.assertIn('seccomp', message)

    def test_seccomp_kills(self):
        self.assertIn('killed by SIGSYS', self.run_without_perf(0))

    @needs_root
    def test_disk_full(self):
        mount = self.directory / 'small'
        mount.mkdir()
        mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', mount],
                                 stderr=subprocess.DEVNULL)
        if mounted.returncode != 0:
            self.skipTest('no permission to mount')
        try:
            with open(mount / 'filler', 'wb', buffering=0) as filler:
                try:
                    while True:
                        filler.write(b'x' * 4096)
                except OSError:
                    pass
            result = self.run_tool('record', '-o', mount / 'file', program('ends'), 'return', 200)
            self.assertEqual(result.returncode, 2, result)
            self.assertIn('No space left', result.stderr)
            self.assertEqual({path.name for path in mount.iterdir()}, {'filler'})
        finally:
            subprocess.run(['umount', '-l', mount], check=True)

    def test_what_cannot_be_stored_stays(self):
        command = f'"{program("ends")}" return 200; mkdir "{self.file}"'
        result = self.run_tool('record', '-e', 'task-clock', '-c', PERIOD_NS, '-o', self.file, '--', 'sh', '-c', command)
        kept = re.search(r'what was recorded is in (.*): hbbp merge', result.stderr)
        self.assertTrue(kept, result.stderr)
        self.file.rmdir()
        self.record('true')
        profiles = [str(path) for path in pathlib.Path(kept[1]).iterdir() if path.suffix == '.hbbp']
        merged = self.run_tool('merge', '-o', self.directory / 'merged.data', *profiles)
        self.assertEqual(merged.returncode, 0, merged)


if __name__ == '__main__':
    record_support.main(RecordErrorsTest)
