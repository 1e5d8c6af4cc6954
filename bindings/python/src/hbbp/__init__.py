"""Counts, inside this process, how often each basic block runs, and which instructions ran.

    import hbbp

    with hbbp.Session() as session:
        work()
    print(session.profile().mix())

It is libhbbp's C ABI (include/hbbp/hbbp.h) with its names; docs/guide/python.md shows what can be asked.
What fails raises hbbp.Error.
"""
from typing import Any

from . import _rows as rows
from ._abi import HBBP_VERSION_STRING as __version__
from ._abi import (CapabilityState, EbsMethod, Estimator, Event, FeedEventKind, FeedOrder, Flow,
                   IbsKind, LabelKind, LogLevel, MixKeys, ModuleCode, ModuleKind, PeriodMode,
                   Source, Status, TraceMode, TripBasis, Unit)
from ._capabilities import Capabilities, capabilities, find_event
from ._diff import Diff, diff
from ._errors import (BadFormatError, BusyError, CancelledError, Error, InternalError,
                      InvalidArgumentError, InvalidStateError, IoError, LibraryError,
                      MismatchError, NoMemoryError, NotFoundError, PermissionDeniedError,
                      UnsupportedError, VersionError)
from ._fed_samples import FeedSample
from ._feed import FedSession, FeedEvent
from ._host import Cancel
from ._library import demangle, library_path, library_version
from ._pivot import Pivot, Taxonomy, pivot_keys, pivot_values
from ._profile import Mix, Profile, feature_names
from ._session import Session
from ._tables import Table

load = Profile.load
import_recording = Profile.import_recording
merge = Profile.merge


def load_ipython_extension(shell: Any) -> None:
    """%load_ext hbbp: the cell magic %%hbbp."""
    from ._ipython import Magics
    shell.register_magics(Magics)


__all__ = [
    'BadFormatError', 'BusyError', 'Cancel', 'CancelledError', 'Capabilities', 'CapabilityState',
    'Diff', 'EbsMethod', 'Error', 'Estimator', 'Event', 'FedSession', 'FeedEvent', 'FeedEventKind',
    'FeedOrder', 'FeedSample', 'Flow', 'IbsKind', 'InternalError', 'InvalidArgumentError',
    'InvalidStateError', 'IoError', 'LabelKind', 'LibraryError', 'LogLevel', 'MismatchError',
    'Mix', 'MixKeys', 'ModuleCode', 'ModuleKind', 'NoMemoryError', 'NotFoundError', 'PeriodMode',
    'PermissionDeniedError', 'Pivot', 'Profile', 'Session', 'Source', 'Status', 'Table',
    'Taxonomy', 'TraceMode', 'TripBasis', 'Unit', 'UnsupportedError', 'VersionError',
    '__version__', 'capabilities', 'demangle', 'diff', 'feature_names', 'find_event',
    'import_recording', 'library_path', 'library_version', 'load', 'load_ipython_extension',
    'merge', 'pivot_keys', 'pivot_values', 'rows',
]
