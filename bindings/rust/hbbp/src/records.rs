//! The elements of the lists of profiles and analyses.

use crate::estimator::Estimator;
use crate::samples::{EbsMethod, Event, PeriodMode, SourceKind, Unit};
use crate::sys;
use crate::text::{address, bytes, index, path, text};
use std::borrow::Cow;
use std::path::Path;

values! {
    /// The kind of a module.
    ModuleKind: i32 {
        /// A mapped ELF file.
        File = HBBP_MODULE_FILE,
        /// The kernel's page of user code.
        Vdso = HBBP_MODULE_VDSO,
        /// Generated code, or code of a file that is not an ELF file.
        Anonymous = HBBP_MODULE_ANONYMOUS,
        /// The kernel, or a module of it.
        Kernel = HBBP_MODULE_KERNEL,
    }
}

values! {
    /// The state of a module's code.
    CodeState: i32 {
        /// It was read from its file, whose build ID is that of the profile.
        File = HBBP_CODE_FILE,
        /// It is stored in the profile.
        Profile = HBBP_CODE_PROFILE,
        /// It was not found: its samples are unexplained.
        Missing = HBBP_CODE_MISSING,
        /// Its file was replaced by another one since, which is like `Missing`.
        Mismatch = HBBP_CODE_MISMATCH,
        /// It has no samples.
        NotSought = HBBP_CODE_NOT_SOUGHT,
        /// The code of a kernel: from /proc/kcore or a core file, else from its vmlinux.
        Core = HBBP_CODE_CORE,
    }
}

values! {
    /// The basis of an average trip count.
    TripBasis: i32 {
        /// It is irreducible, not determined, or neither its entry nor its exit was observed.
        NotKnown = HBBP_TRIPS_UNKNOWN,
        /// Taken branches and streams, into the header and out of the loop.
        Branches = HBBP_TRIPS_BY_BRANCHES,
        /// Counts of blocks.
        Counts = HBBP_TRIPS_BY_COUNTS,
    }
}

values! {
    /// The kind of a data object.
    IbsObjectKind: i32 {
        /// Static data that a symbol names.
        Symbol = HBBP_IBS_SYMBOL,
        /// Data of a module that no symbol names, together by section.
        Section = HBBP_IBS_SECTION,
        /// Memory that the process has named.
        Block = HBBP_IBS_BLOCK,
        /// All other memory together.
        Other = HBBP_IBS_OTHER,
    }
}

