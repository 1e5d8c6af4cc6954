// Written by `generate` from include/hbbp/*.h. Change those, and run it again.

use core::marker::{PhantomData, PhantomPinned};
use std::os::raw::{c_char, c_void};

// status.h ----------------------------------------------------------------------------------------

/// Values are pinned; new ones get new numbers.
pub type hbbp_status = i32;

/// `HBBP_OK` of the C ABI.
pub const HBBP_OK: hbbp_status = 0;
/// the caller's mistake
pub const HBBP_ERROR_INVALID_ARGUMENT: hbbp_status = -1;
/// right call, wrong time: start of a started session
pub const HBBP_ERROR_INVALID_STATE: hbbp_status = -2;
/// `HBBP_ERROR_NO_MEMORY` of the C ABI.
pub const HBBP_ERROR_NO_MEMORY: hbbp_status = -3;
/// no such file, block, thread
pub const HBBP_ERROR_NOT_FOUND: hbbp_status = -4;
/// reading or writing failed
pub const HBBP_ERROR_IO: hbbp_status = -5;
/// a file is damaged or is something else
pub const HBBP_ERROR_BAD_FORMAT: hbbp_status = -6;
/// this machine or kernel cannot do it
pub const HBBP_ERROR_UNSUPPORTED: hbbp_status = -7;
/// it can, but not for this user
pub const HBBP_ERROR_PERMISSION: hbbp_status = -8;
/// a resource is taken or used up
pub const HBBP_ERROR_BUSY: hbbp_status = -9;
/// made for a newer library
pub const HBBP_ERROR_VERSION: hbbp_status = -10;
/// a file's build ID is not the one that ran
pub const HBBP_ERROR_MISMATCH: hbbp_status = -11;
/// our bug; please report it
pub const HBBP_ERROR_INTERNAL: hbbp_status = -12;
/// cancelled by its hbbp_cancel
pub const HBBP_ERROR_CANCELLED: hbbp_status = -13;

/// Filled by a failing function when the caller passes one; left alone on success.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_error {
    /// set by the caller
    pub struct_size: u32,
    /// `hbbp_status status` in C.
    pub status: hbbp_status,
    /// one line: what failed, where, and what to do next; NUL-terminated
    pub message: [c_char; 1024],
}

sized!(hbbp_error);

extern "C" {
    /// "HBBP_ERROR_IO" for HBBP_ERROR_IO; "unknown status" for a number that this library does not
    /// know. Never fails; any thread; async-signal-safe; static storage. Since 0.1.
    pub fn hbbp_status_name(status: hbbp_status) -> *const c_char;
}

// version.h ---------------------------------------------------------------------------------------

/// `HBBP_VERSION_MAJOR` of the C ABI.
pub const HBBP_VERSION_MAJOR: u32 = 0;

/// `HBBP_VERSION_MINOR` of the C ABI.
pub const HBBP_VERSION_MINOR: u32 = 1;

/// `HBBP_VERSION_PATCH` of the C ABI.
pub const HBBP_VERSION_PATCH: u32 = 0;

/// `HBBP_VERSION_STRING` of the C ABI.
pub const HBBP_VERSION_STRING: &str = "0.1.0";

/// Grows by one whenever a function or a struct field is added; never otherwise.
pub const HBBP_ABI_VERSION: u32 = 1;

extern "C" {
    /// "0.1.0": the version of the library that is running. Never fails; any thread; static storage.
    /// Since 0.1.
    pub fn hbbp_version_string() -> *const c_char;

    /// major \* 1000000 + minor \* 1000 + patch of the running library. Never fails; any thread.
    /// Since 0.1.
    pub fn hbbp_version_number() -> u32;

    /// HBBP_ABI_VERSION of the running library. A program that needs a function added in ABI version
    /// n works with every library whose number is at least n and whose SONAME is the same.
    /// Never fails; any thread. Since 0.1.
    pub fn hbbp_abi_version() -> u32;

    /// 1 if the running library was built with the feature called \`name\`, 0 if not, or if the name is
    /// not known, or NULL:
    /// "ebs", "lbr", "ibs", "swbt"  live sources
    /// "import"             hbbp_profile_import
    /// "analysis"           analysis.h and what needs it; not in libhbbp-collect
    /// "debug-information"  lines.h
    /// "probes"             probe.h, and what whole bursts keep for it (hbbp_session_options)
    /// Never fails; any thread. Since 0.1.
    pub fn hbbp_feature(name: *const c_char) -> i32;
}

// samples.h ---------------------------------------------------------------------------------------

/// What kind of observations a source gives.
pub type hbbp_source_kind = i32;

/// of session options: HBBP_SOURCE_AUTO
pub const HBBP_SOURCE_NONE: hbbp_source_kind = 0;
/// event-based sampling: an instruction pointer a period
pub const HBBP_SOURCE_EBS: hbbp_source_kind = 1;
/// last branch records
pub const HBBP_SOURCE_LBR: hbbp_source_kind = 2;
/// AMD instruction-based sampling
pub const HBBP_SOURCE_IBS: hbbp_source_kind = 3;
/// software branch tracing
pub const HBBP_SOURCE_SWBT: hbbp_source_kind = 4;
/// exact counts from instrumentation
pub const HBBP_SOURCE_TRUTH: hbbp_source_kind = 5;
/// of session options only: the best that this machine has
pub const HBBP_SOURCE_AUTO: hbbp_source_kind = 6;
/// of session options only: both at once, at one period
pub const HBBP_SOURCE_EBS_AND_SWBT: hbbp_source_kind = 7;
/// of block counts only: several sources together
pub const HBBP_SOURCE_COMBINED: hbbp_source_kind = 8;
/// of session options only: those of hbbp_session_add_source alone
pub const HBBP_SOURCE_EXTERNAL: hbbp_source_kind = 9;
/// of session options only: LBR if this machine has it, else EBS; never
/// signal handlers
pub const HBBP_SOURCE_PERF: hbbp_source_kind = 10;

/// The event whose occurrences make up a period.
pub type hbbp_event = i32;

/// instructions where a counter of the PMU costs little at context
/// switches, else task-clock; docs/reference/hardware.md
pub const HBBP_EVENT_AUTO: hbbp_event = 0;
/// nanoseconds that a thread ran
pub const HBBP_EVENT_TASK_CLOCK: hbbp_event = 1;
/// the same, by the clock of the CPU
pub const HBBP_EVENT_CPU_CLOCK: hbbp_event = 2;
/// instructions retired, as precise as the PMU can
pub const HBBP_EVENT_INSTRUCTIONS: hbbp_event = 3;
/// `HBBP_EVENT_CYCLES` of the C ABI.
pub const HBBP_EVENT_CYCLES: hbbp_event = 4;
/// of sources, not of options, as the next two
pub const HBBP_EVENT_TAKEN_BRANCHES: hbbp_event = 5;
/// hbbp_source_info::event_name says which
pub const HBBP_EVENT_OTHER: hbbp_event = 6;
/// dispatched, as IBS of AMD counts them
pub const HBBP_EVENT_UOPS: hbbp_event = 7;

/// One of the constants that follow.
pub type hbbp_period_mode = i32;

/// the largest prime that is not above the period. SWBT makes it RANDOM
/// of a clock and at its default period: programs resonate with any
/// period that stays the same
pub const HBBP_PERIOD_PRIME: hbbp_period_mode = 0;
/// exactly the period
pub const HBBP_PERIOD_FIXED: hbbp_period_mode = 1;
/// drawn anew, within 12.5 % of the period, every time that samples are
/// collected; a thread born during the session keeps one draw
pub const HBBP_PERIOD_RANDOM: hbbp_period_mode = 2;
/// of sources, not of options: the kernel adapts it to a frequency
pub const HBBP_PERIOD_BY_FREQUENCY: hbbp_period_mode = 3;

/// How software branch tracing resolves branches that the code alone does not.
pub type hbbp_trace_mode = i32;

/// by interpretation; by a breakpoint where that fails
pub const HBBP_TRACE_LOOKAHEAD: hbbp_trace_mode = 0;
/// by a breakpoint each
pub const HBBP_TRACE_BREAKPOINT: hbbp_trace_mode = 1;
/// by interpretation, each compared with what a breakpoint finds
pub const HBBP_TRACE_VERIFY: hbbp_trace_mode = 2;

/// The longest burst of software branch tracing, in taken branches.
pub const HBBP_MAX_BURST_BRANCHES: u32 = 65536;

// profile.h ---------------------------------------------------------------------------------------

/// An object of the library, known by its address only.
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_profile {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

/// `HBBP_NO_INDEX` of the C ABI.
pub const HBBP_NO_INDEX: u32 = u32::MAX;

/// `HBBP_NO_ADDRESS` of the C ABI.
pub const HBBP_NO_ADDRESS: u64 = u64::MAX;

/// One of the constants that follow.
pub type hbbp_module_kind = i32;

/// a mapped ELF file
pub const HBBP_MODULE_FILE: hbbp_module_kind = 0;
/// the kernel's page of user code
pub const HBBP_MODULE_VDSO: hbbp_module_kind = 1;
/// generated code, or code of a file that is not ELF
pub const HBBP_MODULE_ANONYMOUS: hbbp_module_kind = 2;
/// `HBBP_MODULE_KERNEL` of the C ABI.
pub const HBBP_MODULE_KERNEL: hbbp_module_kind = 3;

/// `hbbp_module` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_module {
    /// set by hbbp_profile_copy_modules
    pub struct_size: u32,
    /// `hbbp_module_kind kind` in C.
    pub kind: hbbp_module_kind,
    /// `const uint8_t *build_id` in C.
    pub build_id: *const u8,
    /// bytes; 0 if there is none
    pub build_id_size: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// as mapped: "/usr/bin/lua5.4", "\[vdso\]", "\[kernel\]"
    pub path: *const c_char,
    /// EBS: in it; SWBT: taken branches into it
    pub samples: u64,
}

sized!(hbbp_module);

/// `hbbp_thread` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_thread {
    /// set by hbbp_profile_copy_threads
    pub struct_size: u32,
    /// `uint32_t pid` in C.
    pub pid: u32,
    /// `uint32_t tid` in C.
    pub tid: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// as in /proc/PID/task/TID/comm when it was first seen
    pub name: *const c_char,
    /// SWBT: bursts
    pub samples: u64,
}

sized!(hbbp_thread);

/// One of the constants that follow.
pub type hbbp_unit = i32;

/// a period counts instructions: block counts are absolute
pub const HBBP_UNIT_INSTRUCTIONS: hbbp_unit = 0;
/// a period counts time: block counts are up to a factor, or, if
/// hbbp_source_info.extent_in_events is 1, executions by a model of
/// how long code takes
pub const HBBP_UNIT_NANOSECONDS: hbbp_unit = 1;
/// a period counts cycles: block counts are up to a factor, or, of
/// branch stacks whose extent_in_events is 1, absolute
pub const HBBP_UNIT_CYCLES: hbbp_unit = 2;
/// a period counts taken branches: block counts are absolute
pub const HBBP_UNIT_TAKEN_BRANCHES: hbbp_unit = 3;
/// as CYCLES; also instructions between bursts of SWBT that
/// were not weighed by their instructions (older profiles)
pub const HBBP_UNIT_EVENTS: hbbp_unit = 4;
/// a period counts dispatched micro-operations: block counts are
/// absolute, as far as those of each instruction are known
pub const HBBP_UNIT_UOPS: hbbp_unit = 5;

/// Which instruction a sample counts for.
pub type hbbp_ebs_method = i32;

/// IP_PLUS_ONE for precise events with branch stacks, else PLAIN
pub const HBBP_EBS_AUTO: hbbp_ebs_method = 0;
/// the one at its instruction pointer
pub const HBBP_EBS_PLAIN: hbbp_ebs_method = 1;
/// the one that was executed before that, as far as the newest branch of
/// the sample shows; not where the sample says that its IP is exact
pub const HBBP_EBS_IP_PLUS_ONE: hbbp_ebs_method = 2;

/// `hbbp_source_info` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_source_info {
    /// set by hbbp_profile_copy_sources
    pub struct_size: u32,
    /// `hbbp_source_kind kind` in C.
    pub kind: hbbp_source_kind,
    /// `hbbp_event event` in C.
    pub event: hbbp_event,
    /// `hbbp_period_mode period_mode` in C.
    pub period_mode: hbbp_period_mode,
    /// `hbbp_unit unit` in C.
    pub unit: hbbp_unit,
    /// `uint32_t include_kernel` in C.
    pub include_kernel: u32,
    /// asked for, in occurrences of the event; 0: by frequency
    pub period: u64,
    /// `uint64_t frequency_hz` in C.
    pub frequency_hz: u64,
    /// SWBT: bursts that arrived
    pub samples: u64,
    /// the kernel had no room for them
    pub lost: u64,
    /// times that the kernel held sampling back
    pub throttled: u64,
    /// samples, or targets of taken branches, at addresses that no known mapping
    /// contains
    pub unmapped: u64,
    /// what was assumed or chosen and why, one line; may be empty
    pub note: *const c_char,
    /// The tracer of HBBP_SOURCE_SWBT counts these; 0 and empty for other sources:
    pub bursts: u64,
    /// `uint64_t taken_branches` in C.
    pub taken_branches: u64,
    /// that were hit
    pub breakpoints: u64,
    /// interpreted
    pub lookahead_instructions: u64,
    /// decoded, because they were not known yet
    pub decoded_instructions: u64,
    /// in signal handlers
    pub handler_ns: u64,
    /// HBBP_TRACE_VERIFY: compared with a native walk
    pub verified_branches: u64,
    /// of these, wrong; those that a change of memory, of code or of
    /// the way of the thread explains are counters of their own
    /// ("disagreement-...", hbbp_profile_copy_counters)
    pub disagreements: u64,
    /// "lookahead", "breakpoint", "verify"; after a merge of different ones, all of
    /// them, with "; " in between
    pub mode: *const c_char,
    /// what it sampled and stepped with, and why nothing better; as mode
    pub method: *const c_char,
    /// where \`event\` does not say it all: as the recording, the vendor or
    /// libpfm4 spells it, with perf's modifiers; else empty
    pub event_name: *const c_char,
    /// How instruction pointers came about:
    /// of its perf_event_attr: 0 (any skid) to 3 (none)
    pub precise_ip: u32,
    /// HBBP_EBS_PLAIN or HBBP_EBS_IP_PLUS_ONE
    pub ebs_method: hbbp_ebs_method,
    /// of the samples of an imported source; 0: it has none
    pub smallest_period: u64,
    /// `uint64_t largest_period` in C.
    pub largest_period: u64,
    /// SWBT and LBR: what the weight of a burst is its period divided by. 1: the occurrences of the
    /// event in what it covers; of a clock, how long that takes by a model of the processor; of
    /// cycles, those in the branch stack. 0: the number of its streams. Of LBR it is known, and stays,
    /// when the first stack with a stream was counted
    pub extent_in_events: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
}

sized!(hbbp_source_info);

/// A number and what it counts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_counter {
    /// set by the function that copies it
    pub struct_size: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// stable: "system-call"
    pub name: *const c_char,
    /// `uint64_t value` in C.
    pub value: u64,
}

sized!(hbbp_counter);

/// `hbbp_profile_info` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_profile_info {
    /// set by the caller
    pub struct_size: u32,
    /// `uint32_t pid` in C.
    pub pid: u32,
    /// since 1970, when the session first started
    pub start_time_ns: u64,
    /// that it ran
    pub duration_ns: u64,
    /// arguments joined by spaces; may be empty
    pub command: *const c_char,
    /// kernel and machine; may be empty
    pub host: *const c_char,
    /// of all sources, as the next three
    pub samples: u64,
    /// `uint64_t lost` in C.
    pub lost: u64,
    /// `uint64_t throttled` in C.
    pub throttled: u64,
    /// `uint64_t unmapped` in C.
    pub unmapped: u64,
    /// that it is the sum of; 1 for a recording
    pub recordings: u64,
    /// Of bursts and branch stacks, if the profile keeps them (hbbp_session_options.kept_burst_bytes);
    /// a burst that misses something in between is as many as it has parts:
    /// with their branches in order
    pub kept_bursts: u64,
    /// counted only, as there was no room
    pub bursts_not_kept: u64,
}

sized!(hbbp_profile_info);

/// A sum that grows by one profile at a time: of more of them than fit into memory. It keeps what is
/// in the sum, and of each profile 40 bytes; from the first profile with slices of time on it keeps
/// all counts until the sum is finished, unless slices are dropped. The sum is that of
/// hbbp_profile_merge. Its counts and their errors are the same in any order and whichever profiles
/// are sums themselves, except for rounding. What may differ is the order of lists; command, host,
/// names and notes of sources, which are those of the first profile; which bursts are kept; and,
/// where profiles are sums, the duration of runs that overlap and where their slices are. One thread
/// at a time may use it. libhbbp-collect does not have it.
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_merger {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

/// `HBBP_MERGER_DROP_THREADS` of the C ABI.
pub const HBBP_MERGER_DROP_THREADS: u32 = 1 << 0;
/// `HBBP_MERGER_DROP_SLICES` of the C ABI.
pub const HBBP_MERGER_DROP_SLICES: u32 = 1 << 1;

/// `hbbp_merger_options` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_merger_options {
    /// set by the caller
    pub struct_size: u32,
    /// HBBP_MERGER_DROP\_\*, or 0
    pub dropped: u32,
}

sized!(hbbp_merger_options);

/// `HBBP_SELECT_THREAD` of the C ABI.
pub const HBBP_SELECT_THREAD: u32 = 1 << 0;
/// `HBBP_SELECT_SLICE` of the C ABI.
pub const HBBP_SELECT_SLICE: u32 = 1 << 1;

/// Selects a part of a profile.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_selection {
    /// set by the caller
    pub struct_size: u32,
    /// HBBP_SELECT\_\*: by which of the fields that follow; at least one
    pub parts: u32,
    /// `uint32_t tid` in C.
    pub tid: u32,
    /// index of the slice (slices.h)
    pub slice: u32,
}

sized!(hbbp_selection);

