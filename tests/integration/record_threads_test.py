"""Tests threads that start and end: each has its share of the samples, or a note says how much has none."""
import sys

import record_support
from record_support import needs_root, program, reported

PERIOD_OF_NONE_NS = 500_000_000  # no brief thread has a sample
BRIEF_THREADS = '''
import threading, time
def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
work(1.2)
for _ in range(100):
    thread = threading.Thread(target=work, args=(0.02,))
    thread.start()
    thread.join()
'''


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

    def record_clock_of_all_code(self, *command):
        """Returns what the clock counted and what its samples stand for, in ns, and what hbbp mix prints. The count is known
        where the kernel is sampled too."""
        self.record(*command, period_ns=PERIOD_OF_NONE_NS, options=('--kernel',))
        source, = self.info()['sources']
        counters = source['counters']
        result = self.run_tool('mix', self.file)
        self.assertEqual(result.returncode, 0, result)
        return counters['counted-events'], counters.get('sampled-events', 0), result.stdout

    @needs_root
    def test_a_note_says_what_share_of_the_time_has_samples(self):
        counted, sampled, listing = self.record_clock_of_all_code(sys.executable, '-c', BRIEF_THREADS)
        self.assert_close(counted / 1e6, 1200 + 100 * 20)
        self.assertLess(sampled, 0.7 * counted)
        self.assertRegex(listing, rf'note: samples of task-clock\S* stand for {100 * sampled / counted:.2f} % of what the '
                                  'event counted, so that sums are wrong by as much')

    @needs_root
    def test_what_the_end_of_a_thread_costs_is_not_noted(self):
        """Of 600 ms there are one or two samples of 500: sums are wrong by more than 5 %, but by less than two periods."""
        counted, sampled, listing = self.record_clock_of_all_code(program('ends'), 'return', 600)
        self.assertGreater(abs(counted - sampled), 0.05 * counted)
        self.assertNotIn('of what the event counted', listing)

    def test_the_own_thread_of_the_profiler_is_not_counted(self):
        self.record(program('threads'), 'many', 10)
        self.assertNotIn('hbbp-worker', {thread['name'] for thread in self.threads().values()})


if __name__ == '__main__':
    record_support.main(RecordThreadsTest)
