//! Profiles of the calling process, or of another one.

use crate::capabilities::EventCode;
use crate::data::DataRegion;
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

/// The minimum of `max_memory` in options.
pub const MIN_MEMORY: u64 = sys::HBBP_MIN_MEMORY as u64;

/// A value that whole bursts may have of instructions: the divisor of `div` and `idiv`, and the
/// registers of arguments as they are before calls and indirect jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BurstValue {
    Divisor,
    Rdi,
    Rsi,
    Rdx,
    Rcx,
    R8,
    R9,
}

impl BurstValue {
    fn raw(self) -> u32 {
        match self {
            BurstValue::Divisor => sys::HBBP_VALUE_DIVISOR,
            BurstValue::Rdi => sys::HBBP_VALUE_RDI,
            BurstValue::Rsi => sys::HBBP_VALUE_RSI,
            BurstValue::Rdx => sys::HBBP_VALUE_RDX,
            BurstValue::Rcx => sys::HBBP_VALUE_RCX,
            BurstValue::R8 => sys::HBBP_VALUE_R8,
            BurstValue::R9 => sys::HBBP_VALUE_R9,
        }
    }
}

/// Options of a session: what it observes, and how. Everything has a default.
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
    // The data that `raw` points to when it is used.
    event_name: Option<CString>,
    threads: Vec<u32>,
    host: Host,
}

// SAFETY: the pointers in `raw` are set only when it is used.
unsafe impl Send for SessionOptions {}
unsafe impl Sync for SessionOptions {}

impl SessionOptions {
    /// Makes options with all defaults.
    pub fn new() -> Self {
        SessionOptions {
            raw: Default::default(),
            event_name: None,
            threads: Vec::new(),
            host: Host::default(),
        }
    }

    setters! {
        /// Sets the kind of source. Default: [`SourceKind::Auto`]. What was unavailable, and why, is
        /// in [`SourceInfo::note`](crate::SourceInfo::note).
        source(source: SourceKind): raw.source = source.raw();
        /// Sets the event that a period counts.
        event(event: Event): raw.event = event.raw();
    }

    /// Sets any event of the kernel or the PMU, for samples of [`SourceKind::Ebs`] and
    /// [`SourceKind::Lbr`].
    pub fn event_code(mut self, code: &EventCode) -> Self {
        self.raw.event = code.event().raw();
        self.raw.event_type = code.kind();
        self.raw.event_config = code.config();
        self.event_name = Some(code.name().clone());
        self
    }

    setters! {
        /// Sets how periods follow each other.
        period_mode(mode: PeriodMode): raw.period_mode = mode.raw();
        /// Sets the period in occurrences of the event, nanoseconds for clocks. Default: one that
        /// keeps the overhead below 1 %.
        period(occurrences: u64): raw.period = occurrences;
        /// Sets the samples per second of CPU time, instead of a period.
        frequency_hz(samples: u64): raw.frequency_hz = samples;
        /// Counts kernel code too, which needs permission.
        include_kernel(include: bool): raw.include_kernel = include.into();
        /// Sets the size of each CPU's ring buffer. Default: 256 KiB.
        buffer_bytes(bytes: u32): raw.buffer_bytes = bytes;
        /// Sets the mode of [`SourceKind::Swbt`].
        trace_mode(mode: TraceMode): raw.trace_mode = mode.raw();
        /// Sets the taken branches per burst of [`SourceKind::Swbt`].
        burst_branches(branches: u32): raw.burst_branches = branches;
        /// Sets the taken branches between branch stacks, for hardware events.
        branch_period(branches: u64): raw.branch_period = branches;
        /// Sets how long the program will run, which determines default periods of hardware events.
        expected_seconds(seconds: u64): raw.expected_seconds = seconds;
        /// Observes another process, which the caller may trace. Default: the calling one.
        pid(pid: u32): raw.pid = pid.into();
        /// Sets which instruction a sample counts for.
        ebs_method(method: EbsMethod): raw.ebs_method = method.raw();
        /// Uses no precise events (PEBS), even if there are some.
        imprecise(imprecise: bool): raw.imprecise = imprecise.into();
        /// Keeps counts by slices of time of this width, so that phases can be distinguished.
        /// Slices become wider when there would be too many.
        slices(width: Duration): raw.slice_ns = nanoseconds(width);
        /// Observes only these threads, by their ids of gettid, and none that they start. Default:
        /// every thread of the process.
        threads(tids: impl Into<Vec<u32>>): threads = tids.into();
        /// Limits the overhead to a fraction of the profiled CPU time: 0.01 is 1 %. The session
        /// keeps it by longer periods; counts stay right.
        max_overhead(fraction: f64): raw.max_overhead = fraction;
        /// Limits the bytes for counts, buffers, names and copied code, at least [`MIN_MEMORY`].
        /// Samples that do not fit after all other measures are dropped and counted.
        max_memory(bytes: u64): raw.max_memory = bytes;
        /// Keeps whole bursts in so many bytes, for the export format `brstack`. Default: none.
        kept_burst_bytes(bytes: u64): raw.kept_burst_bytes = bytes;
        /// Keeps bursts with the addresses that they accessed; needs
        /// [`kept_burst_bytes`](Self::kept_burst_bytes) and branch tracing by look-ahead.
        keep_accesses(keep: bool): raw.keep_accesses = keep.into();
        /// Keeps bursts with these values, for productions; needs what
        /// [`keep_accesses`](Self::keep_accesses) needs.
        keep_values(values: &[BurstValue]): raw.keep_values = values.iter().fold(0, |sum, value| sum | value.raw());
        /// Begins to sample when the process of [`pid`](Self::pid) executes a program (exec), by
        /// perf events only: not with branch tracing or external sources.
        enable_on_exec(enable: bool): raw.enable_on_exec = enable.into();
        /// Starts no thread: [`Session::drain`] must be called again and again.
        drained_by_host(drained: bool): raw.drained_by_host = drained.into();
        /// Sets the least urgent level of messages. Default: [`LogLevel::Info`].
        log_level(level: LogLevel): raw.log_level = level.raw();
    }

