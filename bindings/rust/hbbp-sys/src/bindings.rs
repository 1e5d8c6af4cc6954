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
/// called off by its hbbp_cancel
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
}

// samples.h ---------------------------------------------------------------------------------------

/// One of the constants that follow.
pub type hbbp_source = i32;

/// `HBBP_SOURCE_NONE` of the C ABI.
pub const HBBP_SOURCE_NONE: hbbp_source = 0;
/// event-based sampling: an instruction pointer a period
pub const HBBP_SOURCE_EBS: hbbp_source = 1;
/// last branch records
pub const HBBP_SOURCE_LBR: hbbp_source = 2;
/// AMD instruction-based sampling
pub const HBBP_SOURCE_IBS: hbbp_source = 3;
/// software branch tracing
pub const HBBP_SOURCE_SWBT: hbbp_source = 4;
/// exact counts from instrumentation
pub const HBBP_SOURCE_TRUTH: hbbp_source = 5;
/// of session options only: the best that this machine has
pub const HBBP_SOURCE_AUTO: hbbp_source = 6;
/// of session options only: both at once, at one period
pub const HBBP_SOURCE_EBS_AND_SWBT: hbbp_source = 7;
/// of block counts only: several sources together
pub const HBBP_SOURCE_COMBINED: hbbp_source = 8;

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

/// the largest prime that is not above the period: no resonance
pub const HBBP_PERIOD_PRIME: hbbp_period_mode = 0;
/// exactly the period
pub const HBBP_PERIOD_FIXED: hbbp_period_mode = 1;
/// drawn anew, within 12.5 % of the period, every time that samples are
/// collected; a thread born during the session keeps one draw
pub const HBBP_PERIOD_RANDOM: hbbp_period_mode = 2;

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
/// generated code, or code of a file that is no ELF
pub const HBBP_MODULE_ANONYMOUS: hbbp_module_kind = 2;
/// `HBBP_MODULE_KERNEL` of the C ABI.
pub const HBBP_MODULE_KERNEL: hbbp_module_kind = 3;

/// How the code of a module was found when blocks were asked for.
pub type hbbp_module_code = i32;

/// in its file, whose build ID is the one that ran
pub const HBBP_MODULE_CODE_FILE: hbbp_module_code = 0;
/// stored in the profile
pub const HBBP_MODULE_CODE_PROFILE: hbbp_module_code = 1;
/// not found: its samples are unexplained
pub const HBBP_MODULE_CODE_MISSING: hbbp_module_code = 2;
/// its file was replaced by another one since: as MISSING
pub const HBBP_MODULE_CODE_MISMATCH: hbbp_module_code = 3;
/// it has no samples
pub const HBBP_MODULE_CODE_NOT_SOUGHT: hbbp_module_code = 4;
/// of a kernel: in /proc/kcore or a core file, else in its vmlinux
pub const HBBP_MODULE_CODE_CORE: hbbp_module_code = 5;

/// `hbbp_module` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_module {
    /// set by the caller
    pub struct_size: u32,
    /// `hbbp_module_kind kind` in C.
    pub kind: hbbp_module_kind,
    /// `hbbp_module_code code` in C.
    pub code: hbbp_module_code,
    /// bytes; 0 if there is none
    pub build_id_size: u32,
    /// `const uint8_t *build_id` in C.
    pub build_id: *const u8,
    /// as mapped: "/usr/bin/lua5.4", "\[vdso\]", "\[kernel\]"
    pub path: *const c_char,
    /// why the code is missing, one line; else empty
    pub problem: *const c_char,
    /// EBS: in it; SWBT: taken branches into it
    pub samples: u64,
    /// of a kernel whose vmlinux is there too: bytes of the functions with
    /// samples that the kernel had rewritten in memory
    pub patched_bytes: u64,
}

sized!(hbbp_module);

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

/// `hbbp_thread` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_thread {
    /// set by the caller
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
/// a period counts time: block counts are up to a factor
pub const HBBP_UNIT_NANOSECONDS: hbbp_unit = 1;
/// as NANOSECONDS
pub const HBBP_UNIT_CYCLES: hbbp_unit = 2;
/// a period counts taken branches: block counts are absolute
pub const HBBP_UNIT_TAKEN_BRANCHES: hbbp_unit = 3;
/// as NANOSECONDS; also instructions between bursts of SWBT that
/// were not weighed by their instructions (older profiles)
pub const HBBP_UNIT_EVENTS: hbbp_unit = 4;
/// a period counts dispatched micro-operations: block counts are
/// absolute, as far as those of each instruction can be told
pub const HBBP_UNIT_UOPS: hbbp_unit = 5;

/// Which instruction a sample counts for.
pub type hbbp_ebs_method = i32;

/// IP_PLUS_ONE for precise events with branch stacks, else PLAIN
pub const HBBP_EBS_AUTO: hbbp_ebs_method = 0;
/// the one at its instruction pointer
pub const HBBP_EBS_PLAIN: hbbp_ebs_method = 1;
/// the one that was executed before that, as far as the newest branch of
/// the sample tells; not where the sample says that its IP is exact
pub const HBBP_EBS_IP_PLUS_ONE: hbbp_ebs_method = 2;

/// `hbbp_source_info` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_source_info {
    /// set by the caller
    pub struct_size: u32,
    /// `hbbp_source source` in C.
    pub source: hbbp_source,
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
    /// Of HBBP_SOURCE_SWBT, as its tracer counted; 0 and empty for other sources:
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
    /// ("disagreement-...", hbbp_profile_counter_at)
    pub disagreements: u64,
    /// "lookahead", "breakpoint", "verify"; after a merge of different ones, all of
    /// them, with "; " in between
    pub mode: *const c_char,
    /// what it sampled and stepped with, and why nothing better; as mode
    pub rung: *const c_char,
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
}

sized!(hbbp_source_info);

/// A number and what it counts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_counter {
    /// set by the caller
    pub struct_size: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// stable: "system-call"
    pub name: *const c_char,
    /// `uint64_t value` in C.
    pub value: u64,
}

sized!(hbbp_counter);

/// A taken branch, by all threads and sources. Only SWBT has them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_branch {
    /// set by the caller
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
    /// Of hardware branch stacks: how often it was the oldest entry, and how often it would have been
    /// if each place in a stack were as likely.
    pub oldest: u64,
    /// `double oldest_expected` in C.
    pub oldest_expected: f64,
}

sized!(hbbp_branch);

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
    /// set by the caller
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
    /// hbbp_profile_find_block in a function without samples
    pub function: u32,
    /// whose count was used; HBBP_SOURCE_NONE if it was never seen
    pub source: hbbp_source,
    /// HBBP_BLOCK\_\*
    pub flags: u32,
    /// executions
    pub count: f64,
    /// of count
    pub standard_error: f64,
    /// that the count rests on; SWBT: streams across it
    pub samples: u64,
    /// how often its branches were the oldest of their branch stacks, by how often
    /// they would have been if each place were as likely; 0: in no stack
    pub bias_ratio: f64,
    /// of that or more, at most, if each place is as likely; 1: not more
    pub bias_chance: f64,
}

sized!(hbbp_block);

/// `hbbp_function` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_function {
    /// set by the caller
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
}

sized!(hbbp_function);

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
}

sized!(hbbp_profile_info);

