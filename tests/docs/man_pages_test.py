"""Checks that the man pages have every command, option and function, and that man has no warnings.

usage: man_pages_test.py DIRECTORY HBBP API_DIRECTORY VERSION_SCRIPT

The functions are those that the version script exports.
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
    api, functions = pathlib.Path(sys.argv[3]), re.findall(r'^\s+(hbbp_\w+);', pathlib.Path(sys.argv[4]).read_text(), re.M)
    assert len(functions) > 50, functions
    for name in functions:
        page = api / f'{name}.3'
        if not page.is_file():
            problems.append(f'no page of {name}')
            continue
        text = page.read_text()
        link = re.fullmatch(r'\.so man3/(.*)\n', text)
        text = (api / link.group(1)).read_text() if link else text
        if not re.search(rf'\b{name}\(', text) or not re.search(r'^\.SH NAME\n.*\b' + name + r'\b.* \\- \w', text, re.M):
            problems.append(f'{page.name}: not of {name}')
        if 'Since 0.' not in text.replace('\n', ' '):
            problems.append(f'{page.name}: without the description')
    if shutil.which('groff'):
        for page in sorted([*directory.glob('*.1'), *api.glob('*.3')]):
            warnings = run('groff', '-man', '-ww', '-Tutf8', '-z', '-K', 'utf8', f'-I{api}',
                           input=page.read_text().replace('.so man3/', '.so ')).stderr
            problems += [f'{page.name}: {line}' for line in warnings.splitlines()]
    for problem in problems:
        print(problem)
    print(f'{len(names)} commands, {len(functions)} functions, {len(problems)} problems')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
