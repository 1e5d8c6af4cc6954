#!/usr/bin/env python3
"""Tests that the package matches the headers: nothing of the C ABI is copied by hand."""
import ctypes
import inspect
import re
import subprocess
import sys
import unittest

import hbbp
from hbbp import _abi, _errors, _rows
from hbbp._struct_rows import BITS, RENAMED

import support

try:
    sys.path.insert(0, str(support.PACKAGE))
    import generate_abi
    import headers
except ImportError:
    headers = None

# Rows that are not a struct of the C ABI: made of several, or by Python.
OTHER_ROWS = {'AnnotatedLine', 'DiffRow', 'EventCode', 'Label', 'LineRange', 'Measured'}
# Fields of structs that rows replace.
INSTEAD = {
    'Module': {'build_id_size'},  # build_id is a string
    'Block': {'flags'}, 'Loop': {'flags'},  # a bool for each bit
    'ProbeCall': {'value_count', 'unknown'}, 'ProbeStream': {'field_count'},  # tuples, with None
}
# Options that Session replaces.
OF_EVENT = {'event_name', 'event_type', 'event_config'}
# Fields without a use in Python: a closure has its data, and the session's memory is not Python's.
OF_C = {'log_user_data', 'user_data', 'allocator'}
# Python has the names of statuses.
UNUSED_FUNCTIONS = {'hbbp_status_name', 'hbbp_abi_version', 'hbbp_profile_call'}


def struct_name(row):
    return re.sub('(?<!^)([A-Z])', r'_\1', row).lower()


def fields_of(struct):
    return {name for name, _ in getattr(_abi, f'hbbp_{struct}')._fields_
            if name != 'struct_size' and not name.startswith('reserved')}


