//! Errors of the library.

use crate::sys;
use crate::text;
use std::ffi::{CString, NulError};
use std::fmt;

/// A `Result` whose error is that of this crate.
pub type Result<T> = std::result::Result<T, Error>;

values! {
    /// The kind of failure.
    Status: i32 {
        /// The caller made a mistake.
        InvalidArgument = HBBP_ERROR_INVALID_ARGUMENT,
        /// The call came at the wrong time: start of a started session.
        InvalidState = HBBP_ERROR_INVALID_STATE,
        /// There is not enough memory.
        NoMemory = HBBP_ERROR_NO_MEMORY,
        /// There is no such file, block or thread.
        NotFound = HBBP_ERROR_NOT_FOUND,
        /// Reading or writing failed.
        Io = HBBP_ERROR_IO,
        /// A file is damaged or is something else.
        BadFormat = HBBP_ERROR_BAD_FORMAT,
        /// This machine or kernel cannot do it.
        Unsupported = HBBP_ERROR_UNSUPPORTED,
        /// The system can do it, but not for this user.
        Permission = HBBP_ERROR_PERMISSION,
        /// A resource is taken or used up.
        Busy = HBBP_ERROR_BUSY,
        /// The program was made for a newer library.
        Version = HBBP_ERROR_VERSION,
        /// A file's build ID is not that of the file that ran.
        Mismatch = HBBP_ERROR_MISMATCH,
        /// This is a bug of libhbbp; please report it.
        Internal = HBBP_ERROR_INTERNAL,
        /// The work was cancelled by its [`Cancel`](crate::Cancel).
        Cancelled = HBBP_ERROR_CANCELLED,
    }
}

impl Status {
    /// Returns the name in C: "HBBP_ERROR_IO"; "unknown status" if the loaded library does not know
    /// it.
    pub fn name(self) -> &'static str {
        // SAFETY: any number is allowed, and the string is static.
        unsafe { text::static_text(sys::hbbp_status_name(self.raw())) }
    }
}

/// An error: it says what failed, where, and what to do next.
///
/// ```
/// let error = hbbp::Profile::load("/nowhere/profile").unwrap_err();
/// assert_eq!(error.status(), hbbp::Status::NotFound);
/// assert!(error.message().contains("/nowhere/profile"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    status: Status,
    message: String,
}

impl Error {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Self {
        Error {
            status,
            message: message.into(),
        }
    }

    pub(crate) fn from_raw(status: sys::hbbp_status, error: &sys::hbbp_error) -> Self {
        // SAFETY: c_char and u8 have the same layout.
        let bytes = unsafe { &*(&error.message[..] as *const [_] as *const [u8]) };
        Error {
            status: Status::from_raw(status),
            message: text::until_zero(bytes),
        }
    }

    /// Returns the kind of failure.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns one line: what failed, where, and what to do next.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_empty() {
            return formatter.write_str(self.status.name());
        }
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<NulError> for Error {
    fn from(error: NulError) -> Self {
        let at = error.nul_position();
        Error::new(
            Status::InvalidArgument,
            format!("a text has a zero at byte {at}, where C would end it; leave it out"),
        )
    }
}

/// Calls a function of the C ABI that fills an `hbbp_error`.
pub(crate) fn call(function: impl FnOnce(*mut sys::hbbp_error) -> sys::hbbp_status) -> Result<()> {
    let result = call_without_resuming(function);
    crate::callback::resume_panic();
    result
}

/// Does the same for calls whose result must be owned before a panic continues.
pub(crate) fn call_without_resuming(
    function: impl FnOnce(*mut sys::hbbp_error) -> sys::hbbp_status,
) -> Result<()> {
    let mut error = sys::hbbp_error::default();
    match function(&mut error) {
        sys::HBBP_OK => Ok(()),
        status => Err(Error::from_raw(status, &error)),
    }
}

/// Converts an optional text for C.
pub(crate) fn optional_text(text: &Option<String>) -> Result<Option<CString>> {
    Ok(text.as_deref().map(CString::new).transpose()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_of_a_newer_library_stays_what_it_is() {
        let status = Status::from_raw(-4711);
        assert_eq!(status, Status::Unknown(-4711));
        assert_eq!(status.raw(), -4711);
        assert_eq!(status.name(), "unknown status");
        assert_eq!(Status::Io.name(), "HBBP_ERROR_IO");
    }

    #[test]
    fn a_message_without_an_end_and_without_sense_is_a_text() {
        let mut raw = sys::hbbp_error::default();
        raw.message.fill(-1);
        let error = Error::from_raw(sys::HBBP_ERROR_IO, &raw);
        assert_eq!(error.message().chars().count(), raw.message.len());
        assert!(error
            .message()
            .chars()
            .all(|c| c == char::REPLACEMENT_CHARACTER));
    }

    #[test]
    fn an_error_without_a_message_shows_its_status() {
        let error = Error::from_raw(sys::HBBP_ERROR_BUSY, &sys::hbbp_error::default());
        assert_eq!(error.to_string(), "HBBP_ERROR_BUSY");
    }

    #[test]
    fn a_zero_in_a_text_is_the_mistake_of_the_caller() {
        let error = optional_text(&Some("a\0b".into())).unwrap_err();
        assert_eq!(error.status(), Status::InvalidArgument);
        assert!(error.message().contains("byte 1"), "{error}");
    }
}
