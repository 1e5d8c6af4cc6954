//! Strings and bytes that the C ABI lends, and indices that may be none.

use crate::sys;
use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr};
use std::os::raw::c_char;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// # Safety
/// `text` is NULL or ends with 0 and lives for `'a`.
unsafe fn bytes_of<'a>(text: *const c_char) -> &'a [u8] {
    match text.is_null() {
        true => &[],
        false => CStr::from_ptr(text).to_bytes(),
    }
}

/// Returns a text that ends with the first 0, or with the bytes. Invalid UTF-8 is replaced.
pub(crate) fn until_zero(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Returns a text. Invalid UTF-8 is replaced.
///
/// # Safety
/// See `bytes_of`.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Cow<'a, str> {
    String::from_utf8_lossy(bytes_of(text))
}

/// # Safety
/// See `bytes_of`.
pub(crate) unsafe fn path<'a>(text: *const c_char) -> &'a Path {
    Path::new(OsStr::from_bytes(bytes_of(text)))
}

/// # Safety
/// See `bytes_of`, with static storage.
pub(crate) unsafe fn static_text(text: *const c_char) -> &'static str {
    std::str::from_utf8(bytes_of(text)).unwrap_or_default()
}

/// # Safety
/// `start` has `size` bytes that live for `'a`, or `size` is 0.
pub(crate) unsafe fn bytes<'a>(start: *const u8, size: u32) -> &'a [u8] {
    match start.is_null() || size == 0 {
        true => &[],
        false => std::slice::from_raw_parts(start, size as usize),
    }
}

pub(crate) fn index(raw: u32) -> Option<usize> {
    (raw != sys::HBBP_NO_INDEX).then_some(raw as usize)
}

/// Converts an index for C; one that is too large stays invalid.
pub(crate) fn raw_index(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

pub(crate) fn address(raw: u64) -> Option<u64> {
    (raw != sys::HBBP_NO_ADDRESS).then_some(raw)
}

pub(crate) fn c_path(path: &Path) -> crate::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Returns the address of a text for C, which must outlive its use; NULL if there is none.
pub(crate) fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_empty() {
        unsafe {
            assert_eq!(text(std::ptr::null()), "");
            assert_eq!(path(std::ptr::null()), Path::new(""));
            assert_eq!(static_text(std::ptr::null()), "");
            assert!(bytes(std::ptr::null(), 7).is_empty());
        }
    }

    #[test]
    fn what_is_no_text_is_shown_and_paths_keep_it() {
        let odd = CStr::from_bytes_with_nul(b"a\xffb\0").unwrap();
        unsafe {
            assert_eq!(text(odd.as_ptr()), "a\u{fffd}b");
            assert_eq!(path(odd.as_ptr()).as_os_str().as_bytes(), b"a\xffb");
        }
    }

    #[test]
    fn indexes_come_back() {
        assert_eq!(index(sys::HBBP_NO_INDEX), None);
        assert_eq!(index(3), Some(3));
        assert_eq!(raw_index(3), 3);
        assert_eq!(raw_index(usize::MAX), u32::MAX);
        assert_eq!(address(sys::HBBP_NO_ADDRESS), None);
        assert_eq!(address(0), Some(0));
    }
}
