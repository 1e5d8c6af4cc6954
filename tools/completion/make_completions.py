#!/usr/bin/env python3
"""Makes the completions of bash and zsh from what the command's --help has: commands, options and their choices.

usage: make_completions.py HBBP DIRECTORY

Writes DIRECTORY/hbbp for bash and DIRECTORY/_hbbp for zsh.
"""
import pathlib
import re
import subprocess
import sys
from typing import List, NamedTuple


class Option(NamedTuple):
    names: List[str]
    placeholder: str  # empty: it takes no value
    words: List[str]  # that the value may be
    is_file: bool
    is_list: bool  # of them, with commas
    text: str


class Command(NamedTuple):
    name: str
    text: str
    options: List[Option]
    runs_a_program: bool


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def listed_words(help_text, placeholder):
    """Returns what a value may be: choices, or for KEY and VALUE the words that the help lists below the options."""
    placeholder = placeholder.replace('[,..]', '')
    if '|' in placeholder and placeholder.islower():
        return placeholder.split('|')
    listed = re.search(rf'^{placeholder.split(",")[0].capitalize()}s: (.*?)[.;]$', help_text, re.MULTILINE | re.DOTALL)
    return re.findall(r'(?:^|, )([a-z0-9-]+)(?=,|$)', listed.group(1).replace('\n', ' ')) if listed else []


def parse_options(help_text):
    options = []
    for line in help_text.splitlines():
        started = re.match(r'  (-\S+) ?(\S*)(?:\s\s+(.*))?$', line)
        if started:
            names, placeholder, text = started.groups()
            words = listed_words(help_text, placeholder) if placeholder else []
            # A flag that switches off what is on without it has {false} behind its name.
            options.append(Option(re.sub(r'\{\w+\}', '', names).split(','), placeholder, words,
                                  re.search('FILE|DIR|OUT|HERE', placeholder) is not None,
                                  placeholder.endswith(('[,..]', ',...')), text or ''))
        elif line.startswith('     ') and options:
            options[-1] = options[-1]._replace(text=f'{options[-1].text} {line.strip()}'.strip())
    return options


def parse_commands(hbbp):
    listed = re.search(r'Commands:\n(.*?)\n\n', run(hbbp, '--help'), re.DOTALL).group(1)
    commands = []
    for line in listed.splitlines():
        name, text = line.split(None, 1)
        help_text = run(hbbp, name, '--help')
        commands.append(Command(name, text, parse_options(help_text), '[--] CMD ARG...' in help_text))
    return commands


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


BASH_START = """\
# Completions of hbbp for bash, made from its --help.
_hbbp() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  local options= values= files= words= list= program= start= i
  # Bash has --name=value as three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '%s' -- "$current"))
    return
  fi
  case $command in
    help)
      ((COMP_CWORD > 2)) || COMPREPLY=($(compgen -W '%s' -- "$current"))
      return
      ;;
"""
BASH_END = """\
    *) return ;;
  esac
  # The program that is run has completions of its own.
  if [[ $program ]]; then
    for ((i = 2; i < COMP_CWORD; i++)); do
      case ${COMP_WORDS[i]} in
        --) start=$((i + 1)); break ;;
        -*) [[ " $values " != *" ${COMP_WORDS[i]} "* ]] || ((i++)) ;;
        *) start=$i; break ;;
      esac
    done
    if [[ $start ]] && ((start < COMP_CWORD)); then
      if declare -F _command_offset >/dev/null; then _command_offset "$start"; else COMPREPLY=($(compgen -f -- "$current")); fi
      return
    fi
  fi
  if [[ " $values " == *" $previous "* ]]; then
    case $command:$previous in
"""
BASH_LAST = """\
    esac
    if [[ $list && $current == *,* ]]; then
      COMPREPLY=($(compgen -P "${current%,*}," -W "$words" -- "${current##*,}"))
    elif [[ $words ]]; then
      COMPREPLY=($(compgen -W "$words" -- "$current"))
    elif [[ " $files " == *" $previous "* ]]; then
      compopt -o filenames
      COMPREPLY=($(compgen -f -- "$current"))
    fi
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ $program ]]; then
    COMPREPLY=($(compgen -c -- "$current"))
  else
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -F _hbbp hbbp
"""


def bash(commands):
    names = ' '.join(command.name for command in commands)
    text = BASH_START % (names + ' help --help --version', names)
    for command in commands:
        options = ' '.join(name for option in command.options for name in option.names)
        values = ' '.join(name for option in command.options if option.placeholder for name in option.names)
        files = ' '.join(name for option in command.options if option.is_file for name in option.names)
        program = ' program=1' if command.runs_a_program else ''
        text += f"    {command.name})\n      options='{options}'\n      values='{values}'\n"
        text += f"      files='{files}'{program}\n      ;;\n"
    text += BASH_END
    for command in commands:
        for option in command.options:
            if option.words:
                pattern = '|'.join(f'{command.name}:{name}' for name in option.names)
                is_list = ' list=1' if option.is_list else ''
                text += f"      {pattern}) words='{' '.join(option.words)}'{is_list} ;;\n"
    return text + BASH_LAST


def zsh_text(text):
    """Returns what an option does, as far as the first colon or semicolon that does not follow a backend's name."""
    text = re.split(r'; | \(', re.sub(r'^(\w+): ', '', text))[0].partition(': ')[0]
    return re.sub(r'([\[\]:\\])', r'\\\1', text)


def zsh_option(option):
    value = ''
    if option.placeholder:
        label = 'value' if option.words else re.match('[A-Za-z]+', option.placeholder).group().lower()
        words = ' '.join(option.words)
        if option.words:
            value = f':{label}:_values -s , {label} {words}' if option.is_list else f':{label}:({words})'
        else:
            value = f':{label}:' + ('_files' if option.is_file else ' ')
    tail = f'[{zsh_text(option.text)}]{value}'
    if len(option.names) == 1:
        return quoted(option.names[0] + tail)
    return quoted(f'({" ".join(option.names)})') + '{' + ','.join(option.names) + '}' + quoted(tail)


def zsh(commands):
    text = '#compdef hbbp\n# Completions of hbbp for zsh, made from its --help.\n_hbbp() {\n  local -a commands=(\n'
    text += ''.join(f'    {quoted(command.name + ":" + command.text)}\n' for command in commands)
    text += ("    'help:what a command does'\n  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n"
             '  fi\n  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command in\n'
             '    help) ((CURRENT > 2)) || _describe command commands ;;\n')
    for command in commands:
        rest = "'*::program:_normal'" if command.runs_a_program else "'*:file:_files'"
        lines = [zsh_option(option) for option in command.options] + [rest]
        text += f'    {command.name})\n      _arguments -S \\\n        ' + ' \\\n        '.join(lines) + '\n      ;;\n'
    return text + '  esac\n}\n_hbbp "$@"\n'


def main():
    hbbp, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    commands = parse_commands(hbbp)
    (directory / 'hbbp').write_text(bash(commands))
    (directory / '_hbbp').write_text(zsh(commands))


if __name__ == '__main__':
    main()