    /// Sets a function that gets messages of one line, from the worker of the session or from a
    /// thread that is in a call of this crate. It may query the session; starting and stopping it
    /// there fails, and a session that is dropped there ends in a thread of its own, after the log
    /// has returned. A panic in it continues in that call; in the worker, there are no further
    /// messages after a panic.
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

    /// Sets the allocator of counts. Default: operator new of C++. It must not use this crate.
    pub fn allocator(mut self, memory: impl GlobalAlloc + Send + Sync + 'static) -> Self {
        self.host.set_memory(memory);
        self
    }

    /// Makes a session with these options. It opens nothing yet.
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
            // SAFETY: name, threads and allocator live during the call, which copies them; data of
            // the host lives as long as the session.
            unsafe { sys::hbbp_session_create(&raw, session, error) }
        })?;
        Ok(Session {
            parts: ManuallyDrop::new(SessionParts {
                handle,
                host: self.host,
            }),
        })
    }

    /// Runs a closure, and returns its result with the profile of all threads during it.
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

/// Runs a closure in a session with all defaults; see [`SessionOptions::profile`].
///
/// ```no_run
/// let (sum, profile) = hbbp::profile_call(|| (1..1 << 30).sum::<u64>())?;
/// for block in profile.analyze()?.hottest_blocks(10, hbbp::Order::Instructions)? {
///     println!("{:x} {}", block.start, block.count);
/// }
/// # println!("{sum}");
/// # Ok::<(), hbbp::Error>(())
/// ```
pub fn profile_call<R>(work: impl FnOnce() -> R) -> Result<(R, Profile)> {
    SessionOptions::new().profile(work)
}

impl Default for SessionOptions {
    fn default() -> Self {
        SessionOptions::new()
    }
}

/// Converts to nanoseconds for C; more than 584 years stay longer than the maximum.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

records! {
    /// The current state of a session.
    SessionInfo(raw: hbbp_session_info) {
        /// Whether it is between start and stop.
        is_running: bool = raw.running != 0,
        /// Samples collected so far; bursts, with [`SourceKind::Swbt`].
        samples: u64 = raw.samples,
        /// Samples that the kernel had no room for.
        lost: u64 = raw.lost,
        /// Number of times that the kernel throttled sampling.
        throttled: u64 = raw.throttled,
        /// Time between start and stop, or until now; the sum of all runs.
        duration_ns: u64 = raw.duration_ns,
        /// Samples without memory.
        dropped: u64 = raw.dropped,
        /// CPU time of the profiled threads, the sum of all runs, like the next one.
        cpu_ns: u64 = raw.cpu_ns,
        /// CPU time of sampling, as far as the session knows.
        overhead_ns: u64 = raw.overhead_ns,
        /// Overhead in the last 50 ms or more of CPU time.
        recent_overhead: f64 = raw.recent_overhead,
        /// Factor of the requested periods; 1 without a budget.
        period_factor: f64 = raw.period_factor,
        /// Number of changes of periods.
        period_changes: u64 = raw.period_changes,
        /// Memory that [`SessionOptions::max_memory`] limits, also without a limit.
        memory_bytes: u64 = raw.memory_bytes,
        /// The maximum of that.
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
/// it, which the borrow checker enforces:
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
    // The session calls this, so it is dropped after it.
    host: Host,
}

// SAFETY: the ABI lets any one thread at a time start and stop a session (they take `&mut self`),
// and any number of threads take snapshots and query its state concurrently.
unsafe impl Send for SessionParts {}
unsafe impl Sync for SessionParts {}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: nothing uses them afterwards.
        let parts = unsafe { ManuallyDrop::take(&mut self.parts) };
        if parts.host.is_in_log() || source::is_running_here() {
            drop_elsewhere(parts);
        }
    }
}