extern "C" {
    /// Reads a profile file. \`work\` may be NULL.
    /// Errors:
    /// HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION, HBBP_ERROR_IO  of the file
    /// HBBP_ERROR_BAD_FORMAT  truncated, damaged or not a profile; the message says where
    /// HBBP_ERROR_VERSION     made by a newer library
    /// and those of hbbp_work_options. Any thread. Since 0.1.
    pub fn hbbp_profile_load(path: *const c_char, work: *const hbbp_work_options, profile: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;

    /// Replaces \`path\` atomically. Code that could not be read again from a file later (vdso,
    /// generated code, deleted files, memory of the kernel) is stored with the counts, as are the names
    /// of kernel functions. The new file is its owner's alone (mode 0600). \`work\` may be NULL.
    /// Errors:
    /// HBBP_ERROR_NOT_FOUND   no such directory
    /// HBBP_ERROR_PERMISSION, HBBP_ERROR_IO
    /// and those of hbbp_work_options. Any thread. Since 0.1.
    pub fn hbbp_profile_save(profile: *const hbbp_profile, path: *const c_char, work: *const hbbp_work_options, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. What was made of the profile (analyses, parts, sums) stays valid. Since 0.1.
    pub fn hbbp_profile_destroy(profile: *mut hbbp_profile);

    /// The sum of \`count\` \>= 1 profiles. Modules are the same if their build IDs are (or, without build
    /// IDs, their paths). Sources are added up where kind, event and period agree and kept apart
    /// otherwise. Those of one event count a block together; of those of several events, an analysis
    /// counts by one (hbbp_analysis_options.event), and what was sampled of the others adds nothing.
    /// Threads are the same if pid and tid are; generated code is, if pid and start of the profile are.
    /// Kept bursts are those of the first profiles, up to 256 MiB (libhbbp-collect: none). Bursts of
    /// each recording go to other replicates, of which standard errors are computed, so that these are
    /// those of as many bursts in one recording. Processes that ran at the same time are one run, which
    /// took from its start to its end; the durations of runs are added up. \`work\` may be NULL; its
    /// progress is in profiles.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; \`count\` is 0
    /// HBBP_ERROR_NO_MEMORY
    /// and those of hbbp_work_options. Any thread. Since 0.1.
    pub fn hbbp_profile_merge(profiles: *const *const hbbp_profile, count: usize, work: *const hbbp_work_options, merged: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;

    /// \`options\` may be NULL.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; a bit of \`dropped\` that this library does not know
    /// HBBP_ERROR_NO_MEMORY
    /// Any thread. Since 0.1.
    pub fn hbbp_merger_create(options: *const hbbp_merger_options, merger: *mut *mut hbbp_merger, error: *mut hbbp_error) -> hbbp_status;

    /// Adds a profile, which is not needed any longer then. \`work\` may be NULL.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// HBBP_ERROR_INVALID_STATE     it is finished, or a call failed that had begun to change it
    /// HBBP_ERROR_NO_MEMORY         the sum is lost
    /// and those of hbbp_work_options; if it was cancelled, the sum is lost. Since 0.1.
    pub fn hbbp_merger_add(merger: *mut hbbp_merger, profile: *const hbbp_profile, work: *const hbbp_work_options, error: *mut hbbp_error) -> hbbp_status;

    /// Makes the sum, once. \`work\` may be NULL.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// HBBP_ERROR_INVALID_STATE     as above; no profile was added
    /// HBBP_ERROR_NO_MEMORY         the sum is lost
    /// and those of hbbp_work_options; if it was cancelled, the sum is lost. Since 0.1.
    pub fn hbbp_merger_finish(merger: *mut hbbp_merger, work: *const hbbp_work_options, merged: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. Since 0.1.
    pub fn hbbp_merger_destroy(merger: *mut hbbp_merger);

    /// Makes a profile of what one thread did, or of what was counted in one slice, or both, with the
    /// same lists of sources and slices. Numbers of sources that are not known by slice (lost,
    /// throttled, unmapped, what the tracer did) are kept whole, and lists of IBS are empty in a slice.
    /// There are no kept bursts in it. \`work\` may be NULL.
    /// Errors:
    /// HBBP_ERROR_NOT_FOUND         no such thread or slice
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; no part, or one that this library does not know
    /// HBBP_ERROR_NO_MEMORY
    /// and those of hbbp_work_options. Any thread. Since 0.1.
    pub fn hbbp_profile_select(profile: *const hbbp_profile, selection: *const hbbp_selection, work: *const hbbp_work_options, selected: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;

    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// Any thread. Since 0.1.
    pub fn hbbp_profile_get_info(profile: *const hbbp_profile, info: *mut hbbp_profile_info, error: *mut hbbp_error) -> hbbp_status;

    /// Lists are read as api.h says. Since 0.1.
    pub fn hbbp_profile_source_count(profile: *const hbbp_profile) -> usize;

    /// See profile.h.
    pub fn hbbp_profile_copy_sources(profile: *const hbbp_profile, first: usize, count: usize, size: usize, sources: *mut hbbp_source_info, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// See profile.h.
    pub fn hbbp_profile_thread_count(profile: *const hbbp_profile) -> usize;

    /// See profile.h.
    pub fn hbbp_profile_copy_threads(profile: *const hbbp_profile, first: usize, count: usize, size: usize, threads: *mut hbbp_thread, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// See profile.h.
    pub fn hbbp_profile_module_count(profile: *const hbbp_profile) -> usize;

    /// See profile.h.
    pub fn hbbp_profile_copy_modules(profile: *const hbbp_profile, first: usize, count: usize, size: usize, modules: *mut hbbp_module, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// What else the source at index \`source\` counted: why bursts ended or were dropped. Only numbers
    /// that are not 0. \_count gives 0 if there is no such source. Since 0.1.
    pub fn hbbp_profile_counter_count(profile: *const hbbp_profile, source: usize) -> usize;

    /// See profile.h.
    pub fn hbbp_profile_copy_counters(profile: *const hbbp_profile, source: usize, first: usize, count: usize, size: usize, counters: *mut hbbp_counter, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;
}

// analysis.h --------------------------------------------------------------------------------------

/// An object of the library, known by its address only.
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_analysis {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Files of the kernel that was profiled. What is NULL is looked for where it usually is, and taken
/// only if it is of that kernel (and boot, as far as it matters).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_kernel_files {
    /// set by the caller
    pub struct_size: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// the static kernel, an ELF file with symbols
    pub vmlinux: *const c_char,
    /// its memory, a file of the ELF core format: a copy of /proc/kcore, a dump
    pub kcore: *const c_char,
    /// its symbols, a copy of /proc/kallsyms or a System.map
    pub kallsyms: *const c_char,
}

sized!(hbbp_kernel_files);

/// Fields that are 0 or NULL have their defaults. What they point to is used during the call only,
/// but for what hbbp_debug_options says.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_analysis_options {
    /// set by the caller
    pub struct_size: u32,
    /// `hbbp_estimator estimator` in C.
    pub estimator: hbbp_estimator,
    /// JSON of a tree, for HBBP_ESTIMATOR_TREE; NULL: the published one (estimator.h)
    pub tree: *const c_char,
    /// NULL: those of this machine, if they are of that kernel
    pub kernel: *const hbbp_kernel_files,
    /// where debug information is; NULL: where it usually is
    pub debug: *const hbbp_debug_options,
    /// whose samples count, by its name in hbbp_source_info with or without its
    /// modifiers ("cycles:u", "cycles"); NULL: of each family of sources the best
    /// for counting, which is instructions before cycles before clocks, and of
    /// branches taken ones before others
    pub event: *const c_char,
    /// as in hbbp_import_options, for files that were not found by the import or
    /// have moved since; NULL: they are where the profile says. The profile of the
    /// analysis has the paths that were found
    pub root: *const c_char,
    /// likewise
    pub moved_files: *const hbbp_moved_file,
    /// `uint32_t moved_file_count` in C.
    pub moved_file_count: u32,
    /// 0
    pub reserved: u32,
}

sized!(hbbp_analysis_options);

/// `hbbp_analysis_info` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_analysis_info {
    /// set by the caller
    pub struct_size: u32,
    /// never HBBP_ESTIMATOR_AUTO
    pub estimator: hbbp_estimator,
    /// what its counts were multiplied by
    pub ebs_scale: f64,
    /// `double streams_scale` in C.
    pub streams_scale: f64,
    /// 0: no module was observed by both families, so that there was nothing to
    /// find a scale by, and counts of both are not to be added
    pub is_one_scale: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
}

sized!(hbbp_analysis_info);

/// What became of the samples of a source.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_source_result {
    /// set by hbbp_analysis_copy_sources
    pub struct_size: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// IP samples in no block: code missing or undecodable; streams that no path
    /// through the code explains
    pub unexplained: u64,
    /// IP samples in blocks that streams of another source count, which add
    /// nothing
    pub superseded: u64,
    /// 1: blocks are counted by another event (hbbp_analysis_options.event),
    /// and none of its samples adds anything
    pub is_other_event: u32,
    /// `uint32_t reserved2` in C.
    pub reserved2: u32,
}

sized!(hbbp_source_result);

/// How the code of a module was found.
pub type hbbp_code_state = i32;

/// in its file, whose build ID is the one that ran
pub const HBBP_CODE_FILE: hbbp_code_state = 0;
/// stored in the profile
pub const HBBP_CODE_PROFILE: hbbp_code_state = 1;
/// not found: its samples are unexplained
pub const HBBP_CODE_MISSING: hbbp_code_state = 2;
/// its file was replaced by another one since: as MISSING
pub const HBBP_CODE_MISMATCH: hbbp_code_state = 3;
/// it has no samples
pub const HBBP_CODE_NOT_SOUGHT: hbbp_code_state = 4;
/// of a kernel: in /proc/kcore or a core file, else in its vmlinux
pub const HBBP_CODE_CORE: hbbp_code_state = 5;

/// `hbbp_module_result` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_module_result {
    /// set by hbbp_analysis_copy_modules
    pub struct_size: u32,
    /// `hbbp_code_state code` in C.
    pub code: hbbp_code_state,
    /// why the code is missing, one line; else empty
    pub problem: *const c_char,
    /// of a kernel whose vmlinux is there too: bytes of the functions with
    /// samples that the kernel had rewritten in memory
    pub patched_bytes: u64,
}

sized!(hbbp_module_result);

/// A branch of the block was the oldest entry of branch stacks far more often than that can be by
/// chance: bias_ratio \>= HBBP_BIAS_RATIO and bias_chance \<= HBBP_BIAS_CHANCE. Its count by LBR is
/// suspect. Other thresholds: compare the two fields with them.
pub const HBBP_BLOCK_BIASED: u32 = 1;

/// `HBBP_BIAS_RATIO` of the C ABI.
pub const HBBP_BIAS_RATIO: f64 = 2.0;

/// `HBBP_BIAS_CHANCE` of the C ABI.
pub const HBBP_BIAS_CHANCE: f64 = 1e-6;

/// `hbbp_block` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_block {
    /// set by the caller, or by hbbp_analysis_copy_blocks
    pub struct_size: u32,
    /// index of its module
    pub module: u32,
    /// address in the module
    pub start: u64,
    /// exclusive
    pub end: u64,
    /// `uint32_t instruction_count` in C.
    pub instruction_count: u32,
    /// index of its function; HBBP_NO_INDEX for a block found by
    /// hbbp_analysis_find_block in a function without samples
    pub function: u32,
    /// whose count was used; HBBP_SOURCE_NONE if it was never seen
    pub source: hbbp_source_kind,
    /// HBBP_BLOCK\_\*
    pub flags: u32,
    /// executions
    pub count: f64,
    /// of count
    pub standard_error: f64,
    /// that the count rests on; SWBT: streams across it
    pub samples: u64,
    /// how often its branches were the oldest of their branch stacks, by how often
    /// they would have been if each entry were as likely; 0: in no stack
    pub bias_ratio: f64,
    /// of that or more, at most, if each entry is as likely; 1: not more
    pub bias_chance: f64,
}

sized!(hbbp_block);

/// `hbbp_function` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_function {
    /// set by hbbp_analysis_copy_functions
    pub struct_size: u32,
    /// index of its module
    pub module: u32,
    /// `uint64_t start` in C.
    pub start: u64,
    /// exclusive
    pub end: u64,
    /// as the symbol table has it (mangled); "0x1234" if it has none
    pub name: *const c_char,
    /// executed in it
    pub instructions: f64,
    /// `double standard_error` in C.
    pub standard_error: f64,
    /// EBS: in it; SWBT: streams that came into it
    pub samples: u64,
    /// as C++ or Rust spells it; the same as name if that is not mangled
    pub demangled_name: *const c_char,
}

sized!(hbbp_function);

/// What the hottest have most of.
pub type hbbp_order = i32;

/// executed: of a block, its count times its instructions
pub const HBBP_ORDER_INSTRUCTIONS: hbbp_order = 0;
/// of blocks only: hbbp_block.count
pub const HBBP_ORDER_EXECUTIONS: hbbp_order = 1;
/// `HBBP_ORDER_SAMPLES` of the C ABI.
pub const HBBP_ORDER_SAMPLES: hbbp_order = 2;

/// A taken branch, by all threads and sources. Only SWBT has them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_branch {
    /// set by hbbp_analysis_copy_branches
    pub struct_size: u32,
    /// HBBP_NO_INDEX: in no known mapping, as with to_module
    pub from_module: u32,
    /// of the branch instruction, in its module; HBBP_NO_ADDRESS: the module is
    /// not known, or its code is missing; as with \`to\`
    pub from: u64,
    /// `uint64_t to` in C.
    pub to: u64,
    /// `uint32_t to_module` in C.
    pub to_module: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// times that it was observed
    pub samples: u64,
    /// executions, on the scale of hbbp_block.count; 0 if it was only ever the last
    /// branch of a burst, which no stream follows
    pub count: f64,
    /// For hardware branch stacks, how often it was the oldest entry, and how often it would have been
    /// if each entry of a stack were as likely.
    pub oldest: u64,
    /// `double oldest_expected` in C.
    pub oldest_expected: f64,
}

sized!(hbbp_branch);

/// The samples of one source that count for one instruction, by all threads: those at its address,
/// or by its method (hbbp_source_info.ebs_method) behind it. Samples skid: where they fall is not
/// how often an instruction was executed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_ip_sum {
    /// set by hbbp_analysis_copy_ip_sums
    pub struct_size: u32,
    /// index of its module
    pub module: u32,
    /// index of its function, or HBBP_NO_INDEX
    pub function: u32,
    /// index of the source in the profile
    pub source: u32,
    /// in the module; run-time address in the kernel and in generated code;
    /// HBBP_NO_ADDRESS: of all instructions of a module that are not known
    pub address: u64,
    /// never 0
    pub samples: u64,
}

sized!(hbbp_ip_sum);

extern "C" {
    /// Finds the code of the modules, the blocks of the functions that have samples, and their counts:
    /// some tens of milliseconds for a large program, seconds for a recording of a very large one. Code
    /// that cannot be found is not an error: modules have problems, and samples are unexplained.
    /// \`options\` and \`work\` may be NULL.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; no such estimator, or a tree with another one; a flag of
    /// hbbp_debug_options that this library does not know
    /// HBBP_ERROR_BAD_FORMAT        not a tree, with the node in the message; a damaged kernel file
    /// HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION, HBBP_ERROR_IO  of a kernel file
    /// HBBP_ERROR_NOT_FOUND         no source of that event has samples, and the message names those
    /// that do; root is not a directory; no module has the path or name
    /// of a moved file
    /// HBBP_ERROR_MISMATCH          a file is of another kernel or boot
    /// HBBP_ERROR_NO_MEMORY
    /// and those of hbbp_work_options. Any thread. Since 0.1.
    pub fn hbbp_analysis_create(profile: *const hbbp_profile, options: *const hbbp_analysis_options, work: *const hbbp_work_options, analysis: *mut *mut hbbp_analysis, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. Results that were made of it (mixes, pivots, loops) stay. Since 0.1.
    pub fn hbbp_analysis_destroy(analysis: *mut hbbp_analysis);

    /// The profile that it is of, which lives as long as the analysis and is not to be destroyed. NULL
    /// for NULL. Any thread. Since 0.1.
    pub fn hbbp_analysis_profile(analysis: *const hbbp_analysis) -> *const hbbp_profile;

    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// Any thread. Since 0.1.
    pub fn hbbp_analysis_get_info(analysis: *const hbbp_analysis, info: *mut hbbp_analysis_info, error: *mut hbbp_error) -> hbbp_status;

    /// Every block that has a count, in order of module and address. Since 0.1.
    pub fn hbbp_analysis_block_count(analysis: *const hbbp_analysis) -> usize;

    /// See analysis.h.
    pub fn hbbp_analysis_copy_blocks(analysis: *const hbbp_analysis, first: usize, count: usize, size: usize, blocks: *mut hbbp_block, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// Every function that has a block with a count, and those of a kernel that have samples, in order
    /// of module and address. Since 0.1.
    pub fn hbbp_analysis_function_count(analysis: *const hbbp_analysis) -> usize;

    /// See analysis.h.
    pub fn hbbp_analysis_copy_functions(analysis: *const hbbp_analysis, first: usize, count: usize, size: usize, functions: *mut hbbp_function, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// The same blocks and functions, the hottest first; equal ones in order of module and address.
    /// \`count\` is how many are wanted, from the one at \`first\` on. Errors are those of lists, and:
    /// HBBP_ERROR_INVALID_ARGUMENT  no such order; HBBP_ORDER_EXECUTIONS of functions
    /// Any thread. Since 0.1.
    pub fn hbbp_analysis_copy_hottest_blocks(analysis: *const hbbp_analysis, order: hbbp_order, first: usize, count: usize, size: usize, blocks: *mut hbbp_block, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// See analysis.h.
    pub fn hbbp_analysis_copy_hottest_functions(analysis: *const hbbp_analysis, order: hbbp_order, first: usize, count: usize, size: usize, functions: *mut hbbp_function, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// Taken branches, in order of from_module, from, to_module, to. Since 0.1.
    pub fn hbbp_analysis_branch_count(analysis: *const hbbp_analysis) -> usize;

    /// See analysis.h.
    pub fn hbbp_analysis_copy_branches(analysis: *const hbbp_analysis, first: usize, count: usize, size: usize, branches: *mut hbbp_branch, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// IP samples of all sources, also of events that blocks are not counted by, in order of module,
    /// address and source. The first call adds them up. Since 0.1.
    pub fn hbbp_analysis_ip_sum_count(analysis: *const hbbp_analysis) -> usize;

    /// See analysis.h.
    pub fn hbbp_analysis_copy_ip_sums(analysis: *const hbbp_analysis, first: usize, count: usize, size: usize, sums: *mut hbbp_ip_sum, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// There are as many as the profile has modules, in their order. Since 0.1.
    pub fn hbbp_analysis_module_count(analysis: *const hbbp_analysis) -> usize;

    /// See analysis.h.
    pub fn hbbp_analysis_copy_modules(analysis: *const hbbp_analysis, first: usize, count: usize, size: usize, modules: *mut hbbp_module_result, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// There are as many as the profile has sources, in their order. Since 0.1.
    pub fn hbbp_analysis_source_count(analysis: *const hbbp_analysis) -> usize;

    /// See analysis.h.
    pub fn hbbp_analysis_copy_sources(analysis: *const hbbp_analysis, first: usize, count: usize, size: usize, sources: *mut hbbp_source_result, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// Count what is unexplained of the source at index \`source\` by reason, for every reason that this
    /// library knows: "no-code", "undecodable", "leaves-module", "backwards", "passes-branch",
    /// "not-a-branch", "too-long". \_count gives 0 if there is no such source. Since 0.1.
    pub fn hbbp_analysis_unexplained_reason_count(analysis: *const hbbp_analysis, source: usize) -> usize;

    /// See analysis.h.
    pub fn hbbp_analysis_copy_unexplained_reasons(analysis: *const hbbp_analysis, source: usize, first: usize, count: usize, size: usize, reasons: *mut hbbp_counter, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// The block around an address of a module, whether it has a count or not.
    /// Errors:
    /// HBBP_ERROR_NOT_FOUND         no such module, or no code there
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// Any thread. Since 0.1.
    pub fn hbbp_analysis_find_block(analysis: *const hbbp_analysis, module: u32, address: u64, block: *mut hbbp_block, error: *mut hbbp_error) -> hbbp_status;

    /// The 95 % interval of an estimated count, of a block, a function, a mnemonic: \*low and \*high get
    /// its ends, in the unit of \`count\`. Either may be NULL. It is not symmetric: of few bursts, a count
    /// may be many times too low, and is never less than 0. Without a positive count and standard error,
    /// both are the count. After Fay and Feuer, "Confidence intervals for directly standardized rates: a
    /// method based on the gamma distribution", 1997, with two changes (docs/internals/method.md).
    /// Any thread. Since 0.1.
    pub fn hbbp_count_interval(count: f64, standard_error: f64, low: *mut f64, high: *mut f64);

    /// What a tree may ask about a block: numbers, by name ("length"); docs/internals/estimators.md
    /// explains them. Later versions may add some at the end. Any thread. Since 0.1.
    pub fn hbbp_block_feature_count() -> usize;

    /// Static storage; NULL if there is no such feature. Any thread. Since 0.1.
    pub fn hbbp_block_feature_name(index: usize) -> *const c_char;

    /// Features of blocks \[first, first + count): hbbp_block_feature_count() numbers a block, one block
    /// behind the other. \*copied gets of how many blocks.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// Any thread. Since 0.1.
    pub fn hbbp_analysis_copy_block_features(analysis: *const hbbp_analysis, first: usize, count: usize, values: *mut f64, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;
}

// capabilities.h ----------------------------------------------------------------------------------

/// One of the constants that follow.
pub type hbbp_capability_state = i32;

/// could not be tried
pub const HBBP_CAPABILITY_UNKNOWN: hbbp_capability_state = 0;
/// tried, works
pub const HBBP_CAPABILITY_SUPPORTED: hbbp_capability_state = 1;
/// hardware or kernel has no such thing
pub const HBBP_CAPABILITY_MISSING: hbbp_capability_state = 2;
/// there, but this process may not use it
pub const HBBP_CAPABILITY_DENIED: hbbp_capability_state = 3;

/// `hbbp_capability` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_capability {
    /// set by hbbp_capabilities_copy
    pub struct_size: u32,
    /// `hbbp_capability_state state` in C.
    pub state: hbbp_capability_state,
    /// a stable key: "perf_event_open", "task_clock", "cpu_clock",
    /// "hardware_instructions", "precise_instructions", "branch_stack",
    /// "ibs_op", "ibs_fetch", "breakpoint", "sigtrap", "inherit_thread",
    /// "kernel_sampling", "seccomp", "branch_tracing" (the detail says by which
    /// method), "thread_timers", "native_stubs"
    pub name: *const c_char,
    /// what was found, with the numbers: "period 1 ns to ..., paranoid 2"
    pub detail: *const c_char,
    /// what to change to get it; empty if there is nothing to change
    pub advice: *const c_char,
}

sized!(hbbp_capability);

/// An object of the library, known by its address only.
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_capabilities {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

/// An event of the kernel or the PMU, for hbbp_session_options.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_event_code {
    /// set by the caller
    pub struct_size: u32,
    /// what it counts, or HBBP_EVENT_OTHER
    pub event: hbbp_event,
    /// as in perf_event_attr
    pub type_: u64,
    /// `uint64_t config` in C.
    pub config: u64,
}

sized!(hbbp_event_code);

extern "C" {
    /// Opens and closes perf events on the calling thread; takes some milliseconds.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  capabilities is NULL
    /// HBBP_ERROR_NO_MEMORY
    /// Any thread. Since 0.1.
    pub fn hbbp_capabilities_probe(capabilities: *mut *mut hbbp_capabilities, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. Any thread. Since 0.1.
    pub fn hbbp_capabilities_destroy(capabilities: *mut hbbp_capabilities);

    /// The order never changes; read as api.h says. Since 0.1.
    pub fn hbbp_capabilities_count(capabilities: *const hbbp_capabilities) -> usize;

    /// See capabilities.h.
    pub fn hbbp_capabilities_copy(capabilities: *const hbbp_capabilities, first: usize, count: usize, size: usize, elements: *mut hbbp_capability, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// Finds an event by its code ("r20c4"), a name that perf has for an event of the kernel
    /// ("cache-misses", "page-faults"), "taken-branches" (the event of this processor), or a name of
    /// libpfm4 ("BR_INST_RETIRED:NEAR_TAKEN", "perf::page-faults"), which is loaded when a name first
    /// needs it. A found event may still be refused when a session starts: a PMU need not have it.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// HBBP_ERROR_NOT_FOUND         no such event is known for this processor
    /// HBBP_ERROR_UNSUPPORTED       libpfm4 is not installed
    /// Any thread. Since 0.1.
    pub fn hbbp_event_find(name: *const c_char, code: *mut hbbp_event_code, error: *mut hbbp_error) -> hbbp_status;
}

// code.h ------------------------------------------------------------------------------------------

/// One instruction of a module.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_instruction {
    /// set by the caller
    pub struct_size: u32,
    /// bytes
    pub length: u32,
    /// `uint64_t address` in C.
    pub address: u64,
    /// Intel's, lower case, without prefixes; static storage
    pub mnemonic: *const c_char,
}

sized!(hbbp_instruction);

/// What an instruction does to the flow of control.
pub type hbbp_flow = i32;

/// the next instruction follows
pub const HBBP_FLOW_NEXT: hbbp_flow = 0;
/// `HBBP_FLOW_CONDITIONAL` of the C ABI.
pub const HBBP_FLOW_CONDITIONAL: hbbp_flow = 1;
/// `HBBP_FLOW_JUMP` of the C ABI.
pub const HBBP_FLOW_JUMP: hbbp_flow = 2;
/// `HBBP_FLOW_INDIRECT_JUMP` of the C ABI.
pub const HBBP_FLOW_INDIRECT_JUMP: hbbp_flow = 3;
/// `HBBP_FLOW_CALL` of the C ABI.
pub const HBBP_FLOW_CALL: hbbp_flow = 4;
/// `HBBP_FLOW_INDIRECT_CALL` of the C ABI.
pub const HBBP_FLOW_INDIRECT_CALL: hbbp_flow = 5;
/// `HBBP_FLOW_RETURN` of the C ABI.
pub const HBBP_FLOW_RETURN: hbbp_flow = 6;
/// system calls, far transfers, transactions
pub const HBBP_FLOW_SYSTEM: hbbp_flow = 7;
/// does not go on
pub const HBBP_FLOW_TRAP: hbbp_flow = 8;

/// `hbbp_disassembly` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_disassembly {
    /// set by the caller
    pub struct_size: u32,
    /// bytes
    pub length: u32,
    /// `uint64_t address` in C.
    pub address: u64,
    /// of a branch, if the code alone gives it; otherwise HBBP_NO_ADDRESS
    pub target: u64,
    /// `hbbp_flow flow` in C.
    pub flow: hbbp_flow,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// Intel's syntax, lower case, numbers in hexadecimal
    pub text: [c_char; 160],
}

sized!(hbbp_disassembly);

extern "C" {
    /// The instruction at an address of a module; address + length is the next one.
    /// Errors:
    /// HBBP_ERROR_NOT_FOUND         no such module, no code there, or no instruction
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// Any thread. Since 0.1.
    pub fn hbbp_analysis_decode(analysis: *const hbbp_analysis, module: u32, address: u64, instruction: *mut hbbp_instruction, error: *mut hbbp_error) -> hbbp_status;

    /// The text of the instruction at an address of a module; address + length is the next one.
    /// Errors: those of hbbp_analysis_decode. Any thread. Since 0.1.
    pub fn hbbp_analysis_disassemble(analysis: *const hbbp_analysis, module: u32, address: u64, disassembly: *mut hbbp_disassembly, error: *mut hbbp_error) -> hbbp_status;

    /// The name of a function as C++ or Rust spells it; the symbol itself if it is not a mangled name.
    /// Writes as much as fits into \`buffer\`, always with a final 0, and gives the length of the whole
    /// name without it; NULL and 0 to ask for that. A NULL symbol gives 0. Any thread. Since 0.1.
    pub fn hbbp_demangle(symbol: *const c_char, buffer: *mut c_char, buffer_size: usize) -> usize;
}

// data.h ------------------------------------------------------------------------------------------

/// The most blocks that are known at a time, and the most names, of all processes together.
pub const HBBP_MAX_DATA_BLOCKS: u32 = 65536;

/// The most blocks that are known at a time, and the most names, of all processes together.
pub const HBBP_MAX_DATA_NAMES: u32 = 16384;

/// `hbbp_data_region` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_data_region {
    /// set by the caller
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// `uint64_t address` in C.
    pub address: u64,
    /// bytes, at least 1
    pub size: u64,
    /// of the block, copied, at most 4096 bytes; blocks of one name are one object.
    /// NULL: the memory was freed
    pub name: *const c_char,
    /// of CLOCK_MONOTONIC, since when it is so; 0: now
    pub time_ns: u64,
}

sized!(hbbp_data_region);

extern "C" {
    /// The session counts accesses to this memory, from that time on, for the block of that name, or,
    /// freed, for what was never reported. It replaces what was there, whose accesses stay its own: a
    /// block need not be freed before another one is reported, and may be freed in part. May be called
    /// before the session is started, and whether it runs or not; a child made by fork has to report its
    /// blocks anew. Without HBBP_SOURCE_IBS nothing is counted for them. Takes a lock that the session's
    /// worker also takes: not for signal handlers, nor for each of many small allocations. Any thread.
    /// Not in libhbbp-collect. A block whose neighbours replace parts of it counts once for each part,
    /// and each part once more for each block that had its memory, until all samples of that time are
    /// counted; without a run, or without HBBP_SOURCE_IBS, none are to come. What replaced memory needs
    /// counts as well: parts of memory that many blocks had are many.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; a size of 0; a range that ends beyond the address space; a
    /// name that is empty or too long
    /// HBBP_ERROR_BUSY              HBBP_MAX_DATA_BLOCKS blocks or HBBP_MAX_DATA_NAMES names are
    /// known; this block is not kept, its accesses count as those of
    /// memory that was never reported, and the counter
    /// "data-blocks-refused" has it
    /// HBBP_ERROR_NO_MEMORY         so that no older block has its accesses, no block of the process
    /// is known any more; "data-blocks-refused" has this one, and theirs HBBP_ERROR_VERSION Since 0.1.
    pub fn hbbp_session_add_data(session: *mut hbbp_session, region: *const hbbp_data_region, error: *mut hbbp_error) -> hbbp_status;
}

// estimator.h -------------------------------------------------------------------------------------

/// One of the constants that follow.
pub type hbbp_estimator = i32;

/// FLOW where EBS counted instructions and LBR taken branches, else
/// STREAMS: samples of a clock show where time goes, not executions;
/// EBS if there are no streams at all
pub const HBBP_ESTIMATOR_AUTO: hbbp_estimator = 0;
/// IP samples; a block without any has no count
pub const HBBP_ESTIMATOR_EBS: hbbp_estimator = 1;
/// streams; a block that none crossed has no count
pub const HBBP_ESTIMATOR_STREAMS: hbbp_estimator = 2;
/// by a decision tree, block by block; a block that the chosen family
/// did not see has the count 0. The tree is JSON, as
/// docs/internals/estimators.md describes it; the published one is
/// streams for blocks of up to 18 instructions and EBS for longer
/// ones
pub const HBBP_ESTIMATOR_TREE: hbbp_estimator = 3;
/// by all sources together, so that what flows into a block flows out
/// of it; a block that none saw has the count that this asks for
pub const HBBP_ESTIMATOR_FLOW: hbbp_estimator = 4;

// feed.h ------------------------------------------------------------------------------------------

/// One of the constants that follow.
pub type hbbp_feed_order = i32;

/// sorted within rounds
pub const HBBP_FEED_BY_TIME: hbbp_feed_order = 0;
/// in the order of calls, at once
pub const HBBP_FEED_AS_ADDED: hbbp_feed_order = 1;

/// Fields that are 0 or NULL have their defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_feed_options {
    /// set by the caller
    pub struct_size: u32,
    /// `hbbp_feed_order order` in C.
    pub order: hbbp_feed_order,
    /// of what waits; beyond it the earlier half is counted, round or not.
    /// 0: the default, 64 MiB
    pub max_waiting_bytes: u64,
    /// for hbbp_profile_info. Default: empty
    pub command: *const c_char,
    /// for hbbp_profile_info: the machine that was observed. Default: this
    /// one, whose kernel, processor and PMUs the records then have
    pub host: *const c_char,
    /// the processor of another host, as perf spells it: "AuthenticAMD,25,17,1".
    /// It says what raw events count. Default: not known
    pub cpu_id: *const c_char,
    /// where files are here, as in hbbp_import_options; so the next two. What
    /// libhbbp-collect does not find at a path is searched by build ID when the
    /// profile is analysed (hbbp_analysis_options.root)
    pub root: *const c_char,
    /// `const hbbp_moved_file *moved_files` in C.
    pub moved_files: *const hbbp_moved_file,
    /// `size_t moved_file_count` in C.
    pub moved_file_count: usize,
    /// as in hbbp_import_options
    pub slice_ns: u64,
    /// The host gives these, as in hbbp_session_options:
    /// called inside the functions of the feed
    pub log: hbbp_log,
    /// given to log
    pub log_user_data: *mut c_void,
    /// 0: HBBP_LOG_INFO
    pub log_level: hbbp_log_level,
    /// 0
    pub reserved: u32,
    /// bytes for counts, what waits, names and code; at least HBBP_MIN_MEMORY:
    /// never more is used; what finds no room when all else but longer periods is
    /// done is dropped and counted. 0: as much as is needed
    pub max_memory: u64,
    /// for counts and what waits. Copied; used until
    /// hbbp_feed_destroy returns. NULL: operator new
    pub allocator: *const hbbp_allocator,
    /// as in hbbp_session_options
    pub kept_burst_bytes: u64,
}

sized!(hbbp_feed_options);

/// The kind of records that a source HBBP_SOURCE_IBS has.
pub type hbbp_ibs_kind = i32;

/// `HBBP_IBS_NONE` of the C ABI.
pub const HBBP_IBS_NONE: hbbp_ibs_kind = 0;
/// IBS_OP_CTL, IBS_OP_RIP, IBS_OP_DATA, ...
pub const HBBP_IBS_OP: hbbp_ibs_kind = 1;
/// IBS_FETCH_CTL, IBS_FETCH_LINADDR, ...
pub const HBBP_IBS_FETCH: hbbp_ibs_kind = 2;

/// What samples come from. With \`perf_attr\` they are those in raw records, and one event can make
/// two sources of the profile, of instruction pointers and of branch stacks (hbbp_profile_import
/// says when). Without, they are decoded ones, and it is one source of the profile.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_feed_source {
    /// set by the caller
    pub struct_size: u32,
    /// Sources of raw records have these:
    /// bytes at perf_attr
    pub perf_attr_size: u32,
    /// the struct perf_event_attr of any version, as it was opened
    pub perf_attr: *const c_void,
    /// what the kernel calls the event (PERF_EVENT_IOC_ID), one for each
    /// descriptor. Needed where several events share a ring, whose
    /// sample_type must then have PERF_SAMPLE_IDENTIFIER or \_ID
    pub perf_ids: *const u64,
    /// `size_t perf_id_count` in C.
    pub perf_id_count: usize,
    /// "br_inst_retired.near_taken", "ibs_op//": says what an event counts
    /// whose type and config do not, as those of PMUs of another machine. Also
    /// of decoded samples. Default: made of the others
    pub event_name: *const c_char,
    /// Sources of decoded samples have these; 0 with perf_attr, which says it:
    /// HBBP_SOURCE_EBS, \_LBR, \_IBS or \_SWBT
    pub kind: hbbp_source_kind,
    /// what a period counts; not AUTO. Its unit is hbbp_source_info.unit
    pub event: hbbp_event,
    /// of HBBP_SOURCE_IBS
    pub ibs: hbbp_ibs_kind,
    /// 1: samples of the kernel were asked for
    pub include_kernel: u32,
    /// for samples without one
    pub period: u64,
    /// instead of a period: samples have their own
    pub frequency_hz: u64,
}

sized!(hbbp_feed_source);

/// A taken branch, as struct perf_branch_entry of Linux, so that the kernel's array can be handed
/// over as it lies. The flags are its bit-fields, the first at bit 0; 0 if nothing is known. Bits 4
/// to 19 are the cycles since the branch before, by which stacks weigh that HBBP_EVENT_CYCLES
/// sampled (hbbp_source_info.extent_in_events). Of fixed size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_branch_entry {
    /// of the branch instruction; 0 with \`to\` 0: no entry, the stack is cut here
    pub from: u64,
    /// `uint64_t to` in C.
    pub to: u64,
    /// `uint64_t flags` in C.
    pub flags: u64,
}

zeroed!(hbbp_branch_entry);

/// A flag of hbbp_branch_entry: the branch was on a path that was not taken after all
/// (PERF_BR_SPEC_WRONG_PATH). It is left out, and the stack is cut there.
pub const HBBP_BRANCH_WRONG_PATH: u64 = 1 << 24;

/// `HBBP_MAX_FEED_BRANCHES` of the C ABI.
pub const HBBP_MAX_FEED_BRANCHES: u32 = 65536;

/// `HBBP_MAX_IBS_REGISTERS` of the C ABI.
pub const HBBP_MAX_IBS_REGISTERS: u32 = 32;

/// A decoded sample. Branches and registers are refused with a source of another kind. What it
/// points to is read during the call. It weighs period / extent, for each crossing of a block.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_feed_sample {
    /// 0: not known
    pub time_ns: u64,
    /// EBS and IBS
    pub ip: u64,
    /// occurrences of the event that it stands for; 0: the source's
    pub period: u64,
    /// SWBT: occurrences of the event in what the burst covers; 0: its streams, as
    /// where bursts start at taken branches. Of other kinds 0: stacks have theirs
    /// in their entries, or the streams are it
    pub extent: u64,
    /// `uint32_t pid` in C.
    pub pid: u32,
    /// `uint32_t tid` in C.
    pub tid: u32,
    /// LBR: all of the stack, the newest branch first; SWBT: the
    /// taken branches of the burst, the oldest first
    pub branches: *const hbbp_branch_entry,
    /// at most HBBP_MAX_FEED_BRANCHES
    pub branch_count: u32,
    /// at most HBBP_MAX_IBS_REGISTERS
    pub ibs_register_count: u32,
    /// IBS: raw, in the order of their numbers, as in the kernel's
    /// raw data; NULL: the ip is all that is known
    pub ibs_registers: *const u64,
    /// the word in front of them there
    pub ibs_capabilities: u32,
    /// 0
    pub reserved: u32,
}

zeroed!(hbbp_feed_sample);

/// Values of hbbp_feed_event.kind, and the fields that each uses besides pid and time_ns.
pub type hbbp_feed_event_kind = i32;

/// executable memory appeared: address, size; of a file also name (its
/// path), file_offset, and if known device, inode, build_id. It
/// replaces what was there
pub const HBBP_FEED_MAPPING: hbbp_feed_event_kind = 1;
/// the process has generated code: address, size, and if known code
/// (size bytes) and name (of the function that it is). It replaces what
/// was there, whose samples stay its own; freed code need not be reported.
/// Without code samples are counted, but not in blocks
pub const HBBP_FEED_CODE: hbbp_feed_event_kind = 2;
/// another program, nothing is mapped; if known name, of thread tid
pub const HBBP_FEED_EXEC: hbbp_feed_event_kind = 3;
/// tid of pid was started by parent_tid of parent_pid: a process with its
/// mappings, or, if the pids are the same, a thread
pub const HBBP_FEED_FORK: hbbp_feed_event_kind = 4;
/// the process, not only a thread, has ended
pub const HBBP_FEED_EXIT: hbbp_feed_event_kind = 5;
/// tid, name
pub const HBBP_FEED_THREAD_NAME: hbbp_feed_event_kind = 6;
/// build_id of the file called name, for its mappings without one
pub const HBBP_FEED_BUILD_ID: hbbp_feed_event_kind = 7;
/// \`count\` samples of \`source\` were lost
pub const HBBP_FEED_LOST: hbbp_feed_event_kind = 8;
/// sampling for \`source\` was held back once
pub const HBBP_FEED_THROTTLED: hbbp_feed_event_kind = 9;
/// the process has a block of memory: address, size, and name (of the block);
/// without a name, the memory was freed. It replaces what was there, whose
/// accesses stay its own: samples of IBS count for it from then on, as data.h
/// says. Children have the blocks of their parents; HBBP_FEED_EXEC and
/// HBBP_FEED_EXIT end them. libhbbp-collect takes and ignores it
pub const HBBP_FEED_DATA: hbbp_feed_event_kind = 10;

/// \`pid\` of mappings of the kernel.
pub const HBBP_FEED_KERNEL_PID: u32 = u32::MAX;

/// Something that happened. Fields that its kind does not use are not looked at. What it points to
/// is read during the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_feed_event {
    /// `hbbp_feed_event_kind kind` in C.
    pub kind: hbbp_feed_event_kind,
    /// `uint32_t pid` in C.
    pub pid: u32,
    /// `uint32_t tid` in C.
    pub tid: u32,
    /// `uint32_t parent_pid` in C.
    pub parent_pid: u32,
    /// `uint32_t parent_tid` in C.
    pub parent_tid: u32,
    /// `uint32_t source` in C.
    pub source: u32,
    /// 0: since ever, of mappings, code and data; of others: not known
    pub time_ns: u64,
    /// `uint64_t address` in C.
    pub address: u64,
    /// bytes
    pub size: u64,
    /// `uint64_t file_offset` in C.
    pub file_offset: u64,
    /// makedev
    pub device: u64,
    /// `uint64_t inode` in C.
    pub inode: u64,
    /// `uint64_t count` in C.
    pub count: u64,
    /// `const char *name` in C.
    pub name: *const c_char,
    /// `const uint8_t *build_id` in C.
    pub build_id: *const u8,
    /// `const uint8_t *code` in C.
    pub code: *const u8,
    /// bytes, at most 64
    pub build_id_size: u32,
    /// 0
    pub reserved: u32,
}

zeroed!(hbbp_feed_event);

/// What a feed is doing right now.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_feed_info {
    /// set by the caller
    pub struct_size: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// added so far, counted or waiting
    pub samples: u64,
    /// as records and events say
    pub lost: u64,
    /// `uint64_t throttled` in C.
    pub throttled: u64,
    /// between the first and the last sample that was counted
    pub duration_ns: u64,
    /// records and samples that wait for the end of a round
    pub waiting: u64,
    /// records that could not be used, and samples that there was no memory for
    pub dropped: u64,
    /// of max_memory, also without one
    pub memory_bytes: u64,
    /// `uint64_t peak_memory_bytes` in C.
    pub peak_memory_bytes: u64,
}

sized!(hbbp_feed_info);

/// The time up to which hbbp_feed_flush flushes everything.
pub const HBBP_FEED_ALL: u64 = u64::MAX;

/// An object of the library, known by its address only.
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_feed {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

extern "C" {
    /// \`options\` may be NULL: all defaults. In a child made by fork, the feed has what it had.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  feed is NULL; an option out of range; the message says which
    /// HBBP_ERROR_VERSION           an option that this library does not know
    /// HBBP_ERROR_NO_MEMORY
    /// Since 0.1.
    pub fn hbbp_feed_create(options: *const hbbp_feed_options, feed: *mut *mut hbbp_feed, error: *mut hbbp_error) -> hbbp_status;

    /// Snapshots taken from it stay valid. Not while another thread is in one of its functions, nor in
    /// its log. NULL is allowed. Since 0.1.
    pub fn hbbp_feed_destroy(feed: *mut hbbp_feed);

    /// \`index\`, which may be NULL, gets its number, by which the functions below call it: 0 for the
    /// first. Sources may be added at any time.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  which field, and why
    /// HBBP_ERROR_VERSION, HBBP_ERROR_NO_MEMORY
    /// Since 0.1.
    pub fn hbbp_feed_add_source(feed: *mut hbbp_feed, source: *const hbbp_feed_source, index: *mut u32, error: *mut hbbp_error) -> hbbp_status;

    /// More perf_ids of a source, as when a new thread or CPU gets an event. Must come before its
    /// records.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  no such source; one without perf_attr; NULL
    /// Since 0.1.
    pub fn hbbp_feed_add_perf_ids(feed: *mut hbbp_feed, index: u32, perf_ids: *const u64, perf_id_count: usize, error: *mut hbbp_error) -> hbbp_status;

    /// \`bytes\` bytes of whole records one after the other, in the byte order of this machine, of all
    /// sources with a perf_attr: SAMPLE, MMAP, MMAP2, COMM, FORK, LOST, THROTTLE, ...; others are
    /// skipped. A record that goes around the end of its ring has to be put together first. \`consumed\`,
    /// which may be NULL, gets the bytes of whole records; a rest is the beginning of a record, to be
    /// added again with what follows. Records of no known event, or too short for their fields, are
    /// dropped: hbbp_feed_info.dropped counts them and hbbp_source_info.note describes the first.
    /// Errors:
    /// HBBP_ERROR_BAD_FORMAT        there is no record where one should begin; the message has the
    /// offset, as has \`consumed\`; what came before was taken
    /// HBBP_ERROR_INVALID_STATE     no source has a perf_attr
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// HBBP_ERROR_NO_MEMORY
    /// Since 0.1.
    pub fn hbbp_feed_add_perf_records(feed: *mut hbbp_feed, records: *const c_void, bytes: usize, consumed: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// \`count\` decoded samples of the source \`index\`, sample_size = sizeof(hbbp_feed_sample) apart as
    /// the caller knows it. All are taken, or none.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  which sample, and why; a sample_size that no version has
    /// HBBP_ERROR_VERSION           fields that this library does not know are not 0
    /// HBBP_ERROR_NO_MEMORY
    /// Since 0.1.
    pub fn hbbp_feed_add_samples(feed: *mut hbbp_feed, index: u32, samples: *const hbbp_feed_sample, count: usize, sample_size: usize, error: *mut hbbp_error) -> hbbp_status;

    /// \`count\` events, event_size = sizeof(hbbp_feed_event) apart as the caller knows it. All are taken,
    /// or none. Errors: those of hbbp_feed_add_samples. Since 0.1.
    pub fn hbbp_feed_add_events(feed: *mut hbbp_feed, events: *const hbbp_feed_event, count: usize, event_size: usize, error: *mut hbbp_error) -> hbbp_status;

    /// Reads what /proc/PID shows of a process, 0 the calling one, as events: what executable memory it
    /// has (HBBP_FEED_MAPPING), and the names of its threads (HBBP_FEED_THREAD_NAME), at time 0. For a
    /// host that begins to observe a process which runs already: first its events are opened, then this
    /// is called, and then come its samples; what it maps from then on comes in records or events.
    /// Errors:
    /// HBBP_ERROR_NOT_FOUND         no such process, or one without memory: it has ended, or is of the
    /// kernel
    /// HBBP_ERROR_PERMISSION        it is another user's, or its memory is protected (ptrace)
    /// HBBP_ERROR_UNSUPPORTED       /proc is not mounted
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; not a process id
    /// HBBP_ERROR_IO, HBBP_ERROR_NO_MEMORY
    /// Since 0.1.
    pub fn hbbp_feed_process(feed: *mut hbbp_feed, pid: u32, error: *mut hbbp_error) -> hbbp_status;

    /// Every ring was emptied once since the last round. Counts what had come by the end of the round
    /// before that: what is in a ring now is later than anything that was in another one then. Records
    /// PERF_RECORD_FINISHED_ROUND, which perf writes, do the same.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// Since 0.1.
    pub fn hbbp_feed_end_round(feed: *mut hbbp_feed, error: *mut hbbp_error) -> hbbp_status;

    /// Everything that happened up to \`up_to_ns\` was added: counts what waits up to there. HBBP_FEED_ALL
    /// at the end. What comes later with an earlier time is counted all the same, but in what is mapped
    /// then; hbbp_source_info.note says how often that was.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// Since 0.1.
    pub fn hbbp_feed_flush(feed: *mut hbbp_feed, up_to_ns: u64, error: *mut hbbp_error) -> hbbp_status;

    /// All that was counted so far, as an immutable profile; not what waits. \`work\` may be NULL; its
    /// progress must not use the feed, and its flag also cancels the wait for another thread that is in
    /// the feed.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// HBBP_ERROR_INVALID_STATE     it is the feed of a session, which has the snapshot
    /// HBBP_ERROR_NO_MEMORY
    /// and those of hbbp_work_options. Since 0.1.
    pub fn hbbp_feed_snapshot(feed: *mut hbbp_feed, work: *const hbbp_work_options, profile: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;

    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// HBBP_ERROR_INVALID_STATE     it is the feed of a session
    /// Since 0.1.
    pub fn hbbp_feed_get_info(feed: *mut hbbp_feed, info: *mut hbbp_feed_info, error: *mut hbbp_error) -> hbbp_status;
}

// formats.h ---------------------------------------------------------------------------------------

/// `hbbp_export_format` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_export_format {
    /// set by hbbp_export_copy_formats
    pub struct_size: u32,
    /// 1: what is written is of one module
    pub is_of_one_module: u32,
    /// `const char *name` in C.
    pub name: *const c_char,
    /// one line: what reads it
    pub summary: *const c_char,
}

sized!(hbbp_export_format);

/// Takes the next bytes of what is written: valid during the call. Returns 0, or anything else to
/// end it. Called in the thread that exports. It must not throw.
pub type hbbp_write = Option<unsafe extern "C" fn(bytes: *const c_void, size: usize, user_data: *mut c_void) -> i32>;

/// Says in a line what was left out of an export, and why. As hbbp_write.
pub type hbbp_export_note = Option<unsafe extern "C" fn(note: *const c_char, user_data: *mut c_void)>;

/// Fields that are 0 or NULL have their defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_export_options {
    /// set by the caller
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// the only one to write, by its path or file name; NULL: all, or for formats
    /// of one module the file (without files, the other module) that executed
    /// most instructions
    pub module: *const c_char,
    /// may be NULL
    pub note: hbbp_export_note,
    /// given to note
    pub user_data: *mut c_void,
}

sized!(hbbp_export_options);

extern "C" {
    /// The formats of this library. Read as api.h says, without a handle. Since 0.1.
    pub fn hbbp_export_format_count() -> usize;

    /// See formats.h.
    pub fn hbbp_export_copy_formats(first: usize, count: usize, size: usize, formats: *mut hbbp_export_format, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// Writes an analysis in a format ("llvm", "bolt", ...) by calls of \`write\`, which gets \`user_data\`.
    /// \`options\` and \`work\` may be NULL. What debug information is needed is read as
    /// hbbp_analysis_find_lines does.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; no such format: the message lists those there are
    /// HBBP_ERROR_NOT_FOUND         no such module; nothing to write: no counts, or none with what the
    /// format needs (lines, branches, slices), which the message names
    /// HBBP_ERROR_CANCELLED         also by hbbp_debug_options.cancel
    /// HBBP_ERROR_IO                \`write\` did not return 0: it has got a part of a file
    /// HBBP_ERROR_NO_MEMORY
    /// and those of hbbp_work_options. Any thread. Since 0.1.
    pub fn hbbp_export(analysis: *const hbbp_analysis, format: *const c_char, options: *const hbbp_export_options, work: *const hbbp_work_options, write: hbbp_write, user_data: *mut c_void, error: *mut hbbp_error) -> hbbp_status;
}

// host.h ------------------------------------------------------------------------------------------

/// One of the constants that follow.
pub type hbbp_log_level = i32;

/// counts are missing, or none will come
pub const HBBP_LOG_ERROR: hbbp_log_level = 1;
/// counts are less exact than was asked for
pub const HBBP_LOG_WARNING: hbbp_log_level = 2;
/// what was chosen, and why
pub const HBBP_LOG_INFO: hbbp_log_level = 3;
/// each step
pub const HBBP_LOG_DEBUG: hbbp_log_level = 4;

/// \`message\` is one line, without its end, valid during the call. Called from the worker of a
/// session or from a thread that is inside a function of the library, by one thread at a time for a
/// session or an import, never from a signal handler and with no lock of the library held; it may
/// fork. What starting and stopping log arrives before they return, unless another thread is in the
/// log just then, which goes on with it. It may ask the session (hbbp_session_get_info,
/// hbbp_session_snapshot); starting and stopping it there is HBBP_ERROR_INVALID_STATE. If it
/// destroys the session, a thread of the library does so once this message, the last one, has
/// returned; the session's allocator is used until then. A feed must not be destroyed there. It
/// must not throw.
pub type hbbp_log = Option<unsafe extern "C" fn(level: hbbp_log_level, message: *const c_char, user_data: *mut c_void)>;

/// How far work is: \`all\` 0 if it is not known how much there is. Called now and then in the thread
/// that called the function. It must not throw.
pub type hbbp_progress = Option<unsafe extern "C" fn(done: u64, all: u64, user_data: *mut c_void)>;

/// A flag that cancels long work: the function that has it returns HBBP_ERROR_CANCELLED soon
/// after. One flag may be given to any number of functions, in any threads.
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_cancel {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

/// How a function that may take long does its work. Every such function has this as an argument that
/// may be NULL, and then also these errors:
/// HBBP_ERROR_CANCELLED  \`cancel\` was set; what the function works on is as it was
/// HBBP_ERROR_VERSION    a field that this library does not know is not 0
/// Fields that are 0 or NULL ask for nothing. Progress is in no particular unit unless the function
/// says so.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_work_options {
    /// set by the caller
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// `hbbp_progress progress` in C.
    pub progress: hbbp_progress,
    /// given to progress
    pub user_data: *mut c_void,
    /// `const hbbp_cancel *cancel` in C.
    pub cancel: *const hbbp_cancel,
}

sized!(hbbp_work_options);

/// The minimum of max_memory of options.
pub const HBBP_MIN_MEMORY: u32 = 1048576;

/// The minimum of kept_burst_bytes of options.
pub const HBBP_MIN_KEPT_BURST_BYTES: u32 = 65536;

/// Allocates the memory of counts. Both functions may be called by several threads at once, inside
/// functions of the library and from the worker of a session, never from a signal handler; they must
/// not throw, nor call the library. fork waits for those calls, and makes none itself.
/// docs/guide/embedding.md says what is allocated by them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_allocator {
    /// set by the caller
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// Returns \`size\` bytes, at least 1, at a multiple of \`alignment\`, a power of two; NULL if there
    /// are none.
    pub allocate: Option<unsafe extern "C" fn(size: usize, alignment: usize, user_data: *mut c_void) -> *mut c_void>,
    /// Gets the size and the alignment that the memory was asked for with.
    pub deallocate: Option<unsafe extern "C" fn(memory: *mut c_void, size: usize, alignment: usize, user_data: *mut c_void)>,
    /// `void *user_data` in C.
    pub user_data: *mut c_void,
}

sized!(hbbp_allocator);

extern "C" {
    /// Makes a flag that is not set.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  cancel is NULL
    /// HBBP_ERROR_NO_MEMORY
    /// Any thread. Since 0.1.
    pub fn hbbp_cancel_create(cancel: *mut *mut hbbp_cancel, error: *mut hbbp_error) -> hbbp_status;

    /// It must not be in use by a function. NULL is allowed. Since 0.1.
    pub fn hbbp_cancel_destroy(cancel: *mut hbbp_cancel);

    /// Sets the flag (cancelled not 0) or takes it back. NULL is allowed. Any thread;
    /// async-signal-safe. Since 0.1.
    pub fn hbbp_cancel_set(cancel: *mut hbbp_cancel, cancelled: i32);

    /// 1 if the flag is set, else 0, also for NULL. Any thread; async-signal-safe. Since 0.1.
    pub fn hbbp_cancel_is_set(cancel: *const hbbp_cancel) -> i32;
}

// ibs.h -------------------------------------------------------------------------------------------

/// An event of one instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_ibs_sum {
    /// set by hbbp_analysis_copy_ibs_sums
    pub struct_size: u32,
    /// index of its module
    pub module: u32,
    /// index of its function, or HBBP_NO_INDEX
    pub function: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// "op-dc-misses"
    pub event: *const c_char,
    /// in the module; run-time address in the kernel and in generated code;
    /// HBBP_NO_ADDRESS: of all instructions of a module whose code is missing
    pub address: u64,
    /// of samples or cycles, never 0
    pub sum: u64,
}

sized!(hbbp_ibs_sum);

/// Samples whose latency was in \[first_cycles, end_cycles). Buckets are log-linear, four to each
/// power of two: 0 to 7 cycles have one each, then come \[8, 10), \[10, 12), \[12, 14), \[14, 16),
/// \[16, 20), ... up to \[57344, 65536).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_ibs_bucket {
    /// set by hbbp_profile_copy_ibs_buckets
    pub struct_size: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// "tag-to-retire", "completion-to-retire", "dc-miss", "dtlb-refill",
    /// "fetch", "itlb-refill"
    pub latency: *const c_char,
    /// `uint64_t first_cycles` in C.
    pub first_cycles: u64,
    /// `uint64_t end_cycles` in C.
    pub end_cycles: u64,
    /// never 0
    pub samples: u64,
}

sized!(hbbp_ibs_bucket);

/// Loads of one instruction that had their data from one level of memory, with a latency in
/// \[first_cycles, end_cycles); buckets are those of hbbp_ibs_bucket. The levels, as in the events of
/// the north bridge ("op-nb-local-dram"); local is the node of the core:
/// "l1", "l2"                     caches of the core; loads that hit L1 have a latency of 0
/// "local-l3"                     or another cache of the core complex
/// "local-cache", "remote-cache"  of another core complex; before Zen 4 the first one has those of
/// the L3 cache, too
/// "local-dram", "remote-dram"
/// "extension-memory", "long-latency-memory", "peer-memory"  memory of other kinds
/// "local-other", "remote-other"  devices, configuration space
/// "miss-underway"                the line was on its way for another op
/// "unknown"
/// All sources together keep about a million buckets; the counter "ibs-latencies-dropped" of a
/// source has the loads that found no room.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_ibs_latency {
    /// set by hbbp_analysis_copy_ibs_latencies
    pub struct_size: u32,
    /// index of its module
    pub module: u32,
    /// index of its function, or HBBP_NO_INDEX
    pub function: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// `const char *level` in C.
    pub level: *const c_char,
    /// as in hbbp_ibs_sum
    pub address: u64,
    /// `uint64_t first_cycles` in C.
    pub first_cycles: u64,
    /// `uint64_t end_cycles` in C.
    pub end_cycles: u64,
    /// never 0
    pub samples: u64,
}

sized!(hbbp_ibs_latency);

/// Accesses of one thread to one line of 64 bytes, while its memory was of one NUMA node. Import
/// keeps the lines with the most samples, some tens of thousands of them; the counter
/// "ibs-accesses-dropped" of the source has the others. The node is known if the sample has the
/// physical address, which newer kernels give only to those that may profile the kernel, and
/// if this kernel, or the recording, says which memory is of which node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_ibs_line {
    /// set by hbbp_profile_copy_ibs_lines
    pub struct_size: u32,
    /// `uint32_t pid` in C.
    pub pid: u32,
    /// `uint32_t tid` in C.
    pub tid: u32,
    /// number of the NUMA node; HBBP_NO_INDEX: not known
    pub node: u32,
    /// of the first byte, in the memory of the process
    pub address: u64,
    /// samples, as the next two
    pub loads: u64,
    /// `uint64_t stores` in C.
    pub stores: u64,
    /// of the L1 data cache
    pub misses: u64,
    /// of loads
    pub miss_cycles: u64,
    /// loads with data from beyond the caches of their core, from its node
    pub local: u64,
    /// likewise, from another node
    pub remote: u64,
}

sized!(hbbp_ibs_line);

/// What hbbp_ibs_object is.
pub type hbbp_ibs_object_kind = i32;

/// static data that a symbol names: a variable, a constant table
pub const HBBP_IBS_SYMBOL: hbbp_ibs_object_kind = 1;
/// data of a module that no symbol names, as in stripped files, together by
/// section: "\[.data\]", "\[.rodata\]"; by segment where the file has no
/// sections: "\[data\]", "\[read-only data\]"; "\[unknown\]" where the file is
/// missing or another one by now
pub const HBBP_IBS_SECTION: hbbp_ibs_object_kind = 2;
/// memory that the process calls so: data.h, HBBP_FEED_DATA
pub const HBBP_IBS_BLOCK: hbbp_ibs_object_kind = 3;
/// all other memory together, "\[other memory\]": heaps, stacks, memory of
/// threads (thread-local storage), the kernel's
pub const HBBP_IBS_OTHER: hbbp_ibs_object_kind = 4;

/// Accesses to one object. Modules have their data by their program headers, which are read when the
/// first sample finds it: their files must be there while a session runs or a recording is imported.
/// Data is kept by address, at most some tens of thousands of addresses. Of more, the least sampled
/// ones are kept by 8 bytes, then by 64, then by pages: where several objects share these, their
/// accesses count for the section. The counter "ibs-data-dropped" of a source has those that found
/// no room at all.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_ibs_object {
    /// set by hbbp_analysis_copy_ibs_objects
    pub struct_size: u32,
    /// index of its module, of a symbol or section; else HBBP_NO_INDEX
    pub module: u32,
    /// `hbbp_ibs_object_kind kind` in C.
    pub kind: hbbp_ibs_object_kind,
    /// that accessed it
    pub threads: u32,
    /// never NULL; mangled as in the symbol table
    pub name: *const c_char,
    /// in the module; HBBP_NO_ADDRESS: unknown, or not in a module
    pub address: u64,
    /// bytes; 0: unknown, or not in a module
    pub size: u64,
    /// samples, as the next two
    pub loads: u64,
    /// `uint64_t stores` in C.
    pub stores: u64,
    /// of the L1 data cache
    pub misses: u64,
    /// of loads
    pub miss_cycles: u64,
    /// loads with data from beyond the caches of their core, from its node
    pub local: u64,
    /// likewise, from another node
    pub remote: u64,
}

