"""Profiles: how often each basic block ran, and everything that follows from it."""
import contextlib
import ctypes
import html
import os
import typing
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _abi, _annotate, _optional
from ._abi import EbsMethod, Estimator, LogLevel, MixKeys
from ._caveats import caveats_of
from ._handle import Handle, Owner
from ._host import Cancel, KeptFlag, Log, Progress, log_function, run_long
from ._library import (Path, check, demangle, function, make, moved_file_array, path_to_c, sized,
                       text, to_c)
from ._listing import shown
from ._lists import copy_list, fetch, read_list, row, table
from ._pivot import Names, Pivot, Taxonomy, joined
from ._rows import (AnnotatedLine, Block, Branch, Counter, Disassembly, EstimatorInfo, Function,
                    IbsBucket, IbsLine, IbsSum, Instruction, Loop, MixRow, Module, ProfileInfo,
                    Ratio, Slice, SourceFrame, SourceInfo, SourcePlace, Thread)
from ._tables import Table

if typing.TYPE_CHECKING:
    import numpy

SourceProgress = Callable[[str, int, int], None]

MAX_FRAMES = 64


class Mix(Table[MixRow]):
    """Which instructions ran, most first."""

    total: float

    def _summary(self) -> List[str]:
        return [f'{shown(self.total)} instructions in all']


