"""Analyses: how often each basic block ran, and everything that follows from it."""
import ctypes
import os
import typing
from typing import Any, BinaryIO, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _abi, _annotate, _export, _optional
from ._abi import Estimator, Event, MixKeys, Order, SourceKind
from ._caveats import caveats_of
from ._handle import Handle, Owner
from ._host import Cancel, KeptFlag, Progress, run, run_long
from ._library import Path, check, demangle, function, make, moved_file_array, path_to_c, sized, text, to_c
from ._listing import shown
from ._lists import copy_list, copy_modules, fetch, module_columns, read_sources, row, table
from ._pivot import Names, Pivot, Taxonomy, joined
from ._rows import (AnalysisInfo, AnnotatedLine, Block, Branch, Counter, Disassembly, Function,
                    IbsLatency, IbsObject, IbsSum, Instruction, IpSum, LineFrame, LineRange, Loop, MixRow, ModuleResult, Ratio,
                    SourceResult)
from ._tables import Table

if typing.TYPE_CHECKING:
    import numpy

DebugProgress = Callable[[str, int, int], None]

USUAL_FRAMES = 16


class KernelFiles(NamedTuple):
    """Files of the profiled kernel. A file that is None is searched for in the usual directories."""
    vmlinux: Optional[Path] = None  # the static kernel, an ELF file with symbols
    kcore: Optional[Path] = None  # its memory: a copy of /proc/kcore, or a dump
    kallsyms: Optional[Path] = None  # a copy of /proc/kallsyms, or a System.map


class Mix(Table[MixRow]):
    """Executed instructions, most first."""

    total: float

    def _summary(self) -> List[str]:
        return [f'{shown(self.total)} instructions in all']


class Loops(Table[Loop]):
    """Loops by module, function and nesting; a loop comes before the loops in it."""

    def __init__(self, found: Table[Loop], of_blocks: 'ctypes.Array[Any]',
                 notes: Sequence[str]) -> None:
        super().__init__(Loop, found._rows, 'Loops', notes)
        self._of_blocks = of_blocks

    @property
    def of_blocks(self) -> List[Optional[int]]:
        """Returns the innermost loop around each block, by the index of the block."""
        return [None if loop == _abi.HBBP_NO_INDEX else loop for loop in self._of_blocks]