extern "C" {
    /// Reads a profile file. Errors: HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION, HBBP_ERROR_IO;
    /// HBBP_ERROR_BAD_FORMAT (truncated, damaged or no profile; the message says where),
    /// HBBP_ERROR_VERSION (made by a newer library). Any thread. Since 0.1.
    pub fn hbbp_profile_load(path: *const c_char, profile: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;

    /// Names files of the kernel that was profiled, which may be of another machine. To be called before
    /// anything that needs code, and while no other thread uses the profile; several calls replace each
    /// other. A profile without kernel samples takes no notice.
    /// Errors: HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION (the message says which), HBBP_ERROR_IO,
    /// HBBP_ERROR_BAD_FORMAT for a file; HBBP_ERROR_MISMATCH (a file is of another kernel or boot),
    /// HBBP_ERROR_INVALID_STATE (code was sought before, if only to save the profile),
    /// HBBP_ERROR_INVALID_ARGUMENT. Since 0.1.
    pub fn hbbp_profile_set_kernel(profile: *mut hbbp_profile, files: *const hbbp_kernel_files, error: *mut hbbp_error) -> hbbp_status;

    /// Finds and counts the blocks of a profile now, in this thread, with progress (in no particular
    /// unit) and a flag that calls it off. Without it, the first function that needs blocks does so, as
    /// long as that takes: seconds for a recording of a large program. Called off, the profile is as
    /// it was, and may be asked again. \`work\` may be NULL. What was found before is kept: then there is
    /// nothing to do. Errors: HBBP_ERROR_CANCELLED, HBBP_ERROR_INVALID_ARGUMENT (profile is NULL),
    /// HBBP_ERROR_VERSION, HBBP_ERROR_NO_MEMORY. Any thread. Since 0.1.
    pub fn hbbp_profile_resolve(profile: *const hbbp_profile, work: *const hbbp_work_options, error: *mut hbbp_error) -> hbbp_status;

    /// Replaces \`path\` atomically. Code that could not be read again from a file later (vdso,
    /// generated code, deleted files, memory of the kernel) is stored with the counts, as are the names
    /// of kernel functions. The new file is its owner's alone (mode 0600). Errors: HBBP_ERROR_IO,
    /// HBBP_ERROR_PERMISSION, HBBP_ERROR_NOT_FOUND (no such folder). Any thread. Since 0.1.
    pub fn hbbp_profile_save(profile: *const hbbp_profile, path: *const c_char, error: *mut hbbp_error) -> hbbp_status;

    /// The sum of \`count\` \>= 1 profiles. Modules are the same if their build IDs are (or, without
    /// build IDs, their paths). Sources are added up where kind, event and period agree and kept apart
    /// otherwise, but count a block together if they are of one kind; threads are the same if pid and
    /// tid are. Errors: HBBP_ERROR_INVALID_ARGUMENT, HBBP_ERROR_NO_MEMORY. Any thread. Since 0.1.
    pub fn hbbp_profile_merge(profiles: *const *const hbbp_profile, count: usize, merged: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;

    /// What thread \`tid\` did, as a profile of its own. What was set of \`profile\` (estimator, kernel
    /// files, debug information) is set of it, too, but neither progress nor flag of
    /// hbbp_source_options. Errors: HBBP_ERROR_NOT_FOUND (no such thread). Any thread. Since 0.1.
    pub fn hbbp_profile_select_thread(profile: *const hbbp_profile, tid: u32, selected: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. Since 0.1.
    pub fn hbbp_profile_destroy(profile: *mut hbbp_profile);

    /// Errors: HBBP_ERROR_INVALID_ARGUMENT. Any thread. Since 0.1.
    pub fn hbbp_profile_get_info(profile: *const hbbp_profile, info: *mut hbbp_profile_info, error: *mut hbbp_error) -> hbbp_status;

    /// Lists -----------------------------------------------------------------------------------
    /// Every \_count gives 0 for NULL. Every \_at gives HBBP_ERROR_NOT_FOUND for an index that is not
    /// below the count and HBBP_ERROR_INVALID_ARGUMENT for NULL. Any thread. Since 0.1.
    ///
    /// Blocks, functions, branches and unexplained samples need the code of the modules: the first call
    /// that asks for one of them reads and decodes the functions that have samples, once, which takes
    /// some tens of milliseconds for a large program. What fails there is told by module (code,
    /// problem), never by an error.
    pub fn hbbp_profile_source_count(profile: *const hbbp_profile) -> usize;

    /// See profile.h.
    pub fn hbbp_profile_source_at(profile: *const hbbp_profile, index: usize, source: *mut hbbp_source_info, error: *mut hbbp_error) -> hbbp_status;

    /// How many samples of the source at \`index\` are in no block: code missing or undecodable. With
    /// SWBT, how many streams no path through the code explains.
    pub fn hbbp_profile_unexplained_at(profile: *const hbbp_profile, index: usize, samples: *mut u64, error: *mut hbbp_error) -> hbbp_status;

    /// How many IP samples of the source at \`index\` are in blocks that streams of another source count,
    /// and so add nothing. Errors as above.
    pub fn hbbp_profile_superseded_at(profile: *const hbbp_profile, index: usize, samples: *mut u64, error: *mut hbbp_error) -> hbbp_status;

    /// The same by reason, every reason that this library knows: "no-code", "undecodable",
    /// "leaves-module", "backwards", "passes-branch", "not-a-branch", "too-long". \`source\` is an index
    /// of a source; \_count gives 0 if there is no such source.
    pub fn hbbp_profile_unexplained_reason_count(profile: *const hbbp_profile, source: usize) -> usize;

    /// See profile.h.
    pub fn hbbp_profile_unexplained_reason_at(profile: *const hbbp_profile, source: usize, index: usize, counter: *mut hbbp_counter, error: *mut hbbp_error) -> hbbp_status;

    /// What else the source at index \`source\` counted: why bursts ended or were dropped. Only numbers
    /// that are not 0. \_count gives 0 if there is no such source.
    pub fn hbbp_profile_counter_count(profile: *const hbbp_profile, source: usize) -> usize;

    /// See profile.h.
    pub fn hbbp_profile_counter_at(profile: *const hbbp_profile, source: usize, index: usize, counter: *mut hbbp_counter, error: *mut hbbp_error) -> hbbp_status;

    /// See profile.h.
    pub fn hbbp_profile_thread_count(profile: *const hbbp_profile) -> usize;

    /// See profile.h.
    pub fn hbbp_profile_thread_at(profile: *const hbbp_profile, index: usize, thread: *mut hbbp_thread, error: *mut hbbp_error) -> hbbp_status;

    /// See profile.h.
    pub fn hbbp_profile_module_count(profile: *const hbbp_profile) -> usize;

    /// See profile.h.
    pub fn hbbp_profile_module_at(profile: *const hbbp_profile, index: usize, module: *mut hbbp_module, error: *mut hbbp_error) -> hbbp_status;

    /// In order of module and address; every block that has a count.
    pub fn hbbp_profile_block_count(profile: *const hbbp_profile) -> usize;

    /// See profile.h.
    pub fn hbbp_profile_block_at(profile: *const hbbp_profile, index: usize, block: *mut hbbp_block, error: *mut hbbp_error) -> hbbp_status;

    /// In order of module and address; every function that has a block with a count, and those of a
    /// kernel that have samples.
    pub fn hbbp_profile_function_count(profile: *const hbbp_profile) -> usize;

    /// See profile.h.
    pub fn hbbp_profile_function_at(profile: *const hbbp_profile, index: usize, function: *mut hbbp_function, error: *mut hbbp_error) -> hbbp_status;

    /// In order of from_module, from, to_module, to. Since 0.1.
    pub fn hbbp_profile_branch_count(profile: *const hbbp_profile) -> usize;

    /// See profile.h.
    pub fn hbbp_profile_branch_at(profile: *const hbbp_profile, index: usize, branch: *mut hbbp_branch, error: *mut hbbp_error) -> hbbp_status;

    /// Copies blocks \[first, first + count) into \`blocks\`, whose elements are block_size =
    /// sizeof(hbbp_block) apart as the caller knows it; cheaper than one call each. \`copied\` gets how
    /// many there were. Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL; a block_size that no
    /// version has). Since 0.1.
    pub fn hbbp_profile_copy_blocks(profile: *const hbbp_profile, first: usize, count: usize, block_size: usize, blocks: *mut hbbp_block, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// The block around an address of a module, whether it has a count or not.
    /// Errors: HBBP_ERROR_NOT_FOUND (no module, or no code there). Any thread. Since 0.1.
    pub fn hbbp_profile_find_block(profile: *const hbbp_profile, module: u32, address: u64, block: *mut hbbp_block, error: *mut hbbp_error) -> hbbp_status;

    /// The instruction at an address of a module; address + length is the next one.
    /// Errors: HBBP_ERROR_NOT_FOUND (no module, no code there, or no instruction).
    /// Any thread. Since 0.1.
    pub fn hbbp_profile_decode(profile: *const hbbp_profile, module: u32, address: u64, instruction: *mut hbbp_instruction, error: *mut hbbp_error) -> hbbp_status;
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
    /// set by the caller
    pub struct_size: u32,
    /// `hbbp_capability_state state` in C.
    pub state: hbbp_capability_state,
    /// a stable key: "perf_event_open", "task_clock", "cpu_clock",
    /// "hardware_instructions", "precise_instructions", "branch_stack",
    /// "ibs_op", "ibs_fetch", "breakpoint", "sigtrap", "inherit_thread",
    /// "kernel_sampling", "seccomp", "branch_tracing" (the detail says on which
    /// rung), "thread_timers", "native_stubs"
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
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (capabilities is NULL), HBBP_ERROR_NO_MEMORY.
    /// Any thread. Since 0.1.
    pub fn hbbp_capabilities_probe(capabilities: *mut *mut hbbp_capabilities, error: *mut hbbp_error) -> hbbp_status;

    /// Any thread; NULL is allowed. Since 0.1.
    pub fn hbbp_capabilities_destroy(capabilities: *mut hbbp_capabilities);

    /// How many there are. NULL gives 0. Since 0.1.
    pub fn hbbp_capabilities_count(capabilities: *const hbbp_capabilities) -> usize;

    /// The one at \`index\`, in an order that never changes.
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL), HBBP_ERROR_NOT_FOUND (index). Since 0.1.
    pub fn hbbp_capabilities_at(capabilities: *const hbbp_capabilities, index: usize, capability: *mut hbbp_capability, error: *mut hbbp_error) -> hbbp_status;

    /// By its code ("r20c4") or the name that libpfm4 has for it ("BR_INST_RETIRED:NEAR_TAKEN",
    /// "perf::page-faults"); libpfm4 is loaded when a name first needs it.
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL), HBBP_ERROR_NOT_FOUND (this processor has no such
    /// event), HBBP_ERROR_UNSUPPORTED (libpfm4 is not there). Any thread. Since 0.1.
    pub fn hbbp_event_find(name: *const c_char, code: *mut hbbp_event_code, error: *mut hbbp_error) -> hbbp_status;
}

// estimator.h -------------------------------------------------------------------------------------

/// One of the constants that follow.
pub type hbbp_estimator = i32;

/// FLOW where EBS counted instructions and LBR taken branches, else
/// STREAMS: samples of a clock tell where time goes, not executions;
/// EBS if there are no streams at all
pub const HBBP_ESTIMATOR_AUTO: hbbp_estimator = 0;
/// IP samples; a block without any has no count
pub const HBBP_ESTIMATOR_EBS: hbbp_estimator = 1;
/// streams; a block that none crossed has no count
pub const HBBP_ESTIMATOR_STREAMS: hbbp_estimator = 2;
/// by a decision tree, block by block; a block that the chosen family
/// did not see has the count 0
pub const HBBP_ESTIMATOR_TREE: hbbp_estimator = 3;
/// by all sources together, so that what flows into a block flows out
/// of it; a block that nobody saw has the count that this asks for
pub const HBBP_ESTIMATOR_FLOW: hbbp_estimator = 4;

/// `hbbp_estimator_options` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_estimator_options {
    /// set by the caller
    pub struct_size: u32,
    /// `hbbp_estimator estimator` in C.
    pub estimator: hbbp_estimator,
    /// JSON of a tree, as docs/internals/estimators.md describes it; NULL: the published one, which
    /// is streams for blocks of up to 18 instructions and EBS for longer ones
    pub tree: *const c_char,
}

sized!(hbbp_estimator_options);

/// `hbbp_estimator_info` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_estimator_info {
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

sized!(hbbp_estimator_info);

extern "C" {
    /// Counts the blocks of a profile by another estimator from now on, as often as wanted. Everything
    /// that a list of the profile pointed to is gone; mixes that were made stay. Not while another
    /// thread uses the profile. Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL, no such estimator, a tree
    /// with another estimator), HBBP_ERROR_BAD_FORMAT (no tree; the message says which node and
    /// what would be right); the profile then stays as it was. Since 0.1.
    pub fn hbbp_profile_set_estimator(profile: *mut hbbp_profile, options: *const hbbp_estimator_options, error: *mut hbbp_error) -> hbbp_status;

    /// What counts its blocks. Errors: HBBP_ERROR_INVALID_ARGUMENT. Any thread. Since 0.1.
    pub fn hbbp_profile_get_estimator(profile: *const hbbp_profile, info: *mut hbbp_estimator_info, error: *mut hbbp_error) -> hbbp_status;

    /// Features ---------------------------------------------------------------------------------
    /// What a tree may ask about a block: numbers, by name ("length"); docs/internals/estimators.md
    /// explains them. Later versions may add some at the end. Any thread. Since 0.1.
    pub fn hbbp_feature_count() -> usize;

    /// Static storage; NULL if there is no such feature.
    pub fn hbbp_feature_name(index: usize) -> *const c_char;

    /// Features of blocks \[first, first + count) of the profile's blocks, as hbbp_profile_copy_blocks
    /// copies these: hbbp_feature_count() numbers a block, one block behind the other. \`copied\` gets of
    /// how many blocks. Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL). Any thread. Since 0.1.
    pub fn hbbp_profile_copy_features(profile: *const hbbp_profile, first: usize, count: usize, values: *mut f64, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;
}

// feed.h ------------------------------------------------------------------------------------------

/// One of the constants that follow.
pub type hbbp_feed_order = i32;

/// sorted within rounds
pub const HBBP_FEED_BY_TIME: hbbp_feed_order = 0;
/// in the order of calls, at once
pub const HBBP_FEED_AS_FED: hbbp_feed_order = 1;

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
    /// for hbbp_profile_info: the machine that what is fed is of. Default: this
    /// one, whose kernel, processor and PMUs are then those of the records
    pub host: *const c_char,
    /// the processor of another host, as perf spells it: "AuthenticAMD,25,17,1".
    /// It tells what raw events count. Default: not known
    pub cpu_id: *const c_char,
    /// where files are here, as in hbbp_import_options; so the next two
    pub root: *const c_char,
    /// `const hbbp_moved_file *moved_files` in C.
    pub moved_files: *const hbbp_moved_file,
    /// `size_t moved_file_count` in C.
    pub moved_file_count: usize,
    /// as in hbbp_import_options
    pub slice_ns: u64,
    /// What the host gives, as in hbbp_session_options:
    /// called inside the functions of the session
    pub log: hbbp_log,
    /// given to log
    pub log_user_data: *mut c_void,
    /// 0: HBBP_LOG_INFO
    pub log_level: hbbp_log_level,
    /// 0
    pub reserved: u32,
    /// bytes for counts, what waits, names and code; at least HBBP_LEAST_MEMORY:
    /// never more is used; what finds no room when all else but longer periods is
    /// done is dropped and counted. 0: as much as is needed
    pub max_memory: u64,
    /// for counts and what waits. Copied; used until
    /// hbbp_session_destroy returns. NULL: operator new
    pub allocator: *const hbbp_allocator,
}

sized!(hbbp_feed_options);

/// Which of its two kinds of records HBBP_SOURCE_IBS has.
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
    /// Of raw records:
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
    /// "br_inst_retired.near_taken", "ibs_op//": tells what an event counts
    /// whose type and config do not, as those of PMUs of another machine. Also
    /// of decoded samples. Default: made of the others
    pub event_name: *const c_char,
    /// Of decoded samples; 0 with perf_attr, which says it:
    /// HBBP_SOURCE_EBS, \_LBR or \_IBS
    pub kind: hbbp_source,
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
/// over as it lies. The flags are its bit-fields, the first at bit 0; 0 if nothing is known. Of
/// fixed size.
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

/// In hbbp_branch_entry.flags: the branch was on a path that was not taken after all
/// (PERF_BR_SPEC_WRONG_PATH). It is left out, and the stack is cut there.
pub const HBBP_BRANCH_WRONG_PATH: u64 = 1 << 24;

/// `HBBP_MAX_FED_BRANCHES` of the C ABI.
pub const HBBP_MAX_FED_BRANCHES: u32 = 65536;

/// `HBBP_MAX_IBS_REGISTERS` of the C ABI.
pub const HBBP_MAX_IBS_REGISTERS: u32 = 32;

/// A decoded sample. Branches and registers are refused with a source of another kind. What it
/// points to is read during the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_feed_sample {
    /// 0: not known
    pub time_ns: u64,
    /// EBS and IBS
    pub ip: u64,
    /// occurrences of the event that it stands for; 0: the source's
    pub period: u64,
    /// `uint32_t pid` in C.
    pub pid: u32,
    /// `uint32_t tid` in C.
    pub tid: u32,
    /// LBR: all of the stack, the newest branch first
    pub branches: *const hbbp_branch_entry,
    /// at most HBBP_MAX_FED_BRANCHES
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

/// Values of hbbp_feed_event.kind, and the fields that each uses beside pid and time_ns.
pub type hbbp_feed_event_kind = i32;

/// executable memory appeared: address, size; of a file also name (its
/// path), file_offset, and if known device, inode, build_id. It
/// replaces what was there
pub const HBBP_FEED_MAPPING: hbbp_feed_event_kind = 1;
/// the process has generated code: address, size, and if known code
/// (size bytes) and name (of the function that it is). It replaces what
/// was there, whose samples stay its own; freed code need not be told.
/// Without code samples are counted, but not in blocks
pub const HBBP_FEED_CODE: hbbp_feed_event_kind = 2;
/// another program, nothing is mapped; if known name, of thread tid
pub const HBBP_FEED_EXEC: hbbp_feed_event_kind = 3;
/// tid of pid was made by parent_tid of parent_pid: a process with its
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
    /// 0: since ever, of mappings and code; of others: not known
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

/// For hbbp_session_feed_flush.
pub const HBBP_FEED_ALL: u64 = u64::MAX;

extern "C" {
    /// \`options\` may be NULL: all defaults. In a child made by fork, the session has what it had.
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (session is NULL; an option out of range; the message says
    /// which), HBBP_ERROR_VERSION (an option that this library does not know), HBBP_ERROR_NO_MEMORY.
    /// Since 0.1.
    pub fn hbbp_session_create_fed(options: *const hbbp_feed_options, session: *mut *mut hbbp_session, error: *mut hbbp_error) -> hbbp_status;

    /// \`index\`, which may be NULL, gets its number, by which the functions below call it: 0 for the
    /// first. Sources may be added at any time.
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (which field, and why), HBBP_ERROR_VERSION,
    /// HBBP_ERROR_INVALID_STATE (the session is not a fed one; so below), HBBP_ERROR_NO_MEMORY.
    /// Since 0.1.
    pub fn hbbp_session_add_fed_source(session: *mut hbbp_session, source: *const hbbp_feed_source, index: *mut u32, error: *mut hbbp_error) -> hbbp_status;

    /// More perf_ids of a source, as when a new thread or CPU gets an event. Must come before its
    /// records. Errors: HBBP_ERROR_INVALID_ARGUMENT (no such source; one without perf_attr; NULL).
    /// Since 0.1.
    pub fn hbbp_session_add_fed_ids(session: *mut hbbp_session, index: u32, perf_ids: *const u64, perf_id_count: usize, error: *mut hbbp_error) -> hbbp_status;

    /// \`bytes\` bytes of whole records one after the other, in the byte order of this machine, of all
    /// sources with a perf_attr: SAMPLE, MMAP, MMAP2, COMM, FORK, LOST, THROTTLE, ...; others are
    /// skipped. A record that goes around the end of its ring has to be put together first. \`consumed\`,
    /// which may be NULL, gets the bytes of whole records; a rest is the beginning of a record, to be
    /// fed again with what follows. Records of no known event, or too short for their fields, are
    /// dropped: hbbp_session_info.dropped counts them and hbbp_source_info.note tells of the first.
    /// Errors: HBBP_ERROR_BAD_FORMAT (where a record should begin there is none; the message has the
    /// offset, as has \`consumed\`; what came before was taken), HBBP_ERROR_INVALID_STATE (no source has a
    /// perf_attr), HBBP_ERROR_INVALID_ARGUMENT (NULL), HBBP_ERROR_NO_MEMORY. Since 0.1.
    pub fn hbbp_session_feed_perf_records(session: *mut hbbp_session, records: *const c_void, bytes: usize, consumed: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// \`count\` decoded samples of the source \`index\`, sample_size = sizeof(hbbp_feed_sample) apart as
    /// the caller knows it. All are taken, or none.
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (which sample, and why; a sample_size that no version has),
    /// HBBP_ERROR_VERSION (fields that this library does not know are not 0), HBBP_ERROR_NO_MEMORY.
    /// Since 0.1.
    pub fn hbbp_session_feed_samples(session: *mut hbbp_session, index: u32, samples: *const hbbp_feed_sample, count: usize, sample_size: usize, error: *mut hbbp_error) -> hbbp_status;

    /// \`count\` events, event_size = sizeof(hbbp_feed_event) apart as the caller knows it. All are taken,
    /// or none. Errors: as hbbp_session_feed_samples. Since 0.1.
    pub fn hbbp_session_feed_events(session: *mut hbbp_session, events: *const hbbp_feed_event, count: usize, event_size: usize, error: *mut hbbp_error) -> hbbp_status;

    /// Every ring was emptied once since the last round. Counts what had come by the end of the round
    /// before that: what is in a ring now is later than anything that was in another one then. Records
    /// PERF_RECORD_FINISHED_ROUND, which perf writes, do the same.
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL). Since 0.1.
    pub fn hbbp_session_feed_round(session: *mut hbbp_session, error: *mut hbbp_error) -> hbbp_status;

    /// Everything that happened up to \`up_to_ns\` was fed: counts what waits up to there. HBBP_FEED_ALL
    /// at the end. What comes later with an earlier time is counted all the same, but in what is mapped
    /// then; hbbp_source_info.note says how often that was.
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL). Since 0.1.
    pub fn hbbp_session_feed_flush(session: *mut hbbp_session, up_to_ns: u64, error: *mut hbbp_error) -> hbbp_status;
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
/// fork. What starting and stopping say is told before they return, unless another thread is in the
/// log just then, which goes on with it. It may ask the session (hbbp_session_get_info,
/// hbbp_session_snapshot); starting and stopping it there is HBBP_ERROR_INVALID_STATE. If it
/// destroys the session, a thread of the library does so once this message, the last one, has
/// returned; the session's allocator is used until then. One that is fed it must not destroy. It
/// must not throw.
pub type hbbp_log = Option<unsafe extern "C" fn(level: hbbp_log_level, message: *const c_char, user_data: *mut c_void)>;

/// How far work is: \`all\` 0 if it is not known how much there is. Called now and then in the thread
/// that called the function. It must not throw.
pub type hbbp_progress = Option<unsafe extern "C" fn(done: u64, all: u64, user_data: *mut c_void)>;

/// A flag that calls off long work: the function that has it returns HBBP_ERROR_CANCELLED soon
/// after. One flag may be given to any number of functions, in any threads.
#[repr(C)]
#[derive(Debug)]
pub struct hbbp_cancel {
    _opaque: [u8; 0],
    _not_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

/// How a function does its work. Fields that are 0 or NULL ask for nothing.
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

/// The least that max_memory of options may be.
pub const HBBP_LEAST_MEMORY: u32 = 1048576;

/// Where memory is from. Both functions may be called by several threads at once, inside functions
/// of the library and from the worker of a session, never from a signal handler; they must not
/// throw, nor call the library. fork waits for those calls, and makes none itself.
/// docs/guide/embedding.md says what is allocated by them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_allocator {
    /// set by the caller
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// \`size\` bytes, at least 1, at a multiple of \`alignment\`, a power of two; NULL if there are
    /// none.
    pub allocate: Option<unsafe extern "C" fn(size: usize, alignment: usize, user_data: *mut c_void) -> *mut c_void>,
    /// With the size and the alignment that they were asked for with.
    pub deallocate: Option<unsafe extern "C" fn(memory: *mut c_void, size: usize, alignment: usize, user_data: *mut c_void)>,
    /// `void *user_data` in C.
    pub user_data: *mut c_void,
}

sized!(hbbp_allocator);

extern "C" {
    /// A flag that is not set. Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL), HBBP_ERROR_NO_MEMORY. Any
    /// thread. Since 0.1.
    pub fn hbbp_cancel_create(cancel: *mut *mut hbbp_cancel, error: *mut hbbp_error) -> hbbp_status;

    /// Not while a function uses it. NULL is allowed. Since 0.1.
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
    /// set by hbbp_profile_copy_ibs_sums
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

/// Samples whose latency was in \[first_cycles, end_cycles). Buckets are log-linear: four to each
/// power of two.
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

/// Accesses of one thread to one line of 64 bytes. Import keeps the lines with the most samples,
/// some tens of thousands of them; the counter "ibs-accesses-dropped" of the source tells of others.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_ibs_line {
    /// set by hbbp_profile_copy_ibs_lines
    pub struct_size: u32,
    /// `uint32_t pid` in C.
    pub pid: u32,
    /// `uint32_t tid` in C.
    pub tid: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
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
}

sized!(hbbp_ibs_line);

extern "C" {
    /// By module and address. As for blocks, the first call reads the code of the modules. Since 0.1.
    pub fn hbbp_profile_ibs_sum_count(profile: *const hbbp_profile) -> usize;

    /// See ibs.h.
    pub fn hbbp_profile_copy_ibs_sums(profile: *const hbbp_profile, first: usize, count: usize, size: usize, sums: *mut hbbp_ibs_sum, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// By latency and cycles. Since 0.1.
    pub fn hbbp_profile_ibs_bucket_count(profile: *const hbbp_profile) -> usize;

    /// See ibs.h.
    pub fn hbbp_profile_copy_ibs_buckets(profile: *const hbbp_profile, first: usize, count: usize, size: usize, buckets: *mut hbbp_ibs_bucket, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// By address. Since 0.1.
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
    /// folder that has the files of the recorded machine (perf calls it
    /// symfs), at their paths or anywhere with their build IDs; default:
    /// none, they are where they were there
    pub root: *const c_char,
    /// `const hbbp_moved_file *moved_files` in C.
    pub moved_files: *const hbbp_moved_file,
    /// bytes of the recording that were read
    pub progress: hbbp_progress,
    /// given to progress
    pub user_data: *mut c_void,
    /// for text of \`perf script\` without mappings: the one file whose addresses it
    /// has
    pub binary: *const c_char,
    /// of samples that come with branch stacks
    pub ebs_method: hbbp_ebs_method,
    /// 0
    pub reserved: u32,
    /// as in hbbp_session_options, by the times of samples; slices begin with the
    /// first one. Text of \`perf script\` has no times
    pub slice_ns: u64,
    /// calls it off
    pub cancel: *const hbbp_cancel,
    /// What the host gives besides, as in hbbp_session_options:
    /// called inside hbbp_profile_import
    pub log: hbbp_log,
    /// given to log
    pub log_user_data: *mut c_void,
    /// 0: HBBP_LOG_INFO
    pub log_level: hbbp_log_level,
    /// 0
    pub reserved2: u32,
    /// bytes for counts, records that wait, names and code while it is read, not
    /// for the profile; at least HBBP_LEAST_MEMORY: never more is used. Samples
    /// that find no room are dropped: the notes of the profile's sources and
    /// their counter "no-memory" say how many. 0: as much as is needed
    pub max_memory: u64,
    /// for counts and records that wait; not used after the call.
    /// NULL: operator new
    pub allocator: *const hbbp_allocator,
}

sized!(hbbp_import_options);

extern "C" {
    /// Reads a recording of \`perf record\`, of any version and architecture of the recording perf, whose
    /// samples are of x86-64 code; or text of \`perf script\` with branch stacks, as llvm-profgen and BOLT
    /// take it (-F ip,brstack --show-mmap-events), which has no periods: a sample counts as one event.
    /// Sources of the profile: for each event with branch stacks of all kinds of branches one of
    /// HBBP_SOURCE_LBR; for each event one of HBBP_SOURCE_EBS (HBBP_SOURCE_IBS for ibs_op and
    /// ibs_fetch), but not for taken branches with stacks. What of a damaged recording was dropped is
    /// said in hbbp_source_info.note. \`path\` "-" is standard input, for recordings but not for text.
    /// \`options\` may be NULL. Code is read from the files of the recording when blocks are asked for.
    /// Generated code is that of jitdumps; functions without code are those of perf maps, which lie
    /// where root and moved_files lead from /tmp/perf-PID.map, or there, if the host name of the
    /// recording is this machine's. Maps of other users are not believed, which is noted as well.
    /// Errors: HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION, HBBP_ERROR_IO, HBBP_ERROR_BAD_FORMAT (no
    /// recording, or nothing of it can be read; the message says where), HBBP_ERROR_UNSUPPORTED (a
    /// folder of perf record --threads; compressed records, and no libzstd is installed),
    /// HBBP_ERROR_INVALID_ARGUMENT, HBBP_ERROR_NO_MEMORY (none at all, or not for a single sample),
    /// HBBP_ERROR_CANCELLED. Any thread. Since 0.1.
    pub fn hbbp_profile_import(path: *const c_char, options: *const hbbp_import_options, profile: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;
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
    /// need not be told. May be called before the session is started, and whether it runs or not; a
    /// child made by fork has to tell its code anew. Costs a copy of the code and a lock that the
    /// session's worker also takes: not for signal handlers. Any thread. Errors:
    /// HBBP_ERROR_INVALID_ARGUMENT (NULL; a size of 0 or too large; a range that ends beyond the address
    /// space), HBBP_ERROR_NOT_FOUND (\`code\` is NULL, and there is no memory at \`address\` that can be
    /// read), HBBP_ERROR_BUSY (256 MiB of code are known, or 256 generations of code at one address;
    /// this code is not kept, and its samples count as those of code that nobody told of),
    /// HBBP_ERROR_INVALID_STATE (the session is a fed one), HBBP_ERROR_VERSION, HBBP_ERROR_NO_MEMORY.
    /// Since 0.1.
    pub fn hbbp_session_add_code(session: *mut hbbp_session, region: *const hbbp_code_region, error: *mut hbbp_error) -> hbbp_status;
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
    /// set by hbbp_profile_copy_loops
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
    /// average; by branches if they tell it, else by counts
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

extern "C" {
    /// Loops in which a block has a count, by module, function and nesting: the loop around a loop comes
    /// before it. The first call finds them; as for blocks, it needs the code of the modules. NULL
    /// gives 0. Any thread. Since 0.1.
    pub fn hbbp_profile_loop_count(profile: *const hbbp_profile) -> usize;

    /// Copies loops \[first, first + count), as hbbp_profile_copy_blocks does blocks; \`size\` is
    /// sizeof(hbbp_loop). Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL, a wrong size). Any thread.
    /// Since 0.1.
    pub fn hbbp_profile_copy_loops(profile: *const hbbp_profile, first: usize, count: usize, size: usize, loops: *mut hbbp_loop, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;

    /// Of blocks \[first, first + count) of hbbp_profile_block_at: the index of the innermost loop that
    /// each is in, HBBP_NO_INDEX if in none. \`copied\` gets how many blocks there were.
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL). Any thread. Since 0.1.
    pub fn hbbp_profile_copy_loops_of_blocks(profile: *const hbbp_profile, first: usize, count: usize, loops: *mut u32, copied: *mut usize, error: *mut hbbp_error) -> hbbp_status;
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
    /// set by the caller
    pub struct_size: u32,
    /// index in the profile; HBBP_NO_INDEX if not a key
    pub module: u32,
    /// index in the profile; HBBP_NO_INDEX if not a key
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
    /// generated code that a perf map names) count by their samples. The mix does not need the profile
    /// afterwards.
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL; an unknown key), HBBP_ERROR_NO_MEMORY.
    /// Any thread. Since 0.1.
    pub fn hbbp_mix_create(profile: *const hbbp_profile, keys: hbbp_mix_keys, mix: *mut *mut hbbp_mix, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. Since 0.1.
    pub fn hbbp_mix_destroy(mix: *mut hbbp_mix);

    /// NULL gives 0. Since 0.1.
    pub fn hbbp_mix_row_count(mix: *const hbbp_mix) -> usize;

    /// All instructions executed, in the unit of the source. NULL gives 0. Since 0.1.
    pub fn hbbp_mix_total(mix: *const hbbp_mix) -> f64;

    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL), HBBP_ERROR_NOT_FOUND (index). Since 0.1.
    pub fn hbbp_mix_row_at(mix: *const hbbp_mix, index: usize, row: *mut hbbp_mix_row, error: *mut hbbp_error) -> hbbp_status;
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
    /// where the profile lists it, by key:
    /// thread: hbbp_profile_thread_at; module: hbbp_profile_module_at;
    /// function: hbbp_profile_function_at; block: hbbp_profile_block_at;
    /// loop: hbbp_profile_copy_loops; slice: hbbp_profile_slice_at;
    /// address: its module, hbbp_profile_module_at.
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
    /// set by the caller
    pub struct_size: u32,
    /// 0: this profile cannot tell; the value is 0 then
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
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (the message tells line and column, and the nearest name
    /// where one is not known; a taxonomy that is called as a key), HBBP_ERROR_NO_MEMORY. Any thread.
    /// Since 0.1.
    pub fn hbbp_taxonomy_create(text: *const c_char, taxonomy: *mut *mut hbbp_taxonomy, error: *mut hbbp_error) -> hbbp_status;

    /// The same from a file of up to 64 KiB. Errors: HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION,
    /// HBBP_ERROR_IO and those of hbbp_taxonomy_create. Any thread. Since 0.1.
    pub fn hbbp_taxonomy_load(path: *const c_char, taxonomy: *mut *mut hbbp_taxonomy, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. Since 0.1.
    pub fn hbbp_taxonomy_destroy(taxonomy: *mut hbbp_taxonomy);

    /// How many taxonomies the text has. NULL gives 0. Any thread. Since 0.1.
    pub fn hbbp_taxonomy_count(taxonomy: *const hbbp_taxonomy) -> usize;

    /// In the order of the text. NULL, and an index that is too large, gives NULL. Any thread. Since
    /// 0.1.
    pub fn hbbp_taxonomy_name_at(taxonomy: *const hbbp_taxonomy, index: usize) -> *const c_char;

    /// Groups of the taxonomy at \`index\`, in the order of the text and without "other". NULL, and an
    /// index that is too large, give 0 and NULL. Any thread. Since 0.1.
    pub fn hbbp_taxonomy_group_count(taxonomy: *const hbbp_taxonomy, index: usize) -> usize;

    /// See pivot.h.
    pub fn hbbp_taxonomy_group_name_at(taxonomy: *const hbbp_taxonomy, index: usize, group: usize) -> *const c_char;

    /// The names of keys and values that every profile has, for help and completion; an index that is
    /// too large gives NULL. Static storage. Any thread. Since 0.1.
    pub fn hbbp_pivot_key_name_count() -> usize;

    /// See pivot.h.
    pub fn hbbp_pivot_key_name_at(index: usize) -> *const c_char;

    /// See pivot.h.
    pub fn hbbp_pivot_value_name_count() -> usize;

    /// See pivot.h.
    pub fn hbbp_pivot_value_name_at(index: usize) -> *const c_char;

    /// Functions whose code is missing (of a kernel, or of generated code that a perf map names) count
    /// by their samples, unless the condition asks for what only code tells. They have instructions and
    /// no other value; the label of keys that only code tells is "no-code".
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL; an unknown, empty or repeated key, value or group,
    /// with the nearest name in the message; a condition that cannot be read, with the column),
    /// HBBP_ERROR_CANCELLED (keys of source lines; the flag is that of hbbp_source_options),
    /// HBBP_ERROR_NO_MEMORY. Any thread. Since 0.1.
    pub fn hbbp_pivot_create(profile: *const hbbp_profile, query: *const hbbp_pivot_query, pivot: *mut *mut hbbp_pivot, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. Since 0.1.
    pub fn hbbp_pivot_destroy(pivot: *mut hbbp_pivot);

    /// Rows or columns. NULL gives 0. Any thread. Since 0.1.
    pub fn hbbp_pivot_line_count(pivot: *const hbbp_pivot, axis: hbbp_pivot_axis) -> usize;

    /// Those included that \`top\` left out. NULL gives 0. Any thread. Since 0.1.
    pub fn hbbp_pivot_line_count_in_all(pivot: *const hbbp_pivot, axis: hbbp_pivot_axis) -> usize;

    /// How many labels a line has. NULL gives 0. Any thread. Since 0.1.
    pub fn hbbp_pivot_key_count(pivot: *const hbbp_pivot, axis: hbbp_pivot_axis) -> usize;

    /// How many numbers a cell has. NULL gives 0. Any thread. Since 0.1.
    pub fn hbbp_pivot_value_count(pivot: *const hbbp_pivot) -> usize;

    /// Key \`key\` of a line. Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL, no such axis),
    /// HBBP_ERROR_NOT_FOUND (line or key). Any thread. Since 0.1.
    pub fn hbbp_pivot_label_at(pivot: *const hbbp_pivot, axis: hbbp_pivot_axis, line: usize, key: usize, label: *mut hbbp_pivot_label, error: *mut hbbp_error) -> hbbp_status;

    /// Value \`value\` of a cell; \`row\` and \`column\` may be HBBP_PIVOT_ALL, which is the only column
    /// without keys of columns. A cell where nothing ran is 0.
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL), HBBP_ERROR_NOT_FOUND (row, column or value).
    /// Any thread. Since 0.1.
    pub fn hbbp_pivot_cell_at(pivot: *const hbbp_pivot, row: usize, column: usize, value: usize, cell: *mut hbbp_pivot_cell, error: *mut hbbp_error) -> hbbp_status;

    /// What follows from a whole mix, docs/guide/mix.md lists it: operations on floating point by
    /// precision, bytes loaded and stored, arithmetic intensity, branch density, instructions by taken
    /// branch, shares of packed instructions and of each vector width. \`where\` and \`taxonomy\` as in
    /// hbbp_pivot_query.
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL, a condition that cannot be read),
    /// HBBP_ERROR_NO_MEMORY. Any thread. Since 0.1.
    pub fn hbbp_ratios_create(profile: *const hbbp_profile, where_: *const c_char, taxonomy: *const hbbp_taxonomy, ratios: *mut *mut hbbp_ratios, error: *mut hbbp_error) -> hbbp_status;

    /// NULL is allowed. Since 0.1.
    pub fn hbbp_ratios_destroy(ratios: *mut hbbp_ratios);

    /// NULL gives 0. Any thread. Since 0.1.
    pub fn hbbp_ratios_count(ratios: *const hbbp_ratios) -> usize;

    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL), HBBP_ERROR_NOT_FOUND (index). Any thread. Since 0.1.
    pub fn hbbp_ratios_at(ratios: *const hbbp_ratios, index: usize, ratio: *mut hbbp_ratio, error: *mut hbbp_error) -> hbbp_status;
}

// session.h ---------------------------------------------------------------------------------------

/// `hbbp_session_options` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_session_options {
    /// set by the caller
    pub struct_size: u32,
    /// HBBP_SOURCE_EBS; HBBP_SOURCE_LBR, which is EBS at the same time;
    /// HBBP_SOURCE_IBS; HBBP_SOURCE_SWBT; HBBP_SOURCE_NONE: LBR if this machine
    /// has it, else EBS; HBBP_SOURCE_AUTO: LBR, else SWBT, which needs signal
    /// handlers, and no debugger (ptrace) at the call of hbbp_session_create,
    /// else EBS; HBBP_SOURCE_EBS_AND_SWBT: both at once.
    /// The notes of the profile's sources say what was not to be had and why
    pub source: hbbp_source,
    /// `hbbp_event event` in C.
    pub event: hbbp_event,
    /// `hbbp_period_mode period_mode` in C.
    pub period_mode: hbbp_period_mode,
    /// in occurrences of the event (ns for clocks). 0: the default, which
    /// keeps the overhead below 1 %
    pub period: u64,
    /// samples a second of CPU time, instead of a period; 0: use period.
    /// Both set: HBBP_ERROR_INVALID_ARGUMENT
    pub frequency_hz: u64,
    /// 1: count kernel code too; needs permission
    pub include_kernel: u32,
    /// of each CPU's ring buffer; rounded up to a power of two of pages;
    /// 0: the default, 256 KiB
    pub buffer_bytes: u32,
    /// Of HBBP_SOURCE_SWBT, alone or with EBS; 0 for other sources:
    pub trace_mode: hbbp_trace_mode,
    /// taken branches a burst, at most HBBP_MAX_BURST_BRANCHES; 0: the
    /// default of the mode
    pub burst_branches: u32,
    /// Of hardware events:
    /// taken branches between branch stacks; 0: the default
    pub branch_period: u64,
    /// how long the program will run, from which default periods follow;
    /// 0: not known. Below 30 s 1,000,037 instructions and 100,003 taken
    /// branches, below 3 minutes (and if not known) ten times, else a
    /// hundred times that: Nowak et al., "Low-Overhead Dynamic
    /// Instruction Mix Generation using Hybrid Basic Block Profiling",
    /// Table 4
    pub expected_seconds: u64,
    /// 0: the calling process; else another one, which the caller may trace (ptrace) and
    /// whose children are not followed. It need not exist to the end. Not where
    /// branches are traced, and HBBP_SOURCE_AUTO does without it
    pub pid: u64,
    /// Any event of the kernel or the PMU, for the samples of HBBP_SOURCE_EBS and HBBP_SOURCE_LBR;
    /// \`event\` says what it counts, as hbbp_event_find does, which knows codes:
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
    /// HBBP_SHORTEST_SLICE_NS; 0: do not. Slices become twice as wide
    /// whenever there would be more than HBBP_MOST_SLICES of them, or too
    /// many counts
    pub slice_ns: u64,
    /// What the host gives (host.h):
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
    /// HBBP_LEAST_MEMORY: never more is used; what finds no room when all else is
    /// done is dropped and counted. 0: as much as is needed
    pub max_memory: u64,
    /// for counts. Copied; used until hbbp_session_destroy returns.
    /// NULL: operator new
    pub allocator: *const hbbp_allocator,
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
    /// between start and stop, or until now; all runs together. If the session
    /// is fed: between the first and the last sample that was counted
    pub duration_ns: u64,
    /// of a session that is fed: records and samples that wait for the end of a
    /// round; else 0
    pub waiting: u64,
    /// samples that there was no memory for; of a session that is fed also records
    /// that could not be used
    pub dropped: u64,
    /// Of a session that samples, else 0. CPU time is that of all runs together:
    /// of what is profiled
    pub cpu_ns: u64,
    /// that sampling took, as far as the session knows
    pub overhead_ns: u64,
    /// overhead_ns / cpu_ns of the last 50 ms or more of CPU time
    pub recent_overhead: f64,
    /// periods are so many times those asked for; 1 without a budget
    pub period_factor: f64,
    /// `uint64_t period_changes` in C.
    pub period_changes: u64,
    /// of max_memory, also without one; of any session
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

extern "C" {
    /// \`options\` may be NULL: all defaults. Opens nothing yet.
    /// Errors: HBBP_ERROR_INVALID_ARGUMENT (session is NULL; an option out of range; the message says
    /// which), HBBP_ERROR_VERSION (an option that this library does not know), HBBP_ERROR_NO_MEMORY.
    /// Any thread. Since 0.1.
    pub fn hbbp_session_create(options: *const hbbp_session_options, session: *mut *mut hbbp_session, error: *mut hbbp_error) -> hbbp_status;

    /// Stops it if needed. Snapshots taken from it stay valid. Not while another thread is in one of
    /// its functions. NULL is allowed. Any thread. Since 0.1.
    pub fn hbbp_session_destroy(session: *mut hbbp_session);

    /// Samples every thread of the process, those that exist and those that start later, until stop.
    /// Starts one thread of its own, with all signals blocked, which is not sampled. A stopped session
    /// may be started again; its counts go on.
    /// In a child made by fork the session is stopped and holds no samples. Any thread; of several at
    /// once, one starts it.
    /// Errors: HBBP_ERROR_INVALID_STATE (running, fed, or called by its log), HBBP_ERROR_PERMISSION
    /// (perf_event_open refused; the message names the setting), HBBP_ERROR_UNSUPPORTED (no such event
    /// here; no /proc), HBBP_ERROR_BUSY (out of descriptors, threads, memory locks or counters; another
    /// session of the process traces branches), HBBP_ERROR_NOT_FOUND (no such thread or process),
    /// HBBP_ERROR_NO_MEMORY. Since 0.1.
    pub fn hbbp_session_start(session: *mut hbbp_session, error: *mut hbbp_error) -> hbbp_status;

    /// Collects what is in the buffers and closes events and buffers: no thread is left, and of
    /// descriptors only those of files whose code has samples, for blocks to be found in what ran even
    /// if it is replaced. They have high numbers, are closed by exec, and go with the session and its
    /// profiles. Any thread; of several at once, one stops it. Errors: HBBP_ERROR_INVALID_STATE (not
    /// running, fed, or called by its log). Since 0.1.
    pub fn hbbp_session_stop(session: *mut hbbp_session, error: *mut hbbp_error) -> hbbp_status;

    /// All that was counted so far, as an immutable profile. Allowed while the session runs, which
    /// goes on undisturbed, from any thread. If it is fed: all that does not wait. Cheap: blocks are
    /// found when the profile is first asked for them. Errors: HBBP_ERROR_NO_MEMORY. Since 0.1.
    pub fn hbbp_session_snapshot(session: *mut hbbp_session, profile: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;

    /// The same, with progress, in no particular unit, and a flag that calls it off, also while it waits
    /// for another thread that feeds the session. Worth it with millions of counts. progress must not
    /// use the session. \`work\` may be NULL. Errors: HBBP_ERROR_CANCELLED (the session has what it had),
    /// HBBP_ERROR_INVALID_ARGUMENT, HBBP_ERROR_VERSION, HBBP_ERROR_NO_MEMORY. Any thread. Since 0.1.
    pub fn hbbp_session_snapshot_with(session: *mut hbbp_session, work: *const hbbp_work_options, profile: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;

    /// Any thread. Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL). Since 0.1.
    pub fn hbbp_session_get_info(session: *mut hbbp_session, info: *mut hbbp_session_info, error: *mut hbbp_error) -> hbbp_status;
}

// slices.h ----------------------------------------------------------------------------------------

/// `HBBP_SHORTEST_SLICE_NS` of the C ABI.
pub const HBBP_SHORTEST_SLICE_NS: u32 = 1000000;

/// `HBBP_LONGEST_SLICE_NS` of the C ABI.
pub const HBBP_LONGEST_SLICE_NS: u64 = 1000000000000000;

/// `HBBP_MOST_SLICES` of the C ABI.
pub const HBBP_MOST_SLICES: u32 = 1024;

/// Slices of a profile begin one after the other at its start_time_ns. Pauses of a session are in
/// them: they are of the clock. In a sum of several runs (hbbp_profile_merge) each run begins at 0,
/// so that slices tell how far it was; profiles of one run, which overlap in time or are images of
/// one process, keep their distances.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_slice {
    /// set by the caller
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

    /// Errors: HBBP_ERROR_NOT_FOUND (index), HBBP_ERROR_INVALID_ARGUMENT (NULL). Any thread.
    /// Since 0.1.
    pub fn hbbp_profile_slice_at(profile: *const hbbp_profile, index: usize, slice: *mut hbbp_slice, error: *mut hbbp_error) -> hbbp_status;

    /// What was counted in the slice at \`index\`, as a profile of its own, which has the same list of
    /// slices. What was set of \`profile\` (estimator, kernel files, debug information) is set of it, too;
    /// HBBP_ESTIMATOR_AUTO chooses by what is in the slice. Numbers of sources that are not known by
    /// slice (lost, throttled, unmapped, what the tracer did) are kept whole; lists of IBS are empty.
    /// Errors: HBBP_ERROR_NOT_FOUND (no such slice), HBBP_ERROR_INVALID_ARGUMENT (NULL),
    /// HBBP_ERROR_NO_MEMORY. Any thread. Since 0.1.
    pub fn hbbp_profile_select_slice(profile: *const hbbp_profile, index: usize, selected: *mut *mut hbbp_profile, error: *mut hbbp_error) -> hbbp_status;
}

// source.h ----------------------------------------------------------------------------------------

/// How far reading the debug information of a module is. Called in the thread that asked for a
/// line; \`module\` is its path, valid during the call. Must not use the profile, nor throw.
pub type hbbp_source_progress = Option<unsafe extern "C" fn(module: *const c_char, done_bytes: u64, total_bytes: u64, user: *mut c_void)>;

/// Ask the servers that DEBUGINFOD_URLS names for debug files that are not here, by libdebuginfod,
/// which keeps them. May take minutes.
pub const HBBP_SOURCE_OPTION_DEBUGINFOD: u32 = 1 << 0;

/// `hbbp_source_options` of the C ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_source_options {
    /// set by the caller
    pub struct_size: u32,
    /// HBBP_SOURCE_OPTION\_\*
    pub flags: u32,
    /// where separate debug files are; NULL: /usr/lib/debug; "": nowhere
    pub debug_root: *const c_char,
    /// bytes of decoded debug information kept, of all modules; 0: 256 MiB
    pub memory_limit: u64,
    /// These three are used until the profile is destroyed or hbbp_profile_set_source_options is
    /// called again, and must live as long. Profiles that are selected from it
    /// (hbbp_profile_select_thread, \_select_slice) do not have them, but may be given some.
    /// may be NULL
    pub progress: hbbp_source_progress,
    /// for progress
    pub user: *mut c_void,
    /// calls off what has to be read for an answer: the function,
    /// hbbp_pivot_create too, returns HBBP_ERROR_CANCELLED, and reads
    /// it the next time. What was read before is answered. It is
    /// looked at between calls of libdw, which take milliseconds, and
    /// when libdebuginfod asks, about once a second
    pub cancel: *const hbbp_cancel,
}

sized!(hbbp_source_options);

/// One function at an address: the innermost one that was inlined there, or what it was inlined
/// into. Strings live as long as the profile, or until hbbp_profile_set_source_options.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_source_frame {
    /// set by the caller, or by the size that it passes
    pub struct_size: u32,
    /// of the instruction, in an outer frame of the call; 0: of no line
    pub line: u32,
    /// 0: not known
    pub column: u32,
    /// `uint32_t reserved` in C.
    pub reserved: u32,
    /// absolute if the compiler said where it ran; "" if not known
    pub file: *const c_char,
    /// as the linker knows it (mangled), otherwise its name; "" if not known
    pub function: *const c_char,
}

sized!(hbbp_source_frame);

/// What is the same for all addresses of \[start, end).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hbbp_source_place {
    /// set by the caller
    pub struct_size: u32,
    /// all of them, also those that did not fit; 0: nothing is known
    pub frame_count: u32,
    /// `uint64_t start` in C.
    pub start: u64,
    /// `uint64_t end` in C.
    pub end: u64,
}

sized!(hbbp_source_place);

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
    /// Says where debug information is looked for. Lines that were found before are gone. Not while
    /// another thread uses the profile. Errors: HBBP_ERROR_INVALID_ARGUMENT, HBBP_ERROR_VERSION.
    /// Since 0.1.
    pub fn hbbp_profile_set_source_options(profile: *mut hbbp_profile, options: *const hbbp_source_options, error: *mut hbbp_error) -> hbbp_status;

    /// The source of an address of a module: up to \`capacity\` frames, innermost first, into \`frames\`,
    /// whose elements are frame_size = sizeof(hbbp_source_frame) apart as the caller knows it. The
    /// outermost frame is the function that has the code. \`place\` says how many frames there are and
    /// how far the answer holds: to walk over a function, go on at place.end.
    /// Errors: HBBP_ERROR_NOT_FOUND (no such module; no debug information of it: the message says where
    /// was looked and what to install), HBBP_ERROR_MISMATCH (only that of another build),
    /// HBBP_ERROR_UNSUPPORTED (no libdw; generated code of which no jitdump tells lines),
    /// HBBP_ERROR_CANCELLED,
    /// HBBP_ERROR_BAD_FORMAT, HBBP_ERROR_IO, HBBP_ERROR_INVALID_ARGUMENT (NULL; a frame_size that no
    /// version has). What fails for a module fails at once the next time, unless it was called off. Any
    /// thread. Since 0.1.
    pub fn hbbp_profile_find_source(profile: *const hbbp_profile, module: u32, address: u64, capacity: usize, frame_size: usize, frames: *mut hbbp_source_frame, place: *mut hbbp_source_place, error: *mut hbbp_error) -> hbbp_status;

    /// What of a module's debug information was missing or damaged, as far as was noticed up to now, as
    /// one line in \`buffer\`, cut where that ends; "" if nothing. For a module of which nothing was asked
    /// before it finds its debug information, and fails as hbbp_profile_find_source does. Any thread.
    /// Since 0.1.
    pub fn hbbp_profile_source_problem(profile: *const hbbp_profile, module: u32, buffer: *mut c_char, buffer_size: usize, error: *mut hbbp_error) -> hbbp_status;

    /// The name of a function as C++ or Rust spells it; the symbol itself if it is no mangled name.
    /// Writes as much as fits into \`buffer\`, always with a final 0, and gives the length of the whole
    /// name without it; NULL and 0 to ask for that. A NULL symbol gives 0. Any thread. Since 0.1.
    pub fn hbbp_demangle(symbol: *const c_char, buffer: *mut c_char, buffer_size: usize) -> usize;

    /// The text of the instruction at an address of a module; address + length is the next one.
    /// Errors: HBBP_ERROR_NOT_FOUND (no module, no code there, or no instruction),
    /// HBBP_ERROR_INVALID_ARGUMENT. Any thread. Since 0.1.
    pub fn hbbp_profile_disassemble(profile: *const hbbp_profile, module: u32, address: u64, disassembly: *mut hbbp_disassembly, error: *mut hbbp_error) -> hbbp_status;
}