records! {
    /// The process and the totals of a profile.
    ProfileInfo<'p>(raw: hbbp_profile_info) {
        /// The process id.
        pid: u32 = raw.pid,
        /// Time since 1970, when the session first started.
        start_time_ns: u64 = raw.start_time_ns,
        /// Time that it ran.
        duration_ns: u64 = raw.duration_ns,
        /// Arguments joined by spaces; may be empty.
        command: Cow<'p, str> = text(raw.command),
        /// Kernel and machine; may be empty.
        host: Cow<'p, str> = text(raw.host),
        /// Samples of all sources, like the next three.
        samples: u64 = raw.samples,
        /// Samples that the kernel had no room for.
        lost: u64 = raw.lost,
        /// Number of times that the kernel throttled sampling.
        throttled: u64 = raw.throttled,
        /// Samples, or targets of taken branches, at addresses that no known mapping contains.
        unmapped: u64 = raw.unmapped,
        /// Number of recordings that it is the sum of; 1 for a recording.
        recordings: u64 = raw.recordings,
        /// Number of bursts and branch stacks that are kept with their branches in order; a burst that misses something
        /// in between is as many as it has parts.
        kept_bursts: u64 = raw.kept_bursts,
        /// Number of those that were counted only, for want of room.
        bursts_not_kept: u64 = raw.bursts_not_kept,
    }

    /// A file, or another region, that contains code.
    Module<'p>(raw: hbbp_module) {
        /// Its kind.
        kind: ModuleKind = ModuleKind::from_raw(raw.kind),
        /// Empty if there is none.
        build_id: &'p [u8] = bytes(raw.build_id, raw.build_id_size),
        /// Path in the mapping: "/usr/bin/lua5.4", "\[vdso\]", "\[kernel\]".
        path: &'p Path = path(raw.path),
        /// EBS: samples in it; SWBT: taken branches into it.
        samples: u64 = raw.samples,
    }

    /// The state of a module's code in an analysis.
    ModuleResult<'p>(raw: hbbp_module_result) {
        /// The state of its code.
        code: CodeState = CodeState::from_raw(raw.code),
        /// Why the code is missing, one line; else empty.
        problem: Cow<'p, str> = text(raw.problem),
        /// For a kernel whose vmlinux exists too: bytes of the functions with samples that the
        /// kernel had rewritten in memory.
        patched_bytes: u64 = raw.patched_bytes,
    }

    /// The attribution of the samples of a source.
    SourceResult(raw: hbbp_source_result) {
        /// Samples in no block: code missing or undecodable; streams that no path through the code
        /// explains.
        unexplained: u64 = raw.unexplained,
        /// Samples in blocks that streams of another source count, which add nothing.
        superseded: u64 = raw.superseded,
        /// Blocks are counted by another event, and none of its samples adds anything.
        is_other_event: bool = raw.is_other_event != 0,
    }

    /// The estimator of an analysis.
    AnalysisInfo(raw: hbbp_analysis_info) {
        /// The estimator; never [`Estimator::Auto`].
        estimator: Estimator = Estimator::from_raw(raw.estimator),
        /// Factor of counts by samples.
        ebs_scale: f64 = raw.ebs_scale,
        /// Factor of counts by streams.
        streams_scale: f64 = raw.streams_scale,
        /// False if no module was observed by both families: counts of both must not be added then.
        is_one_scale: bool = raw.is_one_scale != 0,
    }

    /// A thread that ran.
    Thread<'p>(raw: hbbp_thread) {
        /// Its process id.
        pid: u32 = raw.pid,
        /// Its thread id.
        tid: u32 = raw.tid,
        /// Its name when it was first observed.
        name: Cow<'p, str> = text(raw.name),
        /// Samples; for SWBT bursts.
        samples: u64 = raw.samples,
    }

    /// A source of samples, with its settings and totals.
    SourceInfo<'p>(raw: hbbp_source_info) {
        /// Its kind.
        kind: SourceKind = SourceKind::from_raw(raw.kind),
        /// The event that a period counts.
        event: Event = Event::from_raw(raw.event),
        /// How periods follow each other.
        period_mode: PeriodMode = PeriodMode::from_raw(raw.period_mode),
        /// Whether block counts are absolute.
        unit: Unit = Unit::from_raw(raw.unit),
        /// Whether kernel code was sampled too.
        include_kernel: bool = raw.include_kernel != 0,
        /// Requested period, in occurrences of the event; 0: by frequency.
        period: u64 = raw.period,
        /// Requested frequency, instead of a period.
        frequency_hz: u64 = raw.frequency_hz,
        /// Samples; for SWBT bursts that arrived.
        samples: u64 = raw.samples,
        /// Samples that the kernel had no room for.
        lost: u64 = raw.lost,
        /// Number of times that the kernel throttled sampling.
        throttled: u64 = raw.throttled,
        /// Samples, or targets of taken branches, at addresses that no known mapping contains.
        unmapped: u64 = raw.unmapped,
        /// What was assumed or chosen and why, one line; may be empty.
        note: Cow<'p, str> = text(raw.note),
        /// SWBT: bursts of the tracer.
        bursts: u64 = raw.bursts,
        /// SWBT: taken branches in them.
        taken_branches: u64 = raw.taken_branches,
        /// SWBT: breakpoints that were hit.
        breakpoints: u64 = raw.breakpoints,
        /// SWBT: instructions interpreted.
        lookahead_instructions: u64 = raw.lookahead_instructions,
        /// SWBT: instructions decoded, because they were unknown yet.
        decoded_instructions: u64 = raw.decoded_instructions,
        /// SWBT: time in signal handlers.
        handler_ns: u64 = raw.handler_ns,
        /// [`TraceMode::Verify`](crate::TraceMode::Verify): branches compared with a native walk.
        verified_branches: u64 = raw.verified_branches,
        /// Of these, the wrong ones.
        disagreements: u64 = raw.disagreements,
        /// SWBT: "lookahead", "breakpoint", "verify"; after a merge of different ones, all of them.
        mode: Cow<'p, str> = text(raw.mode),
        /// SWBT: the method of sampling and stepping, and why a better one was unavailable.
        method: Cow<'p, str> = text(raw.method),
        /// Name in the spelling of the recording, the vendor or libpfm4, if `event` is not
        /// sufficient.
        event_name: Cow<'p, str> = text(raw.event_name),
        /// precise_ip of its `perf_event_attr`: 0 (any skid) to 3 (none).
        precise_ip: u32 = raw.precise_ip,
        /// Which instruction a sample counts for.
        ebs_method: EbsMethod = EbsMethod::from_raw(raw.ebs_method),
        /// Smallest period of the samples of an imported source; 0: it has none.
        smallest_period: u64 = raw.smallest_period,
        /// Largest period of these samples.
        largest_period: u64 = raw.largest_period,
        /// SWBT and LBR: the weight of a burst is its period over the occurrences of the event in
        /// what it covers (of a clock: over how long that takes by a model), not over its streams.
        extent_in_events: bool = raw.extent_in_events != 0,
    }

    /// A number and what it counts.
    Counter<'p>(raw: hbbp_counter) {
        /// Name, which is stable: "system-call".
        name: Cow<'p, str> = text(raw.name),
        /// The number.
        value: u64 = raw.value,
    }

    /// A taken branch, by all threads and sources.
    Branch(raw: hbbp_branch) {
        /// Index of the module that contains the branch; none: in no known mapping.
        from_module: Option<usize> = index(raw.from_module),
        /// Address of the branch instruction, in its module; none: the module is unknown, or its
        /// code is missing.
        from: Option<u64> = address(raw.from),
        /// Index of the module of its target.
        to_module: Option<usize> = index(raw.to_module),
        /// Address of its target.
        to: Option<u64> = address(raw.to),
        /// Number of times that it was observed.
        samples: u64 = raw.samples,
        /// Executions, on the scale of [`Block::count`]; 0 if it was only ever the last branch of a
        /// burst, which no stream follows.
        count: f64 = raw.count,
        /// For hardware branch stacks: how often it was the oldest entry.
        oldest: u64 = raw.oldest,
        /// How often that would be if each entry of a stack were equally likely.
        oldest_expected: f64 = raw.oldest_expected,
    }

    /// A basic block.
    Block(raw: hbbp_block) {
        /// Index of its module.
        module: usize = raw.module as usize,
        /// Address in the module.
        start: u64 = raw.start,
        /// End address, exclusive.
        end: u64 = raw.end,
        /// Number of instructions.
        instruction_count: u32 = raw.instruction_count,
        /// Index of its function; none for a block of
        /// [`find_block`](crate::Analysis::find_block) in a function without samples.
        function: Option<usize> = index(raw.function),
        /// Source of the count; [`SourceKind::None`] if it was not observed.
        source: SourceKind = SourceKind::from_raw(raw.source),
        /// A branch of the block was the oldest entry of branch stacks far more often than by
        /// chance: its count by LBR is suspect.
        is_biased: bool = raw.flags & sys::HBBP_BLOCK_BIASED != 0,
        /// Number of executions.
        count: f64 = raw.count,
        /// Standard error of `count`.
        standard_error: f64 = raw.standard_error,
        /// Number of samples behind the count; SWBT: streams across it.
        samples: u64 = raw.samples,
        /// How often its branches were the oldest of their branch stacks, relative to the
        /// expectation if each entry were equally likely; 0: in no stack.
        bias_ratio: f64 = raw.bias_ratio,
        /// Maximum probability of that or more, if each entry is equally likely; 1: not more.
        bias_chance: f64 = raw.bias_chance,
    }

    /// A function that ran.
    Function<'p>(raw: hbbp_function) {
        /// Index of its module.
        module: usize = raw.module as usize,
        /// Address in the module.
        start: u64 = raw.start,
        /// End address, exclusive.
        end: u64 = raw.end,
        /// Symbol; "0x1234" if it has none.
        name: Cow<'p, str> = text(raw.name),
        /// Instructions executed in it.
        instructions: f64 = raw.instructions,
        /// Standard error of `instructions`.
        standard_error: f64 = raw.standard_error,
        /// EBS: samples in it; SWBT: streams into it.
        samples: u64 = raw.samples,
        /// Its name in C++ or Rust; `name` if that is not mangled.
        demangled_name: Cow<'p, str> = text(raw.demangled_name),
    }

    /// An instruction of a module.
    Instruction(raw: hbbp_instruction) {
        /// Its address.
        address: u64 = raw.address,
        /// Length in bytes.
        length: u32 = raw.length,
        /// Mnemonic: Intel's, lower case, without prefixes.
        mnemonic: Cow<'static, str> = text(raw.mnemonic),
    }

    /// A loop that ran. Unknown numbers are 0. Each error is one sigma.
    Loop(raw: hbbp_loop) {
        /// Index of its module.
        module: usize = raw.module as usize,
        /// Index of its function.
        function: usize = raw.function as usize,
        /// Index of the loop around it, which is smaller.
        parent: Option<usize> = index(raw.parent),
        /// 1: the loop is in no other loop.
        depth: u32 = raw.depth,
        /// The region can be entered at several blocks; `header` is one of them.
        is_irreducible: bool = raw.flags & sys::HBBP_LOOP_IRREDUCIBLE != 0,
        /// Samples in its code, including the loops in it.
        blocks: u32 = raw.blocks,
        /// The basis of `trip_count`.
        trip_basis: TripBasis = TripBasis::from_raw(raw.trip_basis),
        /// Address of the header in the module.
        header: u64 = raw.header,
        /// Number of entries.
        entries: f64 = raw.entries,
        /// Standard error of `entries`.
        entries_error: f64 = raw.entries_error,
        /// Executions of the header.
        iterations: f64 = raw.iterations,
        /// Standard error of `iterations`.
        iterations_error: f64 = raw.iterations_error,
        /// Average trip count, by branches if they determine it, else by counts.
        trip_count: f64 = raw.trip_count,
        /// Standard error of `trip_count`.
        trip_count_error: f64 = raw.trip_count_error,
        /// Average by taken branches.
        trip_count_by_branches: f64 = raw.trip_count_by_branches,
        /// Standard error of `trip_count_by_branches`.
        trip_count_by_branches_error: f64 = raw.trip_count_by_branches_error,
        /// Average by counts of blocks.
        trip_count_by_counts: f64 = raw.trip_count_by_counts,
        /// Standard error of `trip_count_by_counts`.
        trip_count_by_counts_error: f64 = raw.trip_count_by_counts_error,
        /// Instructions executed in it.
        instructions: f64 = raw.instructions,
        /// Standard error of `instructions`.
        instructions_error: f64 = raw.instructions_error,
        /// Instructions that are in no loop within it.
        own_instructions: f64 = raw.own_instructions,
        /// Standard error of `own_instructions`.
        own_instructions_error: f64 = raw.own_instructions_error,
    }

    /// A slice of time. Slices follow one after the other from the start of the profile.
    Slice(raw: hbbp_slice) {
        /// Time after the start of the profile.
        start_ns: u64 = raw.start_ns,
        /// End, exclusive.
        end_ns: u64 = raw.end_ns,
        /// Samples that were taken in it, and bursts that ended then.
        samples: u64 = raw.samples,
    }

    /// An event of one instruction, as IBS of AMD reports it.
    IbsSum<'p>(raw: hbbp_ibs_sum) {
        /// Index of its module.
        module: usize = raw.module as usize,
        /// Index of its function.
        function: Option<usize> = index(raw.function),
        /// Name: "op-dc-misses".
        event: Cow<'p, str> = text(raw.event),
        /// Address in the module; none: sum of all instructions of a module whose code is missing.
        address: Option<u64> = address(raw.address),
        /// Number of samples or cycles, never 0.
        sum: u64 = raw.sum,
    }

    /// Samples of one source that count for one instruction.
    IpSum(raw: hbbp_ip_sum) {
        /// Index of its module.
        module: usize = raw.module as usize,
        /// Index of its function.
        function: Option<usize> = index(raw.function),
        /// Index of the source in the profile.
        source: usize = raw.source as usize,
        /// Address in the module; none: all instructions of a module that are not known.
        address: Option<u64> = address(raw.address),
        /// Number of samples, never 0.
        samples: u64 = raw.samples,
    }

    /// Loads of one instruction that had their data from one level of memory, with a latency in
    /// one range, as IBS of AMD reports them.
    IbsLatency<'p>(raw: hbbp_ibs_latency) {
        /// Index of its module.
        module: usize = raw.module as usize,
        /// Index of its function.
        function: Option<usize> = index(raw.function),
        /// Level of memory: "l1", "l2", "local-l3", "local-cache", "local-dram", ...
        level: Cow<'p, str> = text(raw.level),
        /// Address in the module; none: all instructions of a module whose code is missing.
        address: Option<u64> = address(raw.address),
        /// Start of the range.
        first_cycles: u64 = raw.first_cycles,
        /// End of the range, exclusive.
        end_cycles: u64 = raw.end_cycles,
        /// Number of samples, never 0.
        samples: u64 = raw.samples,
    }

    /// Accesses to one data object, as IBS of AMD reports them.
    IbsObject<'p>(raw: hbbp_ibs_object) {
        /// Its kind.
        kind: IbsObjectKind = IbsObjectKind::from_raw(raw.kind),
        /// Index of its module; none: it is not of a file.
        module: Option<usize> = index(raw.module),
        /// Name: of its symbol, its section or its block.
        name: Cow<'p, str> = text(raw.name),
        /// Address in the module.
        address: Option<u64> = address(raw.address),
        /// Bytes; 0: unknown.
        size: u64 = raw.size,
        /// Number of threads that accessed it.
        threads: u32 = raw.threads,
        /// Samples of loads, like the next two.
        loads: u64 = raw.loads,
        /// Samples of stores.
        stores: u64 = raw.stores,
        /// Misses of the L1 data cache.
        misses: u64 = raw.misses,
        /// Cycles of these misses, of loads.
        miss_cycles: u64 = raw.miss_cycles,
        /// Loads with data from beyond the caches of their core, from its node.
        local: u64 = raw.local,
        /// Likewise, from another node.
        remote: u64 = raw.remote,
    }

    /// IBS samples whose latency was in one range.
    IbsBucket<'p>(raw: hbbp_ibs_bucket) {
        /// Name: "tag-to-retire", "completion-to-retire", "dc-miss", "dtlb-refill", "fetch",
        /// "itlb-refill".
        latency: Cow<'p, str> = text(raw.latency),
        /// Start of the range.
        first_cycles: u64 = raw.first_cycles,
        /// End of the range, exclusive.
        end_cycles: u64 = raw.end_cycles,
        /// Number of samples, never 0.
        samples: u64 = raw.samples,
    }

    /// Accesses of one thread to one line of 64 bytes, as IBS of AMD reports them.
    IbsLine(raw: hbbp_ibs_line) {
        /// Its process id.
        pid: u32 = raw.pid,
        /// Its thread id.
        tid: u32 = raw.tid,
        /// NUMA node of the memory, if it is known.
        node: Option<usize> = index(raw.node),
        /// Address of the first byte, in the memory of the process.
        address: u64 = raw.address,
        /// Samples of loads, like the next two.
        loads: u64 = raw.loads,
        /// Samples of stores.
        stores: u64 = raw.stores,
        /// Misses of the L1 data cache.
        misses: u64 = raw.misses,
        /// Cycles of these misses, of loads.
        miss_cycles: u64 = raw.miss_cycles,
        /// Loads with data from beyond the caches of their core, from its node.
        local: u64 = raw.local,
        /// Likewise, from another node.
        remote: u64 = raw.remote,
    }
}
