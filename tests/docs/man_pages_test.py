"""Checks that the man pages have every command and option, and that man has no warnings.

usage: man_pages_test.py DIRECTORY HBBP
"""
import pathlib
import re
import shutil
import subprocess
import sys


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True, **options)


def main():
    directory, hbbp = pathlib.Path(sys.argv[1]), sys.argv[2]
    listed = re.search(r'Commands:\n(.*?)\n\n', run(hbbp, '--help').stdout, re.DOTALL).group(1)
    names = [line.split()[0] for line in listed.splitlines()]
    assert len(names) > 5, names
    problems = []
    for name in names:
        page = directory / f'hbbp-{name}.1'
        if not page.is_file():
            problems.append(f'no page of {name}')
            continue
        text = page.read_text().replace('\\-', '-')
        for option in re.findall(r'^  (-\S+)', run(hbbp, name, '--help').stdout, re.MULTILINE):
            if f'\\fB{option}' not in text:
                problems.append(f'{page.name}: no {option}')
        if '.SH EXAMPLES' not in text:
            problems.append(f'{page.name}: no examples')
    if shutil.which('groff'):
        for page in sorted(directory.glob('*.1')):
            warnings = run('groff', '-man', '-ww', '-Tutf8', '-z', '-K', 'utf8', page).stderr
            problems += [f'{page.name}: {line}' for line in warnings.splitlines()]
    for problem in problems:
        print(problem)
    print(f'{len(names)} commands, {len(problems)} problems')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
