"""Rows of the tables: the structs of the C ABI as named tuples. include/hbbp/*.h describes each
field; addresses are those of the ELF file, as objdump prints them, and indices refer to the list
of the same name, of the profile or of the analysis."""
from typing import List, NamedTuple, Optional, Tuple, Union

from ._abi import (CapabilityState, CodeState, EbsMethod, Estimator, Event, Flow, IbsObjectKind,
                   ModuleKind, PeriodMode, ProbeFieldKind, ProbeTableKind, SourceKind, TripBasis, Unit)


class Module(NamedTuple):
    """A mapped file, the vdso, generated code, or a kernel."""
    kind: ModuleKind
    build_id: str  # hexadecimal; empty if there is none
    path: str  # as mapped
    samples: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit('/', 1)[-1]


class ModuleResult(NamedTuple):
    """A module with the state of its code in an analysis."""
    kind: ModuleKind
    code: CodeState
    build_id: str
    path: str
    problem: str  # why the code is missing; else empty
    samples: int
    patched_bytes: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit('/', 1)[-1]


class Thread(NamedTuple):
    pid: int
    tid: int
    name: str
    samples: int


class SourceInfo(NamedTuple):
    """One source of a profile, with its settings and totals."""
    kind: SourceKind
    event: Event
    period_mode: PeriodMode
    unit: Unit
    include_kernel: bool
    period: int
    frequency_hz: int
    samples: int
    lost: int
    throttled: int
    unmapped: int
    note: str
    bursts: int
    taken_branches: int
    breakpoints: int
    lookahead_instructions: int
    decoded_instructions: int
    handler_ns: int
    verified_branches: int
    disagreements: int
    mode: str
    method: str
    event_name: str
    precise_ip: int
    ebs_method: EbsMethod
    smallest_period: int
    largest_period: int
    extent_in_events: bool


class SourceResult(NamedTuple):
    """The attribution of a source's samples in an analysis."""
    kind: SourceKind
    event: Event
    samples: int
    unexplained: int  # samples in no block, or streams that no path explains
    superseded: int  # samples in blocks that streams of another source count
    is_other_event: bool  # blocks are counted by another event, and its samples add nothing


class Counter(NamedTuple):
    name: str
    value: int


class Block(NamedTuple):
    """A basic block and how often it ran."""
    module: int
    start: int
    end: int
    instruction_count: int
    function: Optional[int]
    source: SourceKind  # source of the count
    is_biased: bool
    count: float  # type: ignore[assignment]
    standard_error: float
    samples: int
    bias_ratio: float
    bias_chance: float
    module_name: str
    function_name: str

    @property
    def instructions(self) -> float:
        """The number of instructions executed in the block."""
        return self.count * self.instruction_count


class Function(NamedTuple):
    module: int
    start: int
    end: int
    name: str  # name in the symbol table
    instructions: float
    standard_error: float
    samples: int
    demangled_name: str  # as C++ or Rust spells it
    module_name: str

    @property
    def demangled(self) -> str:
        return self.demangled_name


class Branch(NamedTuple):
    """A taken branch. If a module is None, the address is in no known mapping."""
    from_module: Optional[int]
    from_address: Optional[int]
    to_address: Optional[int]
    to_module: Optional[int]
    samples: int
    count: float  # type: ignore[assignment]
    oldest: int
    oldest_expected: float


class Loop(NamedTuple):
    module: int
    function: int
    parent: Optional[int]
    depth: int
    is_irreducible: bool
    blocks: int
    trip_basis: TripBasis
    header: int
    entries: float
    entries_error: float
    iterations: float
    iterations_error: float
    trip_count: float
    trip_count_error: float
    trip_count_by_branches: float
    trip_count_by_branches_error: float
    trip_count_by_counts: float
    trip_count_by_counts_error: float
    instructions: float
    instructions_error: float
    own_instructions: float
    own_instructions_error: float
    function_name: str


class Slice(NamedTuple):
    """A slice of time, after the start of the profile."""
    start_ns: int
    end_ns: int
    samples: int


class MixRow(NamedTuple):
    """Executed instructions; a field that is not a key is None, or an empty string."""
    module: Optional[int]
    function: Optional[int]
    thread: Optional[int]
    mnemonic: str
    instructions: float
    standard_error: float
    share: float
    slice: Optional[int]
    module_name: str
    function_name: str


class Ratio(NamedTuple):
    is_known: bool  # whether this profile has the data
    group: str
    name: str
    value: float
    unit: str
    standard_error: float


class IbsSum(NamedTuple):
    module: int
    function: Optional[int]
    event: str
    address: Optional[int]
    sum: int


class IpSum(NamedTuple):
    """The samples of a source that count for an instruction."""
    module: int
    function: Optional[int]
    source: int
    address: Optional[int]
    samples: int


class IbsLatency(NamedTuple):
    """Loads of an instruction from a level of memory, with a latency in [first_cycles, end_cycles)."""
    module: int
    function: Optional[int]
    level: str  # 'l1', 'l2', 'local-l3', 'local-cache', 'local-dram', ...
    address: Optional[int]
    first_cycles: int
    end_cycles: int
    samples: int


class IbsBucket(NamedTuple):
    """Samples whose latency was in [first_cycles, end_cycles)."""
    latency: str
    first_cycles: int
    end_cycles: int
    samples: int


class IbsLine(NamedTuple):
    """Accesses of a thread to 64 bytes of memory."""
    pid: int
    tid: int
    node: Optional[int]  # NUMA node of the memory
    address: int
    loads: int
    stores: int
    misses: int
    miss_cycles: int
    local: int  # loads with data from beyond the caches of their core, from its node
    remote: int


