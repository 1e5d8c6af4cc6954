"""Tests programs that libhbbp-preload.so would harm, known by their files: they are observed from outside or refused,
and recorded programs run them without it."""
import os
import pathlib
import re
import shutil
import subprocess
import time

import record_support
from record_support import TOOL, needs_root, program

SOURCE = pathlib.Path(__file__).parent / 'programs' / 'ends.c'
GREETING = '''
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  const char* preload = getenv("LD_PRELOAD");
  printf("survived with %s\\n", preload == NULL ? "none" : preload);
  return 0;
}
'''
# Chromium's zygote does so, and ends if there are two.
COUNTS_THREADS = '''
#include <stdio.h>
#include <sys/stat.h>
int main(void) {
  struct stat tasks;
  if (stat("/proc/self/task", &tasks) != 0) return 1;
  printf("threads: %d\\n", (int)tasks.st_nlink - 2);
  return 0;
}
'''
SANITIZED = [('gcc', '-fsanitize=address'), ('gcc', '-fsanitize=thread'), ('gcc', '-fsanitize=leak'),
             ('clang-14', '-fsanitize=address'), ('clang-14', '-fsanitize=thread'),
             ('clang-14', '-fsanitize=memory')]


class RecordTargetsTest(record_support.RecordTest):

    def build(self, compiler, *flags, source=SOURCE):
        """Skips the test where there is no such compiler, or where it has no such runtime."""
        if shutil.which(compiler) is None:
            self.skipTest(f'no {compiler}')
        file = self.directory / ('built-' + re.sub(r'\W', '-', ' '.join((compiler, *flags))))
        result = subprocess.run([compiler, *flags, '-O1', source, '-o', file, '-pthread'],
                                stderr=subprocess.PIPE, text=True)
        if result.returncode != 0:
            self.skipTest(result.stderr.splitlines()[-1])
        return file

    def build_greeting(self, *compiler_and_flags):
        source = self.directory / 'greeting.c'
        source.write_text(GREETING)
        return self.build(*compiler_and_flags, source=source)

    def try_each(self, attempt):
        """Tests each available sanitizer."""
        tried = 0
        for compiler, flag in SANITIZED:
            if shutil.which(compiler) is None:
                continue
            with self.subTest(compiler=compiler, flag=flag):
                attempt(compiler, flag)
                tried += 1
        if tried == 0:
            self.skipTest('no compiler')

    def check_from_outside(self, *command, why):
        result = self.run_tool('record', '-c', 1_000_000, '-o', self.file, *command, 'return',
                               '200', '5', timeout=50)
        self.assertEqual(result.returncode, 5, result)
        self.assertIn(why, result.stderr)
        self.assertIn('observed from outside', result.stderr)
        self.assertRegex(result.stdout, r'^\d+ \d+ \d+\n$')
        self.assertGreater(self.milliseconds(), 0)
        self.file.unlink()

    def check_both_sources(self, *command, environment=None):
        result = self.run_tool('record', '--source', 'ebs,swbt', '-e', 'task-clock', '-c', 1_000_000, '-o', self.file,
                               *command, 'return', '200', '5', timeout=50, env=environment)
        self.assertEqual(result.returncode, 5, result)
        self.assertEqual([source['kind'] for source in self.info()['sources']], ['ebs', 'swbt'])
        self.file.unlink()

    def check_target(self, *command, why):
        self.check_from_outside(*command, why=why)
        self.check_both_sources(*command)

    def test_sanitizers(self):
        self.try_each(lambda *compiler: self.check_from_outside(self.build(*compiler), why='built with a sanitizer'))

    def test_leak_detection_and_branches_from_outside_exclude_each_other(self):
        self.try_each(self.check_leak_detection)

    def check_leak_detection(self, *compiler):
        built = self.build(*compiler)
        for options in (), ('--outside',):
            for source in 'swbt', 'ebs,swbt':
                message = self.refused('record', *options, '--source', source, '-o', self.file, built, 'return', '10', '5')
                self.assertIn('LSAN_OPTIONS=detect_leaks=0', message)
                self.assertIn('--source ebs', message)
        without = {**os.environ, 'LSAN_OPTIONS': 'detect_leaks=0'}
        without_in_others = {**os.environ, 'ASAN_OPTIONS': 'detect_leaks=0'}
        for environment, status in (os.environ, 2), (without_in_others, 2), (without, 0):
            process = subprocess.Popen([built, 'return', '20000', '5'], stdout=subprocess.DEVNULL, env=environment)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            time.sleep(0.1)
            result = self.run_tool('record', '--source', 'swbt', '-o', self.file, '--pid', process.pid, '--duration', '0.5')
            self.assertEqual(result.returncode, status, result)
            self.assertEqual('LSAN_OPTIONS=detect_leaks=0' in result.stderr, status == 2)
        self.check_both_sources(built, environment=without)

    def test_undefined_behaviour_sanitizer_is_no_obstacle(self):
        result = self.record(self.build('gcc', '-fsanitize=undefined'), 'return', 200, 5, status=5)
        self.assert_whole(result)

    def test_musl(self):
        self.check_target(self.build('musl-gcc'), why='another C library')

    def test_static_program(self):
        self.check_target(program('ends_static'), why='static')

    def test_script_of_a_static_interpreter(self):
        interpreter = self.build('gcc', '-static')
        script = self.directory / 'script'
        script.write_text(f'#!{interpreter} return\n')
        script.chmod(0o755)
        result = self.run_tool('record', '-o', self.file, script)
        self.assertIn('static', result.stderr)

    def test_zygote_has_one_thread(self):
        source = self.directory / 'zygote.c'
        source.write_text(COUNTS_THREADS)
        zygote = self.build('gcc', source=source)
        for mode in ('--source', 'ebs'), ('--source', 'swbt'):
            with self.subTest(mode):
                result = self.run_tool('record', *mode, '-o', self.file, 'sh', '-c', f'{zygote} && {zygote} --type=zygote')
                self.assertEqual(result.stdout, 'threads: 2\nthreads: 1\n', result)
                self.assertIn(f'not profiled: {zygote.name} (a zygote', result.stderr)

    def test_what_is_not_profiled_is_named(self):
        names = ['one', 'two', 'three', 'four']
        for name in names:
            shutil.copy(program('ends_static'), self.directory / name)
        script = '; '.join(f'./{name} return 1 0' for name in names for _ in range(3))
        result = subprocess.run([TOOL, 'record', '-o', self.file, 'sh', '-c', f'{script}; exit 3'], cwd=self.directory,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=record_support.TIMEOUT_S)
        self.assertEqual(result.returncode, 3, result)
        self.assertIn('not profiled: four, one, three and 1 more (static), and what these start', result.stderr)
        self.assertEqual(result.stderr.count('not profiled'), 1)
        result = self.run_tool('record', '-o', self.file, 'sh', '-c', 'exit 3')
        self.assertNotIn('not profiled', result.stderr)

    def test_list_of_what_is_not_profiled_may_be_hostile(self):
        lines = r'\033[31m\n1 /\033[2J\n99 x\n-1 y\n1\n1 \n'
        for script in (f'printf "{lines}" > $HBBP_PRELOAD_DIRECTORY/unprofiled', 'mkfifo $HBBP_PRELOAD_DIRECTORY/unprofiled',
                       'ln -s /dev/zero $HBBP_PRELOAD_DIRECTORY/unprofiled', 'mkdir $HBBP_PRELOAD_DIRECTORY/unprofiled'):
            with self.subTest(script):
                result = self.run_tool('record', '-o', self.file, 'sh', '-c', script)
                self.assertEqual(result.returncode, 0, result)
                self.assertNotIn('\033', result.stderr)

    def test_32_bit_program(self):
        try:
            status = subprocess.run([program('ends_32_bit'), 'return', '1', '5'], stdout=subprocess.DEVNULL).returncode
        except OSError:
            status = None
        if status != 5:
            self.skipTest('this machine runs no 32-bit programs')
        self.check_from_outside(program('ends_32_bit'), why='32-bit')
        message = self.refused('record', '--source', 'ebs,swbt', '-o', self.file, program('ends_32_bit'), 'return', '10', '5')
        self.assertIn('--source ebs', message)
        self.assertFalse(self.file.exists())

    def test_sanitizer_that_the_user_preloads(self):
        library = subprocess.run(['gcc', '-print-file-name=libasan.so'], stdout=subprocess.PIPE,
                                 text=True).stdout.strip() if shutil.which('gcc') else ''
        if not os.path.isabs(library):
            self.skipTest('no libasan.so')
        environment = {**os.environ, 'LD_PRELOAD': library, 'LSAN_OPTIONS': 'detect_leaks=0'}
        command = [TOOL, 'record', '-o', self.file, program('ends'), 'return', '50', '5']
        result = subprocess.run(['env', *command], env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, timeout=50)
        self.assertEqual(result.returncode, 5, result)
        self.assertIn('observed from outside', result.stderr)
        environment['LSAN_OPTIONS'] = ''
        result = subprocess.run(['env', *command[:2], '--source', 'swbt', *command[2:]], env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, timeout=50)
        self.assertIn('LSAN_OPTIONS=detect_leaks=0', result.stderr)

    # Emulators and other launchers ------------------------------------------------------------

    def test_valgrind(self):
        if shutil.which('valgrind') is None:
            self.skipTest('no valgrind')
        command = ['valgrind', program('ends'), 'return', '10', '5']
        plain = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        result = self.run_tool('record', '-o', self.file, *command, timeout=50)
        self.assertEqual(result.returncode, plain.returncode, result)
        usage = re.compile(r'total heap usage.*|ERROR SUMMARY.*|in use at exit.*')
        self.assertEqual(usage.findall(result.stderr), usage.findall(plain.stderr))
        self.file.unlink()
        self.check_both_sources('valgrind', program('ends'))

    def test_qemu(self):
        if shutil.which('qemu-x86_64') is None:
            self.skipTest('no qemu-x86_64')
        self.check_target('qemu-x86_64', program('ends'), why='emulator')

    def unshared(self, options):
        """A program that ends with status 5, in namespaces of its own."""
        command = ['unshare', options, program('ends'), 'return', '200', '5']
        if shutil.which('unshare') is None or subprocess.run(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 5:
            self.skipTest('no user namespaces')
        return command

    def test_unshare(self):
        command = self.unshared('-Ur')
        for source in ('ebs', 'swbt'):
            result = self.run_tool('record', '--source', source, '-c', 1_000_000, '-o', self.file,
                                   *command)
            self.assertEqual(result.returncode, 5, result)
            self.assertGreater(self.info()['sources'][0]['samples'], 0)

    def test_pid_namespace_without_its_own_proc(self):
        """/proc lists the threads under other numbers there than they have for themselves."""
        command = self.unshared('-Urpf')
        for source in ('ebs', 'swbt'):
            with self.subTest(source=source):
                result = self.run_tool('record', '--source', source, '-c', 1_000_000, '-o', self.file,
                                       *command)
                self.assertEqual(result.returncode, 5, result)
                self.assertNotIn('could be attached to', result.stderr)
                self.assertIn('are to be in another PID namespace, and Linux refuses it threads', result.stderr)
                inside = self.file.with_name(self.file.name + '.1')
                self.assertGreater(self.info(inside)['sources'][0]['samples'], 0)
                inside.unlink()

    # What a recorded program runs ---------------------------------------------------------------

    def check_survives(self, *command, **options):
        result = self.run_tool('record', '-o', self.file, *command, **options)
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stdout, r'(^|\n)survived with none\n', result)
        for line in result.stderr.splitlines():
            self.assertTrue(line.startswith('hbbp record: '), result.stderr)

    def check_all_ways(self, target):
        for how in ('execve', 'execv', 'execvp', 'execvpe', 'execl', 'execlp', 'execle', 'execveat',
                    'fexecve', 'posix_spawn', 'posix_spawnp', 'vfork', 'system', 'popen',
                    'kernel'):
            with self.subTest(how=how):
                self.check_survives(program('execs'), how, 1, target, 'argument')
        self.check_survives('sh', '-c', f'"{target}"; true')

    def test_run_by_a_program_with_address_sanitizer(self):
        self.check_all_ways(self.build_greeting('gcc', '-fsanitize=address'))

    def test_run_by_a_program_with_musl(self):
        self.check_all_ways(self.build_greeting('musl-gcc'))

    def test_run_by_make(self):
        if shutil.which('make') is None:
            self.skipTest('no make')
        makefile = self.directory / 'makefile'
        makefile.write_text(f'all:\n\t@{self.build_greeting("gcc", "-fsanitize=address")}\n')
        self.check_survives('make', '-s', '-f', makefile)

    def greeting_of_an_emulator(self):
        """It is recognized by its name alone."""
        emulator = self.directory / 'qemu-greeting'
        shutil.copy(self.build_greeting('gcc'), emulator)
        return emulator

    def test_programs_do_not_see_the_library_in_their_environment(self):
        self.check_survives(self.build_greeting('gcc'))
        self.check_survives('sh', '-c', f'"{self.build_greeting("gcc")}"; true')

    @needs_root
    def test_run_where_the_library_is_not(self):
        self.build_greeting('gcc')
        greeting = self.build('gcc', source=self.directory / 'greeting.c')
        root = self.directory / 'root'
        ldd = subprocess.run(['ldd', greeting], capture_output=True, text=True, check=True)
        for file in (greeting, *re.findall(r'/\S+', ldd.stdout)):
            copy = root / str(file).lstrip('/')
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
        self.check_survives(program('execs'), 'chroot', 1, greeting, root)

    def test_found_in_path(self):
        emulator = self.greeting_of_an_emulator()
        path = f'/nonexistent:{emulator.parent}:{os.environ["PATH"]}'
        for how in ('execvp', 'execvpe', 'execlp', 'posix_spawnp'):
            with self.subTest(how=how):
                self.check_survives(program('execs'), how, 1, emulator.name, 'argument',
                                    env={**os.environ, 'PATH': path})

    def test_what_the_user_preloads_stays(self):
        result = self.run_tool('record', '-o', self.file, 'env', self.greeting_of_an_emulator(),
                               env={**os.environ, 'LD_PRELOAD': 'libm.so.6'})
        self.assertEqual(result.stdout, 'survived with libm.so.6\n', result)


if __name__ == '__main__':
    record_support.main(RecordTargetsTest)
