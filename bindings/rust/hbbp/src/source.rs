//! What people read of an address: source lines, text of instructions, names.

use crate::callback::guarded;
use crate::error::{call, call_without_resuming, Result};
use crate::host::Cancel;
use crate::list::{fill, Record};
use crate::profile::Profile;
use crate::sys;
use crate::text::{address, c_path, path, pointer, raw_index, text, until_zero};
use std::borrow::Cow;
use std::ffi::CString;
use std::mem::size_of;
use std::os::raw::{c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

/// Called with the path of a module, bytes that were read and all bytes.
pub(crate) type Progress = Box<dyn Fn(&Path, u64, u64) + Send + Sync>;

/// Where debug information is looked for. Everything has a default.
///
/// The progress closure is kept by the profile, and any thread may call it:
///
/// ```compile_fail,E0277
/// let calls = std::cell::Cell::new(0);
/// let options = hbbp::SourceOptions::new().progress(move |_, _, _| calls.set(calls.get() + 1));
/// ```
#[derive(Default)]
#[must_use]
pub struct SourceOptions {
    use_debuginfod: bool,
    debug_root: Option<PathBuf>,
    memory_limit: u64,
    progress: Option<Progress>,
    cancel: Option<Cancel>,
}

/// What the source options of a profile use, which lives as long.
pub(crate) struct SourceHost {
    _progress: Option<Arc<Progress>>,
    _cancel: Option<Cancel>,
}

debug_without_closures!(SourceOptions {
    use_debuginfod,
    debug_root,
    memory_limit,
    cancel
});

impl SourceOptions {
    /// All defaults.
    pub fn new() -> Self {
        SourceOptions::default()
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
        /// them. Called in the thread that asks for a line. It must not use the profile, which waits for
        /// it. A panic of it goes on in the call that asked.
        progress(progress: impl Fn(&Path, u64, u64) + Send + Sync + 'static): progress = Some(Box::new(progress));
        /// Calls off what has to be read for an answer; the next one that needs it reads it.
        cancel(cancel: &Cancel): cancel = Some(cancel.clone());
    }

    /// Sets them, and gives what must live until others are set or the profile ends.
    /// No panic may go on before it is kept.
    pub(crate) fn apply_without_resuming(
        self,
        profile: *mut sys::hbbp_profile,
    ) -> Result<SourceHost> {
        let debug_root = self.debug_root.as_deref().map(c_path).transpose()?;
        let progress = self.progress.map(Arc::new);
        let mut raw = sys::hbbp_source_options {
            flags: if self.use_debuginfod {
                sys::HBBP_SOURCE_OPTION_DEBUGINFOD
            } else {
                0
            },
            debug_root: pointer(&debug_root),
            memory_limit: self.memory_limit,
            cancel: self.cancel.as_ref().map_or(ptr::null(), Cancel::raw),
            ..Default::default()
        };
        if let Some(progress) = &progress {
            raw.progress = Some(report);
            raw.user = Arc::as_ptr(progress) as *mut c_void;
        }
        // SAFETY: the caller has the profile for itself, and keeps the closure.
        call_without_resuming(|error| unsafe {
            sys::hbbp_profile_set_source_options(profile, &raw, error)
        })?;
        Ok(SourceHost {
            _progress: progress,
            _cancel: self.cancel,
        })
    }
}

/// # Safety
/// `module` ends with 0; `user` is a `Progress`.
unsafe extern "C" fn report(module: *const c_char, done: u64, total: u64, user: *mut c_void) {
    let progress = &*user.cast::<Progress>();
    guarded(|| progress(path(module), done, total));
}

records! {
    /// One function at an address: the innermost one that was inlined there, or what it was inlined
    /// into.
    SourceFrame<'p>(raw: hbbp_source_frame) {
        /// Absolute if the compiler said where it ran; "" if not known.
        file: &'p Path = path(raw.file),
        /// Of the instruction, in an outer frame of the call; none: of no line.
        line: Option<u32> = (raw.line != 0).then_some(raw.line),
        /// None: not known.
        column: Option<u32> = (raw.column != 0).then_some(raw.column),
        /// As the linker knows it ([`demangle`]), otherwise its name; "" if not known.
        function: Cow<'p, str> = text(raw.function),
    }
}

/// The source of an address, and of all addresses of `start` to `end`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SourcePlace<'p> {
    /// Where it begins.
    pub start: u64,
    /// Exclusive.
    pub end: u64,
    /// Innermost first; the last one is the function that has the code. Empty: nothing is known.
    pub frames: Vec<SourceFrame<'p>>,
}

