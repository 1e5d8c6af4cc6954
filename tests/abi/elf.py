"""Reads a shared library by nm and readelf."""
import re
import subprocess


def _output(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def exported_symbols(library):
    """Returns {name: version node, or '' if it has none} of everything that the library defines."""
    symbols = {}
    listing = _output('nm', '-D', '--defined-only', '--with-symbol-versions', library)
    for line in listing.splitlines():
        kind, symbol = line.split()[-2:]
        name, _, version = symbol.partition('@')
        if kind == 'A' and not version:
            continue  # the version node itself
        symbols[name] = version.lstrip('@')
    return symbols


def dynamic_entries(library, tag):
    """Returns the values of DT_<tag>, such as NEEDED or SONAME."""
    return re.findall(rf'\({tag}\).*\[(.*)\]', _output('readelf', '-d', library))


def needed_besides_libc(library):
    """Returns what the loader loads with it, without libc and itself."""
    return sorted({*dynamic_entries(library, 'NEEDED')} - {'libc.so.6', 'ld-linux-x86-64.so.2'})


def binds_now(library):
    """Returns whether everything is bound when it is loaded, nothing when it is first called."""
    return re.search(r'\(FLAGS_1\).*\bNOW\b', _output('readelf', '-d', library)) is not None


def map_nodes(text):
    """Returns {version node, or '' if unnamed: exported names} of a linker version script, in order."""
    text = re.sub(r'/\*.*?\*/|#[^\n]*', '', text, flags=re.S)
    nodes = {}
    for name, body in re.findall(r'(\w[\w.]*)?\s*\{(.*?)\}', text, flags=re.S):
        exported = re.search(r'global:(.*?)(local:|$)', body, flags=re.S)
        nodes[name] = set(re.findall(r'([\w*]+)\s*;', exported.group(1))) if exported else set()
    return nodes
