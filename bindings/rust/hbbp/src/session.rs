//! Profiles of the calling process, or of another one.

use crate::capabilities::EventCode;
use crate::error::{call, Result};
use crate::handle::Handle;
use crate::host::{Host, LogLevel, Work};
use crate::jit::CodeRegion;
use crate::list::{fill, Record};
use crate::profile::Profile;
use crate::samples::{EbsMethod, Event, PeriodMode, SourceKind, TraceMode};
use crate::source::{self, Source};
use crate::sys;
use std::alloc::GlobalAlloc;
use std::ffi::CString;
use std::mem::ManuallyDrop;
use std::ptr;
use std::thread;
use std::time::Duration;

/// The minimum of `max_memory` of options.
pub const MIN_MEMORY: u64 = sys::HBBP_MIN_MEMORY as u64;

/// What a session observes, and how. Everything has a default.
///
/// ```
/// use std::time::Duration;
/// let session = hbbp::SessionOptions::new()
///     .source(hbbp::SourceKind::Ebs)
///     .event(hbbp::Event::TaskClock)
///     .period(200_000)
///     .slices(Duration::from_millis(100))
///     .create()?;
/// # drop(session);
/// # Ok::<(), hbbp::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct SessionOptions {
    raw: sys::hbbp_session_options,
    // What `raw` points to when it is used.
    event_name: Option<CString>,
    threads: Vec<u32>,
    host: Host,
}

// SAFETY: the pointers in `raw` are set when it is used only.
unsafe impl Send for SessionOptions {}
unsafe impl Sync for SessionOptions {}

impl SessionOptions {
    /// All defaults.
    pub fn new() -> Self {
        SessionOptions {
            raw: Default::default(),
            event_name: None,
            threads: Vec::new(),
            host: Host::default(),
        }
    }

    setters! {
        /// What observes the program. Default: branch records of the hardware, else event-based
        /// sampling. What was unavailable, and why, is in [`SourceInfo::note`](crate::SourceInfo::note).
        source(source: SourceKind): raw.source = source.raw();
        /// What a period counts.
        event(event: Event): raw.event = event.raw();
    }

    /// Any event of the kernel or the PMU, for samples of [`SourceKind::Ebs`] and [`SourceKind::Lbr`].
    pub fn event_code(mut self, code: &EventCode) -> Self {
        self.raw.event = code.event().raw();
        self.raw.event_type = code.kind();
        self.raw.event_config = code.config();
        self.event_name = Some(code.name().clone());
        self
    }

    setters! {
        /// How periods follow each other.
        period_mode(mode: PeriodMode): raw.period_mode = mode.raw();
        /// In occurrences of the event, nanoseconds for clocks. Default: one that keeps the overhead
        /// below 1 %.
        period(occurrences: u64): raw.period = occurrences;
        /// Samples a second of CPU time, instead of a period.
        frequency_hz(samples: u64): raw.frequency_hz = samples;
        /// Counts kernel code too; needs permission.
        include_kernel(include: bool): raw.include_kernel = include.into();
        /// Of each CPU's ring buffer. Default: 256 KiB.
        buffer_bytes(bytes: u32): raw.buffer_bytes = bytes;
        /// Of [`SourceKind::Swbt`].
        trace_mode(mode: TraceMode): raw.trace_mode = mode.raw();
        /// Of [`SourceKind::Swbt`]: taken branches a burst.
        burst_branches(branches: u32): raw.burst_branches = branches;
        /// Of hardware events: taken branches between branch stacks.
        branch_period(branches: u64): raw.branch_period = branches;
        /// Of hardware events: how long the program will run, from which default periods follow.
        expected_seconds(seconds: u64): raw.expected_seconds = seconds;
        /// Another process, which the caller may trace. Default: the calling one.
        pid(pid: u32): raw.pid = pid.into();
        /// Which instruction a sample counts for.
        ebs_method(method: EbsMethod): raw.ebs_method = method.raw();
        /// No precise events (PEBS), even if there are some.
        imprecise(imprecise: bool): raw.imprecise = imprecise.into();
        /// Keeps counts by slices of time of this width, so that phases can be told apart. Slices become
        /// wider when there would be too many.
        slices(width: Duration): raw.slice_ns = nanoseconds(width);
        /// These threads only, by their ids as gettid gives them, and none that they start. Default:
        /// every thread of the process.
        threads(tids: impl Into<Vec<u32>>): threads = tids.into();
        /// Of the CPU time of what is profiled: 0.01 is 1 %. The session keeps it by making its
        /// periods longer; counts stay right.
        max_overhead(fraction: f64): raw.max_overhead = fraction;
        /// Bytes for counts, buffers, names and copied code, at least [`MIN_MEMORY`]. What finds no
        /// room when all else is done is dropped and counted.
        max_memory(bytes: u64): raw.max_memory = bytes;
        /// The least urgent message that is wanted. Default: [`LogLevel::Info`].
        log_level(level: LogLevel): raw.log_level = level.raw();
    }

