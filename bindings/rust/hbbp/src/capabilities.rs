//! Probes what this machine, kernel and user can do.

use crate::error::Result;
use crate::handle::Handle;
use crate::list::{fill, Table};
use crate::samples::Event;
use crate::sys;
use crate::text::text;
use std::borrow::Cow;
use std::ffi::CString;

values! {
    /// Whether a capability is available.
    CapabilityState: i32 {
        /// It could not be tried.
        NotKnown = HBBP_CAPABILITY_UNKNOWN,
        /// It was tried, and works.
        Supported = HBBP_CAPABILITY_SUPPORTED,
        /// The hardware or kernel does not have it.
        Missing = HBBP_CAPABILITY_MISSING,
        /// It exists, but this process may not use it.
        Denied = HBBP_CAPABILITY_DENIED,
    }
}

records! {
    /// A capability of a machine.
    Capability<'c>(raw: hbbp_capability) {
        /// Whether it is available.
        state: CapabilityState = CapabilityState::from_raw(raw.state),
        /// A stable key: "perf_event_open", "task_clock", "branch_stack", "branch_tracing", ...
        name: Cow<'c, str> = text(raw.name),
        /// What the probe found, with the numbers.
        detail: Cow<'c, str> = text(raw.detail),
        /// What to change to get it; empty if there is nothing to change.
        advice: Cow<'c, str> = text(raw.advice),
    }
}

/// The capabilities of this machine.
///
/// ```
/// let capabilities = hbbp::Capabilities::probe()?;
/// for capability in capabilities.iter() {
///     println!("{:25} {:?} {}", capability.name, capability.state, capability.advice);
/// }
/// assert!(capabilities.get("perf_event_open").is_some());
/// # Ok::<(), hbbp::Error>(())
/// ```
#[derive(Debug)]
pub struct Capabilities(Table<sys::hbbp_capabilities, sys::hbbp_capability>);

impl Capabilities {
    /// Probes: opens and closes perf events on the calling thread, which takes some milliseconds.
    pub fn probe() -> Result<Capabilities> {
        let found = Handle::create(sys::hbbp_capabilities_destroy, |capabilities, error| {
            // SAFETY: the pointer is for the object that is made.
            unsafe { sys::hbbp_capabilities_probe(capabilities, error) }
        })?;
        // SAFETY: these are the capabilities of an immutable object.
        let table = unsafe {
            Table::read(
                found,
                sys::hbbp_capabilities_count,
                sys::hbbp_capabilities_copy,
            )?
        };
        Ok(Capabilities(table))
    }

    /// Returns all of them, in an order that never changes.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Capability<'_>> + ExactSizeIterator {
        // SAFETY: they borrow from the object.
        unsafe { self.0.iter() }
    }

    /// Returns the capability with a name.
    pub fn get(&self, name: &str) -> Option<Capability<'_>> {
        self.iter().find(|capability| capability.name == name)
    }

    /// Returns whether the capability with a name was tried and works.
    pub fn supports(&self, name: &str) -> bool {
        self.get(name)
            .map_or(false, |found| found.state == CapabilityState::Supported)
    }
}

/// An event of the kernel or the PMU, for
/// [`SessionOptions::event_code`](crate::SessionOptions::event_code).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCode {
    name: CString,
    event: Event,
    kind: u64,
    config: u64,
}

impl EventCode {
    /// Finds an event by its code ("r20c4"), perf's name for one of the kernel ("cache-misses",
    /// "page-faults"), "taken-branches", or a name of libpfm4 ("BR_INST_RETIRED:NEAR_TAKEN").
    ///
    /// ```
    /// let event = hbbp::EventCode::find("r20c4")?;
    /// assert_eq!(event.config(), 0x20c4);
    /// # Ok::<(), hbbp::Error>(())
    /// ```
    pub fn find(name: &str) -> Result<EventCode> {
        let name = CString::new(name)?;
        // SAFETY: the name ends with 0.
        let raw: sys::hbbp_event_code =
            fill(|code, error| unsafe { sys::hbbp_event_find(name.as_ptr(), code, error) })?;
        Ok(EventCode {
            name,
            event: Event::from_raw(raw.event),
            kind: raw.type_,
            config: raw.config,
        })
    }

    /// Returns the event, or [`Event::Other`].
    pub fn event(&self) -> Event {
        self.event
    }

    /// Returns `type` of `perf_event_attr`.
    pub fn kind(&self) -> u64 {
        self.kind
    }

    /// Returns `config` of `perf_event_attr`.
    pub fn config(&self) -> u64 {
        self.config
    }

    /// Returns the name as it was given.
    pub(crate) fn name(&self) -> &CString {
        &self.name
    }
}
