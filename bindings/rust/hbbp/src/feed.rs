//! Profiles of what the host observes itself.

use crate::error::{call, optional_text, Result};
use crate::handle::Handle;
use crate::host::{Host, LogLevel, Work};
use crate::import::MovedFiles;
use crate::list::{fill, Record};
use crate::profile::Profile;
use crate::samples::{Event, SourceKind};
use crate::session::nanoseconds;
use crate::sys;
use crate::text::{c_path, pointer};
use std::alloc::GlobalAlloc;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::mem::size_of;
use std::path::PathBuf;
use std::time::Duration;

values! {
    /// When added samples and events are counted.
    FeedOrder: i32 {
        /// They are sorted within rounds.
        ByTime = HBBP_FEED_BY_TIME,
        /// They are counted at once, in the order of calls.
        AsAdded = HBBP_FEED_AS_ADDED,
    }
}

values! {
    /// The two kinds of records of [`SourceKind::Ibs`].
    IbsKind: i32 {
        /// The kind of other sources.
        None = HBBP_IBS_NONE,
        /// Records of operations: IBS_OP_CTL, IBS_OP_RIP, IBS_OP_DATA, ...
        Op = HBBP_IBS_OP,
        /// Records of fetches: IBS_FETCH_CTL, IBS_FETCH_LINADDR, ...
        Fetch = HBBP_IBS_FETCH,
    }
}

/// The process id of mappings of the kernel.
pub const KERNEL_PID: u32 = sys::HBBP_FEED_KERNEL_PID;

/// Options of a feed. Everything has a default.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct FeedOptions {
    order: Option<FeedOrder>,
    max_waiting_bytes: u64,
    command: Option<String>,
    host: Option<String>,
    cpu_id: Option<String>,
    root: Option<PathBuf>,
    moved_files: Vec<(PathBuf, PathBuf)>,
    slice: Duration,
    kept_burst_bytes: u64,
    log_level: Option<LogLevel>,
    max_memory: u64,
    host_functions: Host,
}

impl FeedOptions {
    /// Makes options with all defaults.
    pub fn new() -> Self {
        FeedOptions::default()
    }

    setters! {
        /// Sets when added samples and events are counted. Default: sorted within rounds.
        order(order: FeedOrder): order = Some(order);
        /// Limits the bytes of waiting records; beyond it the earlier half is counted, whatever the
        /// rounds. Default: 64 MiB.
        max_waiting_bytes(bytes: u64): max_waiting_bytes = bytes;
        /// Sets [`ProfileInfo::command`](crate::ProfileInfo::command).
        command(command: impl Into<String>): command = Some(command.into());
        /// Sets the observed machine. Default: this one.
        host(host: impl Into<String>): host = Some(host.into());
        /// Sets the processor of another host in perf's spelling: "AuthenticAMD,25,17,1".
        cpu_id(cpu_id: impl Into<String>): cpu_id = Some(cpu_id.into());
        /// Sets the directory with the files of the observed machine.
        root(directory: impl Into<PathBuf>): root = Some(directory.into());
    }

    /// Adds a file whose path is different on the observed machine: its path there, or the last
    /// part of that, and the file.
    pub fn moved_file(mut self, there: impl Into<PathBuf>, here: impl Into<PathBuf>) -> Self {
        self.moved_files.push((there.into(), here.into()));
        self
    }

    setters! {
        /// Keeps counts by slices of time of this width.
        slices(width: Duration): slice = width;
        /// Keeps whole bursts and branch stacks in so many bytes, for the export format `brstack`.
        /// Default: none.
        kept_burst_bytes(bytes: u64): kept_burst_bytes = bytes;
        /// Sets the least urgent level of messages. Default: [`LogLevel::Info`].
        log_level(level: LogLevel): log_level = Some(level);
        /// Limits the bytes for counts, waiting records, names and code, at least
        /// [`MIN_MEMORY`](crate::MIN_MEMORY). Samples that do not fit are dropped and counted.
        /// Default: no limit.
        max_memory(bytes: u64): max_memory = bytes;
    }

