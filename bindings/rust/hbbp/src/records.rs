//! What the lists of profiles and analyses are of.

use crate::estimator::Estimator;
use crate::samples::{EbsMethod, Event, PeriodMode, SourceKind, Unit};
use crate::sys;
use crate::text::{address, bytes, index, path, text};
use std::borrow::Cow;
use std::path::Path;

values! {
    /// What a module is.
    ModuleKind: i32 {
        /// A mapped ELF file.
        File = HBBP_MODULE_FILE,
        /// The kernel's page of user code.
        Vdso = HBBP_MODULE_VDSO,
        /// Generated code, or code of a file that is no ELF.
        Anonymous = HBBP_MODULE_ANONYMOUS,
        /// The kernel, or a module of it.
        Kernel = HBBP_MODULE_KERNEL,
    }
}

values! {
    /// How the code of a module was found.
    CodeState: i32 {
        /// In its file, whose build ID is the one that ran.
        File = HBBP_CODE_FILE,
        /// Stored in the profile.
        Profile = HBBP_CODE_PROFILE,
        /// Not found: its samples are unexplained.
        Missing = HBBP_CODE_MISSING,
        /// Its file was replaced by another one since: as `Missing`.
        Mismatch = HBBP_CODE_MISMATCH,
        /// It has no samples.
        NotSought = HBBP_CODE_NOT_SOUGHT,
        /// Of a kernel: in /proc/kcore or a core file, else in its vmlinux.
        Core = HBBP_CODE_CORE,
    }
}

values! {
    /// How an average trip count is known.
    TripBasis: i32 {
        /// Irreducible, not determined, or seen neither entered nor left.
        NotKnown = HBBP_TRIPS_UNKNOWN,
        /// Taken branches and streams, into the header and out of the loop.
        Branches = HBBP_TRIPS_BY_BRANCHES,
        /// Counts of blocks.
        Counts = HBBP_TRIPS_BY_COUNTS,
    }
}

