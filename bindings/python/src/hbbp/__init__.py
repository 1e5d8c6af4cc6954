"""Counts, inside this process, how often each basic block runs, and which instructions ran.

    import hbbp

    with hbbp.Session() as session:
        work()
    print(session.profile().mix())

It is libhbbp's C ABI (include/hbbp/hbbp.h) with its names; docs/guide/python.md is the guide.
Failures raise hbbp.Error.
"""
from typing import Any

from . import _rows as rows
from ._abi import HBBP_VERSION_STRING as __version__
from ._abi import (CapabilityState, CodeState, EbsMethod, Estimator, Event, FeedEventKind,
                   FeedOrder, Flow, IbsKind, IbsObjectKind, LabelKind, LogLevel, MixKeys, ModuleKind, Order, PeriodMode,
                   ProbeFieldKind, ProbeTableKind, SourceKind, Status, TraceMode, TripBasis, Unit)
from ._analysis import Analysis, KernelFiles, Loops, Mix, block_feature_names, count_interval
from ._capabilities import Capabilities, capabilities, find_event
from ._diff import Diff, diff
from ._errors import (BadFormatError, BusyError, CancelledError, Error, InternalError,
                      InvalidArgumentError, InvalidStateError, IoError, LibraryError,
                      MismatchError, NoMemoryError, NotFoundError, PermissionDeniedError,
                      UnsupportedError, VersionError)
from ._export import export_formats
from ._fed_samples import FeedSample
from ._feed import Feed, FeedEvent
from ._host import Cancel
from ._library import demangle, feature, library_path, library_version
from ._pivot import Pivot, Taxonomy, pivot_keys, pivot_values
from ._probe import Probe, builtin_productions
from ._profile import Merger, Profile
from ._session import Session, profile_call
from ._source import Source
from ._tables import Table

load = Profile.load
import_recording = Profile.import_recording
merge = Profile.merge


def load_ipython_extension(shell: Any) -> None:
    """%load_ext hbbp calls it and gets the cell magic %%hbbp."""
    from ._ipython import Magics
    shell.register_magics(Magics)


__all__ = [
    'Analysis', 'BadFormatError', 'BusyError', 'Cancel', 'CancelledError', 'Capabilities',
    'CapabilityState', 'CodeState', 'Diff', 'EbsMethod', 'Error', 'Estimator', 'Event', 'Feed',
    'FeedEvent', 'FeedEventKind', 'FeedOrder', 'FeedSample', 'Flow', 'IbsKind', 'IbsObjectKind', 'InternalError',
    'InvalidArgumentError', 'InvalidStateError', 'IoError', 'KernelFiles', 'LabelKind',
    'LibraryError', 'LogLevel', 'Loops', 'Merger', 'MismatchError', 'Mix', 'MixKeys', 'ModuleKind',
    'NoMemoryError', 'NotFoundError', 'Order', 'PeriodMode', 'PermissionDeniedError', 'Pivot', 'Probe',
    'ProbeFieldKind', 'ProbeTableKind', 'Profile',
    'Session', 'Source', 'SourceKind', 'Status', 'Table', 'Taxonomy', 'TraceMode', 'TripBasis',
    'Unit', 'UnsupportedError', 'VersionError', '__version__', 'block_feature_names',
    'builtin_productions', 'capabilities', 'count_interval', 'demangle', 'diff', 'export_formats', 'feature', 'find_event',
    'import_recording', 'library_path', 'library_version', 'load', 'load_ipython_extension',
    'merge', 'pivot_keys', 'pivot_values', 'profile_call', 'rows',
]