class Profile(Owner):
    """An immutable snapshot. Reading it is safe from any number of threads; what changes it
    (set_estimator, set_kernel, set_source_options) raises BusyError while another thread reads.

    What asks for blocks, functions, branches or a mix first reads the code of the modules.
    """

    def __init__(self, pointer: Any) -> None:
        """Takes over a handle of the C ABI; see load, import_recording, merge, Session.profile."""
        self._handle = Handle('profile', pointer)
        self._names: Dict[str, List[str]] = {}
        self._source_host: Any = None  # what the source options call, and its flag

    @classmethod
    def load(cls, path: Path) -> 'Profile':
        """A file that save, or `hbbp record`, wrote."""
        return cls(make('hbbp_profile_load', _abi.hbbp_profile, path_to_c(path)))

    @classmethod
    def import_recording(cls, path: Path, *, root: Optional[Path] = None,
                         moved_files: Optional[Mapping[str, Path]] = None,
                         binary: Optional[Path] = None,
                         ebs_method: Union[EbsMethod, str] = EbsMethod.AUTO, slice_ns: int = 0,
                         progress: Optional[Progress] = None,
                         cancel: Optional[Cancel] = None, log: Optional[Log] = None,
                         log_level: Union[LogLevel, str] = LogLevel.INFO,
                         max_memory: int = 0) -> 'Profile':
        """A recording of perf, or text of perf script (docs/guide/import.md). `moved_files`: where files
        are here, by their path in the recording or the last part of that. `progress` is given the
        bytes that were read, and all of them, 0 if not known. The import is called off by
        `cancel`, by what `progress` raises, and from the keyboard, which both set `cancel`. `log`
        is given a LogLevel and a line. What does not fit into `max_memory` bytes while it is read
        is dropped, which the notes of sources say."""
        moved = moved_file_array(moved_files)
        options = sized(_abi.hbbp_import_options, moved_file_count=len(moved),
                        moved_files=moved, ebs_method=EbsMethod.of(ebs_method), slice_ns=slice_ns,
                        root=None if root is None else path_to_c(root),
                        binary=None if binary is None else path_to_c(binary),
                        log_level=LogLevel.of(log_level), max_memory=max_memory)
        if log is not None:
            options.log = log_function(log)

        def load(tell: Any, flag: Any) -> 'Profile':
            options.progress, options.cancel = tell, flag
            return cls(make('hbbp_profile_import', _abi.hbbp_profile, path_to_c(path),
                            ctypes.byref(options)))

        return run_long(load, progress, cancel)

    @classmethod
    def merge(cls, profiles: 'Iterable[Profile]') -> 'Profile':
        """The sum of one or more."""
        with contextlib.ExitStack() as stack:
            pointers = [stack.enter_context(profile._handle) for profile in profiles]
            array = (ctypes.POINTER(_abi.hbbp_profile) * len(pointers))(*pointers)
            merged = make('hbbp_profile_merge', _abi.hbbp_profile, array, len(pointers))
        return cls(merged)

    def save(self, path: Path) -> None:
        """Replaces the file atomically."""
        with self._handle as pointer:
            check('hbbp_profile_save', pointer, path_to_c(path))

    def select_thread(self, tid: int) -> 'Profile':
        """What one thread did."""
        with self._handle as pointer:
            return Profile(make('hbbp_profile_select_thread', _abi.hbbp_profile, pointer, tid))

    def select_slice(self, index: int) -> 'Profile':
        """What ran in one slice of time."""
        with self._handle as pointer:
            return Profile(make('hbbp_profile_select_slice', _abi.hbbp_profile, pointer, index))

    def caveats(self) -> List[str]:
        """What everybody who reads its counts has to know: their unit, and what was lost."""
        return caveats_of(self.sources(), self.estimator().is_one_scale)

    def resolve(self, *, progress: Optional[Progress] = None,
                cancel: Optional[Cancel] = None) -> None:
        """Finds and counts blocks now, which what needs them does otherwise: seconds for a
        recording of a large program. Called off as import_recording is; the profile is then as it
        was."""
        def find(tell: Any, flag: Any) -> None:
            work = sized(_abi.hbbp_work_options, progress=tell, cancel=flag)
            with self._handle as pointer:
                check('hbbp_profile_resolve', pointer, ctypes.byref(work))

        run_long(find, progress, cancel)

    # How blocks are counted, and where code and lines are looked for -----------------------------

    def set_kernel(self, *, vmlinux: Optional[Path] = None, kcore: Optional[Path] = None,
                   kallsyms: Optional[Path] = None) -> None:
        """Names files of the kernel that was profiled; before anything that needs code."""
        files = sized(_abi.hbbp_kernel_files, **{
            name: path_to_c(path) for name, path in
            (('vmlinux', vmlinux), ('kcore', kcore), ('kallsyms', kallsyms)) if path is not None})
        with self._handle.alone() as pointer:
            check('hbbp_profile_set_kernel', pointer, ctypes.byref(files))
            self._names.clear()

    def set_estimator(self, estimator: Union[Estimator, str] = Estimator.AUTO,
                      tree: Optional[str] = None) -> None:
        """Counts blocks by another estimator from now on (docs/internals/estimators.md). `tree`: the JSON
        of a decision tree."""
        options = sized(_abi.hbbp_estimator_options, estimator=Estimator.of(estimator),
                        tree=to_c(tree))
        with self._handle.alone() as pointer:
            check('hbbp_profile_set_estimator', pointer, ctypes.byref(options))
            self._names.clear()

    def estimator(self) -> EstimatorInfo:
        with self._handle as pointer:
            return fetch(EstimatorInfo, _abi.hbbp_estimator_info, 'hbbp_profile_get_estimator',
                         pointer)

    def set_source_options(self, *, debug_root: Optional[Path] = None, debuginfod: bool = False,
                           memory_limit: int = 0,
                           progress: Optional[SourceProgress] = None,
                           cancel: Optional[Cancel] = None) -> None:
        """Where debug information is looked for. `debuginfod`: also ask the servers that
        DEBUGINFOD_URLS names. `progress` is given a module, bytes read, and all of them.
        Where something has to be read while `cancel` is set, CancelledError is raised. Profiles
        that are selected from this one have neither of the two."""
        flags = _abi.HBBP_SOURCE_OPTION_DEBUGINFOD if debuginfod else 0
        options = sized(_abi.hbbp_source_options, flags=flags, memory_limit=memory_limit,
                        debug_root=None if debug_root is None else path_to_c(debug_root))
        if progress is not None:
            tell = progress
            options.progress = type(options.progress)(
                lambda module, done, total, user: tell(text(module), done, total))
        flag = None if cancel is None else KeptFlag(cancel)
        if flag is not None:
            options.cancel = flag.pointer
        with self._handle.alone() as pointer:
            check('hbbp_profile_set_source_options', pointer, ctypes.byref(options))
            self._source_host = options.progress, flag

    # Lists ---------------------------------------------------------------------------------------

    def info(self) -> ProfileInfo:
        with self._handle as pointer:
            return fetch(ProfileInfo, _abi.hbbp_profile_info, 'hbbp_profile_get_info', pointer)

    def sources(self) -> Table[SourceInfo]:
        with self._handle as pointer:
            array = read_list(pointer, 'hbbp_profile_source', _abi.hbbp_source_info)
            values: Dict[str, List[int]] = {'unexplained': [], 'superseded': []}
            for name, numbers in values.items():
                for i in range(len(array)):
                    number = ctypes.c_uint64()
                    check(f'hbbp_profile_{name}_at', pointer, i, ctypes.byref(number))
                    numbers.append(number.value)
            return table(SourceInfo, array, 'Sources', values=values)

    def counters(self, source: int) -> Table[Counter]:
        """What else a source counted: why bursts ended or were dropped."""
        with self._handle as pointer:
            return table(Counter, read_list(pointer, 'hbbp_profile_counter', _abi.hbbp_counter,
                                            source), 'Counters')

    def unexplained_reasons(self, source: int) -> Table[Counter]:
        """Why samples of a source are in no block."""
        with self._handle as pointer:
            return table(Counter, read_list(pointer, 'hbbp_profile_unexplained_reason',
                                            _abi.hbbp_counter, source), 'Unexplained')

    def threads(self) -> Table[Thread]:
        with self._handle as pointer:
            return table(Thread, read_list(pointer, 'hbbp_profile_thread', _abi.hbbp_thread),
                         'Threads')

    def modules(self) -> Table[Module]:
        with self._handle as pointer:
            array = read_list(pointer, 'hbbp_profile_module', _abi.hbbp_module)
            build_ids = [bytes(each.build_id[:each.build_id_size]).hex()
                         if each.build_id_size else '' for each in array]
            return table(Module, array, 'Modules', values={'build_id': build_ids})

    def functions(self) -> Table[Function]:
        with self._handle as pointer:
            array = read_list(pointer, 'hbbp_profile_function', _abi.hbbp_function)
        return table(Function, array, 'Functions', self._names_by('module'), notes=self._notes())

    def blocks(self) -> Table[Block]:
        """By module and address, every one that has a count."""
        names = self._names_by('module', 'function')
        with self._handle as pointer:
            return table(Block, copy_list(pointer, 'block', _abi.hbbp_block), 'Blocks', names,
                         notes=self._notes())

    def branches(self) -> Table[Branch]:
        """Taken ones, where a source observed them."""
        with self._handle as pointer:
            return table(Branch, read_list(pointer, 'hbbp_profile_branch', _abi.hbbp_branch),
                         'Branches')

    def loops(self) -> Table[Loop]:
        """By module, function and nesting; the loop around a loop comes before it."""
        names = self._names_by('function')
        with self._handle as pointer:
            return table(Loop, copy_list(pointer, 'loop', _abi.hbbp_loop), 'Loops', names,
                         notes=self._notes())

    def loops_of_blocks(self) -> List[Optional[int]]:
        """By the index of a block, the innermost loop around it."""
        with self._handle as pointer:
            array = (ctypes.c_uint32 * function('hbbp_profile_block_count')(pointer))()
            copied = ctypes.c_size_t()
            if len(array) > 0:
                check('hbbp_profile_copy_loops_of_blocks', pointer, 0, len(array), array,
                      ctypes.byref(copied))
            return [None if loop == _abi.HBBP_NO_INDEX else loop
                    for loop in array[:copied.value]]

    def slices(self) -> Table[Slice]:
        with self._handle as pointer:
            return table(Slice, read_list(pointer, 'hbbp_profile_slice', _abi.hbbp_slice), 'Slices')

    def ibs_sums(self) -> Table[IbsSum]:
        with self._handle as pointer:
            return table(IbsSum, copy_list(pointer, 'ibs_sum', _abi.hbbp_ibs_sum), 'IBS events')

    def ibs_buckets(self) -> Table[IbsBucket]:
        with self._handle as pointer:
            return table(IbsBucket, copy_list(pointer, 'ibs_bucket', _abi.hbbp_ibs_bucket),
                         'IBS latencies')

    def ibs_lines(self) -> Table[IbsLine]:
        with self._handle as pointer:
            return table(IbsLine, copy_list(pointer, 'ibs_line', _abi.hbbp_ibs_line), 'IBS lines')

    def features(self) -> 'numpy.ndarray[Any, numpy.dtype[Any]]':
        """What a decision tree may ask about each block, as a structured array with a field for
        each feature; needs numpy."""
        numpy = _optional.numpy()
        names = feature_names()
        with self._handle as pointer:
            array = (ctypes.c_double * (function('hbbp_profile_block_count')(pointer)
                                        * len(names)))()
            copied = ctypes.c_size_t()
            if len(array) > 0:
                check('hbbp_profile_copy_features', pointer, 0, len(array) // len(names), array,
                      ctypes.byref(copied))
        dtype = [(name, 'f8') for name in names]
        if copied.value == 0:
            return numpy.empty(0, dtype=dtype)  # type: ignore[no-any-return]
        return numpy.frombuffer(array, dtype=dtype)[:copied.value]  # type: ignore[no-any-return]

    # Sums ----------------------------------------------------------------------------------------

    def mix(self, by: Union[str, Sequence[str]] = 'mnemonic') -> Mix:
        """Executed instructions by mnemonic, module, function, thread or slice, or several."""
        names = by.split(',') if isinstance(by, str) else by
        keys = 0
        for name in names:
            keys |= _mix_key(name.strip())
        named = self._names_by('module', 'function')
        with self._handle as pointer:
            mix = make('hbbp_mix_create', _abi.hbbp_mix, pointer, keys)
        handle = Handle('mix', mix)
        try:
            found = table(MixRow, read_list(mix, 'hbbp_mix_row', _abi.hbbp_mix_row), names=named)
            result = Mix(MixRow, found._rows, 'Mix', self._notes())
            result.total = function('hbbp_mix_total')(mix)
            return result
        finally:
            handle.close()

    def pivot(self, rows: Optional[Names] = None, columns: Optional[Names] = None,
              values: Optional[Names] = None, where: Optional[str] = None,
              sort: Optional[str] = None, top: int = 0, taxonomy: Optional[Taxonomy] = None,
              join_names: bool = False) -> Pivot:
        """What ran, summed by any keys (docs/guide/mix.md): rows 'function', columns 'extension', values
        'instructions,flops', where 'module = libm.so.6 and memory != none'. join_names: what has one
        name is one row, static functions for example."""
        of_rows, of_columns, of_values = joined(rows), joined(columns), joined(values)
        query = sized(_abi.hbbp_pivot_query, rows=to_c(of_rows), columns=to_c(of_columns),
                      values=to_c(of_values), where=to_c(where), sort=to_c(sort), top=top,
                      join_names=int(join_names))
        with self._handle as pointer:
            made = _with_taxonomy(taxonomy, lambda groups: _make_pivot(pointer, query, groups))
        handle = Handle('pivot', made)
        try:
            return Pivot(made, of_rows, of_columns, of_values, self._notes())
        finally:
            handle.close()

    def ratios(self, where: Optional[str] = None,
               taxonomy: Optional[Taxonomy] = None) -> Table[Ratio]:
        """What follows from the whole mix: operations by precision, bytes moved, intensity, ..."""
        with self._handle as pointer:
            made = _with_taxonomy(taxonomy, lambda groups: make(
                'hbbp_ratios_create', _abi.hbbp_ratios, pointer, to_c(where), groups))
        handle = Handle('ratios', made)
        try:
            return table(Ratio, read_list(made, 'hbbp_ratios', _abi.hbbp_ratio), 'Ratios')
        finally:
            handle.close()

    # Code ----------------------------------------------------------------------------------------

    def find_block(self, module: int, address: int) -> Block:
        """The block around an address, whether it has a count or not."""
        block = sized(_abi.hbbp_block)
        names = self._names_by('module', 'function')
        with self._handle as pointer:
            check('hbbp_profile_find_block', pointer, module, address, ctypes.byref(block))
        return table(Block, (_abi.hbbp_block * 1)(block), names=names)[0]

    def decode(self, module: int, address: int) -> Instruction:
        with self._handle as pointer:
            return fetch(Instruction, _abi.hbbp_instruction, 'hbbp_profile_decode', pointer, module,
                         address)

    def disassemble(self, module: int, address: int) -> Disassembly:
        """The instruction at an address; address + length is the next one."""
        found = sized(_abi.hbbp_disassembly)
        with self._handle as pointer:
            check('hbbp_profile_disassemble', pointer, module, address, ctypes.byref(found))
        return row(Disassembly, found, text=text(found.text))

    def source_of(self, module: int, address: int) -> SourcePlace:
        """File and line of an address, and the functions that were inlined there."""
        frames = (_abi.hbbp_source_frame * MAX_FRAMES)()
        place = sized(_abi.hbbp_source_place)
        with self._handle as pointer:
            check('hbbp_profile_find_source', pointer, module, address, len(frames),
                  ctypes.sizeof(_abi.hbbp_source_frame), frames, ctypes.byref(place))
            count = min(place.frame_count, len(frames))
            found = (_abi.hbbp_source_frame * count).from_buffer(frames)
            return SourcePlace(place.start, place.end, tuple(table(SourceFrame, found)))

    def source_problem(self, module: int) -> str:
        """What of a module's debug information was missing or damaged; empty if nothing."""
        buffer = ctypes.create_string_buffer(1024)
        with self._handle as pointer:
            check('hbbp_profile_source_problem', pointer, module, buffer, len(buffer))
        return text(buffer.value)

    def annotate(self, function: Union[str, Function, None] = None,
                 module: Optional[str] = None) -> Table[AnnotatedLine]:
        """The instructions of a function with how often each ran: of the hottest one, or that of a
        name, mangled or not, in any module or that of a path or file name."""
        return _annotate.annotate(self, function, module)

    # ---------------------------------------------------------------------------------------------

    def _notes(self) -> List[str]:
        return [f'note: {caveat}' for caveat in self.caveats()]

    def _names_by(self, *lists: str) -> Dict[str, Tuple[str, Sequence[str]]]:
        """For tables: module_name by module, function_name by function."""
        return {f'{each}_name': (each, self._names_of(each)) for each in lists}

    def _names_of(self, what: str) -> List[str]:
        names = self._names.get(what)
        if names is None:
            with self._handle as pointer:
                if what == 'module':
                    array = read_list(pointer, 'hbbp_profile_module', _abi.hbbp_module)
                    names = [os.path.basename(text(each.path)) for each in array]
                else:
                    array = read_list(pointer, 'hbbp_profile_function', _abi.hbbp_function)
                    names = [demangle(text(each.name)) for each in array]
                self._names[what] = names
        return names

    def __repr__(self) -> str:
        if self.is_closed:
            return '<Profile, closed>'
        info = self.info()
        return (f'<Profile of {info.command or "pid " + str(info.pid)!r}, {info.samples:,} samples '
                f'in {info.duration_ns / 1e9:.3g} s>')

    def _repr_html_(self) -> str:
        head = f'<p>{html.escape(repr(self)[1:-1])}</p>'
        if self.is_closed:
            return head
        return head + self.pivot('module,function', top=10)._repr_html_()


def feature_names() -> List[str]:
    """What a tree of Profile.set_estimator may ask about a block."""
    return [text(function('hbbp_feature_name')(i)) for i in range(function('hbbp_feature_count')())]


def _mix_key(name: str) -> int:
    members = {member.lower(): value for member, value in MixKeys.__members__.items()}
    if name not in members:
        raise ValueError(f'{name!r} is no key of mixes, which are {", ".join(members)}; pivot() '
                         'has more')
    return members[name]


def _with_taxonomy(taxonomy: Optional[Taxonomy], function: Callable[[Any], Any]) -> Any:
    if taxonomy is None:
        return function(None)
    with taxonomy._handle as groups:
        return function(groups)


def _make_pivot(pointer: Any, query: Any, groups: Any) -> Any:
    if groups is not None:
        query.taxonomy = groups
    return make('hbbp_pivot_create', _abi.hbbp_pivot, pointer, ctypes.byref(query))
