"""Tests that check_style finds struck-out terms in code and in text, only in the paths of the glossary, and long files
without a paragraph at their top."""
import importlib.machinery
import importlib.util
import pathlib
import unittest

TOOL = pathlib.Path(__file__).parent / 'check_style'


def load_check():
    loader = importlib.machinery.SourceFileLoader('check_style', str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('check_style', loader))
    loader.exec_module(module)
    return module


CHECK = load_check()
SMALL = CHECK.Glossary('''
# A comment.
[paths]
lib/base
README.md
[code]
\\bNote[A-Z]\\w*  -> Record...
[text]
\\bfolders?\\b    -> directory
''')


class SmallGlossary(unittest.TestCase):
    def problems(self, text, name='lib/base/a.cc'):
        return [(number, problem.split(':')[0]) for number, problem in SMALL.problems_of(name, text)]

    def test_code_is_searched_for_terms_of_code(self):
        self.assertEqual(self.problems('int a;\nvoid NotePeak();\n'), [(2, '"NotePeak"')])

    def test_comments_and_strings_are_not_code(self):
        self.assertEqual(self.problems('// NotePeak\nf("NotePeak");\n#include "NotePeak.h"\n'), [])

    def test_comments_and_strings_are_searched_for_terms_of_text(self):
        text = 'int folder;  // The folder.\n\nf("\\"a folder");\ng(R"(\n folders)");\n'
        self.assertEqual(self.problems(text), [(1, '"folder"'), (3, '"folder"'), (5, '"folders"')])

    def test_documents_are_text(self):
        self.assertEqual(self.problems('NotePeak\na folder\n', 'lib/base/a.md'), [(2, '"folder"')])

    def test_python(self):
        text = '"""A\nfolder."""\nNotePeak()  # folder\n'
        self.assertEqual(sorted(self.problems(text, 'lib/base/a.py')),
                         [(2, '"folder"'), (3, '"NotePeak"'), (3, '"folder"')])

    def test_rust(self):
        text = '/// A folder.\nNotePeak::<\'a>("folder");\n'
        self.assertEqual(sorted(self.problems(text, 'lib/base/a.rs')),
                         [(1, '"folder"'), (2, '"NotePeak"'), (2, '"folder"')])

    def test_shell(self):
        text = '#!/bin/sh -e\n# A folder.\ncd "$folder" || NotePeak "${#}"\n'
        self.assertEqual(sorted(self.problems(text, 'lib/base/a')),
                         [(2, '"folder"'), (3, '"NotePeak"'), (3, '"folder"')])
        self.assertEqual(self.problems('A folder.\n', 'lib/base/a'), [])

    def test_other_directories_are_left_out(self):
        self.assertEqual(self.problems('NotePeak();\n', 'lib/based/a.cc'), [])

    def test_single_files(self):
        self.assertEqual(self.problems('a folder\n', 'README.md'), [(1, '"folder"')])
        self.assertEqual(self.problems('a folder\n', 'lib/README.md'), [])
        self.assertEqual(self.problems('a folder\n', 'README.md.in'), [])


class WholeGlossary(unittest.TestCase):
    def setUp(self):
        self.glossary = CHECK.Glossary(CHECK.GLOSSARY.read_text())
        self.glossary.paths = ['lib']

    def is_refused(self, text):
        return any(self.glossary.problems_of('lib/a.cc', text + '\n'))

    def test_struck_out_terms(self):
        for text in ('int kMostBytes;', 'most_', 'TellLosses();', 'last_told_', 'KindOf(a, b)', 'IndexOf(f(x, y), b)',
                     'code_place', 'LeaveSignal()', 'left_', 'Look();', 'LookAtPages();', 'Agree()', 'folder_',
                     '// It is no number.', '"in the folder"', '// nobody'):
            self.assertTrue(self.is_refused(text), text)

    def test_terms_of_the_field(self):
        for text in ('int kMaxBytes;', 'KindOf(a)', 'KindOf(f(x, y))', 'LookAheadWalk', 'look_ahead', 'replace',
                     'is_left', '// There is no number.', '// It takes place in place.', '// It is no longer there.'):
            self.assertFalse(self.is_refused(text), text)


class Paragraph(unittest.TestCase):
    PROBLEM = (1, 'no paragraph at the top of a file of more than 200 lines')

    def problems(self, text, name='lib/a.cc'):
        return list(CHECK.problems_of(name, text))

    def test_a_long_file_opens_with_a_comment(self):
        self.assertEqual(self.problems('int a;\n' * 201), [self.PROBLEM])
        self.assertEqual(self.problems('\n' + '// A comment.\n' * 200), [self.PROBLEM])
        self.assertEqual(self.problems('// A comment.\n' + 'int a;\n' * 200), [])

    def test_200_lines_need_none(self):
        self.assertEqual(self.problems('int a;\n' * 200), [])

    def test_other_files_need_none(self):
        for name in ('lib/a.c', 'lib/a.py', 'lib/a.md'):
            self.assertEqual(self.problems('int a;\n' * 201, name), [], name)


if __name__ == '__main__':
    unittest.main()