sized!(hbbp_ibs_object);

extern "C" {
    /// The sums are sorted by module and address. Since 0.1.
    pub fn hbbp_analysis_ibs_sum_count(analysis: *const hbbp_analysis) -> usize;

    /// See ibs.h.
    pub fn hbbp_analysis_copy_ibs_sums(analysis: *const hbbp_analysis, first: usize, count: usize, size: usize, sums: *mut hbbp_ibs_sum, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// The latencies are sorted by module, address, level (in the order above) and cycles. Since 0.1.
    pub fn hbbp_analysis_ibs_latency_count(analysis: *const hbbp_analysis) -> usize;

    /// See ibs.h.
    pub fn hbbp_analysis_copy_ibs_latencies(analysis: *const hbbp_analysis, first: usize, count: usize, size: usize, latencies: *mut hbbp_ibs_latency, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// The objects are sorted by module and address; then come blocks, by name, and other memory.
    /// Since 0.1.
    pub fn hbbp_analysis_ibs_object_count(analysis: *const hbbp_analysis) -> usize;

    /// See ibs.h.
    pub fn hbbp_analysis_copy_ibs_objects(analysis: *const hbbp_analysis, first: usize, count: usize, size: usize, objects: *mut hbbp_ibs_object, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// The buckets are sorted by latency and cycles. Since 0.1.
    pub fn hbbp_profile_ibs_bucket_count(profile: *const hbbp_profile) -> usize;

    /// See ibs.h.
    pub fn hbbp_profile_copy_ibs_buckets(profile: *const hbbp_profile, first: usize, count: usize, size: usize, buckets: *mut hbbp_ibs_bucket, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// The lines are sorted by address. Since 0.1.
    pub fn hbbp_profile_ibs_line_count(profile: *const hbbp_profile) -> usize;

    /// See ibs.h.
    pub fn hbbp_profile_copy_ibs_lines(profile: *const hbbp_profile, first: usize, count: usize, size: usize, lines: *mut hbbp_ibs_line, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;
}

// import.h ----------------------------------------------------------------------------------------

/// A file that is not where it was when it was recorded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_moved_file {
    /// its path in the recording, or the last part of that
    pub recorded: *const c_char,
    /// the file
    pub here: *const c_char,
}

zeroed!(hbbp_moved_file);

/// Fields that are 0 or NULL have their defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_import_options {
    /// set by the caller
    pub struct_size: u32,
    /// of moved_files
    pub moved_file_count: u32,
    /// directory that has the files of the recorded machine (perf calls it
    /// symfs), at their paths or anywhere with their build IDs; default:
    /// none, they are where they were there. What is not found is also
    /// searched by build ID in perf's cache: buildid.dir of its
    /// configuration, or ~/.debug
    pub root: *const c_char,
    /// `const hbbp_moved_file *moved_files` in C.
    pub moved_files: *const hbbp_moved_file,
    /// for text without mappings, of \`perf script\` or added up for BOLT: the one
    /// file whose addresses it has, where it names none by build ID
    pub binary: *const c_char,
    /// of samples that come with branch stacks
    pub ebs_method: hbbp_ebs_method,
    /// 0
    pub reserved: u32,
    /// as in hbbp_session_options, by the times of samples; slices begin with the
    /// first one. Text of \`perf script\` has no times
    pub slice_ns: u64,
    /// The host gives these, as in hbbp_session_options:
    /// called inside hbbp_profile_import
    pub log: hbbp_log,
    /// given to log
    pub log_user_data: *mut c_void,
    /// 0: HBBP_LOG_INFO
    pub log_level: hbbp_log_level,
    /// 0
    pub reserved2: u32,
    /// bytes for counts, records that wait, names and code while it is read, not
    /// for the profile; at least HBBP_MIN_MEMORY: never more is used. Samples
    /// that find no room are dropped: the notes of the profile's sources and
    /// their counter "no-memory" say how many. 0: as much as is needed
    pub max_memory: u64,
    /// for counts and records that wait; not used after the call.
    /// NULL: operator new
    pub allocator: *const hbbp_allocator,
    /// as in hbbp_session_options
    pub kept_burst_bytes: u64,
}

sized!(hbbp_import_options);

extern "C" {
    /// Reads a recording of \`perf record\`, of any version and architecture of the recording perf, whose
    /// samples are of x86-64 code; or text of \`perf script\` with branch stacks, as llvm-profgen and BOLT
    /// take it (-F ip,brstack --show-mmap-events), which has no periods: a sample counts as one event.
    /// It has them with the field period (-F comm,pid,tid,time,period,event,ip,brstack), and a source
    /// for each event; or text that was added up for BOLT (perf2bolt -pa: B, F, f, r, T, R, S, E), whose
    /// counts are shares and whose errors are upper bounds. Sources of the profile: for each event with
    /// branch stacks of all kinds of branches one of HBBP_SOURCE_LBR; for each event one of
    /// HBBP_SOURCE_EBS (HBBP_SOURCE_IBS for ibs_op and ibs_fetch), but not for taken branches with
    /// stacks. What of a damaged recording was dropped is said in hbbp_source_info.note. \`path\` may be a
    /// pipe, and "-" is standard input. \`options\` may be NULL. Code is read from the files of the
    /// recording when blocks are asked for. Generated code is that of jitdumps; functions without code
    /// are those of perf maps, which lie where root and moved_files lead from /tmp/perf-PID.map, or
    /// there, if the host name of the recording is this machine's. Maps of other users are not believed,
    /// which is noted as well. Progress of \`work\`, which may be NULL, is in bytes of the recording.
    /// Errors:
    /// HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION, HBBP_ERROR_IO  of the file
    /// HBBP_ERROR_BAD_FORMAT        it is not a recording, or nothing of it can be read; the message
    /// says where
    /// HBBP_ERROR_UNSUPPORTED       a directory of perf record --threads; compressed records, and no
    /// libzstd is installed
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; an option out of range
    /// HBBP_ERROR_NO_MEMORY         none at all, or not for a single sample
    /// and those of hbbp_work_options. Any thread. Since 0.1.
    pub fn hbbp_profile_import(path: *const c_char, options: *const hbbp_import_options, work: *const hbbp_work_options, profile: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;
}

// jit.h -------------------------------------------------------------------------------------------

/// `hbbp_code_region` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_code_region {
    /// set by the caller
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// where it runs
    pub address: u64,
    /// bytes, at most 256 MiB
    pub size: u64,
    /// \`size\` bytes, which are copied; NULL: what is at \`address\` now
    pub code: *const c_void,
    /// of the function that it is, copied; NULL: not known, or no function
    pub name: *const c_char,
    /// of CLOCK_MONOTONIC, since when it is there; 0: now
    pub time_ns: u64,
}

sized!(hbbp_code_region);

extern "C" {
    /// The session counts samples and branches at these addresses, from that time on, for this code, of
    /// which it keeps a copy: a module "\[generated code of PID\]". It replaces what was there; freed code
    /// need not be reported. May be called before the session is started, and whether it runs or not; a
    /// child made by fork has to report its code anew. Costs a copy of the code and a lock that the
    /// session's worker also takes: not for signal handlers. Any thread.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; a size of 0 or too large; a range that ends beyond the
    /// address space
    /// HBBP_ERROR_NOT_FOUND         \`code\` is NULL, and memory at \`address\` cannot be read
    /// HBBP_ERROR_BUSY              256 MiB of code are known, or 256 generations of code at one
    /// address; this code is not kept, and its samples count as those of
    /// code that was never reported
    /// HBBP_ERROR_VERSION, HBBP_ERROR_NO_MEMORY
    /// Since 0.1.
    pub fn hbbp_session_add_code(session: *mut hbbp_session, region: *const hbbp_code_region, error: *mut hbbp_error) -> hbbp_status;
}

// lines.h -----------------------------------------------------------------------------------------

/// How far reading the debug information of a module is. Called in the thread that asked for a
/// line; \`module\` is its path, valid during the call. Must not use the analysis, nor throw.
pub type hbbp_debug_progress = Option<unsafe extern "C" fn(module: *const c_char, done_bytes: u64, total_bytes: u64, user_data: *mut c_void)>;

/// Ask the servers that DEBUGINFOD_URLS names for debug files that are not here, by libdebuginfod,
/// which keeps them. May take minutes.
pub const HBBP_DEBUG_USE_DEBUGINFOD: u32 = 1 << 0;

/// Says where debug information is, and how it is read. Fields that are 0 or NULL have their
/// defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_debug_options {
    /// set by the caller
    pub struct_size: u32,
    /// HBBP_DEBUG\_\*
    pub flags: u32,
    /// where separate debug files are; NULL: /usr/lib/debug; "": nowhere
    pub debug_root: *const c_char,
    /// bytes of decoded debug information kept, of all modules; 0: 256 MiB
    pub memory_limit: u64,
    /// These three are used until the analysis is destroyed: whichever function first needs the debug
    /// information of a module reads it, hbbp_pivot_create too.
    pub progress: hbbp_debug_progress,
    /// given to progress
    pub user_data: *mut c_void,
    /// cancels what has to be read for an answer: the function returns
    /// HBBP_ERROR_CANCELLED, and the next one reads it. What was read
    /// before is answered. It is checked between calls of libdw, which take
    /// milliseconds, and when libdebuginfod asks, about once a second
    pub cancel: *const hbbp_cancel,
}

sized!(hbbp_debug_options);

/// One function at an address: the innermost one that was inlined there, or what it was inlined
/// into. Strings live as long as the analysis.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_line_frame {
    /// set by hbbp_analysis_find_lines
    pub struct_size: u32,
    /// of the instruction, in an outer frame of the call; 0: of no line
    pub line: u32,
    /// 0: not known
    pub column: u32,
    /// distinguishes code of one line, as the compiler encodes it; else 0
    pub discriminator: u32,
    /// absolute if the compiler said where it ran; "" if not known
    pub file: *const c_char,
    /// as the linker knows it (mangled), otherwise its name; "" if not known
    pub function: *const c_char,
    /// where \`function\` is declared; 0: not known
    pub function_line: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
}

sized!(hbbp_line_frame);

/// Describes all addresses of \[start, end).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_line_range {
    /// set by the caller
    pub struct_size: u32,
    /// all of them, also those that did not fit; 0: nothing is known
    pub frame_count: u32,
    /// `uint64_t start` in C.
    pub start: u64,
    /// `uint64_t end` in C.
    pub end: u64,
}

