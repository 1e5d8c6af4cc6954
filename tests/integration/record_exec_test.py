"""Tests programs that exec others or start them: nothing is lost and nothing is counted twice."""
import record_support
from record_support import program, reported


class RecordExecTest(record_support.RecordTest):

    def script(self, text):
        path = self.directory / 'script'
        path.write_text(text)
        path.chmod(0o755)
        return path

    def working_script(self):
        """Takes an argument and becomes a program that works for 200 ms."""
        return self.script(f'#!/bin/sh\nexec "{program("ends")}" "$1" 200\n')

    def check_exec(self, how):
        """200 ms before and 200 ms after, with a shell between, in one process and profile."""
        result = self.record(program('execs'), how, 200, self.working_script(), 'return')
        info = self.assert_whole(result)
        # Both worked in the process, 200 ms each. A busy kernel may count some of it as its own.
        self.assertGreater(sum(reported(result.stdout).values()), 300)
        self.assertEqual(self.children(), {})
        self.assertIn('ends return 200', info['command'])
        modules = {module['name'].rsplit('/')[-1] for module in info['modules']
                   if module['samples'] > 0}
        self.assertLessEqual({'execs', 'ends'}, modules)

    def test_execve(self):
        self.check_exec('execve')

    def test_execv(self):
        self.check_exec('execv')

    def test_execvp(self):
        self.check_exec('execvp')

    def test_execvpe(self):
        self.check_exec('execvpe')

    def test_execl(self):
        self.check_exec('execl')

    def test_execlp(self):
        self.check_exec('execlp')

    def test_execle(self):
        self.check_exec('execle')

    def test_execveat(self):
        self.check_exec('execveat')

    def test_fexecve(self):
        self.check_exec('fexecve')

    def test_failed_exec_goes_on_and_is_profiled(self):
        self.assert_whole(self.record(program('execs'), 'fail', 200, 'none'))

    def test_exec_without_environment_is_reported(self):
        ends = self.script(f'#!/bin/sh\nexec "{program("ends")}" "$1" 1500\n')
        result = self.record(program('execs'), 'clearenv', 200, ends, 'return')
        self.assertIn('of user CPU time', result.stderr)
        self.assert_close(self.milliseconds(), 200)

    def test_exec_gives_back_what_the_worker_holds(self):
        # It ends while another library, as that of fakeroot does, holds a semaphore of System V in it.
        result = self.record(program('semaphores'), 10000)
        self.assertEqual(result.stdout, 'free\n')

    def check_child(self, how):
        """Parent and child work 200 ms each, and each has its own profile."""
        result = self.record(program('execs'), how, 200, self.working_script(), 'return')
        self.assert_whole(result)
        # A shell between them may get a sample, too.
        worked = reported(result.stdout)
        (child, file), = ((child, file) for child, file in self.children().items() if child in worked)
        self.assert_close(self.milliseconds(file), worked[child])

    def test_posix_spawn(self):
        self.check_child('posix_spawn')

    def test_posix_spawnp(self):
        self.check_child('posix_spawnp')

    def test_vfork(self):
        self.check_child('vfork')

    def test_system(self):
        self.check_child('system')

    def test_popen(self):
        self.check_child('popen')

    def test_vfork_with_failing_exec(self):
        self.assert_whole(self.record(program('execs'), 'vfork_fail', 200, 'none'))
        self.assertEqual(self.children(), {})

    def test_script(self):
        self.assert_whole(self.record(self.working_script(), 'return'))

    def test_script_without_interpreter_line(self):
        script = self.script(f'exec "{program("ends")}" return 200\n')
        self.assert_whole(self.record(script))

    def test_pipeline(self):
        ends = program('ends')
        result = self.record('sh', '-c', f'"{ends}" return 300 | cat; exit 9', status=9)
        worked = {child: file for child, file in self.children().items()
                  if child in reported(result.stdout)}
        (child, file), = worked.items()
        self.assert_close(self.milliseconds(file), reported(result.stdout)[child])
        # The shell may have a sample of its own.
        self.assertRegex(result.stderr, f'next: hbbp mix ({file}|{self.file})\n')

    def test_record_inside_record(self):
        inner = self.directory / 'inner.data'
        result = self.record(self.run_inner(inner))
        worked = reported(result.stdout)
        self.assert_close(self.milliseconds(inner), worked[self.info(inner)['pid']])
        self.assertNotIn(self.info(inner)['pid'], self.children())

    def run_inner(self, file):
        return self.script('#!/bin/sh\n'
                           f'exec "{record_support.TOOL}" record --source ebs -e task-clock -c 1000000 -o "{file}" -- '
                           f'"{program("ends")}" return 300\n')


if __name__ == '__main__':
    record_support.main(RecordExecTest)