    /// Gets messages of one line, from the worker of the session or from a thread that is in a call
    /// of this crate. It may ask the session; starting and stopping it there fails, and a session that
    /// is dropped there ends in a thread of its own, once the log has returned. A panic of it goes on
    /// in that call; in the worker, it is the last message that comes from there.
    ///
    /// ```
    /// let options = hbbp::SessionOptions::new()
    ///     .max_overhead(0.01)
    ///     .log(|level, message| eprintln!("{level:?}: {message}"));
    /// # drop(options);
    /// ```
    pub fn log(mut self, log: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.host.set_log(log);
        self
    }

    /// Where memory for counts is from. Default: operator new of C++. It must not use this crate.
    pub fn allocator(mut self, memory: impl GlobalAlloc + Send + Sync + 'static) -> Self {
        self.host.set_memory(memory);
        self
    }

    /// A session with these options. Opens nothing yet.
    pub fn create(self) -> Result<Session> {
        let mut raw = self.raw;
        raw.event_name = self
            .event_name
            .as_ref()
            .map_or(ptr::null(), |name| name.as_ptr());
        raw.thread_count = u32::try_from(self.threads.len()).unwrap_or(u32::MAX);
        raw.threads = match self.threads.is_empty() {
            true => ptr::null(),
            false => self.threads.as_ptr(),
        };
        let host = self.host.fields();
        raw.log = host.log;
        raw.log_user_data = host.log_user_data;
        raw.allocator = host.allocator();
        let handle = Handle::create(sys::hbbp_session_destroy, |session, error| {
            // SAFETY: name, threads and allocator are there during the call, which copies them; what
            // the host gave lives as long as the session.
            unsafe { sys::hbbp_session_create(&raw, session, error) }
        })?;
        Ok(Session {
            parts: ManuallyDrop::new(SessionParts {
                handle,
                host: self.host,
            }),
        })
    }

    /// Runs a closure, and gives what it returned with the profile of all threads meanwhile.
    ///
    /// ```no_run
    /// let (sum, profile) = hbbp::SessionOptions::new().profile(|| (1..1 << 30).sum::<u64>())?;
    /// println!("{sum}, after {} samples", profile.info()?.samples);
    /// # Ok::<(), hbbp::Error>(())
    /// ```
    pub fn profile<R>(self, work: impl FnOnce() -> R) -> Result<(R, Profile)> {
        let mut session = self.create()?;
        session.start()?;
        let result = work();
        session.stop()?;
        Ok((result, session.snapshot()?))
    }
}

impl Default for SessionOptions {
    fn default() -> Self {
        SessionOptions::new()
    }
}

/// Nanoseconds for C; what is longer than 584 years stays longer than anything that is allowed.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

records! {
    /// What a session is doing right now.
    SessionInfo(raw: hbbp_session_info) {
        /// Between start and stop.
        is_running: bool = raw.running != 0,
        /// Collected so far; bursts, with [`SourceKind::Swbt`].
        samples: u64 = raw.samples,
        /// The kernel had no room for them.
        lost: u64 = raw.lost,
        /// Times that the kernel held sampling back.
        throttled: u64 = raw.throttled,
        /// Between start and stop, or until now; all runs together.
        duration_ns: u64 = raw.duration_ns,
        /// Samples that there was no memory for.
        dropped: u64 = raw.dropped,
        /// CPU time of what is profiled, of all runs together, as the next one.
        cpu_ns: u64 = raw.cpu_ns,
        /// That sampling took, as far as the session knows.
        overhead_ns: u64 = raw.overhead_ns,
        /// Of the last 50 ms or more of CPU time.
        recent_overhead: f64 = raw.recent_overhead,
        /// By which periods are longer than those asked for; 1 without a budget.
        period_factor: f64 = raw.period_factor,
        /// How often periods were changed.
        period_changes: u64 = raw.period_changes,
        /// Of [`SessionOptions::max_memory`], also without one.
        memory_bytes: u64 = raw.memory_bytes,
        /// The most that it was.
        peak_memory_bytes: u64 = raw.peak_memory_bytes,
    }
}

