#!/usr/bin/env python3
"""Tests the installation by pip without a network, finding the library, and the message where there is none."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

import hbbp

import support

OPTIONS = ['--no-index', '--no-build-isolation', '--no-deps', '--disable-pip-version-check',
           '--quiet']
FIND = 'import hbbp; print(hbbp.library_path(), hbbp.library_version())'


def why_not_pip():
    for module in ('pip', 'setuptools', 'wheel', 'venv'):
        done = subprocess.run([sys.executable, '-c', f'import {module}'], capture_output=True)
        if done.returncode != 0:
            return f'there is no {module}'
    return None


class InstallTest(support.DirectoryTest):

    def setUp(self):
        super().setUp()
        reason = why_not_pip()
        if reason:
            self.skipTest(reason)
        self.source = self.directory / 'source'
        shutil.copytree(support.PACKAGE, self.source,
                        ignore=shutil.ignore_patterns('build', '*.egg-info', '__pycache__'))

    def run_clean(self, *command, **environment):
        """Runs a command without the environment of the tests."""
        inherited = {name: value for name, value in os.environ.items()
                     if not name.startswith(('HBBP_', 'PYTHON', 'PIP_'))}
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.directory,
                              env={**inherited, **environment}, timeout=200)
        return done

    def venv(self, *options):
        """Makes an environment; packages are installed from outside, which saves a pip of its own."""
        path = self.directory / 'venv'
        done = self.run_clean(sys.executable, '-m', 'venv', '--without-pip', *options, str(path))
        self.assertEqual(done.returncode, 0, done)
        return str(path / 'bin' / 'python')

    def test_pip_installs_from_the_source(self):
        python = self.venv('--system-site-packages')
        done = self.run_clean(python, '-m', 'pip', 'install', *OPTIONS, str(self.source))
        self.assertEqual(done.returncode, 0, done)
        done = self.run_clean(python, '-c', 'import hbbp; print(hbbp.__file__, hbbp.__version__)')
        path, version = done.stdout.split()
        self.assertTrue(path.startswith(str(self.directory)), path)
        self.assertEqual(version, hbbp.__version__)
        shown = self.run_clean(python, '-m', 'pip', 'show', 'hbbp').stdout
        self.assertIn(f'Version: {hbbp.__version__}\n', shown)
        self.assertTrue((pathlib.Path(path).parent / 'py.typed').exists())

    def test_wheel_needs_nothing_else(self):
        done = self.run_clean(sys.executable, '-m', 'pip', 'wheel', *OPTIONS, str(self.source),
                              '-w', str(self.directory))
        self.assertEqual(done.returncode, 0, done)
        wheel, = self.directory.glob('hbbp-*.whl')
        with zipfile.ZipFile(wheel) as archive:
            files = {name for name in archive.namelist() if name.startswith('hbbp/')}
        self.assertEqual(files, {f'hbbp/{path.name}' for path in
                                 (support.PACKAGE / 'src' / 'hbbp').iterdir() if path.is_file()})
        python = self.venv()
        done = self.run_clean(sys.executable, '-m', 'pip', '--python', python, 'install', *OPTIONS,
                              str(wheel))
        self.assertEqual(done.returncode, 0, done)
        # The library is next to the package, so that no variable is needed.
        directory = next((self.directory / 'venv' / 'lib').glob('python*/site-packages/hbbp'))
        os.symlink(hbbp.library_path(), directory / 'libhbbp.so.0')
        done = self.run_clean(python, '-c', FIND)
        self.assertEqual(done.stdout.split(),
                         [str(directory / 'libhbbp.so.0'), hbbp.__version__], done)


class LibraryTest(support.DirectoryTest):

    def find(self, **environment):
        return support.python(FIND, **{'HBBP_LIBRARY': '', 'LD_LIBRARY_PATH': '',
                                       'PKG_CONFIG_PATH': '', **environment})

    def assert_fails(self, done, *expected):
        self.assertNotEqual(done.returncode, 0, done)
        for text in ('LibraryError: libhbbp.so.0 could not be loaded', 'HBBP_LIBRARY', *expected):
            self.assertIn(text, done.stderr)

    def test_variable_names_a_file_or_a_directory(self):
        path = os.path.realpath(hbbp.library_path())
        self.assertIn(path, self.find(HBBP_LIBRARY=path).stdout)
        os.symlink(path, self.directory / 'libhbbp.so.0')
        self.assertIn(str(self.directory), self.find(HBBP_LIBRARY=str(self.directory)).stdout)

    def test_dynamic_linker_finds_it(self):
        os.symlink(os.path.realpath(hbbp.library_path()), self.directory / 'libhbbp.so.0')
        done = self.find(LD_LIBRARY_PATH=str(self.directory))
        self.assertEqual(done.stdout.split(), ['libhbbp.so.0', hbbp.__version__], done)

    def test_pkg_config_finds_it(self):
        if not shutil.which('pkg-config'):
            self.skipTest('there is no pkg-config')
        if self.find().returncode == 0:
            self.skipTest('libhbbp is installed here')
        os.symlink(os.path.realpath(hbbp.library_path()), self.directory / 'libhbbp.so.0')
        (self.directory / 'hbbp.pc').write_text(
            f'libdir={self.directory}\nName: hbbp\nDescription: -\nVersion: 0\n')
        done = self.find(PKG_CONFIG_PATH=str(self.directory))
        self.assertIn(f'{self.directory}/libhbbp.so.0', done.stdout, done)

    def test_none_is_a_clear_error(self):
        self.assert_fails(self.find(HBBP_LIBRARY='/nowhere/libhbbp.so.0'), 'no /nowhere/libhbbp')
        if self.find().returncode != 0:
            self.assert_fails(self.find(), 'next to the package', 'dynamic linker', 'pkg-config',
                              'cmake --install')

    def test_something_else_is_a_clear_error(self):
        self.assert_fails(self.find(HBBP_LIBRARY=__file__), 'invalid ELF header')
        self.assert_fails(self.find(HBBP_LIBRARY='libc.so.6'), 'libc.so.6 is not libhbbp')

    def test_other_versions_are_clear_errors(self):
        compiler = shutil.which('cc')
        if not compiler:
            self.skipTest('there is no cc')
        for version, expected in ((1000000, 'has version 1, this package is for 0'),
                                  (1000, 'has no hbbp_version_string: it is older')):
            library = self.directory / f'lib{version}.so'
            subprocess.run([compiler, '-shared', '-x', 'c', '-', '-o', library], check=True,
                           text=True,
                           input=f'unsigned hbbp_version_number(void) {{ return {version}; }}\n')
            done = self.find(HBBP_LIBRARY=str(library))
            self.assertIn(expected, done.stderr)

    def test_importing_needs_no_library(self):
        done = support.python('import hbbp; print(hbbp.__version__, list(hbbp.SourceKind)[1])',
                              HBBP_LIBRARY='/nowhere')
        self.assertEqual(done.stdout, f'{hbbp.__version__} ebs\n', done)


class TypesTest(support.DirectoryTest):

    def setUp(self):
        super().setUp()
        done = subprocess.run([sys.executable, '-m', 'mypy', '--version'], capture_output=True)
        if done.returncode != 0:
            self.skipTest('there is no mypy')

    def test_package_is_strictly_typed_and_users_are_checked(self):
        program = self.directory / 'program.py'
        program.write_text(
            'import hbbp\n'
            'with hbbp.Session("ebs", period=1000) as session:\n'
            '    pass\n'
            'for block in session.profile().blocks():\n'
            '    total: float = block.count * block.instruction_count\n'
            'reveal_type(session.profile().mix()[0].mnemonic)\n'
            'hbbp.Session(period="often")\n'
            'session.profile().blocks()[0].counts\n'
            'name: int = session.profile().pivot().rows[0][0].text\n')
        output = subprocess.run(
            [sys.executable, '-m', 'mypy', 'src/hbbp', str(program)], capture_output=True,
            text=True, cwd=support.PACKAGE, env={**os.environ, 'MYPYPATH': 'src'}).stdout
        self.assertIn('Revealed type is "builtins.str"', output)
        self.assertEqual(re.findall(r'(\w+)\.py:(\d+): error', output),
                         [('program', line) for line in '789'], output)


if __name__ == '__main__':
    support.main(__name__)
