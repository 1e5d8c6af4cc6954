//! Blocks of memory that the profiled process calls by name.

use crate::error::{call, optional_text, Result};
use crate::handle::Handle;
use crate::sys;
use crate::text::pointer;

/// Memory that the host has allocated or freed. IBS samples of accesses to it count for the block
/// that has it ([`Analysis::ibs_objects`](crate::Analysis::ibs_objects)).
///
/// ```no_run
/// let mut session = hbbp::Session::new()?;
/// let table = vec![0u64; 1 << 20];
/// session.add_data(&hbbp::DataRegion::of(&table).name("hash table of the join"))?;
/// session.start()?;
/// // ...
/// session.add_data(&hbbp::DataRegion::of(&table))?;
/// drop(table);
/// # Ok::<(), hbbp::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct DataRegion {
    raw: sys::hbbp_data_region,
    name: Option<String>,
}

// SAFETY: `raw` has no pointers before it is added.
unsafe impl Send for DataRegion {}
unsafe impl Sync for DataRegion {}

impl DataRegion {
    /// Makes a region of memory that is freed, or, with a name, a block.
    pub fn new(address: u64, size: u64) -> Self {
        let raw = sys::hbbp_data_region {
            address,
            size,
            ..Default::default()
        };
        DataRegion { raw, name: None }
    }

    /// Makes a region of the memory of a value or slice. It is not read.
    pub fn of<T: ?Sized>(data: &T) -> Self {
        let address = (data as *const T).cast::<u8>() as u64;
        Self::new(address, std::mem::size_of_val(data) as u64)
    }

    setters! {
        /// Sets the name of the block; blocks of one name are one object.
        name(name: impl Into<String>): name = Some(name.into());
        /// Sets since when it is so, in CLOCK_MONOTONIC; 0: now.
        time_ns(time: u64): raw.time_ns = time;
    }

    pub(crate) fn add_to(&self, session: &Handle<sys::hbbp_session>) -> Result<()> {
        let name = optional_text(&self.name)?;
        let raw = sys::hbbp_data_region {
            name: pointer(&name),
            ..self.raw
        };
        // SAFETY: the name lives during the call, which copies it; the memory is not accessed.
        call(|error| unsafe { sys::hbbp_session_add_data(session.get_mut(), &raw, error) })
    }
}
