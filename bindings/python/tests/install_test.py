#!/usr/bin/env python3
"""Tests the installation by pip without a network, finding the library, and the message where there is none."""
import importlib.util
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

FIND = 'import hbbp; print(hbbp.library_path(), hbbp.library_version())'


def why_not_pip():
    for module in ('venv', 'ensurepip'):
        if importlib.util.find_spec(module) is None:
            return f'there is no {module}'
    return None


class InstallTest(support.DirectoryTest):

    def setUp(self):
        super().setUp()
        reason = why_not_pip()
        if reason:
            self.skipTest(reason)
        self.python = self.directory / 'venv' / 'bin' / 'python'
        done = self.run_clean(sys.executable, '-m', 'venv', str(self.directory / 'venv'))
        self.assertEqual(done.returncode, 0, done)

    def run_clean(self, *command, **environment):
        """Runs a command at the top of the source, without the environment of the tests and a network for pip."""
        inherited = {name: value for name, value in os.environ.items()
                     if not name.startswith(('HBBP_', 'PYTHON', 'PIP_'))}
        return subprocess.run(
            command, capture_output=True, text=True, cwd=support.ROOT, timeout=200,
            env={**inherited, 'PATH': f'{self.directory}/venv/bin:{os.environ["PATH"]}',
                 'PIP_NO_INDEX': '1', 'PIP_DISABLE_PIP_VERSION_CHECK': '1', **environment})

    def run_as_documented(self, start, **replaced):
        """Runs the line of the guide that starts so."""
        guide = (support.ROOT / 'docs' / 'guide' / 'python.md').read_text()
        line = re.search(rf'(?m)^{re.escape(start)}.*', guide).group().partition('  #')[0]
        for shown, value in replaced.items():
            self.assertIn(shown, line)
            line = line.replace(shown, value)
        done = self.run_clean('sh', '-c', line)
        self.assertEqual(done.returncode, 0, done)

    def installed(self):
        done = self.run_clean(self.python, '-c', 'import hbbp; print(hbbp.__file__, hbbp.__version__)')
        path, version = done.stdout.split()
        self.assertEqual(version, hbbp.__version__)
        return pathlib.Path(path).parent

    def test_pip_installs_from_the_source(self):
        self.run_as_documented('pip install bindings/python')
        directory = self.installed()
        self.assertTrue(directory.is_relative_to(self.directory), directory)
        shown = self.run_clean(self.python, '-m', 'pip', 'show', 'hbbp').stdout
        self.assertIn(f'Version: {hbbp.__version__}\n', shown)
        self.assertTrue((directory / 'py.typed').exists())

    def test_pip_installs_a_link_to_the_source(self):
        done = self.run_clean(self.python, '-m', 'pip', 'install', '--editable', 'bindings/python')
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.installed(), support.PACKAGE / 'src' / 'hbbp')

    def test_wheel_has_the_library_inside(self):
        self.run_as_documented('python3 bindings/python/hbbp_backend.py', dist=str(self.directory), **{
            'build/release/lib/capi/libhbbp.so.0': os.path.realpath(hbbp.library_path())})
        wheel, = self.directory.glob('hbbp-*-linux_*.whl')
        with zipfile.ZipFile(wheel) as archive:
            files = {name for name in archive.namelist() if name.startswith('hbbp/')}
        self.assertEqual(files, {'hbbp/libhbbp.so.0'} | {
            f'hbbp/{path.name}' for path in (support.PACKAGE / 'src' / 'hbbp').iterdir() if path.is_file()})
        done = self.run_clean(self.python, '-m', 'pip', 'install', str(wheel))
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.run_clean(self.python, '-c', FIND).stdout.split(),
                         [str(self.installed() / 'libhbbp.so.0'), hbbp.__version__])

    def test_pip_makes_the_same_wheel(self):
        library = os.path.realpath(hbbp.library_path())
        for directory, *command in (
                ('pip', self.python, '-m', 'pip', 'wheel', 'bindings/python', '-w',
                 self.directory / 'pip', f'--config-settings=library={library}'),
                ('own', self.python, 'bindings/python/hbbp_backend.py', '--library', library,
                 self.directory / 'own')):
            done = self.run_clean(*command)
            self.assertEqual(done.returncode, 0, done)
        one, other = sorted(self.directory.glob('*/hbbp-*.whl'))
        self.assertEqual((one.name, one.read_bytes()), (other.name, other.read_bytes()))
        done = self.run_clean(self.python, 'bindings/python/hbbp_backend.py', '--library', 'none', 'dist')
        self.assertIn('none: no such library', done.stderr)

    def test_source_archive_is_installed(self):
        done = self.run_clean(self.python, '-c', 'import sys; sys.path.insert(0, "bindings/python")\n'
                              f'import hbbp_backend; print(hbbp_backend.build_sdist("{self.directory}"))')
        self.assertEqual(done.returncode, 0, done)
        done = self.run_clean(self.python, '-m', 'pip', 'install', str(self.directory / done.stdout.strip()))
        self.assertEqual(done.returncode, 0, done)
        self.installed()


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