    /// Sets a function that gets messages, inside the functions of the feed;
    /// [`SessionOptions::log`](crate::SessionOptions::log) describes it.
    pub fn log(mut self, log: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.host_functions.set_log(log);
        self
    }

    /// Sets the allocator of counts and waiting records. It must not use this crate.
    pub fn allocator(mut self, memory: impl GlobalAlloc + Send + Sync + 'static) -> Self {
        self.host_functions.set_memory(memory);
        self
    }

    /// Makes a feed with these options.
    pub fn create(self) -> Result<Feed> {
        let command = optional_text(&self.command)?;
        let host = optional_text(&self.host)?;
        let cpu_id = optional_text(&self.cpu_id)?;
        let root = self.root.as_deref().map(c_path).transpose()?;
        let moved_files = MovedFiles::new(&self.moved_files)?;
        let functions = self.host_functions.fields();
        let raw = sys::hbbp_feed_options {
            order: self.order.map_or(sys::HBBP_FEED_BY_TIME, FeedOrder::raw),
            max_waiting_bytes: self.max_waiting_bytes,
            command: pointer(&command),
            host: pointer(&host),
            cpu_id: pointer(&cpu_id),
            root: pointer(&root),
            moved_files: moved_files.as_slice().as_ptr(),
            moved_file_count: moved_files.as_slice().len(),
            slice_ns: nanoseconds(self.slice),
            kept_burst_bytes: self.kept_burst_bytes,
            log: functions.log,
            log_user_data: functions.log_user_data,
            log_level: self.log_level.map_or(0, LogLevel::raw),
            max_memory: self.max_memory,
            allocator: functions.allocator(),
            ..Default::default()
        };
        let handle = Handle::create(sys::hbbp_feed_destroy, |feed, error| {
            // SAFETY: the texts and the allocator live during the call, which copies them; data of
            // the host lives as long as the feed.
            unsafe { sys::hbbp_feed_create(&raw, feed, error) }
        })?;
        Ok(Feed {
            handle,
            _host: self.host_functions,
        })
    }
}

/// A source of samples.
#[derive(Debug, Clone)]
#[must_use]
pub struct FeedSource<'a> {
    raw: sys::hbbp_feed_source,
    event_name: Option<String>,
    borrowed: PhantomData<&'a [u8]>,
}

// SAFETY: the pointers in `raw` are borrowed from data that may be shared.
unsafe impl Send for FeedSource<'_> {}
unsafe impl Sync for FeedSource<'_> {}

impl<'a> FeedSource<'a> {
    /// Makes a source of raw records of an event that was opened with this `struct
    /// perf_event_attr`, of any version.
    pub fn of_perf_attr(attr: &'a [u8]) -> Self {
        Self::with(sys::hbbp_feed_source {
            perf_attr: attr.as_ptr().cast(),
            perf_attr_size: u32::try_from(attr.len()).unwrap_or(u32::MAX),
            ..Default::default()
        })
    }

    /// Makes a source of samples that the host has decoded; a period counts `event`.
    pub fn of_samples(kind: SourceKind, event: Event) -> Self {
        Self::with(sys::hbbp_feed_source {
            kind: kind.raw(),
            event: event.raw(),
            ..Default::default()
        })
    }

    fn with(raw: sys::hbbp_feed_source) -> Self {
        FeedSource {
            raw,
            event_name: None,
            borrowed: PhantomData,
        }
    }

    /// Sets the kernel's ids of the event (`PERF_EVENT_IOC_ID`), one for each descriptor, for raw
    /// records.
    pub fn perf_ids(mut self, ids: &'a [u64]) -> Self {
        self.raw.perf_ids = ids.as_ptr();
        self.raw.perf_id_count = ids.len();
        self
    }

