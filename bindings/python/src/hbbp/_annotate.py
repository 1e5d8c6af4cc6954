"""Lists the instructions of a function, with the count and the source line of each."""
import bisect
import difflib
import re
import typing
from typing import List, Optional, Sequence, Tuple, Union

from ._abi import ModuleKind, SourceKind, Status
from ._errors import Error, NotFoundError
from ._library import demangle
from ._rows import AnnotatedLine, Block, Function, LineRange
from ._tables import Table

if typing.TYPE_CHECKING:
    from ._analysis import Analysis


# Matches what follows parameters: "f(int) const [clone .cold]".
_QUALIFIERS = re.compile(r'( const| volatile| &&?| \[clone [^\]]*\])+$')


def without_parameters(name: str) -> str:
    """Returns the name in the form of hbbp annotate --function."""
    rest = _QUALIFIERS.sub('', name)
    if not rest.endswith(')'):
        return name
    depth = 0
    for start in range(len(rest) - 1, -1, -1):
        depth += {')': 1, '(': -1}.get(rest[start], 0)
        if depth == 0:
            break
    before = rest[:start]
    # "a::operator()" and "(anonymous namespace)" do not end in parameters.
    return name if not before or before.endswith(('operator', '::')) else before


def _is_of(module_path: str, wanted: Optional[str]) -> bool:
    return wanted is None or wanted in (module_path, module_path.rsplit('/', 1)[-1])


def choose(analysis: 'Analysis', name: Optional[str], module: Optional[str]) -> Function:
    """Returns the hottest function of that name and module."""
    modules = analysis.modules()
    functions = [each for each in analysis.functions()
                 if _is_of(modules[each.module].path, module)]
    if not functions:
        problems = [each.problem for each in modules
                    if each.problem and each.samples and _is_of(each.path, module)]
        raise NotFoundError(Status.ERROR_NOT_FOUND, 'no function has a count'
                            + (f' in {module}' if module else '')
                            + (f': {problems[0]}' if problems else ''))
    chosen = [each for each in functions
              if name is None or name in (each.name, each.demangled,
                                          without_parameters(each.demangled))]
    if not chosen:
        names = {without_parameters(each.demangled) for each in functions}
        wanted = name or ''
        near = sorted(each for each in names if wanted in each) or difflib.get_close_matches(
            wanted, names)
        raise NotFoundError(Status.ERROR_NOT_FOUND, f'no function {name} has a count'
                            + (f'; did you mean {near[0]!r}?' if near else ''))
    return max(chosen, key=lambda each: each.instructions)


class _Lines:
    """Reads source lines of a module, with as few calls of the library as possible."""

    def __init__(self, analysis: 'Analysis', module: int) -> None:
        self._analysis = analysis
        self._module = module
        self._range: Optional[LineRange] = None
        self.problem = ''

    def at(self, address: int) -> Tuple[str, int, str]:
        """Returns file, line, and the function that was inlined there."""
        if self.problem:
            return '', 0, ''
        if self._range is None or not self._range.start <= address < self._range.end:
            try:
                self._range = self._analysis.lines_of(self._module, address)
            except Error as error:
                self.problem = error.message
                return '', 0, ''
        frames = self._range.frames
        if not frames:
            return '', 0, ''
        inlined = demangle(frames[0].function) if len(frames) > 1 else ''
        return frames[0].file, frames[0].line, inlined


def _first_not_before(blocks: Sequence[Block], module: int, address: int) -> int:
    low, high = 0, len(blocks)
    while low < high:
        middle = (low + high) // 2
        if (blocks[middle].module, blocks[middle].start) < (module, address):
            low = middle + 1
        else:
            high = middle
    return low


class _Blocks:
    """The blocks of a function."""

    def __init__(self, analysis: 'Analysis', function: Function) -> None:
        blocks = analysis.blocks()
        first = _first_not_before(blocks, function.module, function.start)
        end = _first_not_before(blocks, function.module, function.end)
        self._blocks = list(blocks[first:end])
        self._starts = [block.start for block in self._blocks]
        loops = analysis.loops()
        self._depths = [0 if loop is None else loops[loop].depth
                        for loop in loops.of_blocks[first:end]]

    def at(self, address: int) -> Tuple[Optional[Block], int]:
        """Returns the block around an address, with the depth of its loop."""
        i = bisect.bisect_right(self._starts, address) - 1
        if i >= 0 and address < self._blocks[i].end:
            return self._blocks[i], self._depths[i]
        return None, 0

    def next_start(self, address: int, end: int) -> int:
        """Returns the start of the next block after an address, at most the end of the function."""
        i = bisect.bisect_right(self._starts, address)
        return min(end, self._starts[i]) if i < len(self._starts) else end

    def around_all(self) -> Optional[Tuple[int, int]]:
        return (self._starts[0], self._blocks[-1].end) if self._blocks else None


def _listed_range(analysis: 'Analysis', function: Function, blocks: _Blocks) -> Tuple[int, int]:
    """Returns the range of a function that is listed. For generated code whose functions are unknown
    it runs from the first block with a count to the last: around these are other code or zeros,
    which were copied too."""
    is_function = (analysis.modules()[function.module].kind != ModuleKind.ANONYMOUS
                   or function.name != hex(function.start))
    around_blocks = None if is_function else blocks.around_all()
    return around_blocks or (function.start, function.end)


def annotate(analysis: 'Analysis', function: Union[str, Function, None],
             module: Optional[str]) -> Table[AnnotatedLine]:
    if not isinstance(function, Function):
        function = choose(analysis, function, module)
    blocks = _Blocks(analysis, function)
    lines = _Lines(analysis, function.module)
    rows: List[AnnotatedLine] = []
    address, end = _listed_range(analysis, function, blocks)
    while address < end:
        # Blocks start at known addresses again after data between code.
        limit = blocks.next_start(address, end)
        try:
            code = analysis.disassemble(function.module, address)
        except NotFoundError:
            address += 1
            continue
        block, depth = blocks.at(address)
        # In executed code, a block starts within an instruction where code jumps over its lock prefix.
        if block is None and code.length > limit - address:
            address += 1
            continue
        file, line, inlined = lines.at(address)
        rows.append(AnnotatedLine(
            address, block.count if block else 0.0, block.standard_error if block else 0.0,
            code.text, block.source if block else SourceKind.NONE, depth, file, line, inlined))
        address += min(code.length, limit - address)
    notes = [lines.problem] if lines.problem else []
    return Table(AnnotatedLine, rows, f'{function.demangled} of {function.module_name}',
                 notes + analysis._notes())