sized!(hbbp_line_range);

extern "C" {
    /// The lines of an address of a module: up to \`capacity\` frames, innermost first, into \`frames\`,
    /// whose elements are frame_size = sizeof(hbbp_line_frame) apart as the caller knows it. The
    /// outermost frame is the function that has the code. \`range\` says how many frames there are and how
    /// far the answer holds: to walk over a function, go on at range.end.
    /// Errors:
    /// HBBP_ERROR_NOT_FOUND         no such module; no debug information of it: the message says where
    /// it was searched and what to install
    /// HBBP_ERROR_MISMATCH          only that of another build
    /// HBBP_ERROR_UNSUPPORTED       no libdw; generated code whose lines no jitdump has
    /// HBBP_ERROR_CANCELLED         by hbbp_debug_options.cancel
    /// HBBP_ERROR_BAD_FORMAT, HBBP_ERROR_IO
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; a frame_size that no version has
    /// What fails for a module fails at once the next time, unless it was cancelled. Any thread.
    /// Since 0.1.
    pub fn hbbp_analysis_find_lines(analysis: *const hbbp_analysis, module: u32, address: u64, capacity: usize, frame_size: usize, frames: *mut hbbp_line_frame, range: *mut hbbp_line_range, error: *mut hbbp_error) -> hbbp_status;

    /// Says what of a module's debug information was missing or damaged, as far as was noticed up to
    /// now: one line in \`buffer\`, cut where that ends; "" if nothing. If nothing was asked of the module
    /// before, its debug information is found first.
    /// Errors: those of hbbp_analysis_find_lines, and
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; buffer_size is 0
    /// Any thread. Since 0.1.
    pub fn hbbp_analysis_debug_problem(analysis: *const hbbp_analysis, module: u32, buffer: *mut c_char, buffer_size: usize, error: *mut hbbp_error) -> hbbp_status;
}

