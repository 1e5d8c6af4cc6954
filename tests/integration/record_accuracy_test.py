"""The counts are those of the program."""
import json
import math
import shutil
import subprocess

import record_support
from record_support import program


class RecordAccuracyTest(record_support.RecordTest):

    def test_functions_that_run_three_to_one(self):
        self.record(program('split'), 1_500_000)
        rows = {row['function']: row for row in self.rows('mix', self.file, '--by', 'function')}
        three, one = rows['ThreeQuarters'], rows['OneQuarter']
        both = three['instructions'] + one['instructions']
        # Of a share p of n samples: sqrt(p (1 - p) / n).
        samples = self.info()['sources'][0]['samples']
        self.assertGreater(samples, 500)
        standard_error = math.sqrt(0.75 * 0.25 / samples)
        self.assertAlmostEqual(three['instructions'] / both, 0.75, delta=5 * standard_error)

    def test_same_program_twice_is_the_same_distribution(self):
        other = self.folder / 'other.data'
        self.record(program('split'), 1_000_000)
        self.file.rename(other)
        self.record(program('split'), 1_000_000)
        result = self.run_tool('compare', self.file, other, '--format', 'json')
        self.assertEqual(result.returncode, 0, result)
        self.assertGreater(json.loads(result.stdout)['total']['overlap'], 0.85)

    def test_bzip2_against_callgrind(self):
        if shutil.which('valgrind') is None or shutil.which('bzip2') is None:
            self.skipTest('no valgrind or no bzip2')
        text = self.folder / 'text'
        text.write_text('\n'.join(str(i * i * i % 1000003) for i in range(120000)))
        truth = self.folder / 'truth'
        subprocess.run(['valgrind', '--tool=callgrind', '--dump-instr=yes',
                        f'--callgrind-out-file={truth}', 'bzip2', '-kf', text], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        self.record('bzip2', '-kf', text, period_ns=50_000)
        result = self.run_tool('compare', self.file, '--truth', truth, '--format', 'json')
        self.assertEqual(result.returncode, 0, result)
        total = json.loads(result.stdout)['total']
        self.assertGreater(total['overlap'], 0.5)
        self.assertLess(total['avg_weighted_error'], 1)


if __name__ == '__main__':
    record_support.main(RecordAccuracyTest)
