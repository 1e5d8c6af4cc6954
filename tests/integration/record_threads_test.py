"""Tests threads that start and end: each has its share of the samples."""
import record_support
from record_support import program, reported


class RecordThreadsTest(record_support.RecordTest):

    def threads(self):
        return {thread['tid']: thread for thread in self.info()['thread_list']}

    def check_each_thread(self, how, milliseconds, count):
        result = self.record(program('threads'), how, milliseconds)
        worked = reported(result.stdout)
        process = self.assert_whole(result)['pid']
        del worked[process]
        self.assertEqual(len(worked), count)
        threads = self.threads()
        for tid, expected in worked.items():
            self.assert_close(threads[tid]['samples'], expected)

    def test_64_threads(self):
        self.check_each_thread('many', 40, 64)

    def test_64_threads_with_small_stacks(self):
        self.check_each_thread('small_stacks', 20, 64)

    def test_thread_that_starts_late(self):
        self.check_each_thread('late', 200, 1)

    def test_shares(self):
        self.check_each_thread('shares', 60, 3)
        samples = {thread['name']: thread['samples'] for thread in self.threads().values()}
        total = samples['six'] + samples['three'] + samples['one']
        for name, share in (('six', 0.6), ('three', 0.3), ('one', 0.1)):
            self.assertAlmostEqual(samples[name] / total, share, delta=0.05)

    def test_thread_that_renames_itself_is_one_thread(self):
        self.record(program('threads'), 'rename', 100)
        names = [thread['name'] for thread in self.threads().values()
                 if thread['samples'] > 20]
        self.assertEqual(names, ['after'])

    def test_thread_local_variables_larger_than_a_stack(self):
        result = self.record(program('heavy'), 100)
        self.assertIn('caught 3', result.stdout)
        # 50 ms each before and after main, the second of them after the program reported.
        total = sum(reported(result.stdout).values()) + 50
        self.assert_close(self.milliseconds(), total)

    def test_the_own_thread_of_the_profiler_is_not_counted(self):
        self.record(program('threads'), 'many', 10)
        self.assertNotIn('hbbp-worker', {thread['name'] for thread in self.threads().values()})


if __name__ == '__main__':
    record_support.main(RecordThreadsTest)
