"""Checks that every function of the C ABI is in a paragraph with a comment that has its first version.

usage: check_documented.py INCLUDE_DIRECTORY VERSION_SCRIPT
"""
import pathlib
import re
import sys


def comments(directory):
    """Returns {function: text of the paragraph of its declaration}."""
    found = {}
    for header in sorted(directory.rglob('*.h')):
        for paragraph in re.split(r'\n\n(?=/\*|HBBP|#)', header.read_text()):
            comment = ' '.join(re.findall(r'/\*.*?\*/', paragraph, re.DOTALL))
            for name in re.findall(r'^HBBP_API [^;]*?\b(hbbp_\w+)\(', paragraph, re.MULTILINE | re.DOTALL):
                found[name] = comment
    return found


def main():
    documented = comments(pathlib.Path(sys.argv[1]))
    symbols = re.findall(r'^\s+(hbbp_\w+);', pathlib.Path(sys.argv[2]).read_text(), re.MULTILINE)
    problems = [f'{name}: declared in no header' for name in symbols if name not in documented]
    for name in symbols:
        if not re.search(r'Since\s', documented.get(name, 'Since ')):
            problems.append(f'{name}: its comment does not say since when it is there')
    for problem in problems:
        print(problem)
    print(f'{len(symbols)} functions, {len(problems)} problems')
    return 1 if problems or not symbols else 0


if __name__ == '__main__':
    sys.exit(main())
