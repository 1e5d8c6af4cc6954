#!/usr/bin/env python3
"""Makes man pages of what the command says of itself.

usage: make_man_pages.py HBBP DIRECTORY

Writes hbbp.1 and hbbp-COMMAND.1 for every command into DIRECTORY. Examples, which --help does not
have, are in examples.txt next to this file: a paragraph for each command, lines
"COMMAND-LINE # what it does".
"""
import os
import pathlib
import re
import subprocess
import sys

from roff import bold, escaped, page_start

EXIT_STATUS = 'Exit status: '


def run(hbbp, *words):
    return subprocess.run([hbbp, *words], capture_output=True, text=True, check=True,
                          env={**os.environ, 'COLUMNS': '10000'}).stdout


def commands(help_text):
    """[(name, summary)] of hbbp --help."""
    listed = re.search(r'Commands:\n(.*?)\n\n', help_text, re.DOTALL).group(1)
    return [tuple(line.split(None, 1)) for line in listed.splitlines()]


def sections(help_text):
    """(lines before the first heading, {heading: [(term, text)]}, lines after the last list)."""
    head, found, tail = [], {}, []
    items = None
    for line in help_text.splitlines():
        heading = re.fullmatch(r'(Options|Positionals):', line)
        if heading:
            items = found.setdefault(heading.group(1), [])
        elif items is None:
            head.append(line)
        elif re.match(r'  \S', line):
            term, _, text = line[2:].partition('  ')
            items.append([term.strip(), text.strip()])
        elif line.startswith('   ') and items:
            items[-1][1] = (items[-1][1] + ' ' + line.strip()).strip()
        elif line or tail:
            tail.append(line)
    return head, found, tail


def examples(directory):
    """{command: [(command line, what it does)]}"""
    found = {}
    for line in (directory / 'examples.txt').read_text().splitlines():
        command_line, _, text = line.partition(' # ')
        if command_line.strip():
            name = re.search(r'\bhbbp (\S+)', command_line).group(1)
            found.setdefault(name, []).append((command_line.strip(), text.strip()))
    return found


def definitions(items):
    lines = []
    for term, text in items:
        lines += ['.TP', bold(term), escaped(text)]
    return lines


def paragraphs(lines):
    text = '\n'.join(lines).strip().split('\n\n')
    return [line for part in text if part for line in ('.PP', escaped(part))]


def exit_status(name, tail):
    """Returns what a command's exit status means, and the lines after its options that say nothing of that."""
    start = next((i for i, line in enumerate(tail) if line.startswith(EXIT_STATUS)), None)
    if start is not None:
        return ' '.join(tail[start:])[len(EXIT_STATUS):].strip(), tail[:start]
    if name == 'record':
        return 'That of the program, or 2 with one line on stderr if it was not run.', tail
    return '0, or 2 with one line on stderr that says what went wrong.', tail


def command_page(hbbp, name, summary, version, shown):
    head, found, tail = sections(run(hbbp, name, '--help'))
    status, tail = exit_status(name, tail)
    usage = next(line for line in head if line.startswith('Usage: '))[len('Usage: '):]
    synopsis = next((line.split(': ')[0] for line in head if line.startswith(f'hbbp {name} ')), usage)
    lines = page_start(f'hbbp-{name}', 1, summary, version)
    lines += ['.SH SYNOPSIS', bold(f'hbbp {name}') + escaped(synopsis.removeprefix(f'hbbp {name}'))]
    lines += ['.SH DESCRIPTION', escaped(head[0] + '.')] + paragraphs(tail)
    for heading in ('Positionals', 'Options'):
        if heading in found:
            title = 'ARGUMENTS' if heading == 'Positionals' else 'OPTIONS'
            lines += [f'.SH {title}'] + definitions(found[heading])
    if shown:
        lines += ['.SH EXAMPLES']
        for command_line, text in shown:
            lines += ['.TP', bold(command_line), escaped(text)]
    return lines + ['.SH EXIT STATUS', escaped(status)] + ['.SH SEE ALSO', bold('hbbp') + '(1)']


def main():
    hbbp, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    version = run(hbbp, '--version').split()[-1]
    help_text = run(hbbp, '--help')
    shown = examples(pathlib.Path(__file__).parent)
    names = commands(help_text)
    unknown = set(shown) - {name for name, _ in names}
    if unknown:
        sys.exit(f'examples.txt: no command {", ".join(sorted(unknown))}')
    lines = page_start('hbbp', 1, 'how often each basic block of a program runs, and which instructions', version)
    lines += ['.SH SYNOPSIS', bold('hbbp') + escaped(' COMMAND [OPTIONS] ...'), '.SH DESCRIPTION',
              escaped(help_text.splitlines()[0]), '.SH COMMANDS']
    for name, summary in names:
        lines += ['.TP', bold(f'hbbp-{name}') + '(1)', escaped(summary)]
        text = command_page(hbbp, name, summary, version, shown.get(name, []))
        (directory / f'hbbp-{name}.1').write_text('\n'.join(text) + '\n')
    status, _ = exit_status('', help_text.splitlines())
    lines += ['.SH EXIT STATUS', escaped(status)]
    (directory / 'hbbp.1').write_text('\n'.join(lines) + '\n')


if __name__ == '__main__':
    main()