    setters! {
        /// Sets the counted event if type and config do not determine it.
        event_name(name: impl Into<String>): event_name = Some(name.into());
        /// Sets the kind of decoded samples of [`SourceKind::Ibs`].
        ibs(kind: IbsKind): raw.ibs = kind.raw();
        /// Declares that samples of the kernel were requested, for decoded samples.
        include_kernel(include: bool): raw.include_kernel = include.into();
        /// Sets the period of decoded samples without a period of their own.
        period(occurrences: u64): raw.period = occurrences;
        /// Declares a frequency instead of a period: each decoded sample has its own period.
        frequency_hz(samples: u64): raw.frequency_hz = samples;
    }
}

/// A taken branch, in the layout of `struct perf_branch_entry` of Linux.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct BranchEntry {
    /// Address of the branch instruction; 0 with `to` 0: no entry, the stack is cut here.
    pub from: u64,
    /// Target of the branch.
    pub to: u64,
    /// Bit-fields, the first at bit 0; 0 if unknown.
    pub flags: u64,
}

impl BranchEntry {
    /// In `flags`: the branch was on a path that was not taken in the end. It is ignored, and the
    /// stack is cut there.
    pub const WRONG_PATH: u64 = sys::HBBP_BRANCH_WRONG_PATH;
}

/// A decoded sample.
///
/// Borrowed data must live until it is added:
///
/// ```compile_fail,E0597
/// let sample = {
///     let branches = vec![hbbp::BranchEntry::default()];
///     hbbp::FeedSample::new(1, 1).branches(&branches)
/// };
/// hbbp::Feed::new()?.add_samples(0, &[sample])?;
/// # Ok::<(), hbbp::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
#[must_use]
pub struct FeedSample<'a> {
    raw: sys::hbbp_feed_sample,
    borrowed: PhantomData<&'a [BranchEntry]>,
}

// SAFETY: the pointers in `raw` are borrowed from data that may be shared.
unsafe impl Send for FeedSample<'_> {}
unsafe impl Sync for FeedSample<'_> {}

impl<'a> FeedSample<'a> {
    /// Makes a sample of a thread of a process.
    pub fn new(pid: u32, tid: u32) -> Self {
        let raw = sys::hbbp_feed_sample {
            pid,
            tid,
            ..Default::default()
        };
        FeedSample {
            raw,
            borrowed: PhantomData,
        }
    }

    setters! {
        /// Sets the time of the sample; 0: unknown.
        time_ns(time: u64): raw.time_ns = time;
        /// Sets the instruction pointer (EBS and IBS).
        ip(address: u64): raw.ip = address;
        /// Sets the occurrences of the event per sample; 0: the source's period.
        period(occurrences: u64): raw.period = occurrences;
        /// Sets the occurrences of the event in the burst (SWBT); 0: its streams.
        extent(occurrences: u64): raw.extent = occurrences;
    }

    /// Sets the branches. LBR: the whole stack, the newest branch first. SWBT: the taken branches
    /// of the burst, the oldest first.
    pub fn branches(mut self, branches: &'a [BranchEntry]) -> Self {
        self.raw.branches = branches.as_ptr().cast();
        self.raw.branch_count = u32::try_from(branches.len()).unwrap_or(u32::MAX);
        self
    }

    /// Sets raw registers in the order of their numbers (IBS), as in the kernel's raw data, and the
    /// word in front of them there.
    pub fn ibs_registers(mut self, capabilities: u32, registers: &'a [u64]) -> Self {
        self.raw.ibs_registers = registers.as_ptr();
        self.raw.ibs_register_count = u32::try_from(registers.len()).unwrap_or(u32::MAX);
        self.raw.ibs_capabilities = capabilities;
        self
    }
}

/// An event in the life of a process.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
#[must_use]
pub struct FeedEvent<'a> {
    raw: sys::hbbp_feed_event,
    borrowed: PhantomData<&'a [u8]>,
}

// SAFETY: the pointers in `raw` are borrowed from data that may be shared.
unsafe impl Send for FeedEvent<'_> {}
unsafe impl Sync for FeedEvent<'_> {}

impl<'a> FeedEvent<'a> {
    fn new(kind: sys::hbbp_feed_event_kind, pid: u32) -> Self {
        let raw = sys::hbbp_feed_event {
            kind,
            pid,
            ..Default::default()
        };
        FeedEvent {
            raw,
            borrowed: PhantomData,
        }
    }

