"""Collects what every reader of a profile's counts must know."""
from typing import List, Sequence

from ._abi import Event, SourceKind, Unit
from ._rows import SourceInfo, SourceResult

STREAMS = {SourceKind.LBR, SourceKind.SWBT}


def _counts_executions(source: SourceInfo) -> bool:
    if source.kind in STREAMS:
        is_clock = source.unit == Unit.NANOSECONDS
        return bool(source.unit == Unit.TAKEN_BRANCHES or (source.extent_in_events and not is_clock))
    return source.unit in (Unit.INSTRUCTIONS, Unit.UOPS)


def _is_weighed_by_time(source: SourceInfo) -> bool:
    return bool(source.kind == SourceKind.SWBT and source.unit == Unit.NANOSECONDS and
                source.extent_in_events)


def _is_by_model_of_time(sources: Sequence[SourceInfo], is_one_scale: bool) -> bool:
    """Returns whether counts are executions as far as bursts of a clock were weighed by the right time."""
    streams = [each for each in sources if each.kind in STREAMS]
    are_right = all(_counts_executions(each) or _is_weighed_by_time(each) for each in streams)
    return is_one_scale and are_right and any(map(_is_weighed_by_time, streams))


def is_up_to_factor(sources: Sequence[SourceInfo], is_one_scale: bool) -> bool:
    """Returns whether counts are proportional to something other than executions. One family of
    sources, of samples or of streams, that counts executions gives the scale."""
    if not is_one_scale:
        return True
    families = [[each for each in sources if (each.kind in STREAMS) == is_streams]
                for is_streams in (False, True)]
    return not any(family and all(map(_counts_executions, family)) for family in families)


def _name_of(source: SourceInfo) -> str:
    is_unnamed = str(source.event) == 'other' and not source.event_name
    return f'{source.kind} of ' + ('an unnamed event' if is_unnamed else source.event_name or str(source.event))


def _may_lag(source: SourceInfo) -> bool:
    """Returns whether samples may lie behind what they are of. Those of clocks do not. Without a name
    in the spelling of perf, the profile does not say how the event was opened."""
    of_pmu = (Event.INSTRUCTIONS, Event.CYCLES, Event.TAKEN_BRANCHES)
    return bool(source.kind == SourceKind.EBS and source.event in of_pmu and source.samples and
                source.precise_ip == 0 and source.event_name)


def caveats_of(sources: Sequence[SourceInfo], results: Sequence[SourceResult],
               is_one_scale: bool) -> List[str]:
    notes = []
    counted = [source for source, result in zip(sources, results)
               if source.samples and not result.is_other_event]
    lost, throttled, unmapped = (sum(numbers) for numbers in (
        [each.lost for each in sources], [each.throttled for each in sources],
        [each.unmapped for each in sources]))
    if lost:
        notes.append(f'{lost:,} samples were lost: the kernel had no room')
    if throttled:
        notes.append(f'the kernel held sampling back {throttled:,} times')
    if unmapped:
        notes.append(f'{unmapped:,} samples or branches were in no known mapping')
    samples = sum(each.unexplained for each in results if each.kind not in STREAMS)
    streams = sum(each.unexplained for each in results if each.kind in STREAMS)
    if samples:
        notes.append(f'{samples:,} samples are in code that could not be read or decoded; '
                     'modules() of the analysis says why')
    if streams:
        notes.append(f'{streams:,} streams fit no path through the code; unexplained_reasons() '
                     'says why')
    disagreements = sum(each.disagreements for each in sources)
    if disagreements:
        notes.append(f'{disagreements:,} branches were predicted wrongly: tracing is not to be '
                     'trusted here')
    others = [_name_of(source) for source, result in zip(sources, results)
              if source.samples and result.is_other_event]
    if others:
        notes.append(f'blocks are counted by {", ".join(map(_name_of, counted))}; '
                     f'{", ".join(others)} would count something else, and is not added '
                     '(the parameter event of analyze chooses)')
    names = sorted({each.event_name for each in counted if _may_lag(each)})
    if names:
        notes.append(f'samples of {", ".join(names)} are not precise and may lie behind what they are '
                     'of, so counts of single blocks may be off by more than their errors')
    counted = counted or list(sources)
    if _is_by_model_of_time(counted, is_one_scale):
        notes.append('counts rest on a model of how long code takes: their sum may be off by a factor of '
                     'two or so, which standard errors leave out')
    elif counted and is_up_to_factor(counted, is_one_scale):
        units = {str(each.unit).replace('-', ' ') for each in counted}
        unit = units.pop() if len(units) == 1 else 'mixed units'
        notes.append(f'the source counts {unit}, so counts are proportional to these and no '
                     'numbers of executions')
    return notes