class GeneratedTest(support.DirectoryTest):

    def setUp(self):
        super().setUp()
        if headers is None:
            self.skipTest('there is no cffi (python3-cffi)')

    def test_abi_is_as_the_headers_say(self):
        program = support.PACKAGE / 'generate_abi.py'
        done = subprocess.run([sys.executable, '-B', program, '--check'], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_check_notices_a_changed_header(self):
        directory = self.directory / 'include' / 'hbbp'
        directory.mkdir(parents=True)
        for path in headers.INCLUDE.glob('hbbp/*.h'):
            text = path.read_text()
            (directory / path.name).write_text(text.replace('uint32_t running;', 'uint64_t running;'))
        changed = headers.declarations(self.directory / 'include')
        self.assertEqual(len(changed), len(headers.declarations()))
        self.assertNotEqual(changed, headers.declarations())
        self.assertNotEqual(headers.parse(changed).sizeof('hbbp_session_info'),
                            ctypes.sizeof(_abi.hbbp_session_info))

    def test_each_header_is_parsed_by_cffi(self):
        for path in sorted(headers.INCLUDE.glob('hbbp/*.h')):
            with self.subTest(path.name):
                text = headers.declarations(text=f'#include <hbbp/{path.name}>\n')
                headers.parse(text)
        self.assertGreater(len(headers.parse(headers.declarations()).list_types()[0]), 50)

    def test_cffi_calls_the_library(self):
        ffi = headers.parse(headers.declarations())
        library = ffi.dlopen(hbbp.library_path())
        self.assertEqual(ffi.string(library.hbbp_version_string()).decode(), hbbp.__version__)
        session = ffi.new('hbbp_session **')
        options = ffi.new('hbbp_session_options *', {'struct_size': 1})
        error = ffi.new('hbbp_error *', {'struct_size': ffi.sizeof('hbbp_error')})
        self.assertEqual(library.hbbp_session_create(options, session, error),
                         library.HBBP_ERROR_INVALID_ARGUMENT)
        self.assertIn('struct_size', ffi.string(error.message).decode())

    def test_layouts_and_constants_are_those_of_the_compiler(self):
        lines = []
        for name, struct in vars(_abi).items():
            if isinstance(struct, type) and issubclass(struct, ctypes.Structure) \
                    and hasattr(struct, '_fields_') and name.startswith('hbbp_'):
                size = ctypes.sizeof(struct)
                lines.append(f'_Static_assert(sizeof({name}) == {size}, "{name}");')
                for field, _ in struct._fields_:
                    member = getattr(struct, field)
                    lines.append(
                        f'_Static_assert(offsetof({name}, {field}) == {member.offset} && '
                        f'sizeof((({name} *)0)->{field}) == {member.size}, "{name}.{field}");')
            elif name.startswith('HBBP_') and not isinstance(struct, str):
                lines.append(f'_Static_assert({name} == {struct!r}, "{name}");')
        for enum in headers.enums(headers.declarations()):
            members = getattr(_abi, generate_abi.class_name(enum.name)).__members__
            self.assertEqual(len(members), len(enum.constants), enum)
            for constant, (name, member) in zip(enum.constants, members.items()):
                self.assertTrue(constant.endswith(f'_{name}'), (constant, name))
                lines.append(f'_Static_assert({constant} == {member.value}, "{constant}");')
        self.assertGreater(len(lines), 450)
        self.assert_compiles(lines, True)
        self.assert_compiles([*lines, '_Static_assert(sizeof(hbbp_block) == 1, "wrong");'], False)

    def assert_compiles(self, lines, expected):
        source = self.directory / 'layouts.c'
        source.write_text('#include <hbbp/hbbp.h>\n' + '\n'.join(lines) + '\n')
        done = subprocess.run([headers.COMPILER, '-std=c11', f'-I{headers.INCLUDE}',
                               '-fsyntax-only', source], capture_output=True, text=True)
        self.assertEqual(done.returncode == 0, expected, done.stderr)


class CompletenessTest(unittest.TestCase):

    def test_rows_have_every_field(self):
        for row in _rows.NAMES:
            if row in OTHER_ROWS:
                continue
            with self.subTest(row):
                found = {RENAMED.get(field, field) for field in getattr(_rows, row)._fields}
                expected = fields_of(struct_name(row)) - INSTEAD.get(row, set())
                self.assertEqual(expected - found, set())

    def test_bits_are_all_of_the_headers(self):
        flags = {name for name in vars(_abi)
                 if re.match('HBBP_(BLOCK|LOOP)_', name)}
        self.assertEqual(len(flags), len(BITS), flags)

    def test_every_function_is_used(self):
        source = ''.join(path.read_text()
                         for path in (support.PACKAGE / 'src' / 'hbbp').glob('*.py')
                         if path.name != '_abi.py')
        used = set(re.findall(r"'(hbbp_\w+)'", source))
        used |= {f'hbbp_{name}_destroy' for name in re.findall(r"Handle\('(\w+)'", source)}
        used |= {f'hbbp_{name}_{what}' for name in re.findall(r"_make\(\s*'(\w+)'", source)
                 for what in ('create', 'destroy')}
        self.assertEqual(set(_abi.FUNCTIONS) - used, UNUSED_FUNCTIONS)
        self.assertEqual({name for name in used - set(_abi.FUNCTIONS)
                          if not hasattr(_abi, name)}, set())

    def test_every_status_is_an_exception(self):
        for status in hbbp.Status:
            if status != hbbp.Status.OK:
                self.assertIsNot(type(_errors.error_of(status, '')), hbbp.Error, status)
        self.assertEqual(_errors.error_of(-99, 'of a newer library').status, -99)

    def test_library_has_every_function(self):
        for name in _abi.FUNCTIONS:
            self.assertTrue(hasattr(ctypes.CDLL(hbbp.library_path()), name), name)

    def assert_options(self, function, struct, instead=frozenset()):
        parameters = set(inspect.signature(function).parameters) - {'self', 'cls', 'path'}
        self.assertEqual(fields_of(struct) - instead - parameters, set())

    def test_every_option_can_be_given(self):
        self.assert_options(hbbp.Session.__init__, 'session_options',
                            OF_EVENT | OF_C | {'thread_count'})
        self.assert_options(hbbp.Feed.__init__, 'feed_options', OF_C | {'moved_file_count'})
        self.assert_options(hbbp.Session.add_code, 'code_region')
        self.assert_options(hbbp.Session.add_data, 'data_region')
        self.assert_options(hbbp.Feed.add_source, 'feed_source',
                            {'perf_attr_size', 'perf_id_count'})
        self.assert_options(hbbp.import_recording, 'import_options',
                            OF_C | {'moved_file_count'})
        self.assert_options(hbbp.Profile.select, 'selection', {'parts'})
        self.assert_options(hbbp.Profile.analyze, 'analysis_options', {'debug', 'moved_file_count'})
        self.assert_options(hbbp.Profile.analyze, 'debug_options', OF_C | {'flags'})
        self.assert_options(hbbp.KernelFiles, 'kernel_files')
        self.assert_options(hbbp.Analysis.pivot, 'pivot_query')
        self.assert_options(hbbp.Probe.__init__, 'probe_options', OF_C)
        for function in (hbbp.load, hbbp.import_recording, hbbp.merge, hbbp.Profile.save,
                         hbbp.Profile.select, hbbp.Profile.analyze, hbbp.Session.profile,
                         hbbp.Feed.profile, hbbp.Merger.add, hbbp.Merger.finish, hbbp.Analysis.mix, hbbp.Analysis.pivot,
                         hbbp.Analysis.ratios, hbbp.Analysis.loops, hbbp.Probe.run):
            self.assert_options(function, 'work_options', OF_C)

    def test_profile_asks_its_analysis_with_the_same_parameters(self):
        for name in ('blocks', 'functions', 'branches', 'loops', 'mix', 'pivot', 'ratios',
                     'annotate', 'caveats'):
            of_profile, of_analysis = (
                [parameter for parameter in
                 inspect.signature(getattr(owner, name)).parameters.values()
                 if parameter.name not in ('progress', 'cancel')]
                for owner in (hbbp.Profile, hbbp.Analysis))
            self.assertEqual(of_profile, of_analysis, name)

    def test_fed_things_have_every_field(self):
        self.assertEqual(fields_of('feed_event') - set(hbbp.FeedEvent._fields), {'build_id_size'})
        self.assertEqual(fields_of('feed_sample') - set(hbbp.FeedSample._fields),
                         {'branch_count', 'ibs_register_count'})


class VersionTest(unittest.TestCase):

    def test_version_is_that_of_the_header(self):
        header = (support.ROOT / 'include' / 'hbbp' / 'version.h').read_text()
        self.assertEqual(hbbp.__version__,
                         re.search(r'HBBP_VERSION_STRING "(.*)"', header).group(1))
        self.assertEqual(hbbp.library_version(), hbbp.__version__)
        cmake = (support.ROOT / 'CMakeLists.txt').read_text()
        self.assertIn(f'VERSION {hbbp.__version__}\n', cmake)


if __name__ == '__main__':
    support.main(__name__)
