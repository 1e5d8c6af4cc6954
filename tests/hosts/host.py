"""What a host is: a program or a server, its load, and how one sees that nothing harmed it.

A Batch ends by itself; a Server is loaded, looked at and ended. Where a command, a file or a text says
{work}, {programs}, {library} or {port}, it gets the directory of the run, that of the small programs, the
library that load_libraries loads, or a free port.
"""
import dataclasses
import typing


@dataclasses.dataclass
class Host:
    name: str
    command: list
    # Debian packages that have it, for the message of what is skipped.
    packages: str = ''
    # {name: text}: written to the directory before.
    files: dict = dataclasses.field(default_factory=dict)
    # Commands that run before, not profiled, once.
    prepare: list = dataclasses.field(default_factory=list)
    environment: dict = dataclasses.field(default_factory=dict)
    # Not as root: some refuse to be.
    as_nobody: bool = False
    # Takes a second or two, needs nothing but what the build made: runs in CI.
    is_fast: bool = False
    # Forks without exec; sessions that restart are wanted in the children, too.
    forks: bool = False
    # What must not be restarted, with the reason: sessions of the library need something of the program.
    why_no_restart: str = ''
    # What of 'descriptors', 'threads' and 'mappings' comes and goes by itself.
    changes: tuple = ()
    # Of the time that it may take: strace is stopped at branches of its own, and sees those of what it runs.
    patience: int = 1
    # Shorter than a sample takes, or ends before there can be a profile.
    may_lack_samples: bool = False
    # Modes that give up a burst which leaves what it began in, as it may be with all of this host's.
    may_lack_bursts_in: tuple = ()


@dataclasses.dataclass
class Batch(Host):
    # Compared byte by byte with those of the plain run.
    compares_stdout: bool = True
    outputs: list = dataclasses.field(default_factory=list)
    # Given stdout and stderr as one text, says what is wrong, or ''.
    check: typing.Callable = lambda text: ''
    # Of the plain run: another one says that the host does not do here what it is for.
    status: int = 0
    # Of stdout, before it is compared.
    normalize: typing.Callable = lambda text: text


@dataclasses.dataclass
class Server(Host):
    # Commands, run one after another, twice: the first time warms it up.
    load: list = dataclasses.field(default_factory=list)
    # Given what the load printed, says what is wrong, or ''.
    check: typing.Callable = lambda text: ''
    # Given the directory and what the load printed: the 99th percentile in ms, and requests a second.
    latency: typing.Callable = lambda work, text: (0.0, 0.0)
    # Given the port: speaks to the server, returns what is compared with the plain run.
    ask: typing.Callable = lambda port: ''
    # Succeeds once it takes requests, which may be after it listens.
    ready: list = dataclasses.field(default_factory=list)
    stop_signal: str = 'SIGTERM'