class Analysis(Owner):
    """The blocks of a profile and their counts, found by the code of its modules. Profile.analyze
    makes it and describes the options. It is immutable, does not need the profile, and any number
    of threads may read it. Indices of sources, threads and modules are those of the profile."""

    def __init__(self, pointer: Any, kept: Any = None) -> None:
        """Takes ownership of a handle of the C ABI; `kept` has the objects that its options point to."""
        self._handle = Handle('analysis', pointer)
        self._kept = kept
        self._names: Dict[str, List[str]] = {}
        self._known_caveats: Optional[List[str]] = None

    @classmethod
    def of(cls, profile: Handle, estimator: Union[Estimator, str], tree: Optional[str],
           event: Optional[str], root: Optional[Path], moved_files: Optional[Mapping[str, Path]],
           kernel: Optional[KernelFiles], debug: Any, debug_cancel: Optional[Cancel], progress: Optional[Progress],
           cancel: Optional[Cancel]) -> 'Analysis':
        """Implements Profile.analyze. `debug` is hbbp_debug_options without a flag."""
        moved = moved_file_array(moved_files)
        options = sized(_abi.hbbp_analysis_options, estimator=Estimator.of(estimator),
                        tree=to_c(tree), event=to_c(event), moved_files=moved,
                        moved_file_count=len(moved),
                        root=None if root is None else path_to_c(root))
        flag = None if debug_cancel is None else KeptFlag(debug_cancel)
        if flag is not None:
            debug.cancel = flag.pointer
        options.debug = ctypes.pointer(debug)
        if kernel is not None:
            files = sized(_abi.hbbp_kernel_files, **{
                name: path_to_c(path) for name, path in kernel._asdict().items()
                if path is not None})
            options.kernel = ctypes.pointer(files)

        def analyze(work: Any) -> 'Analysis':
            with profile as pointer:
                made = make('hbbp_analysis_create', _abi.hbbp_analysis, pointer,
                            ctypes.byref(options), work)
            return cls(made, (debug.progress, flag))

        return run_long(analyze, progress, cancel)

    def info(self) -> AnalysisInfo:
        """Returns the estimator that was used, and the factor of the counts of each family."""
        with self._handle as pointer:
            return fetch(AnalysisInfo, _abi.hbbp_analysis_info, 'hbbp_analysis_get_info', pointer)

    def caveats(self) -> List[str]:
        """Returns what every reader of its counts must know: their unit, and what was lost."""
        if self._known_caveats is None:
            with self._handle as pointer:
                sources = read_sources(_profile_of(pointer))
            self._known_caveats = caveats_of(sources, self.sources(), self.info().is_one_scale)
        return list(self._known_caveats)

    # Lists ---------------------------------------------------------------------------------------

    def blocks(self) -> Table[Block]:
        """Returns every block with a count, by module and address."""
        names = self._names_by('module', 'function')
        with self._handle as pointer:
            array = copy_list(pointer, 'hbbp_analysis_block_count', 'hbbp_analysis_copy_blocks',
                              _abi.hbbp_block)
            return table(Block, array, 'Blocks', names, notes=self._notes())

    def functions(self) -> Table[Function]:
        """Returns every function with a block that has a count, by module and address."""
        names = self._names_by('module')
        with self._handle as pointer:
            return table(Function, _copy_functions(pointer), 'Functions', names,
                         notes=self._notes())

    def hottest_blocks(self, count: int = 10,
                       by: Union[Order, str] = Order.INSTRUCTIONS) -> Table[Block]:
        """Returns the `count` blocks with most executed instructions, or by='executions' or
        'samples'."""
        names = self._names_by('module', 'function')
        with self._handle as pointer:
            array = _copy_hottest(pointer, 'hbbp_analysis_block_count',
                                  'hbbp_analysis_copy_hottest_blocks', _abi.hbbp_block, count, by)
            return table(Block, array, 'Blocks', names, notes=self._notes())

    def hottest_functions(self, count: int = 10,
                          by: Union[Order, str] = Order.INSTRUCTIONS) -> Table[Function]:
        """Returns the `count` functions with most executed instructions, or by='samples'."""
        names = self._names_by('module')
        with self._handle as pointer:
            array = _copy_hottest(pointer, 'hbbp_analysis_function_count',
                                  'hbbp_analysis_copy_hottest_functions', _abi.hbbp_function,
                                  count, by)
            return table(Function, array, 'Functions', names, notes=self._notes())

    def branches(self) -> Table[Branch]:
        """Returns the taken branches, if a source observed them."""
        with self._handle as pointer:
            array = copy_list(pointer, 'hbbp_analysis_branch_count',
                              'hbbp_analysis_copy_branches', _abi.hbbp_branch)
            return table(Branch, array, 'Branches')

    def modules(self) -> Table[ModuleResult]:
        """Returns the modules of the profile, with the state of their code."""
        with self._handle as pointer:
            modules = copy_modules(_profile_of(pointer))
            array = copy_list(pointer, 'hbbp_analysis_module_count', 'hbbp_analysis_copy_modules',
                              _abi.hbbp_module_result)
            return table(ModuleResult, array, 'Modules', values={
                **module_columns(modules), 'path': [text(each.path) for each in modules],
                'samples': [each.samples for each in modules]})

    def sources(self) -> Table[SourceResult]:
        """Returns the sources of the profile, with the attribution of their samples."""
        with self._handle as pointer:
            sources = copy_list(_profile_of(pointer), 'hbbp_profile_source_count',
                                'hbbp_profile_copy_sources', _abi.hbbp_source_info)
            array = copy_list(pointer, 'hbbp_analysis_source_count', 'hbbp_analysis_copy_sources',
                              _abi.hbbp_source_result)
            return table(SourceResult, array, 'Sources', values={
                'kind': [SourceKind(each.kind) for each in sources],
                'event': [Event(each.event) for each in sources],
                'samples': [each.samples for each in sources]})

    def unexplained_reasons(self, source: int) -> Table[Counter]:
        """Returns the reasons why samples of a source are in no block."""
        with self._handle as pointer:
            array = copy_list(pointer, 'hbbp_analysis_unexplained_reason_count',
                              'hbbp_analysis_copy_unexplained_reasons', _abi.hbbp_counter, source)
            return table(Counter, array, 'Unexplained')

    def ip_sums(self) -> Table[IpSum]:
        """Returns where samples fell, by instruction and source, also of events that blocks are not counted by."""
        with self._handle as pointer:
            array = copy_list(pointer, 'hbbp_analysis_ip_sum_count', 'hbbp_analysis_copy_ip_sums', _abi.hbbp_ip_sum)
            return table(IpSum, array, 'samples by instruction')

    def ibs_sums(self) -> Table[IbsSum]:
        """Returns the events of single instructions, from IBS of AMD."""
        with self._handle as pointer:
            array = copy_list(pointer, 'hbbp_analysis_ibs_sum_count',
                              'hbbp_analysis_copy_ibs_sums', _abi.hbbp_ibs_sum)
            return table(IbsSum, array, 'IBS events')

    def ibs_latencies(self) -> Table[IbsLatency]:
        """Returns the latencies of loads of single instructions by level of memory, from IBS of AMD."""
        with self._handle as pointer:
            array = copy_list(pointer, 'hbbp_analysis_ibs_latency_count',
                              'hbbp_analysis_copy_ibs_latencies', _abi.hbbp_ibs_latency)
            return table(IbsLatency, array, 'IBS latencies of loads')

    def ibs_objects(self) -> Table[IbsObject]:
        """Returns the accesses to data by object, from IBS of AMD: static data, and memory that the process has named."""
        with self._handle as pointer:
            array = copy_list(pointer, 'hbbp_analysis_ibs_object_count',
                              'hbbp_analysis_copy_ibs_objects', _abi.hbbp_ibs_object)
            return table(IbsObject, array, 'IBS data objects')

    def block_features(self) -> 'numpy.ndarray[Any, numpy.dtype[Any]]':
        """Returns the features of each block that a decision tree may test, as a structured array
        with a field for each feature; needs numpy."""
        numpy = _optional.numpy()
        names = block_feature_names()
        with self._handle as pointer:
            blocks = function('hbbp_analysis_block_count')(pointer)
            array = (ctypes.c_double * (blocks * len(names)))()
            copied = ctypes.c_size_t()
            if blocks > 0:
                check('hbbp_analysis_copy_block_features', pointer, 0, blocks, array,
                      ctypes.byref(copied))
        dtype = [(name, 'f8') for name in names]
        if copied.value == 0:
            return numpy.empty(0, dtype=dtype)  # type: ignore[no-any-return]
        return numpy.frombuffer(array, dtype=dtype)[:copied.value]  # type: ignore[no-any-return]

    # Sums ----------------------------------------------------------------------------------------

    def mix(self, by: Union[str, Sequence[str]] = 'mnemonic', *,
            progress: Optional[Progress] = None, cancel: Optional[Cancel] = None) -> Mix:
        """Returns executed instructions by mnemonic, module, function, thread or slice, or several."""
        names = by.split(',') if isinstance(by, str) else by
        keys = 0
        for name in names:
            keys |= _mix_key(name.strip())
        named = self._names_by('module', 'function')
        made = self._make('mix', _abi.hbbp_mix, progress, cancel, keys)
        with made as mix:
            array = copy_list(mix, 'hbbp_mix_row_count', 'hbbp_mix_copy_rows', _abi.hbbp_mix_row)
            found = Mix(MixRow, table(MixRow, array, names=named)._rows, 'Mix', self._notes())
            found.total = function('hbbp_mix_total')(mix)
        made.close()
        return found

    def pivot(self, rows: Optional[Names] = None, columns: Optional[Names] = None,
              values: Optional[Names] = None, where: Optional[str] = None,
              sort: Optional[str] = None, top: int = 0, taxonomy: Optional[Taxonomy] = None,
              join_names: bool = False, *, progress: Optional[Progress] = None,
              cancel: Optional[Cancel] = None) -> Pivot:
        """Returns sums of what ran by any keys (docs/guide/mix.md): rows 'function', columns
        'extension', values 'instructions,flops', where 'module = libm.so.6 and memory != none'.
        With join_names, labels with the same name, static functions for example, are one row."""
        of_rows, of_columns, of_values = joined(rows), joined(columns), joined(values)
        query = sized(_abi.hbbp_pivot_query, rows=to_c(of_rows), columns=to_c(of_columns),
                      values=to_c(of_values), where=to_c(where), sort=to_c(sort), top=top,
                      join_names=int(join_names))

        def create(groups: Any) -> Handle:
            if groups is not None:
                query.taxonomy = groups
            return self._make('pivot', _abi.hbbp_pivot, progress, cancel, ctypes.byref(query))

        made = _with_taxonomy(taxonomy, create)
        with made as pivot:
            found = Pivot(pivot, of_rows, of_columns, of_values, self._notes())
        made.close()
        return found

    def ratios(self, where: Optional[str] = None, taxonomy: Optional[Taxonomy] = None, *,
               progress: Optional[Progress] = None,
               cancel: Optional[Cancel] = None) -> Table[Ratio]:
        """Returns ratios of the whole mix: operations by precision, bytes moved, intensity, ..."""
        made = _with_taxonomy(taxonomy, lambda groups: self._make(
            'ratios', _abi.hbbp_ratios, progress, cancel, to_c(where), groups))
        with made as ratios:
            found = table(Ratio, copy_list(ratios, 'hbbp_ratios_count', 'hbbp_ratios_copy',
                                           _abi.hbbp_ratio), 'Ratios')
        made.close()
        return found

    def loops(self, *, progress: Optional[Progress] = None,
              cancel: Optional[Cancel] = None) -> Loops:
        """Returns the loops in which a block has a count."""
        names = self._names_by('function')
        made = self._make('loops', _abi.hbbp_loops, progress, cancel)
        with self._handle as pointer, made as loops:
            array = copy_list(loops, 'hbbp_loops_count', 'hbbp_loops_copy', _abi.hbbp_loop)
            of_blocks = (ctypes.c_uint32 * function('hbbp_analysis_block_count')(pointer))()
            copied = ctypes.c_size_t()
            if len(of_blocks) > 0:
                check('hbbp_loops_copy_of_blocks', loops, 0, len(of_blocks), of_blocks,
                      ctypes.byref(copied))
            found = Loops(table(Loop, array, names=names), of_blocks, self._notes())
        made.close()
        return found

    def _make(self, name: str, handle: Any, progress: Optional[Progress],
              cancel: Optional[Cancel], *arguments: Any) -> Handle:
        """Makes a result."""
        def create(work: Any) -> Handle:
            with self._handle as pointer:
                return Handle(name, make(f'hbbp_{name}_create', handle, pointer, *arguments, work))

        return run(create, progress, cancel)

    # Code ----------------------------------------------------------------------------------------

    def find_block(self, module: int, address: int) -> Block:
        """Returns the block around an address, whether it has a count or not."""
        block = sized(_abi.hbbp_block)
        names = self._names_by('module', 'function')
        with self._handle as pointer:
            check('hbbp_analysis_find_block', pointer, module, address, ctypes.byref(block))
        return table(Block, (_abi.hbbp_block * 1)(block), names=names)[0]

    def decode(self, module: int, address: int) -> Instruction:
        """Returns the instruction at an address; the next one is at address + length."""
        with self._handle as pointer:
            return fetch(Instruction, _abi.hbbp_instruction, 'hbbp_analysis_decode', pointer,
                         module, address)

    def disassemble(self, module: int, address: int) -> Disassembly:
        """Returns the instruction as text."""
        found = sized(_abi.hbbp_disassembly)
        with self._handle as pointer:
            check('hbbp_analysis_disassemble', pointer, module, address, ctypes.byref(found))
        return row(Disassembly, found, text=text(found.text))

    def lines_of(self, module: int, address: int) -> LineRange:
        """Returns the file and line of an address, and the functions that were inlined there."""
        found = sized(_abi.hbbp_line_range, frame_count=USUAL_FRAMES)
        capacity = 0
        with self._handle as pointer:
            while found.frame_count > capacity:
                capacity = found.frame_count
                frames = (_abi.hbbp_line_frame * capacity)()
                check('hbbp_analysis_find_lines', pointer, module, address, capacity,
                      ctypes.sizeof(_abi.hbbp_line_frame), frames, ctypes.byref(found))
            known = (_abi.hbbp_line_frame * found.frame_count).from_buffer(frames)
            return LineRange(found.start, found.end, tuple(table(LineFrame, known)))

    def debug_problem(self, module: int) -> str:
        """Returns which debug information of a module was missing or damaged; empty if none was."""
        buffer = ctypes.create_string_buffer(1024)
        with self._handle as pointer:
            check('hbbp_analysis_debug_problem', pointer, module, buffer, len(buffer))
        return text(buffer.value)

    def export(self, format: str, output: Union[Path, BinaryIO], module: Optional[str] = None,
               progress: Optional[Progress] = None, cancel: Optional[Cancel] = None) -> List[str]:
        """Writes a format of export_formats() to a file, by its path or opened for bytes: of all
        modules, or of the one of a path or file name. Returns what was left out, and why."""
        return _export.export(self._handle, format, output, module, progress, cancel)

    def annotate(self, function: Union[str, Function, None] = None,
                 module: Optional[str] = None) -> Table[AnnotatedLine]:
        """Returns the instructions of a function with their counts: the hottest function, or the one
        of a name, mangled or not, in any module or the one of a path or file name."""
        return _annotate.annotate(self, function, module)

    # ---------------------------------------------------------------------------------------------

    def _notes(self) -> List[str]:
        return [f'note: {caveat}' for caveat in self.caveats()]

    def _names_by(self, *lists: str) -> Dict[str, Tuple[str, Sequence[str]]]:
        """Returns names for tables: module_name by module, function_name by function."""
        return {f'{each}_name': (each, self._names_of(each)) for each in lists}

    def _names_of(self, what: str) -> List[str]:
        names = self._names.get(what)
        if names is None:
            with self._handle as pointer:
                if what == 'module':
                    names = [os.path.basename(text(each.path))
                             for each in copy_modules(_profile_of(pointer))]
                else:
                    names = [demangle(text(each.name)) for each in _copy_functions(pointer)]
            self._names[what] = names
        return names

    def __repr__(self) -> str:
        if self.is_closed:
            return '<Analysis, closed>'
        with self._handle as pointer:
            blocks = function('hbbp_analysis_block_count')(pointer)
        return f'<Analysis by {self.info().estimator}, {blocks:,} blocks>'


