//! The version and the features of the library.

use crate::sys;
use crate::text::static_text;
use std::ffi::CString;

/// Returns the version of the loaded library: "0.1.0".
///
/// ```
/// assert_eq!(hbbp::version(), env!("CARGO_PKG_VERSION"));
/// ```
pub fn version() -> &'static str {
    // SAFETY: the string is static.
    unsafe { static_text(sys::hbbp_version_string()) }
}

/// Returns major * 1000000 + minor * 1000 + patch of the loaded library.
pub fn version_number() -> u32 {
    // SAFETY: never fails.
    unsafe { sys::hbbp_version_number() }
}

/// Returns a number that grows with every function and field that libhbbp gets. A program that
/// needs additions of number n works with every library whose number is at least n and whose SONAME
/// is the same.
pub fn abi_version() -> u32 {
    // SAFETY: never fails.
    unsafe { sys::hbbp_abi_version() }
}

/// Returns whether the loaded library was built with a feature: "ebs", "lbr", "ibs", "swbt",
/// "import", "analysis", "debug-information", "probes". The result is false for unknown names.
///
/// ```
/// assert!(hbbp::feature("analysis"));
/// assert!(!hbbp::feature("no such feature"));
/// ```
pub fn feature(name: &str) -> bool {
    // SAFETY: the name ends with 0.
    CString::new(name).map_or(false, |name| unsafe {
        sys::hbbp_feature(name.as_ptr()) != 0
    })
}
