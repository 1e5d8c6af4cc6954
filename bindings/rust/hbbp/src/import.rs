//! Profiles from recordings of other tools.

use crate::error::{Error, Result, Status};
use crate::host::{Cancel, Host, LogLevel, Work};
use crate::profile::Profile;
use crate::samples::EbsMethod;
use crate::session::nanoseconds;
use crate::sys;
use crate::text::{c_path, pointer};
use std::alloc::GlobalAlloc;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Moved files, for C.
pub(crate) struct MovedFiles {
    raw: Vec<sys::hbbp_moved_file>,
    // The data that `raw` points to.
    _paths: Vec<(CString, CString)>,
}

impl MovedFiles {
    pub fn new(files: &[(PathBuf, PathBuf)]) -> Result<MovedFiles> {
        let paths = files
            .iter()
            .map(|(recorded, here)| Ok((c_path(recorded)?, c_path(here)?)))
            .collect::<Result<Vec<_>>>()?;
        let raw = paths
            .iter()
            .map(|(recorded, here)| sys::hbbp_moved_file {
                recorded: recorded.as_ptr(),
                here: here.as_ptr(),
            })
            .collect();
        Ok(MovedFiles { raw, _paths: paths })
    }

    pub fn as_slice(&self) -> &[sys::hbbp_moved_file] {
        &self.raw
    }
}

/// Options of reading a recording. Everything has a default.
///
/// ```no_run
/// let profile = hbbp::ImportOptions::new()
///     .root("/srv/images/server")
///     .progress(|done, all| eprint!("\r{done} of {all:?} bytes"))
///     .import("perf.data")?;
/// # Ok::<(), hbbp::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct ImportOptions<'a> {
    root: Option<PathBuf>,
    moved_files: Vec<(PathBuf, PathBuf)>,
    binary: Option<PathBuf>,
    ebs_method: Option<EbsMethod>,
    slice: Duration,
    kept_burst_bytes: u64,
    work: Work<'a>,
    log_level: Option<LogLevel>,
    max_memory: u64,
    host: Host,
}

debug_without_closures!(ImportOptions<'a> { root, moved_files, binary, ebs_method, slice, kept_burst_bytes, work, log_level, max_memory, host });

impl<'a> ImportOptions<'a> {
    /// Makes options with all defaults.
    pub fn new() -> Self {
        ImportOptions::default()
    }

    setters! {
        /// Sets the directory with the files of the recorded machine (perf calls it symfs).
        /// Default: the recorded paths.
        root(directory: impl Into<PathBuf>): root = Some(directory.into());
    }

    /// Adds a file whose recorded path is different: its path there, or the last part of that, and
    /// the file.
    pub fn moved_file(mut self, recorded: impl Into<PathBuf>, here: impl Into<PathBuf>) -> Self {
        self.moved_files.push((recorded.into(), here.into()));
        self
    }

    setters! {
        /// Sets the one file whose addresses a text without mappings has.
        binary(file: impl Into<PathBuf>): binary = Some(file.into());
        /// Sets which instruction samples with branch stacks count for.
        ebs_method(method: EbsMethod): ebs_method = Some(method);
        /// Keeps counts by slices of time of this width.
        slices(width: Duration): slice = width;
        /// Keeps whole bursts and branch stacks in so many bytes, for the export format `brstack`.
        /// Default: none.
        kept_burst_bytes(bytes: u64): kept_burst_bytes = bytes;
        /// Sets the least urgent level of messages. Default: [`LogLevel::Info`].
        log_level(level: LogLevel): log_level = Some(level);
        /// Limits the bytes of memory while the recording is read, at least
        /// [`MIN_MEMORY`](crate::MIN_MEMORY). Samples that do not fit are dropped, and the notes of
        /// the sources report it. Default: no limit.
        max_memory(bytes: u64): max_memory = bytes;
    }

    /// Sets a function that the importing thread calls now and then: bytes of the recording that
    /// were read, and the total if it is known. A panic in it continues after the import.
    pub fn progress(mut self, progress: impl FnMut(u64, Option<u64>) + 'a) -> Self {
        self.work = self.work.progress(progress);
        self
    }

    /// Sets a flag that cancels the import.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.work = self.work.cancel(cancel);
        self
    }

    /// Sets a function that gets messages during the import. A panic in it continues after the
    /// import.
    pub fn log(mut self, log: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.host.set_log(log);
        self
    }

    /// Sets the allocator while the recording is read. It must not use this crate.
    pub fn allocator(mut self, memory: impl GlobalAlloc + Send + Sync + 'static) -> Self {
        self.host.set_memory(memory);
        self
    }

    /// Reads a recording of `perf record`, text of `perf script` with branch stacks, or text that
    /// was added up for BOLT. "-" is standard input.
    pub fn import(self, path: impl AsRef<Path>) -> Result<Profile> {
        let path = c_path(path.as_ref())?;
        let root = self.root.as_deref().map(c_path).transpose()?;
        let binary = self.binary.as_deref().map(c_path).transpose()?;
        let moved_files = MovedFiles::new(&self.moved_files)?;
        let moved_files = moved_files.as_slice();
        let host = self.host.fields();
        let raw = sys::hbbp_import_options {
            root: pointer(&root),
            moved_file_count: u32::try_from(moved_files.len())
                .map_err(|_| Error::new(Status::InvalidArgument, "too many moved files"))?,
            moved_files: moved_files.as_ptr(),
            binary: pointer(&binary),
            ebs_method: self.ebs_method.map_or(sys::HBBP_EBS_AUTO, EbsMethod::raw),
            slice_ns: nanoseconds(self.slice),
            kept_burst_bytes: self.kept_burst_bytes,
            log: host.log,
            log_user_data: host.log_user_data,
            log_level: self.log_level.map_or(0, LogLevel::raw),
            max_memory: self.max_memory,
            allocator: host.allocator(),
            ..Default::default()
        };
        Profile::create(self.work, |work, profile, error| {
            // SAFETY: paths and data of the host live during the call.
            unsafe { sys::hbbp_profile_import(path.as_ptr(), &raw, work, profile, error) }
        })
    }
}
