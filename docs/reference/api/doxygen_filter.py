#!/usr/bin/env python3
"""Shows Doxygen the comments of the public headers, which are written for people: a comment in front of
a declaration, or behind it on its line, documents it. usage: doxygen_filter.py HEADER
"""
import pathlib
import re
import sys


def documented(text, name):
    # The comment at the top is of the file.
    text = re.sub(r'\A/\* (.*?)\*/', lambda match: '/** @file\n * ' + match.group(1) + '*/', text, count=1,
                  flags=re.DOTALL)
    # Examples are indented, after an empty line.
    text = re.sub(r'(?m)^ \*\n((?: \*   .*\n(?: \*\n(?= \*   ))?)+)', ' *\n * @code\n\\1 * @endcode\n', text)
    # Behind an enumerator, a field or a macro.
    text = re.sub(r'(?m)^([ \t]*[^\s/*].*?\S[ \t]+)/\* ', r'\1/**< ', text)
    text = re.sub(r'(?m)^([ \t]*)/\* ', r'\1/** ', text)
    if name.endswith('.hpp'):
        text = re.sub(r'(?m)^([ \t]*)// ', r'\1/// ', text)
        text = re.sub(r'(?m)^([ \t]*[^\s/].*?\S[ \t]+)// ', r'\1///< ', text)
        text = re.sub(r'\A/// ', '/// @file\n/// ', text)
    return text


path = pathlib.Path(sys.argv[1])
sys.stdout.write(documented(path.read_text(), path.name))
