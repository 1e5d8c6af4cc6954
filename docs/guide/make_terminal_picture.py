#!/usr/bin/env python3
"""Runs commands and draws the terminal with what they printed, as SVG.

usage: make_terminal_picture.py PICTURE.svg COMMAND...

Each COMMAND is a line for the shell. terminal.svg is of pixels.c next to this file, by

  gcc -g -O3 -mavx2 -mfma -o pixels pixels.c
  make_terminal_picture.py terminal.svg 'hbbp record -c 1000000 -o pixels.data -- ./pixels' \\
    'hbbp mix pixels.data --by function,vector-bits,mnemonic --top 8'
"""
import html
import pathlib
import subprocess
import sys

COLUMNS = 120
# Of a font of 13 pixels.
CHARACTER_WIDTH, LINE_HEIGHT, MARGIN = 7.83, 17, 14


def wrapped(line):
    """Returns the lines of the screen that a terminal breaks a line into."""
    return [line[start:start + COLUMNS] for start in range(0, len(line), COLUMNS)] or ['']


def run(command):
    """Returns [(kind, line)] of the screen."""
    done = subprocess.run(command, shell=True, check=True, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = [('command', f'$ {command}')]
    for line in done.stdout.rstrip('\n').split('\n'):
        lines += [('output', part) for part in wrapped(line)]
    return lines


def svg(lines):
    width = round(COLUMNS * CHARACTER_WIDTH) + 2 * MARGIN
    height = len(lines) * LINE_HEIGHT + 2 * MARGIN
    text = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
            '<style>text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; }',
            '.command { fill: #7ee787; } .output { fill: #e6edf3; }</style>',
            f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>']
    for number, (kind, line) in enumerate(lines):
        if line.strip():
            y = MARGIN + (number + 1) * LINE_HEIGHT - 4
            length = f' textLength="{len(line) * CHARACTER_WIDTH:.1f}"'
            text.append(f'<text class="{kind}" x="{MARGIN}" y="{y}" xml:space="preserve"{length}>'
                        f'{html.escape(line, quote=False)}</text>')
    return '\n'.join([*text, '</svg>', ''])


def main():
    lines = []
    for command in sys.argv[2:]:
        lines += [*([('output', '')] if lines else []), *run(command)]
    pathlib.Path(sys.argv[1]).write_text(svg(lines), encoding='utf-8')


if __name__ == '__main__':
    main()
