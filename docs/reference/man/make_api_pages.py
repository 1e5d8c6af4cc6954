#!/usr/bin/env python3
"""Makes man pages of the C ABI from the comments of the public headers.

usage: make_api_pages.py INCLUDE DIRECTORY

INCLUDE is the directory with hbbp/*.h. DIRECTORY gets hbbp.3 of hbbp.h, hbbp_STEM.3 of each other header, with its
types, and a page of each function; functions that share a comment share a page.
"""
import pathlib
import re
import shutil
import sys

from roff import bold, escaped, page_start, verbatim


def paragraphs(text):
    return [part for part in re.split(r'\n\n(?=/\*|HBBP|typedef|struct|#)', text) if part.strip()]


def comment_text(comment):
    """Returns the lines of a comment without its frame."""
    lines = re.sub(r'\A/\*+ ?|\s*\*/\Z', '', comment).split('\n')
    return [re.sub(r'^ ?\*( |$)', '', line).rstrip() for line in lines]


def description(lines):
    """Returns what text is, paragraph by paragraph: numbered items, indented lines as they are, and what flows."""
    result, fixed, in_item = [], [], False

    def end_fixed():
        while fixed and not fixed[-1]:
            fixed.pop()
        if fixed:
            result.extend(['.sp', *verbatim(fixed), '.sp'])
        fixed.clear()

    for line in lines:
        item = re.match(r'(\d+\.) +(.*)', line)
        if item:
            end_fixed()
            in_item = True
            result += [f'.IP {item.group(1)} 4', escaped(item.group(2))]
        elif in_item and line.startswith('   '):
            result.append(escaped(line.strip()))
        elif re.match(r'\s+\S', line) or (fixed and not line):
            fixed.append(line)
        else:
            end_fixed()
            in_item = False
            starts_list = re.match(r'Errors.*:$|Lists\. ', line)
            result += ['.PP'] if starts_list or not line else []
            result += [escaped(line)] if line else []
    end_fixed()
    while result and result[-1] in ('.PP', '.sp'):
        result.pop()
    return result


def functions_of(paragraph):
    return re.findall(r'^HBBP_API [^;]*?\b(hbbp_\w+)\(', paragraph, re.MULTILINE | re.DOTALL)


class Header:
    def __init__(self, path):
        self.name = path.name
        self.page = 'hbbp' if path.stem == 'hbbp' else f'hbbp_{path.stem}'
        text = path.read_text(encoding='utf-8')
        self.overview = comment_text(re.match(r'/\*.*?\*/', text, re.DOTALL).group())
        text = text[text.index('\n#ifndef '):]
        parts = paragraphs(text)
        self.functions = [part for part in parts if functions_of(part)]
        self.types = [part for part in parts if not functions_of(part) and
                      re.search(r'^(typedef|struct|enum|#define HBBP_(?!\w+_H_$))', part, re.MULTILINE)]
        self.overview[0] = self.overview[0].partition(': ')[2]
        first = ' '.join(self.overview).split('  ')[0]
        self.summary = re.match(r'.*?(?=[.:?] |[.:?]?$)', first).group()
        self.overview[0] = self.overview[0][0].upper() + self.overview[0][1:]


def declarations(paragraph):
    """Returns what is declared, without comments and HBBP_API."""
    code = re.sub(r'/\*.*?\*/\n?', '', paragraph, flags=re.DOTALL)
    code = re.sub(r'^(HBBP_EXTERN_C_\w+|#.*)$', '', code, flags=re.MULTILINE)
    code = re.sub(r'^HBBP_API (.*?;)', lambda match: re.sub(r'\n\s+', '\n    ', match.group(1)), code,
                  flags=re.MULTILINE | re.DOTALL)
    return code.strip('\n').split('\n')


def function_page(header, paragraph, version):
    names = functions_of(paragraph)
    comment = re.search(r'/\*.*?\*/', paragraph, re.DOTALL).group()
    lines = page_start(names[0], 3, header.summary, version)
    lines[-1] = f'{", ".join(map(escaped, names))} \\- {escaped(header.summary)}'
    lines += ['.SH SYNOPSIS', *verbatim(['#include <hbbp/hbbp.h>', '', *declarations(paragraph)])]
    lines += ['.SH DESCRIPTION', *description(comment_text(comment))]
    return lines + ['.SH SEE ALSO', ', '.join(f'{bold(name)}(3)' for name in dict.fromkeys((header.page, 'hbbp_api', 'hbbp')))]


def header_page(header, headers, version):
    lines = page_start(header.page, 3, header.summary, version)
    lines += ['.SH SYNOPSIS', *verbatim([f'#include <hbbp/{header.name}>'])]
    lines += ['.SH DESCRIPTION', *description(header.overview)]
    if header.types:
        lines.append('.SH TYPES AND CONSTANTS')
        for part in header.types:
            part = re.sub(r'^(HBBP_EXTERN_C_\w+|#(?!define|if|else|endif).*|#define \w+_H_)\n?', '', part, flags=re.MULTILINE)
            lines += [*verbatim(part.strip('\n').split('\n')), '.sp']
    if header.functions:
        lines.append('.SH FUNCTIONS')
        for name in (name for part in header.functions for name in functions_of(part)):
            lines += [f'{bold(name)}(3)', '.br']
    others = [other.page for other in headers if other is not header] if header.page == 'hbbp' else ['hbbp', 'hbbp_api']
    return lines + ['.SH SEE ALSO', ', '.join(f'{bold(name)}(3)' for name in others if name != header.page)]


def main():
    include, directory = pathlib.Path(sys.argv[1]) / 'hbbp', pathlib.Path(sys.argv[2])
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    version = re.search(r'HBBP_VERSION_STRING "(.*)"', (include / 'version.h').read_text()).group(1)
    headers = [Header(path) for path in sorted(include.glob('*.h'))]

    def write(name, lines):
        path = directory / f'{name}.3'
        if path.exists():
            sys.exit(f'make_api_pages.py: two pages {path.name}')
        path.write_text('\n'.join(lines) + '\n', encoding='utf-8')

    for header in headers:
        write(header.page, header_page(header, headers, version))
        for part in header.functions:
            first, *others = functions_of(part)
            write(first, function_page(header, part, version))
            for name in others:
                write(name, [f'.so man3/{first}.3'])


if __name__ == '__main__':
    main()