    /// Executable memory was mapped and replaced earlier mappings; add [`file`](FeedEvent::file)
    /// for a mapping of a file.
    pub fn mapping(pid: u32, address: u64, size: u64) -> Self {
        let mut event = Self::new(sys::HBBP_FEED_MAPPING, pid);
        event.raw.address = address;
        event.raw.size = size;
        event
    }

    /// Sets the file of a mapping, and the offset in it.
    pub fn file(mut self, path: &'a CStr, file_offset: u64) -> Self {
        self.raw.file_offset = file_offset;
        self.name(path)
    }

    /// Sets device (makedev) and inode of the file of a mapping.
    pub fn inode(mut self, device: u64, inode: u64) -> Self {
        self.raw.device = device;
        self.raw.inode = inode;
        self
    }

    /// Sets the build ID of the file of a mapping; at most 64 bytes.
    pub fn build_id(mut self, build_id: &'a [u8]) -> Self {
        self.raw.build_id = build_id.as_ptr();
        self.raw.build_id_size = u32::try_from(build_id.len()).unwrap_or(u32::MAX);
        self
    }

    /// The process has generated code, which replaced earlier code.
    pub fn code(pid: u32, address: u64, code: &'a [u8]) -> Self {
        let mut event = Self::code_of_size(pid, address, code.len() as u64);
        event.raw.code = code.as_ptr();
        event
    }

    /// Generated code without the bytes: samples are counted, but not in blocks.
    pub fn code_of_size(pid: u32, address: u64, size: u64) -> Self {
        let mut event = Self::new(sys::HBBP_FEED_CODE, pid);
        event.raw.address = address;
        event.raw.size = size;
        event
    }

    /// The process has a block of memory, whose name is [`name`](FeedEvent::name); without a name
    /// the memory was freed.
    pub fn data(pid: u32, address: u64, size: u64) -> Self {
        let mut event = Self::new(sys::HBBP_FEED_DATA, pid);
        event.raw.address = address;
        event.raw.size = size;
        event
    }

    /// The process runs another program, and nothing is mapped. [`name`](FeedEvent::name) is the
    /// name of the thread `tid`.
    pub fn exec(pid: u32, tid: u32) -> Self {
        let mut event = Self::new(sys::HBBP_FEED_EXEC, pid);
        event.raw.tid = tid;
        event
    }

    /// `parent_tid` of `parent_pid` has made thread `tid` of `pid`: a process with its mappings,
    /// or, if the pids are the same, a thread.
    pub fn fork(pid: u32, tid: u32, parent_pid: u32, parent_tid: u32) -> Self {
        let mut event = Self::new(sys::HBBP_FEED_FORK, pid);
        event.raw.tid = tid;
        event.raw.parent_pid = parent_pid;
        event.raw.parent_tid = parent_tid;
        event
    }

    /// The process has ended, not only a thread.
    pub fn exit(pid: u32) -> Self {
        Self::new(sys::HBBP_FEED_EXIT, pid)
    }

    /// A thread got a name.
    pub fn thread_name(pid: u32, tid: u32, name: &'a CStr) -> Self {
        let mut event = Self::new(sys::HBBP_FEED_THREAD_NAME, pid);
        event.raw.tid = tid;
        event.name(name)
    }

    /// Sets the build ID of a file, for its mappings without one.
    pub fn build_id_of(path: &'a CStr, build_id: &'a [u8]) -> Self {
        Self::new(sys::HBBP_FEED_BUILD_ID, 0)
            .name(path)
            .build_id(build_id)
    }

    /// Samples of a source were lost.
    pub fn lost(source: u32, count: u64) -> Self {
        let mut event = Self::new(sys::HBBP_FEED_LOST, 0);
        event.raw.source = source;
        event.raw.count = count;
        event
    }

    /// Sampling for a source was throttled once.
    pub fn throttled(source: u32) -> Self {
        let mut event = Self::new(sys::HBBP_FEED_THROTTLED, 0);
        event.raw.source = source;
        event
    }