const USUAL_DEPTH: usize = 16;

pub(crate) fn find(profile: &Profile, module: usize, address: u64) -> Result<SourcePlace<'_>> {
    let mut frames = vec![sys::hbbp_source_frame::default(); USUAL_DEPTH];
    loop {
        let place: sys::hbbp_source_place = fill(|place, error| {
            // SAFETY: the profile and the array are there.
            unsafe {
                sys::hbbp_profile_find_source(
                    profile.raw(),
                    raw_index(module),
                    address,
                    frames.len(),
                    size_of::<sys::hbbp_source_frame>(),
                    frames.as_mut_ptr(),
                    place,
                    error,
                )
            }
        })?;
        let count = place.frame_count as usize;
        if count > frames.len() {
            frames.resize(count, Default::default());
            continue;
        }
        frames.truncate(count);
        // SAFETY: strings live as long as the profile is borrowed: options are set by `&mut`.
        let frame = |raw| unsafe { SourceFrame::from_raw(raw) };
        return Ok(SourcePlace {
            start: place.start,
            end: place.end,
            frames: frames.iter().map(frame).collect(),
        });
    }
}

/// What was missing or damaged, as far as was noticed.
pub(crate) fn problem(profile: &Profile, module: usize) -> Result<String> {
    let mut buffer = [0u8; 1024];
    call(|error| {
        // SAFETY: the profile and the buffer are there.
        unsafe {
            let (start, size) = (buffer.as_mut_ptr().cast(), buffer.len());
            sys::hbbp_profile_source_problem(profile.raw(), raw_index(module), start, size, error)
        }
    })?;
    Ok(until_zero(&buffer))
}

values! {
    /// What an instruction does to the flow of control.
    Flow: i32 {
        /// The next instruction follows.
        Next = HBBP_FLOW_NEXT,
        /// A conditional branch.
        Conditional = HBBP_FLOW_CONDITIONAL,
        /// A jump to an address.
        Jump = HBBP_FLOW_JUMP,
        /// A jump to what a register or memory says.
        IndirectJump = HBBP_FLOW_INDIRECT_JUMP,
        /// A call of an address.
        Call = HBBP_FLOW_CALL,
        /// A call of what a register or memory says.
        IndirectCall = HBBP_FLOW_INDIRECT_CALL,
        /// A return.
        Return = HBBP_FLOW_RETURN,
        /// System calls, far transfers, transactions.
        System = HBBP_FLOW_SYSTEM,
        /// Does not go on.
        Trap = HBBP_FLOW_TRAP,
    }
}

records! {
    /// An instruction as people read it.
    Disassembly(raw: hbbp_disassembly) {
        /// Where it is.
        address: u64 = raw.address,
        /// Bytes.
        length: u32 = raw.length,
        /// Of a branch, if the code alone gives it.
        target: Option<u64> = address(raw.target),
        /// What it does to the flow of control.
        flow: Flow = Flow::from_raw(raw.flow),
        /// Intel's syntax, lower case, numbers in hexadecimal.
        text: String = until_zero(&raw.text.map(|character| character as u8)),
    }
}

/// The name of a function as C++ or Rust spells it; the symbol itself if it is no mangled name.
///
/// ```
/// assert_eq!(hbbp::demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
///            "core::fmt::Write::write_fmt");
/// assert_eq!(hbbp::demangle("_RNvMNtCs1234_4core3stre3len"), "<str>::len");
/// assert_eq!(hbbp::demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"),
///            "std::vector<int, std::allocator<int> >::push_back(int&&)");
/// assert_eq!(hbbp::demangle("main"), "main");
/// ```
pub fn demangle(symbol: &str) -> String {
    let c_symbol = match CString::new(symbol) {
        Ok(c_symbol) => c_symbol,
        Err(_) => return symbol.into(),
    };
    // SAFETY: the symbol ends with 0, and the buffer has the size that is given.
    let length = unsafe { sys::hbbp_demangle(c_symbol.as_ptr(), ptr::null_mut(), 0) };
    let mut buffer = vec![0u8; length.saturating_add(1)];
    unsafe {
        sys::hbbp_demangle(c_symbol.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len());
    }
    until_zero(&buffer)
}
