"""Describes a host: a program or a server, its load, and how to check that nothing harmed it.

A Batch ends by itself; a Server gets load, is checked and ended. In commands, files and texts {work},
{programs}, {library} and {port} stand for the directory of the run, that of the small programs, the
library that load_libraries loads, and a free port.
"""
import dataclasses
import typing


@dataclasses.dataclass
class Host:
    name: str
    command: list
    # Debian packages that contain it, for the message if it is skipped.
    packages: str = ''
    # {name: text} of files that are written to the directory before.
    files: dict = dataclasses.field(default_factory=dict)
    # Commands that run once before, without a profile.
    prepare: list = dataclasses.field(default_factory=list)
    environment: dict = dataclasses.field(default_factory=dict)
    # It must not run as root, because some refuse that.
    as_unprivileged: bool = False
    # It takes a second or two, needs nothing but the build, and runs in CI.
    is_fast: bool = False
    # It forks without exec; sessions that restart must restart in the children, too.
    forks: bool = False
    # Ways that are excluded, with the reason: sessions of the library need something of the program.
    why_no_restart: str = ''
    # Which of 'descriptors', 'threads' and 'mappings' change by themselves.
    changes: tuple = ()
    # Factor of the time limit: strace is stopped at branches of its own, and observes those of its children.
    patience: int = 1
    # It is shorter than the sampling period, or ends before there can be a profile.
    may_lack_samples: bool = False
    # Modes that end a burst early if it leaves the code that it began in, which may be all bursts of this host.
    may_lack_bursts_in: tuple = ()


@dataclasses.dataclass
class Batch(Host):
    # Files that are compared byte by byte with those of the plain run.
    compares_stdout: bool = True
    outputs: list = dataclasses.field(default_factory=list)
    # Gets stdout and stderr as one text, and returns what is wrong, or ''.
    check: typing.Callable = lambda text: ''
    # Checks the plain run: another output shows that the host does not do its work here.
    status: int = 0
    # Edits stdout, before it is compared.
    normalize: typing.Callable = lambda text: text


@dataclasses.dataclass
class Server(Host):
    # Commands that run one after another, twice: the first time is a warm-up.
    load: list = dataclasses.field(default_factory=list)
    # Gets the output of the load, and returns what is wrong, or ''.
    check: typing.Callable = lambda text: ''
    # Gets the directory and the output of the load; returns the 99th percentile in ms, and requests per second.
    latency: typing.Callable = lambda work, text: (0.0, 0.0)
    # Gets the port, queries the server, and returns what is compared with the plain run.
    ask: typing.Callable = lambda port: ''
    # Succeeds once the server accepts requests, which may be after it listens.
    ready: list = dataclasses.field(default_factory=list)
    stop_signal: str = 'SIGTERM'
