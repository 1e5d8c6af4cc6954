//! An analysis in the formats of other tools.

use crate::analysis::Analysis;
use crate::callback::guarded;
use crate::error::{Error, Result, Status};
use crate::host::Work;
use crate::list::{copy, Record};
use crate::sys;
use crate::text::text;
use std::borrow::Cow;
use std::ffi::CString;
use std::io::{self, Write};
use std::os::raw::{c_char, c_void};
use std::{ptr, slice};

/// A format that [`Analysis::export`](crate::Analysis::export) writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportFormat {
    /// Its name.
    pub name: Cow<'static, str>,
    /// What reads it, in one line.
    pub summary: Cow<'static, str>,
    /// Whether what is written is of one module.
    pub is_of_one_module: bool,
}

impl Record for ExportFormat {
    type Raw = sys::hbbp_export_format;

    unsafe fn from_raw(raw: &Self::Raw) -> Self {
        ExportFormat {
            name: text(raw.name),
            summary: text(raw.summary),
            is_of_one_module: raw.is_of_one_module != 0,
        }
    }
}

/// Returns the formats that [`Analysis::export`](crate::Analysis::export) writes.
///
/// ```
/// assert!(hbbp::export_formats()?.iter().any(|format| format.name == "llvm"));
/// # Ok::<(), hbbp::Error>(())
/// ```
pub fn export_formats() -> Result<Vec<ExportFormat>> {
    // SAFETY: the functions read a list of static data.
    unsafe {
        copy(
            sys::hbbp_export_format_count(),
            |raw| ExportFormat::from_raw(raw),
            |first, count, size, array, copied, error| {
                sys::hbbp_export_copy_formats(first, count, size, array, copied, error)
            },
        )
    }
}

struct Output<'w> {
    writer: &'w mut dyn Write,
    failure: Option<io::Error>,
    notes: Vec<String>,
}

/// # Safety
/// `user_data` is an `Output` that no one else uses, and there are `size` bytes.
unsafe extern "C" fn write(bytes: *const c_void, size: usize, user_data: *mut c_void) -> i32 {
    let output = &mut *user_data.cast::<Output<'_>>();
    let mut is_written = false;
    guarded(|| {
        match output
            .writer
            .write_all(slice::from_raw_parts(bytes.cast(), size))
        {
            Ok(()) => is_written = true,
            Err(failure) => output.failure = Some(failure),
        }
    });
    (!is_written).into()
}

/// # Safety
/// `user_data` is an `Output` that no one else uses; `note` ends with 0.
unsafe extern "C" fn keep_note(note: *const c_char, user_data: *mut c_void) {
    let output = &mut *user_data.cast::<Output<'_>>();
    guarded(|| output.notes.push(text(note).into_owned()));
}

pub(crate) fn export(
    analysis: &Analysis,
    format: &str,
    module: Option<&str>,
    writer: &mut dyn Write,
    work: Work<'_>,
) -> Result<Vec<String>> {
    let format = CString::new(format)?;
    let module = module.map(CString::new).transpose()?;
    let mut output = Output {
        writer,
        failure: None,
        notes: Vec::new(),
    };
    let user_data: *mut c_void = ptr::addr_of_mut!(output).cast();
    let options = sys::hbbp_export_options {
        module: module.as_ref().map_or(ptr::null(), |name| name.as_ptr()),
        note: Some(keep_note),
        user_data,
        ..Default::default()
    };
    // SAFETY: all of this lives during the call.
    let result = work.call(|work, error| unsafe {
        sys::hbbp_export(
            analysis.raw(),
            format.as_ptr(),
            &options,
            work,
            Some(write),
            user_data,
            error,
        )
    });
    match output.failure {
        Some(failure) => Err(Error::new(Status::Io, failure.to_string())),
        None => result.map(|()| output.notes),
    }
}
