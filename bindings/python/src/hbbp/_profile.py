"""Profiles have what was counted, as data; analyses (_analysis.py) find blocks and instructions."""
import contextlib
import ctypes
import html
import threading
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Union

from . import _abi
from ._abi import EbsMethod, Estimator, LogLevel, Order
from ._analysis import Analysis, DebugProgress, KernelFiles, Loops, Mix
from ._handle import Handle, Owner, _lock
from ._host import Cancel, Log, Progress, log_function, run, run_long
from ._library import Path, check, make, moved_file_array, path_to_c, sized, text
from ._lists import copy_list, copy_modules, fetch, module_columns, read_sources, table
from ._pivot import Names, Pivot, Taxonomy
from ._rows import (AnnotatedLine, Block, Branch, Counter, Function, IbsBucket, IbsLine, Module,
                    ProfileInfo, Ratio, Slice, SourceInfo, Thread)
from ._tables import Table


class Profile(Owner):
    """An immutable snapshot, which any number of threads may read.

    It has no blocks and no instructions: analyze() finds them. Its functions blocks, functions,
    branches, loops, mix, pivot, ratios, annotate and caveats call those of analysis(), the analysis
    with all defaults, which is made when it is first needed.
    """

    def __init__(self, pointer: Any) -> None:
        """Takes ownership of a handle of the C ABI; see load, import_recording, merge, Session.profile."""
        self._handle = Handle('profile', pointer)
        self._analysis: Optional[Analysis] = None

    @classmethod
    def load(cls, path: Path, *, progress: Optional[Progress] = None,
             cancel: Optional[Cancel] = None) -> 'Profile':
        """Reads a file that save, or `hbbp record`, wrote."""
        return run(lambda work: cls(make('hbbp_profile_load', _abi.hbbp_profile, path_to_c(path),
                                         work)), progress, cancel)

    @classmethod
    def import_recording(cls, path: Path, *, root: Optional[Path] = None,
                         moved_files: Optional[Mapping[str, Path]] = None,
                         binary: Optional[Path] = None,
                         ebs_method: Union[EbsMethod, str] = EbsMethod.AUTO, slice_ns: int = 0,
                         progress: Optional[Progress] = None,
                         cancel: Optional[Cancel] = None, log: Optional[Log] = None,
                         log_level: Union[LogLevel, str] = LogLevel.INFO,
                         max_memory: int = 0, kept_burst_bytes: int = 0) -> 'Profile':
        """Reads a recording of perf, text of perf script, or text that was added up for BOLT
        (docs/guide/import.md). `moved_files` has the paths of files here, by their path in the recording or the last part of that. `progress`
        gets the bytes that were read, and the total, 0 if unknown. The import is cancelled by
        `cancel`, by exceptions of `progress`, and from the keyboard; the latter two set `cancel`.
        `log` gets a LogLevel and a line. Data that does not fit into `max_memory` bytes while it is
        read is dropped, and the notes of sources report it. `kept_burst_bytes` are for whole branch
        stacks, which Analysis.export writes as 'brstack'."""
        moved = moved_file_array(moved_files)
        options = sized(_abi.hbbp_import_options, moved_file_count=len(moved),
                        moved_files=moved, ebs_method=EbsMethod.of(ebs_method), slice_ns=slice_ns,
                        root=None if root is None else path_to_c(root),
                        binary=None if binary is None else path_to_c(binary),
                        log_level=LogLevel.of(log_level), max_memory=max_memory,
                        kept_burst_bytes=kept_burst_bytes)
        if log is not None:
            options.log = log_function(log)
        return run_long(lambda work: cls(make(
            'hbbp_profile_import', _abi.hbbp_profile, path_to_c(path), ctypes.byref(options),
            work)), progress, cancel)

    @classmethod
    def merge(cls, profiles: 'Iterable[Profile]', *, progress: Optional[Progress] = None,
              cancel: Optional[Cancel] = None) -> 'Profile':
        """Returns the sum of one or more profiles. Of several events, an analysis counts by one."""
        parts = list(profiles)

        def add_up(work: Any) -> 'Profile':
            with contextlib.ExitStack() as stack:
                pointers = [stack.enter_context(part._handle) for part in parts]
                array = (ctypes.POINTER(_abi.hbbp_profile) * len(pointers))(*pointers)
                merged = make('hbbp_profile_merge', _abi.hbbp_profile, array, len(pointers), work)
            return cls(merged)

        return run(add_up, progress, cancel)

    def save(self, path: Path, *, progress: Optional[Progress] = None,
             cancel: Optional[Cancel] = None) -> None:
        """Replaces the file atomically."""
        with self._handle as pointer:
            run(lambda work: check('hbbp_profile_save', pointer, path_to_c(path), work), progress,
                cancel)

    def select(self, *, tid: Optional[int] = None, slice: Optional[int] = None,
               progress: Optional[Progress] = None,
               cancel: Optional[Cancel] = None) -> 'Profile':
        """Returns the part of one thread, of one slice of time, or of both."""
        selection = sized(_abi.hbbp_selection, tid=tid or 0, slice=slice or 0)
        if tid is not None:
            selection.parts |= _abi.HBBP_SELECT_THREAD
        if slice is not None:
            selection.parts |= _abi.HBBP_SELECT_SLICE
        with self._handle as pointer:
            return run(lambda work: Profile(make(
                'hbbp_profile_select', _abi.hbbp_profile, pointer, ctypes.byref(selection),
                work)), progress, cancel)

    def select_thread(self, tid: int) -> 'Profile':
        """Returns the part of one thread."""
        return self.select(tid=tid)

    def select_slice(self, index: int) -> 'Profile':
        """Returns the part of one slice of time."""
        return self.select(slice=index)

    # Analyses ------------------------------------------------------------------------------------

    def analyze(self, estimator: Union[Estimator, str] = Estimator.AUTO, *,
                tree: Optional[str] = None, event: Optional[str] = None,
                root: Optional[Path] = None,
                moved_files: Optional[Mapping[str, Path]] = None,
                kernel: Optional[KernelFiles] = None,
                debug_root: Optional[Path] = None, debuginfod: bool = False,
                memory_limit: int = 0, debug_progress: Optional[DebugProgress] = None,
                debug_cancel: Optional[Cancel] = None, progress: Optional[Progress] = None,
                cancel: Optional[Cancel] = None) -> Analysis:
        """Finds the code of the modules, the blocks, and how often each ran. That takes seconds for a
        recording of a large program; `progress` and `cancel` are those of import_recording.

        `estimator` selects the observations that count (docs/internals/estimators.md); `tree` is
        the JSON of a decision tree for 'tree'. `event` is the one whose samples count, if there are
        several ('cycles'). `root` and `moved_files` are those of import_recording, for files that it
        did not find or that have moved since. `kernel` has files of the profiled kernel.
        `debug_root` is the directory of separate debug files; `debuginfod` also asks the servers of
        DEBUGINFOD_URLS; `memory_limit` is the number of bytes of debug information that are kept.
        Debug information is read when lines are first requested: `debug_progress` then gets a
        module, bytes read, and the total, and CancelledError is raised if something must be read
        while `debug_cancel` is set.
        """
        debug = sized(_abi.hbbp_debug_options, memory_limit=memory_limit,
                      flags=_abi.HBBP_DEBUG_USE_DEBUGINFOD if debuginfod else 0,
                      debug_root=None if debug_root is None else path_to_c(debug_root))
        if debug_progress is not None:
            report = debug_progress
            debug.progress = type(debug.progress)(
                lambda module, done, total, user_data: report(text(module), done, total))
        return Analysis.of(self._handle, estimator, tree, event, root, moved_files, kernel, debug,
                           debug_cancel, progress, cancel)

    def analysis(self) -> Analysis:
        """Returns the analysis with all defaults, made at the first call and kept with the profile."""
        known = self._analysis
        if known is not None:
            return known
        made = self.analyze()
        with _lock:
            if self._analysis is None and not self.is_closed:
                self._analysis = made
            return self._analysis or made

    def blocks(self) -> Table[Block]:
        """Those of analysis()."""
        return self.analysis().blocks()

    def functions(self) -> Table[Function]:
        """Those of analysis()."""
        return self.analysis().functions()

    def hottest_blocks(self, count: int = 10,
                       by: Union[Order, str] = Order.INSTRUCTIONS) -> Table[Block]:
        """Those of analysis()."""
        return self.analysis().hottest_blocks(count, by)

    def hottest_functions(self, count: int = 10,
                          by: Union[Order, str] = Order.INSTRUCTIONS) -> Table[Function]:
        """Those of analysis()."""
        return self.analysis().hottest_functions(count, by)

    def branches(self) -> Table[Branch]:
        """Those of analysis()."""
        return self.analysis().branches()

    def loops(self) -> Loops:
        """Those of analysis()."""
        return self.analysis().loops()

    def mix(self, by: Union[str, Sequence[str]] = 'mnemonic') -> Mix:
        """That of analysis()."""
        return self.analysis().mix(by)

    def pivot(self, rows: Optional[Names] = None, columns: Optional[Names] = None,
              values: Optional[Names] = None, where: Optional[str] = None,
              sort: Optional[str] = None, top: int = 0, taxonomy: Optional[Taxonomy] = None,
              join_names: bool = False) -> Pivot:
        """That of analysis()."""
        return self.analysis().pivot(rows, columns, values, where, sort, top, taxonomy, join_names)

    def ratios(self, where: Optional[str] = None,
               taxonomy: Optional[Taxonomy] = None) -> Table[Ratio]:
        """Those of analysis()."""
        return self.analysis().ratios(where, taxonomy)

    def annotate(self, function: Union[str, Function, None] = None,
                 module: Optional[str] = None) -> Table[AnnotatedLine]:
        """That of analysis()."""
        return self.analysis().annotate(function, module)

    def caveats(self) -> List[str]:
        """Those of analysis()."""
        return self.analysis().caveats()

    # Lists ---------------------------------------------------------------------------------------

    def info(self) -> ProfileInfo:
        with self._handle as pointer:
            return fetch(ProfileInfo, _abi.hbbp_profile_info, 'hbbp_profile_get_info', pointer)

    def sources(self) -> Table[SourceInfo]:
        """Returns the sources with their settings and totals."""
        with self._handle as pointer:
            return read_sources(pointer)

    def counters(self, source: int) -> Table[Counter]:
        """Returns further counters of a source: why bursts ended or were dropped."""
        with self._handle as pointer:
            array = copy_list(pointer, 'hbbp_profile_counter_count', 'hbbp_profile_copy_counters',
                              _abi.hbbp_counter, source)
            return table(Counter, array, 'Counters')

    def threads(self) -> Table[Thread]:
        with self._handle as pointer:
            return table(Thread, copy_list(pointer, 'hbbp_profile_thread_count',
                                           'hbbp_profile_copy_threads', _abi.hbbp_thread),
                         'Threads')

    def modules(self) -> Table[Module]:
        with self._handle as pointer:
            array = copy_modules(pointer)
            return table(Module, array, 'Modules', values=module_columns(array))

    def slices(self) -> Table[Slice]:
        with self._handle as pointer:
            return table(Slice, copy_list(pointer, 'hbbp_profile_slice_count',
                                          'hbbp_profile_copy_slices', _abi.hbbp_slice), 'Slices')

    def ibs_buckets(self) -> Table[IbsBucket]:
        """Returns latencies, from IBS of AMD."""
        with self._handle as pointer:
            return table(IbsBucket, copy_list(
                pointer, 'hbbp_profile_ibs_bucket_count', 'hbbp_profile_copy_ibs_buckets',
                _abi.hbbp_ibs_bucket), 'IBS latencies')

    def ibs_lines(self) -> Table[IbsLine]:
        """Returns accesses to memory by cache line, from IBS of AMD."""
        with self._handle as pointer:
            return table(IbsLine, copy_list(
                pointer, 'hbbp_profile_ibs_line_count', 'hbbp_profile_copy_ibs_lines',
                _abi.hbbp_ibs_line), 'IBS lines')

    # ---------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Closes the profile, and the analysis that it keeps unless something else refers to it."""
        super().close()
        with _lock:
            kept, self._analysis = self._analysis, None
        del kept  # this may end it, but not under the lock

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


