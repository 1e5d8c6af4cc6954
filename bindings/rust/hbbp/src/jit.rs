//! Code that the profiled process generates while it runs.

use crate::error::{call, optional_text, Result};
use crate::handle::Handle;
use crate::sys;
use crate::text::pointer;
use std::marker::PhantomData;

/// Code that a JIT of the host has generated. Samples in generated code are counted without it;
/// this makes them exact where code replaces code.
///
/// ```no_run
/// # fn compile() -> &'static [u8] { &[] }
/// let mut session = hbbp::Session::new()?;
/// let code = compile();
/// session.add_code(&hbbp::CodeRegion::of(code).name("inner loop of query 7"))?;
/// session.start()?;
/// # Ok::<(), hbbp::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct CodeRegion<'c> {
    raw: sys::hbbp_code_region,
    name: Option<String>,
    borrowed: PhantomData<&'c [u8]>,
}

// SAFETY: the pointers in `raw` are borrowed from data that may be shared.
unsafe impl Send for CodeRegion<'_> {}
unsafe impl Sync for CodeRegion<'_> {}

impl<'c> CodeRegion<'c> {
    /// Makes a region of the code that is at an address when it is added.
    pub fn new(address: u64, size: u64) -> Self {
        let raw = sys::hbbp_code_region {
            address,
            size,
            ..Default::default()
        };
        CodeRegion {
            raw,
            name: None,
            borrowed: PhantomData,
        }
    }

    /// Makes a region of code that runs from its own bytes.
    pub fn of(code: &'c [u8]) -> Self {
        Self::at(code.as_ptr() as u64, code)
    }

    /// Makes a region of code that runs at an address, whatever is there now.
    pub fn at(address: u64, code: &'c [u8]) -> Self {
        let mut region = Self::new(address, code.len() as u64);
        region.raw.code = code.as_ptr().cast();
        region
    }

    setters! {
        /// Sets the name of the function.
        name(name: impl Into<String>): name = Some(name.into());
        /// Sets since when the code is there, in CLOCK_MONOTONIC; 0: now.
        time_ns(time: u64): raw.time_ns = time;
    }

    pub(crate) fn add_to(&self, session: &Handle<sys::hbbp_session>) -> Result<()> {
        let name = optional_text(&self.name)?;
        let raw = sys::hbbp_code_region {
            name: pointer(&name),
            ..self.raw
        };
        // SAFETY: code and name live during the call, which copies them; if there is no code, the
        // library checks whether memory can be read.
        call(|error| unsafe { sys::hbbp_session_add_code(session.get_mut(), &raw, error) })
    }
}
