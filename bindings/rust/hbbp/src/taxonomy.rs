//! Named groups of instructions.

use crate::error::Result;
use crate::handle::Handle;
use crate::sys;
use crate::text::{c_path, text};
use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::path::Path;
use std::ptr;

/// Named groups of instructions. A text may have several taxonomies, each of which is a key of
/// pivots by its name; its groups are the values. Instructions in no group of a taxonomy are in
/// "other".
///
/// ```
/// let taxonomy = hbbp::Taxonomy::new("[speed]\nslow: category in (divide, sqrt)\n")?;
/// assert_eq!(taxonomy.names(), ["speed"]);
/// assert_eq!(taxonomy.groups(0), ["slow"]);
/// # Ok::<(), hbbp::Error>(())
/// ```
#[derive(Debug)]
pub struct Taxonomy {
    handle: Handle<sys::hbbp_taxonomy>,
}

// SAFETY: it is immutable, and the ABI lets any number of threads use a const handle.
unsafe impl Send for Taxonomy {}
unsafe impl Sync for Taxonomy {}

type Create = unsafe extern "C" fn(
    *const c_char,
    *mut *mut sys::hbbp_taxonomy,
    *mut sys::hbbp_error,
) -> sys::hbbp_status;

impl Taxonomy {
    fn create(create: Create, argument: Option<&CStr>) -> Result<Taxonomy> {
        let argument = argument.map_or(ptr::null(), CStr::as_ptr);
        let handle = Handle::create(sys::hbbp_taxonomy_destroy, |taxonomy, error| {
            // SAFETY: the argument is NULL or ends with 0 and lives during the call.
            unsafe { create(argument, taxonomy, error) }
        })?;
        Ok(Taxonomy { handle })
    }

    /// Parses the taxonomies of a text; an error has line and column.
    pub fn new(text: &str) -> Result<Taxonomy> {
        Taxonomy::create(sys::hbbp_taxonomy_create, Some(&CString::new(text)?))
    }

    /// Returns the library's own taxonomies.
    pub fn of_library() -> Result<Taxonomy> {
        Taxonomy::create(sys::hbbp_taxonomy_create, None)
    }

    /// Reads the taxonomies of a file of up to 64 KiB.
    pub fn load(path: impl AsRef<Path>) -> Result<Taxonomy> {
        Taxonomy::create(sys::hbbp_taxonomy_load, Some(&c_path(path.as_ref())?))
    }

    /// Returns the names of the taxonomies, in the order of the text.
    pub fn names(&self) -> Vec<String> {
        // SAFETY: the taxonomy is alive, and the names live as long.
        unsafe {
            (0..sys::hbbp_taxonomy_count(self.raw()))
                .map(|index| text(sys::hbbp_taxonomy_name(self.raw(), index)).into_owned())
                .collect()
        }
    }

    /// Returns the groups of the taxonomy at `index`, in the order of the text and without "other";
    /// none if there is no such taxonomy.
    pub fn groups(&self, index: usize) -> Vec<String> {
        // SAFETY: as above.
        unsafe {
            (0..sys::hbbp_taxonomy_group_count(self.raw(), index))
                .map(|group| sys::hbbp_taxonomy_group_name(self.raw(), index, group))
                .map(|name| text(name).into_owned())
                .collect()
        }
    }

    pub(crate) fn raw(&self) -> *const sys::hbbp_taxonomy {
        self.handle.get()
    }
}