records! {
    /// What a profile is of.
    ProfileInfo<'p>(raw: hbbp_profile_info) {
        /// The process.
        pid: u32 = raw.pid,
        /// Since 1970, when the session first started.
        start_time_ns: u64 = raw.start_time_ns,
        /// That it ran.
        duration_ns: u64 = raw.duration_ns,
        /// Arguments joined by spaces; may be empty.
        command: Cow<'p, str> = text(raw.command),
        /// Kernel and machine; may be empty.
        host: Cow<'p, str> = text(raw.host),
        /// Of all sources, as the next three.
        samples: u64 = raw.samples,
        /// The kernel had no room for them.
        lost: u64 = raw.lost,
        /// Times that the kernel held sampling back.
        throttled: u64 = raw.throttled,
        /// Samples, or targets of taken branches, at addresses that no known mapping contains.
        unmapped: u64 = raw.unmapped,
    }

    /// A file, or another region, that has code.
    Module<'p>(raw: hbbp_module) {
        /// What it is.
        kind: ModuleKind = ModuleKind::from_raw(raw.kind),
        /// Empty if there is none.
        build_id: &'p [u8] = bytes(raw.build_id, raw.build_id_size),
        /// As mapped: "/usr/bin/lua5.4", "\[vdso\]", "\[kernel\]".
        path: &'p Path = path(raw.path),
        /// EBS: in it; SWBT: taken branches into it.
        samples: u64 = raw.samples,
    }

    /// What an analysis found of the code of a module.
    ModuleResult<'p>(raw: hbbp_module_result) {
        /// How its code was found.
        code: CodeState = CodeState::from_raw(raw.code),
        /// Why the code is missing, one line; else empty.
        problem: Cow<'p, str> = text(raw.problem),
        /// Of a kernel whose vmlinux is there too: bytes of the functions with samples that the
        /// kernel had rewritten in memory.
        patched_bytes: u64 = raw.patched_bytes,
    }

    /// What became of the samples of a source.
    SourceResult(raw: hbbp_source_result) {
        /// In no block: code missing or undecodable; streams that no path through the code explains.
        unexplained: u64 = raw.unexplained,
        /// In blocks that streams of another source count, which add nothing.
        superseded: u64 = raw.superseded,
    }

    /// How an analysis counted.
    AnalysisInfo(raw: hbbp_analysis_info) {
        /// Never [`Estimator::Auto`].
        estimator: Estimator = Estimator::from_raw(raw.estimator),
        /// What counts by samples were multiplied by.
        ebs_scale: f64 = raw.ebs_scale,
        /// What counts by streams were multiplied by.
        streams_scale: f64 = raw.streams_scale,
        /// Not so if no module was observed by both families: counts of both are not to be added
        /// then.
        is_one_scale: bool = raw.is_one_scale != 0,
    }

    /// A thread that ran.
    Thread<'p>(raw: hbbp_thread) {
        /// Its process.
        pid: u32 = raw.pid,
        /// Its number.
        tid: u32 = raw.tid,
        /// As the kernel had it when it was first seen.
        name: Cow<'p, str> = text(raw.name),
        /// SWBT: bursts.
        samples: u64 = raw.samples,
    }

    /// Where samples came from, and how many.
    SourceInfo<'p>(raw: hbbp_source_info) {
        /// Its kind.
        kind: SourceKind = SourceKind::from_raw(raw.kind),
        /// What a period counts.
        event: Event = Event::from_raw(raw.event),
        /// How periods followed each other.
        period_mode: PeriodMode = PeriodMode::from_raw(raw.period_mode),
        /// Whether block counts are absolute.
        unit: Unit = Unit::from_raw(raw.unit),
        /// Kernel code was sampled too.
        include_kernel: bool = raw.include_kernel != 0,
        /// Asked for, in occurrences of the event; 0: by frequency.
        period: u64 = raw.period,
        /// Asked for instead of a period.
        frequency_hz: u64 = raw.frequency_hz,
        /// SWBT: bursts that arrived.
        samples: u64 = raw.samples,
        /// The kernel had no room for them.
        lost: u64 = raw.lost,
        /// Times that the kernel held sampling back.
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
        /// SWBT: instructions decoded, because they were not known yet.
        decoded_instructions: u64 = raw.decoded_instructions,
        /// SWBT: time in signal handlers.
        handler_ns: u64 = raw.handler_ns,
        /// [`TraceMode::Verify`](crate::TraceMode::Verify): branches compared with a native walk.
        verified_branches: u64 = raw.verified_branches,
        /// Of these, wrong.
        disagreements: u64 = raw.disagreements,
        /// SWBT: "lookahead", "breakpoint", "verify"; after a merge of different ones, all of them.
        mode: Cow<'p, str> = text(raw.mode),
        /// SWBT: what it sampled and stepped with, and why nothing better.
        method: Cow<'p, str> = text(raw.method),
        /// Where `event` does not say it all: as the recording, the vendor or libpfm4 spells it.
        event_name: Cow<'p, str> = text(raw.event_name),
        /// Of its `perf_event_attr`: 0 (any skid) to 3 (none).
        precise_ip: u32 = raw.precise_ip,
        /// Which instruction a sample counts for.
        ebs_method: EbsMethod = EbsMethod::from_raw(raw.ebs_method),
        /// Of the samples of an imported source; 0: it has none.
        smallest_period: u64 = raw.smallest_period,
        /// The same.
        largest_period: u64 = raw.largest_period,
    }

    /// A number and what it counts.
    Counter<'p>(raw: hbbp_counter) {
        /// Stable: "system-call".
        name: Cow<'p, str> = text(raw.name),
        /// The number.
        value: u64 = raw.value,
    }

    /// A taken branch, by all threads and sources.
    Branch(raw: hbbp_branch) {
        /// Index of the module that it left; none: in no known mapping.
        from_module: Option<usize> = index(raw.from_module),
        /// Of the branch instruction, in its module; none: the module is not known, or its code is
        /// missing.
        from: Option<u64> = address(raw.from),
        /// Index of the module that it came to.
        to_module: Option<usize> = index(raw.to_module),
        /// Where it came to.
        to: Option<u64> = address(raw.to),
        /// Times that it was observed.
        samples: u64 = raw.samples,
        /// Executions, on the scale of [`Block::count`]; 0 if it was only ever the last branch of a
        /// burst, which no stream follows.
        count: f64 = raw.count,
        /// Of hardware branch stacks: how often it was the oldest entry.
        oldest: u64 = raw.oldest,
        /// How often it would have been if each entry of a stack were as likely.
        oldest_expected: f64 = raw.oldest_expected,
    }

    /// A basic block.
    Block(raw: hbbp_block) {
        /// Index of its module.
        module: usize = raw.module as usize,
        /// Address in the module.
        start: u64 = raw.start,
        /// Exclusive.
        end: u64 = raw.end,
        /// How many instructions it has.
        instruction_count: u32 = raw.instruction_count,
        /// Index of its function; none for a block of
        /// [`find_block`](crate::Analysis::find_block) in a function without samples.
        function: Option<usize> = index(raw.function),
        /// Whose count was used; [`SourceKind::None`] if it was never seen.
        source: SourceKind = SourceKind::from_raw(raw.source),
        /// A branch of the block was the oldest entry of branch stacks far more often than that can
        /// be by chance: its count by LBR is suspect.
        is_biased: bool = raw.flags & sys::HBBP_BLOCK_BIASED != 0,
        /// Executions.
        count: f64 = raw.count,
        /// Of `count`: one sigma.
        standard_error: f64 = raw.standard_error,
        /// That the count rests on; SWBT: streams across it.
        samples: u64 = raw.samples,
        /// How often its branches were the oldest of their branch stacks, by how often they would
        /// have been if each entry were as likely; 0: in no stack.
        bias_ratio: f64 = raw.bias_ratio,
        /// Of that or more, at most, if each entry is as likely; 1: not more.
        bias_chance: f64 = raw.bias_chance,
    }

    /// A function that ran.
    Function<'p>(raw: hbbp_function) {
        /// Index of its module.
        module: usize = raw.module as usize,
        /// Address in the module.
        start: u64 = raw.start,
        /// Exclusive.
        end: u64 = raw.end,
        /// As the symbol table has it; [`demangle`](crate::demangle) gives what people read.
        /// "0x1234" if it has none.
        name: Cow<'p, str> = text(raw.name),
        /// Executed in it.
        instructions: f64 = raw.instructions,
        /// Of `instructions`: one sigma.
        standard_error: f64 = raw.standard_error,
        /// EBS: in it; SWBT: streams that came into it.
        samples: u64 = raw.samples,
    }

    /// An instruction of a module.
    Instruction(raw: hbbp_instruction) {
        /// Where it is.
        address: u64 = raw.address,
        /// Bytes.
        length: u32 = raw.length,
        /// Intel's, lower case, without prefixes.
        mnemonic: Cow<'static, str> = text(raw.mnemonic),
    }

    /// A loop that ran. Numbers that are not known are 0. Each error is one sigma.
    Loop(raw: hbbp_loop) {
        /// Index of its module.
        module: usize = raw.module as usize,
        /// Index of its function.
        function: usize = raw.function as usize,
        /// Index of the loop around it, which is smaller.
        parent: Option<usize> = index(raw.parent),
        /// 1: no loop is around it.
        depth: u32 = raw.depth,
        /// A region that can be entered at several blocks; `header` is one of them.
        is_irreducible: bool = raw.flags & sys::HBBP_LOOP_IRREDUCIBLE != 0,
        /// Of its code, with those of the loops in it.
        blocks: u32 = raw.blocks,
        /// Of `trip_count`.
        trip_basis: TripBasis = TripBasis::from_raw(raw.trip_basis),
        /// Address in the module.
        header: u64 = raw.header,
        /// How often it was entered.
        entries: f64 = raw.entries,
        /// Of `entries`.
        entries_error: f64 = raw.entries_error,
        /// Executions of the header.
        iterations: f64 = raw.iterations,
        /// Of `iterations`.
        iterations_error: f64 = raw.iterations_error,
        /// Average; by branches if they say it, else by counts.
        trip_count: f64 = raw.trip_count,
        /// Of `trip_count`.
        trip_count_error: f64 = raw.trip_count_error,
        /// Average by taken branches.
        trip_count_by_branches: f64 = raw.trip_count_by_branches,
        /// Of `trip_count_by_branches`.
        trip_count_by_branches_error: f64 = raw.trip_count_by_branches_error,
        /// Average by counts of blocks.
        trip_count_by_counts: f64 = raw.trip_count_by_counts,
        /// Of `trip_count_by_counts`.
        trip_count_by_counts_error: f64 = raw.trip_count_by_counts_error,
        /// Executed in it.
        instructions: f64 = raw.instructions,
        /// Of `instructions`.
        instructions_error: f64 = raw.instructions_error,
        /// Those that are in no loop within it.
        own_instructions: f64 = raw.own_instructions,
        /// Of `own_instructions`.
        own_instructions_error: f64 = raw.own_instructions_error,
    }

    /// A slice of time. Slices begin one after the other at the start of the profile.
    Slice(raw: hbbp_slice) {
        /// After the start of the profile.
        start_ns: u64 = raw.start_ns,
        /// Exclusive.
        end_ns: u64 = raw.end_ns,
        /// That were taken in it, and bursts that ended then.
        samples: u64 = raw.samples,
    }

    /// An event of one instruction, as IBS of AMD reports it.
    IbsSum<'p>(raw: hbbp_ibs_sum) {
        /// Index of its module.
        module: usize = raw.module as usize,
        /// Index of its function.
        function: Option<usize> = index(raw.function),
        /// "op-dc-misses".
        event: Cow<'p, str> = text(raw.event),
        /// In the module; none: of all instructions of a module whose code is missing.
        address: Option<u64> = address(raw.address),
        /// Of samples or cycles, never 0.
        sum: u64 = raw.sum,
    }

    /// IBS samples whose latency was in one range.
    IbsBucket<'p>(raw: hbbp_ibs_bucket) {
        /// "tag-to-retire", "completion-to-retire", "dc-miss", "dtlb-refill", "fetch", "itlb-refill".
        latency: Cow<'p, str> = text(raw.latency),
        /// Where the range begins.
        first_cycles: u64 = raw.first_cycles,
        /// Exclusive.
        end_cycles: u64 = raw.end_cycles,
        /// Never 0.
        samples: u64 = raw.samples,
    }

    /// Accesses of one thread to one line of 64 bytes, as IBS of AMD reports them.
    IbsLine(raw: hbbp_ibs_line) {
        /// The process.
        pid: u32 = raw.pid,
        /// The thread.
        tid: u32 = raw.tid,
        /// Of the first byte, in the memory of the process.
        address: u64 = raw.address,
        /// Samples, as the next two.
        loads: u64 = raw.loads,
        /// Samples of stores.
        stores: u64 = raw.stores,
        /// Of the L1 data cache.
        misses: u64 = raw.misses,
        /// Of loads.
        miss_cycles: u64 = raw.miss_cycles,
    }
}