    setters! {
        /// Sets the time of the event; 0: always, for mappings and code, and unknown for others.
        time_ns(time: u64): raw.time_ns = time;
        /// Sets the name of the file, the function or the thread.
        name(name: &'a CStr): raw.name = name.as_ptr();
    }
}

records! {
    /// The current state of a feed.
    FeedInfo(raw: hbbp_feed_info) {
        /// Samples added so far, counted or waiting.
        samples: u64 = raw.samples,
        /// Lost samples, by records and events.
        lost: u64 = raw.lost,
        /// Throttled times, by records and events.
        throttled: u64 = raw.throttled,
        /// Time between the first and the last counted sample.
        duration_ns: u64 = raw.duration_ns,
        /// Records and samples that wait for the end of a round.
        waiting: u64 = raw.waiting,
        /// Records that could not be used, and samples without memory.
        dropped: u64 = raw.dropped,
        /// Memory that [`FeedOptions::max_memory`] limits, also without a limit.
        memory_bytes: u64 = raw.memory_bytes,
        /// The maximum of that.
        peak_memory_bytes: u64 = raw.peak_memory_bytes,
    }
}

/// Makes a profile of what the host observes itself: raw records of perf, decoded samples, and
/// events. The library then starts no thread, no signal handler and no event.
/// `docs/guide/feeding.md` explains rounds.
///
/// Any number of threads may call its functions at once.
///
/// ```
/// use hbbp::{Event, Feed, FeedEvent, FeedSample, FeedSource, SourceKind};
/// let feed = Feed::new()?;
/// let source = FeedSource::of_samples(SourceKind::Ebs, Event::Instructions).period(1000);
/// let source = feed.add_source(&source)?;
/// let code = [0xff, 0xc8, 0x75, 0xfc, 0xc3]; // dec eax; jne .-2; ret
/// feed.add_events(&[FeedEvent::code(7, 0x1000, &code)])?;
/// feed.add_samples(source, &[FeedSample::new(7, 7).ip(0x1000); 30])?;
/// feed.flush()?;
/// let blocks = feed.snapshot()?.analyze()?.blocks()?;
/// assert_eq!((blocks[0].instruction_count, blocks[0].count), (2, 15000.0));
/// # Ok::<(), hbbp::Error>(())
/// ```
#[derive(Debug)]
pub struct Feed {
    handle: Handle<sys::hbbp_feed>,
    // The feed calls this, so it is dropped after it.
    _host: Host,
}

// SAFETY: the ABI lets any number of threads call any function of a feed at once.
unsafe impl Send for Feed {}
unsafe impl Sync for Feed {}

impl Feed {
    /// Makes a feed with all defaults.
    pub fn new() -> Result<Feed> {
        FeedOptions::new().create()
    }

    /// Makes the feed of a session, which owns it.
    ///
    /// # Safety
    /// The feed must live as long as this object.
    pub(crate) unsafe fn lent(feed: *mut sys::hbbp_feed) -> Result<Feed> {
        Ok(Feed {
            handle: Handle::lent(feed)?,
            _host: Host::default(),
        })
    }

    /// Adds a source, and returns its number. Sources may be added at any time.
    pub fn add_source(&self, source: &FeedSource<'_>) -> Result<u32> {
        let name = optional_text(&source.event_name)?;
        let raw = sys::hbbp_feed_source {
            event_name: pointer(&name),
            ..source.raw
        };
        let mut index = 0;
        // SAFETY: data that the source borrows is alive.
        call(|error| unsafe { sys::hbbp_feed_add_source(self.raw(), &raw, &mut index, error) })?;
        Ok(index)
    }

    /// Adds perf ids of a source, as when a new thread or CPU gets an event.
    pub fn add_perf_ids(&self, source: u32, perf_ids: &[u64]) -> Result<()> {
        // SAFETY: the ids are alive.
        call(|error| unsafe {
            let (ids, count) = (perf_ids.as_ptr(), perf_ids.len());
            sys::hbbp_feed_add_perf_ids(self.raw(), source, ids, count, error)
        })
    }