/// The log or the source that runs here belongs to them, and the end of the session waits for it. If no thread
/// can be started, they are leaked.
fn drop_elsewhere(parts: SessionParts) {
    let mut parts = ManuallyDrop::new(parts);
    let _ = thread::Builder::new().spawn(move || {
        // SAFETY: nothing uses them afterwards.
        unsafe { ManuallyDrop::drop(&mut parts) }
    });
}

impl Session {
    /// Makes a session with all defaults. It opens nothing yet.
    pub fn new() -> Result<Session> {
        SessionOptions::new().create()
    }

    /// Starts to observe; a stopped session may be started again, and its counts continue. It
    /// starts one thread of its own, which is not sampled, unless the host drains it.
    pub fn start(&mut self) -> Result<()> {
        // SAFETY: the session is alive, and no other thread starts or stops it.
        call(|error| unsafe { sys::hbbp_session_start(self.parts.handle.get_mut(), error) })
    }

    /// Collects what is in the buffers of a session with [`SessionOptions::drained_by_host`].
    /// Returns the time until it should be called again.
    pub fn drain(&self) -> Result<Duration> {
        let mut next_ms = 0;
        // SAFETY: the session is alive; any thread may do this at any time.
        call(|error| unsafe {
            sys::hbbp_session_drain(self.parts.handle.get_mut(), &mut next_ms, error)
        })?;
        Ok(Duration::from_millis(next_ms.into()))
    }

    /// Collects what is in the buffers, closes events and buffers, and ends the thread. The files
    /// of counted modules stay open as long as the session or a profile lives.
    pub fn stop(&mut self) -> Result<()> {
        // SAFETY: as above.
        call(|error| unsafe { sys::hbbp_session_stop(self.parts.handle.get_mut(), error) })
    }

    /// Adds a source of the host, before the session is started; its name is for messages. With
    /// [`SourceKind::External`], such sources are the only ones.
    pub fn add_source<S: Source + 'static>(&mut self, name: &str, source: S) -> Result<()> {
        source::add(&self.parts.handle, name, source)
    }

    /// Counts samples at these addresses for this code from now on, whether the session runs or
    /// not. It replaces earlier code; freed code need not be reported.
    pub fn add_code(&self, region: &CodeRegion<'_>) -> Result<()> {
        region.add_to(&self.parts.handle)
    }

    /// Counts accesses to this memory for a block from now on, whether the session runs or not, or,
    /// without a name, for freed memory. It replaces earlier blocks.
    pub fn add_data(&self, region: &DataRegion) -> Result<()> {
        region.add_to(&self.parts.handle)
    }

    /// Returns what was counted so far. It is cheap, since no code is read.
    pub fn snapshot(&self) -> Result<Profile> {
        self.snapshot_with(Work::new())
    }

    /// Does the same, with progress and a flag that cancels it, which is useful with millions of
    /// counts. The progress closure must not use the session.
    pub fn snapshot_with(&self, work: Work<'_>) -> Result<Profile> {
        Profile::create(work, |work, profile, error| {
            // SAFETY: the session is alive; any thread may do this at any time.
            unsafe { sys::hbbp_session_snapshot(self.parts.handle.get_mut(), work, profile, error) }
        })
    }

    pub(crate) fn raw(&self) -> *mut sys::hbbp_session {
        self.parts.handle.get_mut()
    }

    /// Returns the current state of the session.
    pub fn info(&self) -> Result<SessionInfo> {
        let session = self.parts.handle.get_mut();
        // SAFETY: as above; the struct points to nothing.
        unsafe {
            let raw = fill(|info, error| sys::hbbp_session_get_info(session, info, error))?;
            Ok(SessionInfo::from_raw(&raw))
        }
    }
}