class IbsObject(NamedTuple):
    """Accesses to one data object."""
    kind: IbsObjectKind
    module: Optional[int]
    name: str
    address: Optional[int]
    size: int
    threads: int  # that accessed it
    loads: int
    stores: int
    misses: int
    miss_cycles: int
    local: int  # loads with data from beyond the caches of their core, from its node
    remote: int


class Capability(NamedTuple):
    state: CapabilityState
    name: str
    detail: str  # what the probe found
    advice: str  # what to change to get it


class ProfileInfo(NamedTuple):
    pid: int
    start_time_ns: int  # since 1970
    duration_ns: int
    command: str
    host: str
    samples: int
    lost: int
    throttled: int
    unmapped: int
    recordings: int  # that it is the sum of
    kept_bursts: int  # with their branches in order (kept_burst_bytes)
    bursts_not_kept: int  # for want of room


class SessionInfo(NamedTuple):
    running: bool
    samples: int
    lost: int
    throttled: int
    duration_ns: int
    dropped: int
    cpu_ns: int  # of the profiled threads
    overhead_ns: int  # time of sampling
    recent_overhead: float  # a fraction
    period_factor: float  # factor of the requested periods
    period_changes: int
    memory_bytes: int
    peak_memory_bytes: int


class FeedInfo(NamedTuple):
    samples: int  # added, counted or waiting
    lost: int
    throttled: int
    duration_ns: int
    waiting: int  # waiting for the end of a round
    dropped: int
    memory_bytes: int
    peak_memory_bytes: int


class AnalysisInfo(NamedTuple):
    estimator: Estimator
    ebs_scale: float
    streams_scale: float
    is_one_scale: bool  # whether counts of all sources may be added


class LineFrame(NamedTuple):
    """A function at an address: the innermost that was inlined there, or one around it."""
    line: int  # 0: without line
    column: int
    file: str
    function: str  # name in the symbol table
    discriminator: int  # distinguishes code of one line, as the compiler encodes it
    function_line: int  # where the function is declared; 0: unknown


class ExportFormat(NamedTuple):
    """A format that Analysis.export writes."""
    name: str
    summary: str  # what reads it
    is_of_one_module: bool


class LineRange(NamedTuple):
    """The lines of all addresses of [start, end)."""
    start: int
    end: int
    frames: Tuple[LineFrame, ...]  # innermost first; empty if nothing is known


class Instruction(NamedTuple):
    length: int
    address: int
    mnemonic: str


class Disassembly(NamedTuple):
    length: int
    address: int
    target: Optional[int]  # target of a branch, if the code alone determines it
    flow: Flow
    text: str


class EventCode(NamedTuple):
    """An event of the kernel or the PMU, for Session."""
    event: Event
    type: int
    config: int
    name: str


class AnnotatedLine(NamedTuple):
    """An instruction of a function, with its count and source line."""
    address: int
    count: float  # type: ignore[assignment]  # executions; 0 if it was not observed
    standard_error: float
    text: str
    source: SourceKind
    loop_depth: int
    file: str
    line: int
    inlined: str  # the innermost function, if another one was inlined


class Measured(NamedTuple):
    """A number of a pivot; its share is of everything that matches the condition."""
    value: float
    standard_error: float
    share: float
    share_error: float


class Label(NamedTuple):
    """The label of a row or column of a pivot."""
    text: str  # for functions the symbol
    number: Optional[int]  # for addresses, threads, widths, ...
    index: Optional[int]  # type: ignore[assignment]  # in a list of the profile or analysis
    name: str  # for people: functions demangled

    @property
    def value(self) -> Union[str, int]:
        return self.name if self.number is None else self.number


class ProbeCall(NamedTuple):
    """An execution of an instruction for which a production with the action `call` fired. Addresses
    of code are numbers that Probe.locate explains; 0 is unknown."""
    production: int
    table: int
    thread: int  # index in the profile
    pc: int
    target: int
    next: int
    flow: Flow
    taken: bool
    values: Tuple[Optional[int], ...]  # of the fields; None: unknown in this burst
    burst: int
    time_ns: int
    weight: float


class ProbeInfo(NamedTuple):
    """What all runs of a probe saw."""
    is_exhaustive: bool
    sample_freq: int
    burst_length: int
    bursts: int
    begun_bursts: int
    instructions: int
    streams: int
    skipped_streams: int
    streams_without_code: int
    other_bursts: int
    not_kept: int
    counts_executions: bool


class ProbeProduction(NamedTuple):
    name: str
    firings: int


class ProbeTable(NamedTuple):
    """What actions of productions write to."""
    kind: ProbeTableKind
    name: str
    records: int
    dropped: int
    unknown: int
    estimate: float


class ProbeField(NamedTuple):
    kind: ProbeFieldKind
    name: str


class ProbeStream(NamedTuple):
    """A hot stream of a trace."""
    values: Tuple[Tuple[int, ...], ...]  # the fields of each element
    length: int
    frequency: int
    share: float


class ProbeLocation(NamedTuple):
    """What a code number stands for."""
    module: Optional[int]  # in the profile of the last run
    path: str
    address: int
    function: Optional[int]  # its start
    name: str  # as in the symbol table; empty if it is unknown


class DiffRow(NamedTuple):
    """A row of two mixes: z is the change by its error, p its probability by chance."""
    labels: Tuple[str, ...]
    before: float
    before_error: float
    after: float
    after_error: float
    change: float
    change_error: float
    z: float
    p: Optional[float]  # None: unknown for a change without an error


NAMES: List[str] = [name for name, value in list(globals().items())
                    if isinstance(value, type) and issubclass(value, tuple)]