    /// Adds whole records one after the other, of all sources with a `perf_event_attr`. Returns how
    /// many bytes whole records were; the rest is the beginning of a record, to be added again with
    /// the following bytes.
    pub fn add_perf_records(&self, records: &[u8]) -> Result<usize> {
        let mut consumed = 0;
        // SAFETY: the records are alive, and need no alignment.
        call(|error| unsafe {
            let (start, size) = (records.as_ptr().cast(), records.len());
            sys::hbbp_feed_add_perf_records(self.raw(), start, size, &mut consumed, error)
        })?;
        Ok(consumed)
    }

    /// Adds decoded samples of a source, all or none.
    pub fn add_samples(&self, source: u32, samples: &[FeedSample<'_>]) -> Result<()> {
        // SAFETY: a FeedSample is a hbbp_feed_sample, and borrowed data is alive.
        call(|error| unsafe {
            sys::hbbp_feed_add_samples(
                self.raw(),
                source,
                samples.as_ptr().cast(),
                samples.len(),
                size_of::<FeedSample<'_>>(),
                error,
            )
        })
    }

    /// Adds events, all or none.
    pub fn add_events(&self, events: &[FeedEvent<'_>]) -> Result<()> {
        // SAFETY: a FeedEvent is a hbbp_feed_event, and borrowed data is alive.
        call(|error| unsafe {
            sys::hbbp_feed_add_events(
                self.raw(),
                events.as_ptr().cast(),
                events.len(),
                size_of::<FeedEvent<'_>>(),
                error,
            )
        })
    }

    /// Adds the mappings and names of threads of a process that runs, as /proc shows them; 0 is the
    /// calling one.
    pub fn process(&self, pid: u32) -> Result<()> {
        // SAFETY: the feed is alive.
        call(|error| unsafe { sys::hbbp_feed_process(self.raw(), pid, error) })
    }

    /// Ends a round: call it after every ring was emptied once since the last round. It counts what
    /// was added by the end of the round before that.
    pub fn end_round(&self) -> Result<()> {
        // SAFETY: the feed is alive.
        call(|error| unsafe { sys::hbbp_feed_end_round(self.raw(), error) })
    }

    /// Counts what waits up to a time. Call it after everything that happened before was added.
    pub fn flush_up_to(&self, time_ns: u64) -> Result<()> {
        // SAFETY: as above.
        call(|error| unsafe { sys::hbbp_feed_flush(self.raw(), time_ns, error) })
    }

    /// Counts everything that waits; call it at the end.
    pub fn flush(&self) -> Result<()> {
        self.flush_up_to(sys::HBBP_FEED_ALL)
    }

    /// Returns what was counted so far, without what waits.
    pub fn snapshot(&self) -> Result<Profile> {
        self.snapshot_with(Work::new())
    }

    /// Does the same, with progress and a flag that cancels it. The progress closure must not use
    /// the feed.
    pub fn snapshot_with(&self, work: Work<'_>) -> Result<Profile> {
        Profile::create(work, |work, profile, error| {
            // SAFETY: the feed is alive.
            unsafe { sys::hbbp_feed_snapshot(self.raw(), work, profile, error) }
        })
    }

    /// Returns the current state of the feed.
    pub fn info(&self) -> Result<FeedInfo> {
        // SAFETY: as above; the struct points to nothing.
        unsafe {
            let raw = fill(|info, error| sys::hbbp_feed_get_info(self.raw(), info, error))?;
            Ok(FeedInfo::from_raw(&raw))
        }
    }

    fn raw(&self) -> *mut sys::hbbp_feed {
        self.handle.get_mut()
    }
}

/// The layout of a [`BranchEntry`] in C.
const _: () = assert!(
    size_of::<BranchEntry>() == size_of::<sys::hbbp_branch_entry>()
        && size_of::<FeedSample<'static>>() == size_of::<sys::hbbp_feed_sample>()
        && size_of::<FeedEvent<'static>>() == size_of::<sys::hbbp_feed_event>()
);
