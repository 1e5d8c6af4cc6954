//! Source lines of addresses, and functions that were inlined there.

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

/// Options of debug information: where it is, and how it is read. Everything has a default.
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

/// A function that reading debug information for an analysis calls; it lives as long.
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
    /// Makes options with all defaults.
    pub fn new() -> Self {
        DebugOptions::default()
    }

    setters! {
        /// Asks the servers of `DEBUGINFOD_URLS` for debug files that are not here, which may take
        /// minutes.
        use_debuginfod(ask: bool): use_debuginfod = ask;
        /// Sets the directory of separate debug files; "": none. Default: /usr/lib/debug.
        debug_root(directory: impl Into<PathBuf>): debug_root = Some(directory.into());
        /// Limits the bytes of decoded debug information that are kept, of all modules. Default:
        /// 256 MiB.
        memory_limit(bytes: u64): memory_limit = bytes;
        /// Sets a function that gets the progress of reading the debug information of a module: its
        /// path, bytes that were read, and the total. It is called in the thread that requests a
        /// line. It must not use the analysis, which waits for it. A panic in it continues in the
        /// call that made the request.
        progress(progress: impl Fn(&Path, u64, u64) + Send + Sync + 'static): progress = Some(Box::new(progress));
        /// Sets a flag that cancels the reading for a request; the next request reads again.
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
    /// Its path is valid as long as this object, the rest as long as the host.
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
        /// Absolute if the compiler's directory is known; "" if unknown.
        file: &'p Path = path(raw.file),
        /// Line of the instruction, in an outer frame of the call; none: no line.
        line: Option<u32> = (raw.line != 0).then_some(raw.line),
        /// None: unknown.
        column: Option<u32> = (raw.column != 0).then_some(raw.column),
        /// The symbol ([`demangle`](crate::demangle)), otherwise its name; "" if unknown.
        function: Cow<'p, str> = text(raw.function),
        /// Distinguishes code of one line, as the compiler encodes it; otherwise 0.
        discriminator: u32 = raw.discriminator,
        /// Line where the function is declared. None: unknown.
        function_line: Option<u32> = (raw.function_line != 0).then_some(raw.function_line),
    }
}

/// The lines of an address, and of all addresses of `start` to `end`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LineRange<'p> {
    /// Start of the range.
    pub start: u64,
    /// End of the range, exclusive.
    pub end: u64,
    /// Innermost first; the last one is the function that has the code. Empty: unknown.
    pub frames: Vec<LineFrame<'p>>,
}

const USUAL_DEPTH: usize = 16;

pub(crate) fn find(analysis: &Analysis, module: usize, address: u64) -> Result<LineRange<'_>> {
    let mut frames = vec![sys::hbbp_line_frame::default(); USUAL_DEPTH];
    loop {
        let range: sys::hbbp_line_range = fill(|range, error| {
            // SAFETY: the analysis and the array are alive.
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

/// Returns what was missing or damaged, as far as is known by now.
pub(crate) fn problem(analysis: &Analysis, module: usize) -> Result<String> {
    let mut buffer = [0u8; 1024];
    call(|error| {
        // SAFETY: the analysis and the buffer are alive.
        unsafe {
            let (start, size) = (buffer.as_mut_ptr().cast(), buffer.len());
            sys::hbbp_analysis_debug_problem(analysis.raw(), raw_index(module), start, size, error)
        }
    })?;
    Ok(until_zero(&buffer))
}
