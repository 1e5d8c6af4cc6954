#!/usr/bin/env python3
"""Compares what shells complete with what the command's --help has.

usage: completion_test.py HBBP DIRECTORY bash|zsh

DIRECTORY has the completions hbbp, of bash, and _hbbp, of zsh. Exit status 77: there is no such shell.
"""
import os
import pathlib
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile


def run(*words):
    """Returns what a command prints, whose lists of choices are not wrapped."""
    return subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, 'COLUMNS': '10000'}).stdout


def helps(hbbp):
    """Returns {command: its help}."""
    listed = re.search(r'Commands:\n(.*?)\n\n', run(hbbp, '--help'), re.DOTALL).group(1)
    return {line.split()[0]: run(hbbp, line.split()[0], '--help') for line in listed.splitlines()}


def options(text):
    return {name for names in re.findall(r'^  (-[^\s{]+)', text, re.MULTILINE) for name in names.split(',')}


class Bash:
    def __init__(self, completions):
        self.script = completions / 'hbbp'

    def complete(self, *words):
        """Returns the words that the last one may become."""
        line = ' '.join(shlex.quote(word) for word in words)
        done = subprocess.run(
            ['bash', '--norc', '-c',
             f'compopt() {{ :; }}; . {shlex.quote(str(self.script))}; COMP_WORDS=({line}); '
             f'COMP_CWORD={len(words) - 1}; _hbbp; printf "%s\\n" "${{COMPREPLY[@]}}"'],
            capture_output=True, text=True, check=True)
        assert not done.stderr, done.stderr
        return set(done.stdout.split('\n')) - {''}


class Zsh:
    """An interactive zsh, with a key that prints what the last word may become."""

    SETUP = r'''
PROMPT= RPROMPT= ; unsetopt prompt_cr prompt_sp zle_bracketed_paste
fpath=(DIRECTORY $fpath); autoload -Uz compinit; compinit -D -u
typeset -ga found
compadd() {
  local -a these; builtin compadd -O these "$@"; found+=("${these[@]}"); builtin compadd "$@"
}
press() { found=(); zle complete-word; print -r -- "<<${(j: :)found}>>"; BUFFER=; }
zle -N press; bindkey '^X' press
setopt no_list_beep no_always_last_prompt; LISTMAX=100000
print -r -- "<<" ready ">>"
'''

    def __init__(self, completions):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.environ.update(TERM='dumb', HOME=str(completions), COLUMNS='300', LC_ALL='C')
            os.execvp('zsh', ['zsh', '-f', '-i'])
        with tempfile.NamedTemporaryFile('w', suffix='.zsh') as file:
            file.write(self.SETUP.replace('DIRECTORY', shlex.quote(str(completions))))
            file.flush()
            os.write(self.terminal, f'. {file.name}\n'.encode())
            self.read()

    def read(self):
        text = ''
        while True:
            found = re.search(r'<<([^<]*)>>', text)
            if found:
                return found.group(1).split()
            text += os.read(self.terminal, 65536).decode(errors='replace')

    def complete(self, *words):
        os.write(self.terminal, ' '.join(words).encode() + b'\x18')
        return set(self.read())


def check(shell, texts):
    problems = []

    def expect(words, expected):
        found = shell.complete(*words)
        if found != expected:
            problems.append(f'{" ".join(words)}: {sorted(found)}, expected {sorted(expected)}')

    expect(['hbbp', 're'], {'record', 'report'})
    for command, text in texts.items():
        long = {name for name in options(text) if name.startswith('--')}
        expect(['hbbp', command, '--'], long)
        for name, choices in re.findall(r'^  (?:-\w,)?(--[\w-]+) ([a-z,+-]+\|[a-z,|+-]+)(?=\s|\[)', text, re.MULTILINE):
            expect(['hbbp', command, name, ''], set(choices.split('|')))
    expect(['hbbp', 'mix', '--by', 'mod'], {'module'})
    expect(['hbbp', 'mix', '--top', ''], set())
    with tempfile.TemporaryDirectory() as directory:
        (pathlib.Path(directory) / 'one.data').touch()
        if isinstance(shell, Bash):
            expect(['hbbp', 'info', f'{directory}/o'], {f'{directory}/one.data'})
            expect(['hbbp', 'mix', '-o', 'x', '--by', 'module,thr'], {'module,thread'})
            expect(['hbbp', 'record', '--source', '=', 'sw'], {'swbt'})
            expect(['hbbp', 'record', '-o', 'x', 'cat', f'{directory}/o'], {f'{directory}/one.data'})
        else:
            parts = {*pathlib.Path(directory).parts[1:], 'one.data'}
            expect(['hbbp', 'info', f'{directory}/o'], parts)
            expect(['hbbp', 'mix', '--by', 'module,thr'], {'thread'})
            expect(['hbbp', 'record', '-o', 'x', 'cat', f'{directory}/o'], parts)
    return problems


def main():
    hbbp, completions, name = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    if not shutil.which(name):
        print(f'SKIPPED: there is no {name}')
        return 77
    texts = helps(hbbp)
    assert len(texts) > 5, texts
    problems = check({'bash': Bash, 'zsh': Zsh}[name](completions), texts)
    for problem in problems:
        print(problem)
    print(f'{len(texts)} commands, {len(problems)} problems')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