// loops.h -----------------------------------------------------------------------------------------

/// A region that can be entered at several blocks; \`header\` is one of them. Also a loop whose
/// header would be a jump table that several jumps share.
pub const HBBP_LOOP_IRREDUCIBLE: u32 = 1;

/// How an average trip count is known.
pub type hbbp_trip_basis = i32;

/// irreducible, not determined, or seen neither entered nor left
pub const HBBP_TRIPS_UNKNOWN: hbbp_trip_basis = 0;
/// taken branches and streams, into the header and out of the loop
pub const HBBP_TRIPS_BY_BRANCHES: hbbp_trip_basis = 1;
/// counts of blocks
pub const HBBP_TRIPS_BY_COUNTS: hbbp_trip_basis = 2;

/// Numbers that are not known are 0. Each standard error is one sigma of the number before it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_loop {
    /// set by hbbp_loops_copy
    pub struct_size: u32,
    /// index of its module
    pub module: u32,
    /// index of its function
    pub function: u32,
    /// index of the loop around it, which is smaller; HBBP_NO_INDEX: none
    pub parent: u32,
    /// 1: no loop is around it
    pub depth: u32,
    /// HBBP_LOOP\_\*
    pub flags: u32,
    /// of its code, with those of the loops in it
    pub blocks: u32,
    /// of trip_count
    pub trip_basis: hbbp_trip_basis,
    /// address in the module
    pub header: u64,
    /// `double entries` in C.
    pub entries: f64,
    /// `double entries_error` in C.
    pub entries_error: f64,
    /// `double iterations` in C.
    pub iterations: f64,
    /// `double iterations_error` in C.
    pub iterations_error: f64,
    /// average; by branches if they say it, else by counts
    pub trip_count: f64,
    /// `double trip_count_error` in C.
    pub trip_count_error: f64,
    /// `double trip_count_by_branches` in C.
    pub trip_count_by_branches: f64,
    /// `double trip_count_by_branches_error` in C.
    pub trip_count_by_branches_error: f64,
    /// `double trip_count_by_counts` in C.
    pub trip_count_by_counts: f64,
    /// `double trip_count_by_counts_error` in C.
    pub trip_count_by_counts_error: f64,
    /// executed in it
    pub instructions: f64,
    /// `double instructions_error` in C.
    pub instructions_error: f64,
    /// those that are in no loop within it
    pub own_instructions: f64,
    /// `double own_instructions_error` in C.
    pub own_instructions_error: f64,
}

