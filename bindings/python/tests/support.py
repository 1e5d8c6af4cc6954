"""Shared code of the tests of the Python package.

The environment names the library (HBBP_LIBRARY), the command (HBBP_TOOL) and the recordings
(HBBP_TEST_DATA). A file of tests ends with `support.main(__name__)`; with the name of a test as
argument it runs only that. Exit status 77: skipped.
"""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import hbbp

SKIPPED = 77
PACKAGE = pathlib.Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]
TOOL = os.environ.get('HBBP_TOOL', '')
PERIOD_NS = 1_000_000

# dec ecx; jne to the dec; ret: a loop of one block, and a block of one instruction.
LOOP_CODE = bytes.fromhex('ffc9 75fc c3')
LOOP_ADDRESS = 0x10000
PID = 4711


def needs(module):
    return unittest.skipUnless(importlib.util.find_spec(module), f'there is no {module}')


def needs_events(test):
    """Skips the test where this process may not sample itself."""
    capability = hbbp.capabilities().named('task_clock')
    return unittest.skipUnless(capability.state == hbbp.CapabilityState.SUPPORTED,
                               f'task_clock: {capability.detail}')(test)


def recording(name):
    path = pathlib.Path(os.environ.get('HBBP_TEST_DATA', ROOT.parent / 'shared' / 'data')) / name
    if not path.exists():
        raise unittest.SkipTest(f'no {path}; set HBBP_TEST_DATA')
    return path


def work(seconds=0.25):
    """Runs native code of the interpreter for so much CPU time of the thread."""
    end = time.thread_time() + seconds
    total = 0
    while time.thread_time() < end:
        total += sum(range(10000))
    return total


def generated_code(name='hot'):
    return hbbp.FeedEvent(hbbp.FeedEventKind.CODE, pid=PID, address=LOOP_ADDRESS,
                          size=len(LOOP_CODE), code=LOOP_CODE, name=name)


def fed_profile(loop_samples=30, return_samples=5, period=1000, tid=PID, command='fed',
                **options):
    """Makes a profile of generated code, whose numbers follow from the samples."""
    with hbbp.Feed(order='as-added', command=command, **options) as feed:
        feed.add_events([generated_code()])
        source = feed.add_source('ebs', 'instructions', period=period)
        offsets = [0] * loop_samples + [4] * return_samples
        feed.add_samples(source, [
            hbbp.FeedSample(ip=LOOP_ADDRESS + offset, pid=PID, tid=tid, time_ns=1_000_000 * (i + 1))
            for i, offset in enumerate(offsets)])
        feed.flush()
        return feed.profile()


def command(*arguments):
    """Returns the output of `hbbp ... --format json`."""
    if not TOOL:
        raise unittest.SkipTest('HBBP_TOOL is not set')
    done = subprocess.run([TOOL, *map(str, arguments), '--format', 'json'], capture_output=True,
                          text=True)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def python(code, **environment):
    """Runs `code` in another process, with this package."""
    return subprocess.run([sys.executable, '-B', '-c', code], capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=100)


def run_in_threads(function, count):
    """Runs threads, and raises the exception of one of them."""
    raised = []

    def guarded(number):
        try:
            function(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def ipython_shell():
    """Returns a shell that keeps no history."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config
    config = Config()
    config.HistoryManager.enabled = False
    return InteractiveShell.instance(config=config)


class DirectoryTest(unittest.TestCase):

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='hbbp-python-'))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)


def main(name):
    module = sys.modules[name]
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    wanted = sys.argv[1:]
    tests = [test for case in suite for test in case
             if not wanted or test.id().rsplit('.', 1)[-1] in wanted]
    if not tests:
        sys.exit(f'no test {wanted}')
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite(tests))
    if not result.wasSuccessful():
        sys.exit(1)
    if result.skipped and len(result.skipped) >= result.testsRun:
        print(f'SKIPPED: {result.skipped[0][1]}')
        sys.exit(SKIPPED)