def count_interval(count: float, standard_error: float) -> Tuple[float, float]:
    """Returns the 95 % interval of a count: its two ends. It is not symmetric: of few bursts, a count
    may be many times too low."""
    low, high = ctypes.c_double(), ctypes.c_double()
    function('hbbp_count_interval')(count, standard_error, ctypes.byref(low), ctypes.byref(high))
    return low.value, high.value


def block_feature_names() -> List[str]:
    """Returns the features of a block that a tree of Profile.analyze may test."""
    return [text(function('hbbp_block_feature_name')(i))
            for i in range(function('hbbp_block_feature_count')())]


def _profile_of(analysis: Any) -> Any:
    """Returns a pointer that is valid as long as the analysis."""
    return function('hbbp_analysis_profile')(analysis)


def _copy_functions(analysis: Any) -> 'ctypes.Array[Any]':
    return copy_list(analysis, 'hbbp_analysis_function_count', 'hbbp_analysis_copy_functions',
                     _abi.hbbp_function)


def _copy_hottest(analysis: Any, count_of: str, copy: str, struct: Any, count: int,
                  by: Union[Order, str]) -> 'ctypes.Array[Any]':
    array = (struct * max(0, min(count, function(count_of)(analysis))))()
    check(copy, analysis, Order.of(by), 0, len(array), ctypes.sizeof(struct), array,
          ctypes.byref(ctypes.c_size_t()))
    return array  # type: ignore[no-any-return]


def _mix_key(name: str) -> int:
    members = {member.lower(): value for member, value in MixKeys.__members__.items()}
    if name not in members:
        raise ValueError(f'{name!r} is not a key of mixes, which are {", ".join(members)}; '
                         'pivot() has more')
    return members[name]


def _with_taxonomy(taxonomy: Optional[Taxonomy], use: Callable[[Any], Handle]) -> Handle:
    if taxonomy is None:
        return use(None)
    with taxonomy._handle as groups:
        return use(groups)