sized!(hbbp_loop);

/// An object of the library, known by its address only.
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_loops {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

extern "C" {
    /// Finds the loops in which a block has a count, in order of module, function and nesting: the loop
    /// around a loop comes before it. The result does not need the analysis afterwards. \`work\` may be
    /// NULL.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// HBBP_ERROR_NO_MEMORY
    /// and those of hbbp_work_options. Any thread. Since 0.1.
    pub fn hbbp_loops_create(analysis: *const hbbp_analysis, work: *const hbbp_work_options, loops: *mut *mut hbbp_loops, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. Since 0.1.
    pub fn hbbp_loops_destroy(loops: *mut hbbp_loops);

    /// Read as api.h says. Since 0.1.
    pub fn hbbp_loops_count(loops: *const hbbp_loops) -> usize;

    /// See loops.h.
    pub fn hbbp_loops_copy(loops: *const hbbp_loops, first: usize, count: usize, size: usize, elements: *mut hbbp_loop, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// Copies, for blocks \[first, first + count) of the analysis, the index of the innermost loop that
    /// each is in, HBBP_NO_INDEX if in none. \*copied gets how many blocks there were. Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// Any thread. Since 0.1.
    pub fn hbbp_loops_copy_of_blocks(loops: *const hbbp_loops, first: usize, count: usize, indices: *mut u32, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;
}

// mix.h -------------------------------------------------------------------------------------------

/// What the rows of a mix stand for. Combined by |.
pub type hbbp_mix_keys = u32;

/// `HBBP_MIX_BY_MNEMONIC` of the C ABI.
pub const HBBP_MIX_BY_MNEMONIC: hbbp_mix_keys = 1 << 0;
/// `HBBP_MIX_BY_MODULE` of the C ABI.
pub const HBBP_MIX_BY_MODULE: hbbp_mix_keys = 1 << 1;
/// `HBBP_MIX_BY_FUNCTION` of the C ABI.
pub const HBBP_MIX_BY_FUNCTION: hbbp_mix_keys = 1 << 2;
/// `HBBP_MIX_BY_THREAD` of the C ABI.
pub const HBBP_MIX_BY_THREAD: hbbp_mix_keys = 1 << 3;
/// of time (slices.h)
pub const HBBP_MIX_BY_SLICE: hbbp_mix_keys = 1 << 4;

/// `hbbp_mix_row` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_mix_row {
    /// set by hbbp_mix_copy_rows
    pub struct_size: u32,
    /// index in the profile; HBBP_NO_INDEX if not a key
    pub module: u32,
    /// index in the analysis; HBBP_NO_INDEX if not a key
    pub function: u32,
    /// index in the profile; HBBP_NO_INDEX if not a key
    pub thread: u32,
    /// Intel's, lower case, without prefixes. "" if not a key, and for bytes of
    /// blocks that cannot be decoded any more because a file has changed. Bytes
    /// that never could are in no block, and so in no row
    pub mnemonic: *const c_char,
    /// executed; in the unit of the source (hbbp_source_info.unit)
    pub instructions: f64,
    /// `double standard_error` in C.
    pub standard_error: f64,
    /// of all instructions in the mix; 0 to 1
    pub share: f64,
    /// index in the profile; HBBP_NO_INDEX if not a key, or of a time that is not
    /// known
    pub slice: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
}

sized!(hbbp_mix_row);

/// An object of the library, known by its address only.
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_mix {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

extern "C" {
    /// The mix of a whole profile, rows sorted by instructions, most first. \`keys\` 0 means
    /// HBBP_MIX_BY_MNEMONIC. Without mnemonics, functions whose code is missing (of a kernel, or of
    /// generated code that a perf map names) count by their samples. The mix does not need the analysis
    /// afterwards. \`work\` may be NULL.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; an unknown key
    /// HBBP_ERROR_NO_MEMORY
    /// and those of hbbp_work_options. Any thread. Since 0.1.
    pub fn hbbp_mix_create(analysis: *const hbbp_analysis, keys: hbbp_mix_keys, work: *const hbbp_work_options, mix: *mut *mut hbbp_mix, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. Since 0.1.
    pub fn hbbp_mix_destroy(mix: *mut hbbp_mix);

    /// All instructions executed, in the unit of the source. NULL gives 0. Any thread. Since 0.1.
    pub fn hbbp_mix_total(mix: *const hbbp_mix) -> f64;

    /// Read as api.h says. Since 0.1.
    pub fn hbbp_mix_row_count(mix: *const hbbp_mix) -> usize;

    /// See mix.h.
    pub fn hbbp_mix_copy_rows(mix: *const hbbp_mix, first: usize, count: usize, size: usize, rows: *mut hbbp_mix_row, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;
}

// pivot.h -----------------------------------------------------------------------------------------

/// Named groups of instructions (docs/reference/properties.md). A text may have several taxonomies,
/// each of which is a key of pivots by its name; its groups are the values. What is in no group of a
/// taxonomy is in "other".
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_taxonomy {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

/// `hbbp_pivot_query` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_pivot_query {
    /// set by the caller
    pub struct_size: u32,
    /// 1: what has one name is one line, its label that of the first: static
    /// functions, C++ names that demangle alike, builds of one file; else 0
    pub join_names: u32,
    /// keys, with commas between them; NULL: "mnemonic"; "": one row of all
    pub rows: *const c_char,
    /// the same; NULL and "": none
    pub columns: *const c_char,
    /// the same of values; NULL: "instructions"
    pub values: *const c_char,
    /// which instructions count (docs/guide/mix.md); NULL: all
    pub where_: *const c_char,
    /// rows by one of \`values\`, largest first; by "error", that of the first
    /// value; or by "key". NULL: the first of \`values\`
    pub sort: *const c_char,
    /// rows at most; 0: all
    pub top: u64,
    /// whose names are keys; NULL: those of the library itself
    pub taxonomy: *const hbbp_taxonomy,
}

sized!(hbbp_pivot_query);

/// An object of the library, known by its address only.
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_pivot {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

/// One of the constants that follow.
pub type hbbp_pivot_axis = i32;

/// `HBBP_PIVOT_ROWS` of the C ABI.
pub const HBBP_PIVOT_ROWS: hbbp_pivot_axis = 0;
/// `HBBP_PIVOT_COLUMNS` of the C ABI.
pub const HBBP_PIVOT_COLUMNS: hbbp_pivot_axis = 1;

/// One of the constants that follow.
pub type hbbp_label_kind = i32;

/// `HBBP_LABEL_TEXT` of the C ABI.
pub const HBBP_LABEL_TEXT: hbbp_label_kind = 0;
/// as of threads and widths
pub const HBBP_LABEL_NUMBER: hbbp_label_kind = 1;
/// in its module
pub const HBBP_LABEL_ADDRESS: hbbp_label_kind = 2;

/// `hbbp_pivot_label` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_pivot_label {
    /// set by the caller
    pub struct_size: u32,
    /// `hbbp_label_kind kind` in C.
    pub kind: hbbp_label_kind,
    /// always; function names as the symbol table has them (mangled)
    pub text: *const c_char,
    /// of HBBP_LABEL_NUMBER and HBBP_LABEL_ADDRESS; else 0
    pub number: u64,
    /// in a list, by key:
    /// thread, module, slice: of the profile;
    /// function, block: of the analysis;
    /// loop: of hbbp_loops_create; address: that of its module.
    /// HBBP_NO_INDEX of all other keys (process, source, file, line, inlined, every
    /// property and taxonomy), and of the labels "none", "unknown" and "no-code"
    pub index: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
}

sized!(hbbp_pivot_label);

/// Instead of a row or column: all of them, those included that \`top\` left out.
pub const HBBP_PIVOT_ALL: usize = usize::MAX;

/// `hbbp_pivot_cell` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_pivot_cell {
    /// set by the caller
    pub struct_size: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// instructions, executions (of blocks), bytes or operations; in the unit of
    /// the source (hbbp_source_info.unit)
    pub value: f64,
    /// of the value
    pub standard_error: f64,
    /// of all that the condition let through; 0 to 1
    pub share: f64,
    /// of the share, which is surer than the value: what is wrong with all
    /// counts alike does not change it
    pub share_error: f64,
}

sized!(hbbp_pivot_cell);

/// `hbbp_ratio` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_ratio {
    /// set by hbbp_ratios_copy
    pub struct_size: u32,
    /// 0: this profile does not say; the value is 0 then
    pub is_known: u32,
    /// "memory": what belongs together
    pub group: *const c_char,
    /// "bytes-read", stable
    pub name: *const c_char,
    /// `double value` in C.
    pub value: f64,
    /// "operations", "bytes", "share" (0 to 1), ...
    pub unit: *const c_char,
    /// of the value itself, not of its parts (docs/guide/mix.md)
    pub standard_error: f64,
}

sized!(hbbp_ratio);

/// An object of the library, known by its address only.
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_ratios {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

extern "C" {
    /// \`text\` NULL: that of the library itself, with the taxonomy "groups" and others.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  taxonomy is NULL; the text cannot be read (the message has line
    /// and column, and the nearest name where one is not known); a
    /// taxonomy is called as a key
    /// HBBP_ERROR_NO_MEMORY
    /// Any thread. Since 0.1.
    pub fn hbbp_taxonomy_create(text: *const c_char, taxonomy: *mut *mut hbbp_taxonomy, error: *mut hbbp_error) -> hbbp_status;

    /// Does the same with a file of up to 64 KiB.
    /// Errors: those of hbbp_taxonomy_create, and of the file
    /// HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION, HBBP_ERROR_IO
    /// Any thread. Since 0.1.
    pub fn hbbp_taxonomy_load(path: *const c_char, taxonomy: *mut *mut hbbp_taxonomy, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. Since 0.1.
    pub fn hbbp_taxonomy_destroy(taxonomy: *mut hbbp_taxonomy);

    /// How many taxonomies the text has. NULL gives 0. Any thread. Since 0.1.
    pub fn hbbp_taxonomy_count(taxonomy: *const hbbp_taxonomy) -> usize;

    /// Returns the name of a taxonomy, in the order of the text; NULL for NULL, and for an index that is
    /// too large. Any thread. Since 0.1.
    pub fn hbbp_taxonomy_name(taxonomy: *const hbbp_taxonomy, index: usize) -> *const c_char;

    /// Groups of the taxonomy at \`index\`, in the order of the text and without "other". NULL, and an
    /// index that is too large, give 0 and NULL. Any thread. Since 0.1.
    pub fn hbbp_taxonomy_group_count(taxonomy: *const hbbp_taxonomy, index: usize) -> usize;

    /// See pivot.h.
    pub fn hbbp_taxonomy_group_name(taxonomy: *const hbbp_taxonomy, index: usize, group: usize) -> *const c_char;

    /// The names of keys and values that every profile has, for help and completion; an index that is
    /// too large gives NULL. Static storage. Any thread. Since 0.1.
    pub fn hbbp_pivot_key_name_count() -> usize;

    /// See pivot.h.
    pub fn hbbp_pivot_key_name(index: usize) -> *const c_char;

    /// See pivot.h.
    pub fn hbbp_pivot_value_name_count() -> usize;

    /// See pivot.h.
    pub fn hbbp_pivot_value_name(index: usize) -> *const c_char;

    /// Functions whose code is missing (of a kernel, or of generated code that a perf map names) count
    /// by their samples, unless the condition asks for what only code has. They have instructions and
    /// no other value; the label of keys that only code has is "no-code". \`work\` may be NULL.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; an unknown, empty or repeated key, value or group, with the
    /// nearest name in the message; a condition that cannot be read, with
    /// the column
    /// HBBP_ERROR_CANCELLED         also by hbbp_debug_options.cancel, where keys are of lines
    /// HBBP_ERROR_NO_MEMORY
    /// and those of hbbp_work_options. Any thread. Since 0.1.
    pub fn hbbp_pivot_create(analysis: *const hbbp_analysis, query: *const hbbp_pivot_query, work: *const hbbp_work_options, pivot: *mut *mut hbbp_pivot, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. Since 0.1.
    pub fn hbbp_pivot_destroy(pivot: *mut hbbp_pivot);

    /// Returns the number of rows or columns. NULL gives 0. Any thread. Since 0.1.
    pub fn hbbp_pivot_line_count(pivot: *const hbbp_pivot, axis: hbbp_pivot_axis) -> usize;

    /// Does the same, those included that \`top\` left out. NULL gives 0. Any thread. Since 0.1.
    pub fn hbbp_pivot_line_count_in_all(pivot: *const hbbp_pivot, axis: hbbp_pivot_axis) -> usize;

    /// How many labels a line has. NULL gives 0. Any thread. Since 0.1.
    pub fn hbbp_pivot_key_count(pivot: *const hbbp_pivot, axis: hbbp_pivot_axis) -> usize;

    /// How many numbers a cell has. NULL gives 0. Any thread. Since 0.1.
    pub fn hbbp_pivot_value_count(pivot: *const hbbp_pivot) -> usize;

    /// Key \`key\` of a line.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; no such axis
    /// HBBP_ERROR_NOT_FOUND         no such line or key
    /// Any thread. Since 0.1.
    pub fn hbbp_pivot_get_label(pivot: *const hbbp_pivot, axis: hbbp_pivot_axis, line: usize, key: usize, label: *mut hbbp_pivot_label, error: *mut hbbp_error) -> hbbp_status;

    /// Value \`value\` of a cell; \`row\` and \`column\` may be HBBP_PIVOT_ALL, which is the only column
    /// without keys of columns. A cell where nothing ran is 0.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// HBBP_ERROR_NOT_FOUND         no such row, column or value
    /// Any thread. Since 0.1.
    pub fn hbbp_pivot_get_cell(pivot: *const hbbp_pivot, row: usize, column: usize, value: usize, cell: *mut hbbp_pivot_cell, error: *mut hbbp_error) -> hbbp_status;

    /// What follows from a whole mix, docs/guide/mix.md lists it: operations on floating point by
    /// precision, bytes loaded and stored, arithmetic intensity, branch density, instructions by taken
    /// branch, shares of packed instructions and of each vector width. \`where\` and \`taxonomy\` as in
    /// hbbp_pivot_query. \`work\` may be NULL.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; a condition that cannot be read
    /// HBBP_ERROR_CANCELLED         also by hbbp_debug_options.cancel, where the condition is of lines
    /// HBBP_ERROR_NO_MEMORY
    /// and those of hbbp_work_options. Any thread. Since 0.1.
    pub fn hbbp_ratios_create(analysis: *const hbbp_analysis, where_: *const c_char, taxonomy: *const hbbp_taxonomy, work: *const hbbp_work_options, ratios: *mut *mut hbbp_ratios, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. Since 0.1.
    pub fn hbbp_ratios_destroy(ratios: *mut hbbp_ratios);

    /// Read as api.h says. Since 0.1.
    pub fn hbbp_ratios_count(ratios: *const hbbp_ratios) -> usize;

    /// See pivot.h.
    pub fn hbbp_ratios_copy(ratios: *const hbbp_ratios, first: usize, count: usize, size: usize, elements: *mut hbbp_ratio, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;
}

// probe.h -----------------------------------------------------------------------------------------

/// An object of the library, known by its address only.
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_probe {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

/// The number of fields that an action may have, and so the values of a row.
pub const HBBP_MAX_PROBE_FIELDS: u32 = 4;

/// What a handler asks for. Other values are as HBBP_PROBE_STOP_BURST.
pub type hbbp_probe_answer = i32;

/// `HBBP_PROBE_GO_ON` of the C ABI.
pub const HBBP_PROBE_GO_ON: hbbp_probe_answer = 0;
/// as the step stop_burst does: burst_flag is set behind this
/// instruction. Without effect in an exhaustive probe
pub const HBBP_PROBE_STOP_BURST: hbbp_probe_answer = 1;

/// An execution of an instruction for which a production with the action \`call\` fired. Addresses of
/// code are code numbers, which hbbp_probe_locate explains; those in one module differ as addresses
/// do.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_probe_call {
    /// set by the library
    pub struct_size: u32,
    /// index of hbbp_probe_copy_productions
    pub production: u32,
    /// index of hbbp_probe_copy_tables: that of the action
    pub table: u32,
    /// index in the profile
    pub thread: u32,
    /// code number of the instruction
    pub pc: u64,
    /// of a branch: code number of where it goes, also if it is conditional and
    /// not taken. 0: no branch, or to no known module
    pub target: u64,
    /// code number of what was executed next; 0: in no known module
    pub next: u64,
    /// what kind of branch it is
    pub flow: hbbp_flow,
    /// 1: a branch that went to its target
    pub taken: u32,
    /// as many as the fields of the action, in their order
    pub value_count: u32,
    /// bit i is set if value i is unknown, and 0
    pub unknown: u32,
    /// `uint64_t values[4]` in C.
    pub values: [u64; 4],
    /// its number in the profile
    pub burst: u64,
    /// when the burst began, by the clock of the profile
    pub time_ns: u64,
    /// how many executions in the run that was profiled one in this burst stands for,
    /// if all of the burst is seen
    pub weight: f64,
}

sized!(hbbp_probe_call);

/// Called in the thread that is in hbbp_probe_run, or in the worker of the probe, with no lock of
/// the library held, by one thread at a time. \`call\` is valid during it. It may call
/// hbbp_probe_locate and \_create of what it likes, but no other function with this probe, and must
/// not throw. To end the run, it sets the flag that hbbp_probe_run has as hbbp_work_options.cancel.
pub type hbbp_probe_handler = Option<unsafe extern "C" fn(call: *const hbbp_probe_call, user_data: *mut c_void) -> hbbp_probe_answer>;

/// `hbbp_probe_options` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_probe_options {
    /// set by the caller
    pub struct_size: u32,
    /// 1: sample_flag is always set, and bursts are seen to their ends
    pub is_exhaustive: u32,
    /// the text; copied. "use NAME" has those that are built in
    pub productions: *const c_char,
    /// groups that conditions may name; copied. NULL: those of the
    /// library itself
    pub taxonomy: *const hbbp_taxonomy,
    /// instead of that of the text, at most HBBP_MAX_PROBE_COUNTER; 0:
    /// that of the text
    pub sample_freq: u64,
    /// the same
    pub burst_length: u64,
    /// that a table of counts may have; more are dropped, and counted. 0: 2^20
    pub max_rows: u64,
    /// different combinations and elements of a trace, at most 2^30. 0: 2^24
    pub max_symbols: u64,
    /// Which streams of a trace are hot:
    /// in elements, at least 2; 0: 10
    pub min_stream_length: u64,
    /// 0: 100
    pub max_stream_length: u64,
    /// the share of the trace that one covers, at most 1; 0: 0.001
    pub min_stream_heat: f64,
    /// of the action \`call\`; NULL: nothing is called
    pub handler: hbbp_probe_handler,
    /// given to handler
    pub user_data: *mut c_void,
}

sized!(hbbp_probe_options);

/// The maximum of sample_freq and burst_length.
pub const HBBP_MAX_PROBE_COUNTER: u64 = 4611686018427387904;

/// Numbers of all runs together.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_probe_info {
    /// set by the caller
    pub struct_size: u32,
    /// `uint32_t is_exhaustive` in C.
    pub is_exhaustive: u32,
    /// `uint64_t sample_freq` in C.
    pub sample_freq: u64,
    /// `uint64_t burst_length` in C.
    pub burst_length: u64,
    /// of the profiles that were run
    pub bursts: u64,
    /// that productions began: each time that sample_flag was set
    pub begun_bursts: u64,
    /// in the bursts
    pub instructions: u64,
    /// of instructions between two taken branches, those included that were skipped
    pub streams: u64,
    /// which the code does not explain
    pub skipped_streams: u64,
    /// those of them whose code is missing
    pub streams_without_code: u64,
    /// left out, because blocks are counted by another event
    pub other_bursts: u64,
    /// bursts for which the profile of the last run had no room, later ones
    pub not_kept: u64,
    /// 1: estimates are numbers of executions; 0: they are proportional to
    /// these, as with a clock
    pub counts_executions: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
}

sized!(hbbp_probe_info);

/// `hbbp_probe_production` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_probe_production {
    /// set by hbbp_probe_copy_productions
    pub struct_size: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// `const char *name` in C.
    pub name: *const c_char,
    /// how often it fired
    pub firings: u64,
}

sized!(hbbp_probe_production);

/// What an action does.
pub type hbbp_probe_table_kind = i32;

/// \`count\`: it has rows
pub const HBBP_PROBE_COUNTS: hbbp_probe_table_kind = 0;
/// \`trace\`: it has streams
pub const HBBP_PROBE_TRACE: hbbp_probe_table_kind = 1;
/// \`call\`: it has neither
pub const HBBP_PROBE_CALLS: hbbp_probe_table_kind = 2;

/// `hbbp_probe_table` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_probe_table {
    /// set by hbbp_probe_copy_tables
    pub struct_size: u32,
    /// `hbbp_probe_table_kind kind` in C.
    pub kind: hbbp_probe_table_kind,
    /// `const char *name` in C.
    pub name: *const c_char,
    /// counted, appended, or calls of the handler
    pub records: u64,
    /// of them: the table was full
    pub dropped: u64,
    /// others, of which a field was unknown: not recorded, but called all the same
    pub unknown: u64,
    /// of all records, dropped ones too; 0 of other kinds
    pub estimate: f64,
}

sized!(hbbp_probe_table);

/// How the number in a field is read.
pub type hbbp_probe_field_kind = i32;

/// `HBBP_PROBE_NUMBER` of the C ABI.
pub const HBBP_PROBE_NUMBER: hbbp_probe_field_kind = 0;
/// a code number (hbbp_probe_locate); 0: an unknown function
pub const HBBP_PROBE_CODE: hbbp_probe_field_kind = 1;
/// int64_t: strides and divisors
pub const HBBP_PROBE_SIGNED: hbbp_probe_field_kind = 2;
/// the outcomes of conditional branches, the first one highest, 1 for taken,
/// behind a leading 1
pub const HBBP_PROBE_PATH: hbbp_probe_field_kind = 3;
/// cache lines; UINT64_MAX: the first access
pub const HBBP_PROBE_REUSE: hbbp_probe_field_kind = 4;

/// `hbbp_probe_field` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_probe_field {
    /// set by hbbp_probe_copy_fields
    pub struct_size: u32,
    /// `hbbp_probe_field_kind kind` in C.
    pub kind: hbbp_probe_field_kind,
    /// "pc", "target"; of several actions, that of the first one
    pub name: *const c_char,
}

sized!(hbbp_probe_field);

/// `hbbp_probe_row` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_probe_row {
    /// set by hbbp_probe_copy_rows
    pub struct_size: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// of the fields, in their order; then 0
    pub values: [u64; 4],
    /// of executions in the whole run
    pub estimate: f64,
    /// of the estimate of all records, dropped ones too
    pub share: f64,
    /// how many were recorded for it
    pub records: u64,
}

sized!(hbbp_probe_row);

/// A hot stream: a sequence that makes up much of a trace.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_probe_stream {
    /// set by hbbp_probe_copy_streams
    pub struct_size: u32,
    /// `uint32_t field_count` in C.
    pub field_count: u32,
    /// field_count for each element, one after the other; until the next run
    pub values: *const u64,
    /// in elements
    pub length: u64,
    /// how often the bursts have it, apart from longer hot streams around it
    pub frequency: u64,
    /// of the elements of the trace; they add up to the coverage
    pub share: f64,
}

sized!(hbbp_probe_stream);

/// `hbbp_probe_location` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_probe_location {
    /// set by the caller
    pub struct_size: u32,
    /// index in the profile of the last run; HBBP_NO_INDEX: it is in one before
    pub module: u32,
    /// of the module
    pub path: *const c_char,
    /// in the module; the offset in the file if that cannot be read any more
    pub address: u64,
    /// its start; HBBP_NO_ADDRESS: unknown
    pub function: u64,
    /// of the function, as the symbol table has it (mangled); "": unknown
    pub name: *const c_char,
}

sized!(hbbp_probe_location);

extern "C" {
    /// The names that "use NAME" knows; an index that is too large gives NULL. Static storage. Any
    /// thread. Since 0.1.
    pub fn hbbp_probe_builtin_count() -> usize;

    /// See probe.h.
    pub fn hbbp_probe_builtin_name(index: usize) -> *const c_char;

    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; the text cannot be read (the message has line and column,
    /// and the nearest name where one is not known); an option out of
    /// range
    /// HBBP_ERROR_VERSION           an option that this library does not know
    /// HBBP_ERROR_NO_MEMORY
    /// Any thread. Since 0.1.
    pub fn hbbp_probe_create(options: *const hbbp_probe_options, probe: *mut *mut hbbp_probe, error: *mut hbbp_error) -> hbbp_status;

    /// Not in its handler, but for that of a worker, which goes on for a moment then. A worker ends
    /// without running what is left. NULL is allowed. Since 0.1.
    pub fn hbbp_probe_destroy(probe: *mut hbbp_probe);

    /// Runs the productions on the whole bursts of the profile from number \`first_burst\` on, in the
    /// order in which they are kept, and adds what they record to what is there. \`next_burst\`, which may
    /// be NULL, gets the number of bursts that the profile has: first_burst of the next run, if that is
    /// of a later snapshot of the same session; of any other profile, all bursts are new (0). The probe
    /// does not need the analysis afterwards, but keeps the profile, of which it knows what code numbers
    /// mean. \`work\` may be NULL; its progress is in bursts.
    /// Errors:
    /// HBBP_ERROR_NOT_FOUND         first_burst is 0, and the profile has no bursts that count (yet)
    /// HBBP_ERROR_UNSUPPORTED       productions use what bursts do not know: \`value\`, registers of no
    /// arguments, or, without hbbp_session_options.keep_accesses or
    /// keep_values, addresses, divisors and arguments
    /// HBBP_ERROR_CANCELLED         between two bursts: the one before was run, and \*next_burst is the
    /// first that was not
    /// HBBP_ERROR_BAD_FORMAT        bursts are damaged; those before were run, and \*next_burst is the
    /// first that is
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; the profile has fewer bursts than first_burst
    /// HBBP_ERROR_INVALID_STATE     it is called by the handler; it has a worker; or a run had no
    /// memory before
    /// HBBP_ERROR_NO_MEMORY         what was recorded can be read, but not added to
    /// and those of hbbp_work_options. Since 0.1.
    pub fn hbbp_probe_run(probe: *mut hbbp_probe, analysis: *const hbbp_analysis, first_burst: u64, work: *const hbbp_work_options, next_burst: *mut u64, error: *mut hbbp_error) -> hbbp_status;

    /// Starts a worker: a thread of the library, without signals of the host, which takes a snapshot of
    /// the session \`interval_ms\` (0: 1,000) after the last one, and runs the productions on the bursts
    /// that are new in it. A round takes as long as an analysis of the whole profile, and longer the
    /// more bursts are kept; sessions do not sample the worker. Until hbbp_probe_stop nothing else may
    /// be done with the probe than that, hbbp_probe_destroy, and hbbp_probe_locate in its handler. The
    /// session may be stopped meanwhile, but not destroyed, and the program must not end. All bursts of
    /// the session are new, whatever the probe was run on before.
    /// Errors:
    /// HBBP_ERROR_BUSY              no thread could be started
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL; an interval of more than an hour
    /// HBBP_ERROR_INVALID_STATE     it has a worker; it is called by the handler; a run had no memory
    /// before
    /// HBBP_ERROR_NO_MEMORY
    /// Since 0.1.
    pub fn hbbp_probe_start(probe: *mut hbbp_probe, session: *mut hbbp_session, interval_ms: u32, error: *mut hbbp_error) -> hbbp_status;

    /// Runs what is new since the last round, and ends the worker. A child of fork has no worker; there
    /// it allows other functions again, unless the worker was in a round when the process forked: the
    /// child cannot use such a probe, of which hbbp_probe_destroy frees nothing.
    /// Errors:
    /// HBBP_ERROR_NOT_FOUND         no round found bursts that count
    /// HBBP_ERROR_INVALID_STATE     it has no worker; it is called by the handler, and the worker goes
    /// on; a child cannot use it
    /// HBBP_ERROR_INTERNAL          a handler threw an exception
    /// and those of hbbp_session_snapshot, hbbp_analysis_create and hbbp_probe_run in a round, after
    /// which there was no other one. Since 0.1.
    pub fn hbbp_probe_stop(probe: *mut hbbp_probe, error: *mut hbbp_error) -> hbbp_status;

    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// Any thread. Since 0.1.
    pub fn hbbp_probe_get_info(probe: *const hbbp_probe, info: *mut hbbp_probe_info, error: *mut hbbp_error) -> hbbp_status;

    /// Productions in the order of the text, read as api.h says. Since 0.1.
    pub fn hbbp_probe_production_count(probe: *const hbbp_probe) -> usize;

    /// See probe.h.
    pub fn hbbp_probe_copy_productions(probe: *const hbbp_probe, first: usize, count: usize, size: usize, productions: *mut hbbp_probe_production, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// Tables in the order in which the text names them first, read as api.h says. Since 0.1.
    pub fn hbbp_probe_table_count(probe: *const hbbp_probe) -> usize;

    /// See probe.h.
    pub fn hbbp_probe_copy_tables(probe: *const hbbp_probe, first: usize, count: usize, size: usize, tables: *mut hbbp_probe_table, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// The fields of a table, read as api.h says. A table that is not there is
    /// HBBP_ERROR_INVALID_ARGUMENT. Since 0.1.
    pub fn hbbp_probe_field_count(probe: *const hbbp_probe, table: usize) -> usize;

    /// See probe.h.
    pub fn hbbp_probe_copy_fields(probe: *const hbbp_probe, table: usize, first: usize, count: usize, size: usize, fields: *mut hbbp_probe_field, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// The rows of a table of counts, by falling estimates, equal ones by their values; read as api.h
    /// says. A table that is not there is HBBP_ERROR_INVALID_ARGUMENT, one of another kind has none. The
    /// first call after a run sorts them. Since 0.1.
    pub fn hbbp_probe_row_count(probe: *const hbbp_probe, table: usize) -> usize;

    /// See probe.h.
    pub fn hbbp_probe_copy_rows(probe: *const hbbp_probe, table: usize, first: usize, count: usize, size: usize, rows: *mut hbbp_probe_row, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// The hot streams of a trace, by falling shares, read as api.h says. A table that is not there is
    /// HBBP_ERROR_INVALID_ARGUMENT, one of another kind has none. hbbp_probe_run infers the grammar that
    /// has them, burst by burst; the first call after a run reads them out of it, which takes as long as
    /// the grammar is large. Since 0.1.
    pub fn hbbp_probe_stream_count(probe: *const hbbp_probe, table: usize) -> usize;

    /// See probe.h.
    pub fn hbbp_probe_copy_streams(probe: *const hbbp_probe, table: usize, first: usize, count: usize, size: usize, streams: *mut hbbp_probe_stream, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// What a code number stands for; it means the same in all runs of a probe. The texts live as long
    /// as the probe. The handler may call it.
    /// Errors:
    /// HBBP_ERROR_NOT_FOUND         not a code number of this probe; 0 is none
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// HBBP_ERROR_NO_MEMORY
    /// Any thread. Since 0.1.
    pub fn hbbp_probe_locate(probe: *const hbbp_probe, code: u64, location: *mut hbbp_probe_location, error: *mut hbbp_error) -> hbbp_status;
}

// session.h ---------------------------------------------------------------------------------------

/// `HBBP_VALUE_DIVISOR` of the C ABI.
pub const HBBP_VALUE_DIVISOR: u32 = 1;
/// `HBBP_VALUE_RDI` of the C ABI.
pub const HBBP_VALUE_RDI: u32 = 2;
/// `HBBP_VALUE_RSI` of the C ABI.
pub const HBBP_VALUE_RSI: u32 = 4;
/// `HBBP_VALUE_RDX` of the C ABI.
pub const HBBP_VALUE_RDX: u32 = 8;
/// `HBBP_VALUE_RCX` of the C ABI.
pub const HBBP_VALUE_RCX: u32 = 16;
/// `HBBP_VALUE_R8` of the C ABI.
pub const HBBP_VALUE_R8: u32 = 32;
/// `HBBP_VALUE_R9` of the C ABI.
pub const HBBP_VALUE_R9: u32 = 64;

/// `hbbp_session_options` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_session_options {
    /// set by the caller
    pub struct_size: u32,
    /// 0 or HBBP_SOURCE_AUTO: LBR, else SWBT, which needs signal handlers,
    /// and no debugger (ptrace) at the call of hbbp_session_create, but no perf
    /// events; else EBS. HBBP_SOURCE_PERF: LBR, else EBS, for hosts that want no
    /// signal handlers. HBBP_SOURCE_EBS; HBBP_SOURCE_LBR, which is EBS at the
    /// same time; HBBP_SOURCE_IBS; HBBP_SOURCE_SWBT; HBBP_SOURCE_EBS_AND_SWBT:
    /// both at once; HBBP_SOURCE_EXTERNAL: only those of
    /// hbbp_session_add_source. The notes of the profile's sources say what was
    /// unavailable and why
    pub source: hbbp_source_kind,
    /// `hbbp_event event` in C.
    pub event: hbbp_event,
    /// `hbbp_period_mode period_mode` in C.
    pub period_mode: hbbp_period_mode,
    /// in occurrences of the event (ns for clocks). 0: the default, which
    /// keeps the overhead below 1 %
    pub period: u64,
    /// samples a second of CPU time, instead of a period; 0: use period.
    /// Both set, or a period_mode other than PRIME where the kernel chooses
    /// the periods: HBBP_ERROR_INVALID_ARGUMENT. HBBP_SOURCE_SWBT takes the
    /// frequency of a clock, which is that of HBBP_EVENT_AUTO then
    pub frequency_hz: u64,
    /// 1: count kernel code too; needs permission
    pub include_kernel: u32,
    /// of each CPU's ring buffer; rounded up to a power of two of pages;
    /// 0: the default, 64 to 256 KiB by the rate of samples
    pub buffer_bytes: u32,
    /// HBBP_SOURCE_SWBT, alone or with EBS, has these; HBBP_SOURCE_AUTO (or 0) with one of them is
    /// SWBT; 0 for other sources:
    pub trace_mode: hbbp_trace_mode,
    /// taken branches a burst, at most HBBP_MAX_BURST_BRANCHES; 0: the
    /// default of the mode, which look-ahead has in instructions (6000)
    /// where the event is instructions or a clock
    pub burst_branches: u32,
    /// Hardware events have these:
    /// taken branches between branch stacks; 0: the default. Of
    /// HBBP_SOURCE_LBR, \_PERF and \_AUTO; 0 for others
    pub branch_period: u64,
    /// how long the program will run, from which default periods follow;
    /// 0: not known. Below 30 s 1,000,037 instructions and 100,003 taken
    /// branches, below 3 minutes (and if not known) ten times, else a
    /// hundred times that: Nowak et al., "Low-Overhead Dynamic
    /// Instruction Mix Generation using Hybrid Basic Block Profiling",
    /// Table 4
    pub expected_seconds: u64,
    /// 0: the calling process; else another one, which the caller may trace (ptrace) and
    /// whose children are not followed. It need not exist to the end. HBBP_SOURCE_SWBT
    /// stops its threads for its bursts; HBBP_SOURCE_AUTO does not trace it
    pub pid: u64,
    /// Any event of the kernel or the PMU, for samples and for bursts of HBBP_SOURCE_SWBT; \`event\`
    /// says what it counts, as hbbp_event_find does, which knows codes. With HBBP_SOURCE_IBS "ibs_op"
    /// (the default), "ibs_fetch" or "ibs_op,ibs_fetch", and the others 0:
    /// copied; shown in the profile. NULL: \`event\` says it all
    pub event_name: *const c_char,
    /// as in perf_event_attr
    pub event_type: u64,
    /// `uint64_t event_config` in C.
    pub event_config: u64,
    /// HBBP_EBS_IP_PLUS_ONE takes a branch stack with every sample of
    /// HBBP_SOURCE_EBS and HBBP_SOURCE_LBR; HBBP_EBS_AUTO is PLAIN
    pub ebs_method: hbbp_ebs_method,
    /// 1: no precise events (PEBS) for samples, even if there are some
    pub imprecise: u32,
    /// keep counts by slices of time of this width (slices.h), at least
    /// HBBP_MIN_SLICE_NS; 0: do not. Slices become twice as wide
    /// whenever there would be more than HBBP_MAX_SLICES of them, or too
    /// many counts
    pub slice_ns: u64,
    /// The host gives these (host.h):
    /// NULL: what there is to say is only in the notes of the profile
    pub log: hbbp_log,
    /// given to log
    pub log_user_data: *mut c_void,
    /// the least urgent that is wanted; 0: HBBP_LOG_INFO
    pub log_level: hbbp_log_level,
    /// Profiles these threads only, and none that they start: ids as gettid gives them. Copied. 0 and
    /// NULL: every thread of the process.
    pub thread_count: u32,
    /// `const uint32_t *threads` in C.
    pub threads: *const u32,
    /// Budgets, which the session keeps by making its periods longer; each sample counts by the period
    /// that it was taken with, so counts stay right. What was done is in the notes of the profile's
    /// sources and in hbbp_session_info. docs/guide/embedding.md says what is measured.
    /// of the CPU time of what is profiled: 0.01 is 1 %, at most 1; 0: what the
    /// periods ask for. Context switches that counters of the PMU make longer are
    /// in it, which periods do not save: if they take more than half of it, it is
    /// exceeded
    pub max_overhead: f64,
    /// bytes for counts, buffers, names and copied code, at least
    /// HBBP_MIN_MEMORY: never more is used; what finds no room when all else is
    /// done is dropped and counted. 0: as much as is needed
    pub max_memory: u64,
    /// for counts. Copied; used until hbbp_session_destroy returns.
    /// NULL: operator new
    pub allocator: *const hbbp_allocator,
    /// 1: the session starts no thread, and the host calls hbbp_session_drain again and again. A
    /// program with one thread keeps one: glibc's malloc and stdio are faster in such programs, and
    /// their profile is what it is without a session.
    pub drained_by_host: u32,
    /// 1: whole bursts have the addresses, too, that their instructions accessed, for productions
    /// (hbbp probe). Of HBBP_SOURCE_SWBT with HBBP_TRACE_LOOKAHEAD, and with kept_burst_bytes, of
    /// which most is for them. Bursts then take about a third more time
    pub keep_accesses: u32,
    /// Keeps whole bursts and branch stacks, with their branches in the order in which they were
    /// taken, for hbbp_export as "brstack": bytes for them, at least HBBP_MIN_KEPT_BURST_BYTES, and of
    /// max_memory at most an eighth. The first bursts are kept, until there is no room; all are
    /// counted. 0: none are kept, as libhbbp-collect cannot
    pub kept_burst_bytes: u64,
    /// A sum of HBBP_VALUE\_\*: whole bursts have these values, too, for productions. With the same
    /// sources and options as keep_accesses
    pub keep_values: u32,
    /// 1: samples begin when the process executes a program (exec), as for a child of the caller that
    /// waits until then; there are none if it has done so before, or never does. When the session is
    /// started again, they begin at once. Of another process (\`pid\`), and not with
    /// HBBP_SOURCE_EXTERNAL
    pub enable_on_exec: u32,
}

sized!(hbbp_session_options);

/// What a session is doing right now.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_session_info {
    /// set by the caller
    pub struct_size: u32,
    /// 1 between start and stop
    pub running: u32,
    /// collected so far; bursts, with HBBP_SOURCE_SWBT
    pub samples: u64,
    /// samples that the kernel had no room for
    pub lost: u64,
    /// times that the kernel held sampling back
    pub throttled: u64,
    /// between start and stop, or until now; all runs together
    pub duration_ns: u64,
    /// samples that there was no memory for
    pub dropped: u64,
    /// CPU time is that of all runs together:
    /// of what is profiled
    pub cpu_ns: u64,
    /// that sampling took, as far as the session knows
    pub overhead_ns: u64,
    /// overhead_ns / cpu_ns of the last 50 ms or more of CPU time
    pub recent_overhead: f64,
    /// by which periods are longer than those asked for; 1 without a budget
    pub period_factor: f64,
    /// `uint64_t period_changes` in C.
    pub period_changes: u64,
    /// of max_memory, also without one
    pub memory_bytes: u64,
    /// `uint64_t peak_memory_bytes` in C.
    pub peak_memory_bytes: u64,
}

sized!(hbbp_session_info);

/// An object of the library, known by its address only.
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_session {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A function to be profiled.
pub type hbbp_call = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

extern "C" {
    /// \`options\` may be NULL: all defaults. Opens nothing yet.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  session is NULL; an option out of range; the message says which
    /// HBBP_ERROR_VERSION           an option that this library does not know
    /// HBBP_ERROR_UNSUPPORTED       branch tracing, or the keeping of bursts, is not in this library
    /// (libhbbp-collect)
    /// HBBP_ERROR_NO_MEMORY
    /// Any thread. Since 0.1.
    pub fn hbbp_session_create(options: *const hbbp_session_options, session: *mut *mut hbbp_session, error: *mut hbbp_error) -> hbbp_status;

    /// Stops it if needed. Snapshots taken from it stay valid. Not while another thread is in one of
    /// its functions. In its log and in the functions of its sources it returns at once, and the session
    /// ends in another thread: a source is gone when its \`destroy\` was called. NULL is allowed. Any
    /// thread. Since 0.1.
    pub fn hbbp_session_destroy(session: *mut hbbp_session);

    /// Samples every thread of the process, those that exist and those that start later, until stop.
    /// Starts one thread of its own, with all signals blocked, which is not sampled; none with
    /// hbbp_session_options.drained_by_host. A stopped session may be started again; its counts go on.
    /// In a child made by fork the session is stopped and holds no samples. Any thread; of several at
    /// once, one starts it.
    /// Errors:
    /// HBBP_ERROR_INVALID_STATE  it runs, or its log or a host's source called; HBBP_SOURCE_EXTERNAL,
    /// and no source was added
    /// HBBP_ERROR_PERMISSION     perf_event_open refused; the message names the setting, and a source
    /// that works here if there is one
    /// HBBP_ERROR_INVALID_ARGUMENT  HBBP_SOURCE_SWBT, and frequency_hz of another event than a clock
    /// HBBP_ERROR_UNSUPPORTED    no such event here, or it happens in the kernel, which is left out;
    /// no /proc
    /// HBBP_ERROR_BUSY           out of descriptors, threads, memory locks or counters; another
    /// session of the process traces branches
    /// HBBP_ERROR_NOT_FOUND      no such thread or process
    /// HBBP_ERROR_NO_MEMORY
    /// and what the \`start\` of a host's source returns, with its name in the message. Since 0.1.
    pub fn hbbp_session_start(session: *mut hbbp_session, error: *mut hbbp_error) -> hbbp_status;

    /// Does once, in the calling thread, what the thread of a session without drained_by_host does again
    /// and again: collects what is in the buffers, looks for new threads and mappings, calls the \`drain\`
    /// of the host's sources, keeps the budgets, and gives the log what there is to say. \*next_ms, if
    /// next_ms is not NULL, is set to the milliseconds until it should be called again: 1 to 1000. Later
    /// is allowed; what finds no room in the buffers meanwhile is dropped and counted
    /// (hbbp_session_info), and threads that start are found late where the notes of the source say so.
    /// Snapshot, info and stop collect, too. Its time is in overhead_ns; its code is sampled as any code
    /// of the calling thread.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  session is NULL
    /// HBBP_ERROR_INVALID_STATE     no drained_by_host; it does not run, or its log or a host's source
    /// called
    /// HBBP_ERROR_NO_MEMORY         samples are missing
    /// Any thread; of several at once, one after the other. Since 0.1.
    pub fn hbbp_session_drain(session: *mut hbbp_session, next_ms: *mut u32, error: *mut hbbp_error) -> hbbp_status;

    /// Collects what is in the buffers and closes events and buffers: no thread is left, and of
    /// descriptors only those of files whose code has samples, for blocks to be found in what ran even
    /// if it is replaced. They have high numbers, are closed by exec, and go with the session and its
    /// profiles. Any thread; of several at once, one stops it.
    /// Errors:
    /// HBBP_ERROR_INVALID_STATE  it does not run, or its log or a host's source called
    /// and the first failure of the \`stop\` of a host's source, which is also logged and in the notes of
    /// its sources: the session is stopped nevertheless. Since 0.1.
    pub fn hbbp_session_stop(session: *mut hbbp_session, error: *mut hbbp_error) -> hbbp_status;

    /// All that was counted so far, as an immutable profile. Allowed while the session runs, which
    /// goes on undisturbed, from any thread. Cheap: no code is read. \`work\`, which may be NULL, is worth
    /// it with millions of counts; its progress must not use the session, and its flag also cancels the
    /// wait for another thread that is in the session.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// HBBP_ERROR_NO_MEMORY
    /// and those of hbbp_work_options. Any thread. Since 0.1.
    pub fn hbbp_session_snapshot(session: *mut hbbp_session, work: *const hbbp_work_options, profile: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;

    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  NULL
    /// Any thread. Since 0.1.
    pub fn hbbp_session_get_info(session: *mut hbbp_session, info: *mut hbbp_session_info, error: *mut hbbp_error) -> hbbp_status;

    /// Makes a session, starts it, calls \`call\` with \`user_data\`, stops the session, and gives a
    /// snapshot of it: a profile of every thread of the process during the call. \`call\` runs in the
    /// calling thread, once if the session starts and else not at all; an exception that it throws ends
    /// the session and goes on to the caller. \`options\` may be NULL.
    /// Errors: those of hbbp_session_create, \_start and \_snapshot. Any thread. Since 0.1.
    pub fn hbbp_profile_call(call: hbbp_call, user_data: *mut c_void, options: *const hbbp_session_options, profile: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;
}

// slices.h ----------------------------------------------------------------------------------------

/// `HBBP_MIN_SLICE_NS` of the C ABI.
pub const HBBP_MIN_SLICE_NS: u32 = 1000000;

/// `HBBP_MAX_SLICE_NS` of the C ABI.
pub const HBBP_MAX_SLICE_NS: u64 = 1000000000000000;

/// `HBBP_MAX_SLICES` of the C ABI.
pub const HBBP_MAX_SLICES: u32 = 1024;

/// Slices of a profile begin one after the other at its start_time_ns. Pauses of a session are in
/// them: they are of the clock. In a sum of several runs (hbbp_profile_merge) each run begins at 0,
/// so that slices show how far it was; profiles of one run, which overlap in time or are images of
/// one process, keep their distances.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_slice {
    /// set by hbbp_profile_copy_slices
    pub struct_size: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// after the start of the profile
    pub start_ns: u64,
    /// exclusive
    pub end_ns: u64,
    /// IP samples that were taken in it and bursts that ended then
    pub samples: u64,
}

sized!(hbbp_slice);

extern "C" {
    /// Up to the last slice with a count; 0 if the profile keeps none, or is NULL. Any thread.
    /// Since 0.1.
    pub fn hbbp_profile_slice_count(profile: *const hbbp_profile) -> usize;

    /// Copies slices \[first, first + count); see "Lists" in api.h. Since 0.1.
    pub fn hbbp_profile_copy_slices(profile: *const hbbp_profile, first: usize, count: usize, size: usize, slices: *mut hbbp_slice, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;
}

// source.h ----------------------------------------------------------------------------------------

/// \`feed\` belongs to the session: good in any thread from \`start\` until \`stop\` has returned, not to
/// be destroyed by the host; hbbp_feed_snapshot and hbbp_feed_get_info of it give
/// HBBP_ERROR_INVALID_STATE. What is added is of the session's process, also with pid 0; of other
/// processes it is dropped and counted (hbbp_session_info.dropped). Callbacks of one source never
/// run at the same time. \`start\` and \`stop\` are called by the worker or by the thread that starts or
/// stops the session, \`drain\` by the worker, or by a thread that asks the session. They must not use
/// the session, nor throw. A callback that fails returns a hbbp_status and should write a line into
/// error-\>message, which is never NULL here.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_source_ops {
    /// set by the caller
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// for messages; copied
    pub name: *const c_char,
    /// Adds its sources to the feed (hbbp_feed_add_source), which is a new one at each start, and
    /// starts to collect. The same sources again, in the same order, go on with their counts. If it
    /// fails, nothing was started, \`stop\` is not called, and the session does not start.
    pub start: Option<unsafe extern "C" fn(context: *mut c_void, feed: *mut hbbp_feed, error: *mut hbbp_error) -> hbbp_status>,
    /// Adds what was collected since the last call, and sets \*has_ended, which is 0, to 1 if nothing
    /// more can come; it is then not called again before the next start. Must not wait. A failure ends
    /// nothing: it is logged, and the next call tries again. May be NULL: then threads of the host add
    /// what they have whenever they have it.
    pub drain: Option<unsafe extern "C" fn(context: *mut c_void, feed: *mut hbbp_feed, has_ended: *mut u32, error: *mut hbbp_error) -> hbbp_status>,
    /// Stops collecting, and adds what is left: there may have been no \`drain\` at all. Called once for
    /// each start that succeeded, and the source is then stopped even if this fails.
    pub stop: Option<unsafe extern "C" fn(context: *mut c_void, feed: *mut hbbp_feed, error: *mut hbbp_error) -> hbbp_status>,
    /// Frees the context. Called once, with the end of the session; nothing is called afterwards. May
    /// be NULL.
    pub destroy: Option<unsafe extern "C" fn(context: *mut c_void)>,
}

sized!(hbbp_source_ops);

extern "C" {
    /// Adds a source to a session that does not run; calls nothing yet. \`ops\` is copied, \`context\`
    /// handed to every callback. On success the context belongs to the session; on failure it stays the
    /// caller's.
    /// Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT  an argument but \`context\` is NULL; ops has no name, start or stop
    /// HBBP_ERROR_VERSION           a callback that this library does not know
    /// HBBP_ERROR_INVALID_STATE     the session runs
    /// HBBP_ERROR_NO_MEMORY
    /// Any thread. Since 0.1.
    pub fn hbbp_session_add_source(session: *mut hbbp_session, ops: *const hbbp_source_ops, context: *mut c_void, error: *mut hbbp_error) -> hbbp_status;
}