class Merger(Owner):
    """A sum that grows by one profile at a time, of more of them than fit into memory: what merge returns, except for
    rounding, in any order."""

    def __init__(self, *, threads: bool = True, slices: bool = True) -> None:
        """Without `threads`, all counts are of one thread; without `slices`, the sum has none."""
        options = sized(_abi.hbbp_merger_options,
                        dropped=(0 if threads else _abi.HBBP_MERGER_DROP_THREADS) |
                        (0 if slices else _abi.HBBP_MERGER_DROP_SLICES))
        self._handle = Handle('merger', make('hbbp_merger_create', _abi.hbbp_merger,
                                             ctypes.byref(options)))
        self._turn = threading.Lock()  # one thread at a time may use the handle

    def add(self, profile: Profile, *, progress: Optional[Progress] = None,
            cancel: Optional[Cancel] = None) -> None:
        """If it is cancelled, the sum is lost."""
        with self._turn, self._handle as pointer, profile._handle as part:
            run(lambda work: check('hbbp_merger_add', pointer, part, work), progress, cancel)

    def finish(self, *, progress: Optional[Progress] = None,
               cancel: Optional[Cancel] = None) -> Profile:
        """Returns the sum, once."""
        with self._turn, self._handle as pointer:
            return run(lambda work: Profile(make('hbbp_merger_finish', _abi.hbbp_profile, pointer,
                                                 work)), progress, cancel)
