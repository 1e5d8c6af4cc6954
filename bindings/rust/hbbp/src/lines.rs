//! Which line of which file an address is of, and what was inlined there.

use crate::analysis::Analysis;
use crate::callback::guarded;
use crate::error::{call, Result};
use crate::host::Cancel;
use crate::list::{fill, Record};
use crate::sys;
use crate::text::{c_path, path, pointer, raw_index, text, until_zero};
use std::borrow::Cow;
use std::ffi::CString;
use std::mem::size_of;
use std::os::raw::{c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

/// Called with the path of a module, bytes that were read and all bytes.
pub(crate) type Progress = Box<dyn Fn(&Path, u64, u64) + Send + Sync>;

/// Where debug information is, and how it is read. Everything has a default.
///
/// The progress closure is kept by the analysis, and any thread may call it:
///
/// ```compile_fail,E0277
/// let calls = std::cell::Cell::new(0);
/// let options = hbbp::DebugOptions::new().progress(move |_, _, _| calls.set(calls.get() + 1));
/// ```
#[derive(Default)]
#[must_use]
pub struct DebugOptions {
    use_debuginfod: bool,
    debug_root: Option<PathBuf>,
    memory_limit: u64,
    progress: Option<Progress>,
    cancel: Option<Cancel>,
}

/// What reading debug information for an analysis calls, which lives as long.
pub(crate) struct DebugHost {
    progress: Option<Arc<Progress>>,
    cancel: Option<Cancel>,
}

debug_without_closures!(DebugOptions {
    use_debuginfod,
    debug_root,
    memory_limit,
    cancel
});

impl DebugOptions {
    /// All defaults.
    pub fn new() -> Self {
        DebugOptions::default()
    }

    setters! {
        /// Asks the servers that `DEBUGINFOD_URLS` names for debug files that are not here. May take
        /// minutes.
        use_debuginfod(ask: bool): use_debuginfod = ask;
        /// Where separate debug files are; "": nowhere. Default: /usr/lib/debug.
        debug_root(folder: impl Into<PathBuf>): debug_root = Some(folder.into());
        /// Bytes of decoded debug information kept, of all modules. Default: 256 MiB.
        memory_limit(bytes: u64): memory_limit = bytes;
        /// How far reading the debug information of a module is: its path, bytes that were read, all of
        /// them. Called in the thread that asks for a line. It must not use the analysis, which waits for
        /// it. A panic of it goes on in the call that asked.
        progress(progress: impl Fn(&Path, u64, u64) + Send + Sync + 'static): progress = Some(Box::new(progress));
        /// Cancels what has to be read for an answer; the next one that needs it reads it.
        cancel(cancel: &Cancel): cancel = Some(cancel.clone());
    }

    /// The same for C.
    pub(crate) fn into_c(self) -> Result<DebugPaths> {
        Ok(DebugPaths {
            debug_root: self.debug_root.as_deref().map(c_path).transpose()?,
            use_debuginfod: self.use_debuginfod,
            memory_limit: self.memory_limit,
            host: DebugHost {
                progress: self.progress.map(Arc::new),
                cancel: self.cancel,
            },
        })
    }
}

pub(crate) struct DebugPaths {
    debug_root: Option<CString>,
    use_debuginfod: bool,
    memory_limit: u64,
    host: DebugHost,
}

impl DebugPaths {
    /// Its path is good as long as this, the rest as long as the host.
    pub fn raw(&self) -> sys::hbbp_debug_options {
        let mut raw = sys::hbbp_debug_options {
            debug_root: pointer(&self.debug_root),
            memory_limit: self.memory_limit,
            cancel: self.host.cancel.as_ref().map_or(ptr::null(), Cancel::raw),
            ..Default::default()
        };
        if self.use_debuginfod {
            raw.flags |= sys::HBBP_DEBUG_USE_DEBUGINFOD;
        }
        if let Some(progress) = &self.host.progress {
            raw.progress = Some(report);
            raw.user_data = Arc::as_ptr(progress) as *mut c_void;
        }
        raw
    }

    pub fn into_host(self) -> DebugHost {
        self.host
    }
}

/// # Safety
/// `module` ends with 0; `user_data` is a `Progress`.
unsafe extern "C" fn report(module: *const c_char, done: u64, all: u64, user_data: *mut c_void) {
    let progress = &*user_data.cast::<Progress>();
    guarded(|| progress(path(module), done, all));
}

records! {
    /// One function at an address: the innermost one that was inlined there, or what it was inlined
    /// into.
    LineFrame<'p>(raw: hbbp_line_frame) {
        /// Absolute if the compiler said where it ran; "" if not known.
        file: &'p Path = path(raw.file),
        /// Of the instruction, in an outer frame of the call; none: of no line.
        line: Option<u32> = (raw.line != 0).then_some(raw.line),
        /// None: not known.
        column: Option<u32> = (raw.column != 0).then_some(raw.column),
        /// As the linker knows it ([`demangle`](crate::demangle)), otherwise its name; "" if not known.
        function: Cow<'p, str> = text(raw.function),
    }
}

/// The lines of an address, and of all addresses of `start` to `end`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LineRange<'p> {
    /// Where it begins.
    pub start: u64,
    /// Exclusive.
    pub end: u64,
    /// Innermost first; the last one is the function that has the code. Empty: nothing is known.
    pub frames: Vec<LineFrame<'p>>,
}

const USUAL_DEPTH: usize = 16;

pub(crate) fn find(analysis: &Analysis, module: usize, address: u64) -> Result<LineRange<'_>> {
    let mut frames = vec![sys::hbbp_line_frame::default(); USUAL_DEPTH];
    loop {
        let range: sys::hbbp_line_range = fill(|range, error| {
            // SAFETY: the analysis and the array are there.
            unsafe {
                sys::hbbp_analysis_find_lines(
                    analysis.raw(),
                    raw_index(module),
                    address,
                    frames.len(),
                    size_of::<sys::hbbp_line_frame>(),
                    frames.as_mut_ptr(),
                    range,
                    error,
                )
            }
        })?;
        let count = range.frame_count as usize;
        if count > frames.len() {
            frames.resize(count, Default::default());
            continue;
        }
        frames.truncate(count);
        // SAFETY: strings live as long as the analysis, which is borrowed.
        let frame = |raw| unsafe { LineFrame::from_raw(raw) };
        return Ok(LineRange {
            start: range.start,
            end: range.end,
            frames: frames.iter().map(frame).collect(),
        });
    }
}

/// What was missing or damaged, as far as was noticed.
pub(crate) fn problem(analysis: &Analysis, module: usize) -> Result<String> {
    let mut buffer = [0u8; 1024];
    call(|error| {
        // SAFETY: the analysis and the buffer are there.
        unsafe {
            let (start, size) = (buffer.as_mut_ptr().cast(), buffer.len());
            sys::hbbp_analysis_debug_problem(analysis.raw(), raw_index(module), start, size, error)
        }
    })?;
    Ok(until_zero(&buffer))
}
