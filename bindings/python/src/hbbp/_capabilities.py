"""Probes what this machine, kernel and user can do."""
import ctypes

from . import _abi
from ._abi import CapabilityState, Event
from ._handle import Handle
from ._library import check, make, sized, to_c
from ._lists import copy_list, table
from ._rows import Capability, EventCode
from ._tables import Table


class Capabilities(Table[Capability]):
    """Capabilities by name: capabilities().has('branch_stack')."""

    def named(self, name: str) -> Capability:
        for capability in self:
            if capability.name == name:
                return capability
        known = ', '.join(capability.name for capability in self)
        raise KeyError(f'{name!r} is none of {known}')

    def has(self, name: str) -> bool:
        return self.named(name).state == CapabilityState.SUPPORTED


def capabilities() -> Capabilities:
    """Opens and closes perf events on the calling thread; takes some milliseconds."""
    pointer = make('hbbp_capabilities_probe', _abi.hbbp_capabilities)
    handle = Handle('capabilities', pointer)
    try:
        found = table(Capability, copy_list(pointer, 'hbbp_capabilities_count',
                                            'hbbp_capabilities_copy', _abi.hbbp_capability))
        return Capabilities(Capability, found._rows, 'Capabilities')
    finally:
        handle.close()


def find_event(name: str) -> EventCode:
    """Returns an event by its code ('r20c4'), perf's name for one of the kernel ('cache-misses',
    'page-faults'), 'taken-branches', or a name of libpfm4."""
    found = sized(_abi.hbbp_event_code)
    check('hbbp_event_find', to_c(name), ctypes.byref(found))
    return EventCode(Event(found.event), found.type, found.config, name)