/// Observes every thread of the process, those that exist and those that start later, between
/// [`start`](Session::start) and [`stop`](Session::stop). Dropping it stops it.
///
/// A profile of itself:
///
/// ```no_run
/// # fn work() {}
/// let mut session = hbbp::Session::new()?;
/// session.start()?;
/// work();
/// session.stop()?;
/// for row in session.snapshot()?.analyze()?.mix(hbbp::MixKeys::MNEMONIC)?.rows() {
///     println!("{:10} {:5.1} %", row.mnemonic, 100.0 * row.share);
/// }
/// # Ok::<(), hbbp::Error>(())
/// ```
///
/// Any thread may take snapshots, also while the session runs; only one at a time may start or stop
/// it, which the borrow checker sees to:
///
/// ```compile_fail,E0596
/// let session = hbbp::Session::new()?;
/// let shared = &session;
/// shared.start()?;
/// # Ok::<(), hbbp::Error>(())
/// ```
///
/// In a child made by fork the session is stopped and holds no samples.
#[derive(Debug)]
pub struct Session {
    parts: ManuallyDrop<SessionParts>,
}

#[derive(Debug)]
struct SessionParts {
    handle: Handle<sys::hbbp_session>,
    // What the session calls, and so ends after it.
    host: Host,
}

// SAFETY: the ABI lets any one thread at a time start and stop a session (they take `&mut self`),
// and any number of threads at once take snapshots and ask for its state.
unsafe impl Send for SessionParts {}
unsafe impl Sync for SessionParts {}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: nothing uses them afterwards.
        let parts = unsafe { ManuallyDrop::take(&mut self.parts) };
        if parts.host.is_in_log() {
            drop_elsewhere(parts);
        }
    }
}

/// The log that runs here belongs to them, and the end of the session waits for it. Where no thread
/// can be had, they stay.
fn drop_elsewhere(parts: SessionParts) {
    let mut parts = ManuallyDrop::new(parts);
    let _ = thread::Builder::new().spawn(move || {
        // SAFETY: nothing uses them afterwards.
        unsafe { ManuallyDrop::drop(&mut parts) }
    });
}

impl Session {
    /// With all defaults. Opens nothing yet.
    pub fn new() -> Result<Session> {
        SessionOptions::new().create()
    }

    /// Starts to observe; a stopped session may be started again, and its counts go on. Starts one
    /// thread of its own, which is not sampled.
    pub fn start(&mut self) -> Result<()> {
        // SAFETY: the session is there, and no other thread starts or stops it.
        call(|error| unsafe { sys::hbbp_session_start(self.parts.handle.get_mut(), error) })
    }

    /// Collects what is in the buffers and closes events and buffers: no thread is left. The files of
    /// what was counted stay open as long as the session or a profile lives.
    pub fn stop(&mut self) -> Result<()> {
        // SAFETY: as above.
        call(|error| unsafe { sys::hbbp_session_stop(self.parts.handle.get_mut(), error) })
    }

    /// Adds a source that the host has written, before the session is started; its name is for
    /// messages. With [`SourceKind::External`], such sources are the only ones.
    pub fn add_source<S: Source + 'static>(&mut self, name: &str, source: S) -> Result<()> {
        source::add(&self.parts.handle, name, source)
    }

    /// Counts samples at these addresses for this code from now on, whether the session runs or not.
    /// It replaces what was there; freed code need not be reported.
    pub fn add_code(&self, region: &CodeRegion<'_>) -> Result<()> {
        region.add_to(&self.parts.handle)
    }

    /// All that was counted so far. Cheap: no code is read.
    pub fn snapshot(&self) -> Result<Profile> {
        self.snapshot_with(Work::new())
    }

    /// The same, with progress and a flag that cancels it: worth it with millions of counts. The
    /// progress closure must not use the session.
    pub fn snapshot_with(&self, work: Work<'_>) -> Result<Profile> {
        Profile::create(work, |work, profile, error| {
            // SAFETY: the session is there; any thread may do this at any time.
            unsafe { sys::hbbp_session_snapshot(self.parts.handle.get_mut(), work, profile, error) }
        })
    }

    /// What it is doing right now.
    pub fn info(&self) -> Result<SessionInfo> {
        let session = self.parts.handle.get_mut();
        // SAFETY: as above; the struct points to nothing.
        unsafe {
            let raw = fill(|info, error| sys::hbbp_session_get_info(session, info, error))?;
            Ok(SessionInfo::from_raw(&raw))
        }
    }
}
