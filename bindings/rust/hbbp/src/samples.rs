//! The kinds of observation of a session.

values! {
    /// The kind of a source.
    SourceKind: i32 {
        /// None. As an option: `Auto`.
        None = HBBP_SOURCE_NONE,
        /// Event-based sampling: an instruction pointer per period.
        Ebs = HBBP_SOURCE_EBS,
        /// Last branch records.
        Lbr = HBBP_SOURCE_LBR,
        /// Instruction-based sampling of AMD.
        Ibs = HBBP_SOURCE_IBS,
        /// Software branch tracing.
        Swbt = HBBP_SOURCE_SWBT,
        /// Exact counts from instrumentation.
        Truth = HBBP_SOURCE_TRUTH,
        /// Only in options: the best source of this machine, which is branch records of the
        /// hardware, else software branch tracing, else event-based sampling.
        Auto = HBBP_SOURCE_AUTO,
        /// Only in options: both at once, with the same period.
        EbsAndSwbt = HBBP_SOURCE_EBS_AND_SWBT,
        /// Only for counts of blocks: several sources together.
        Combined = HBBP_SOURCE_COMBINED,
        /// Only in options: nothing but sources of the host.
        External = HBBP_SOURCE_EXTERNAL,
        /// Only in options: branch records of the hardware, else event-based sampling, and never
        /// signal handlers.
        Perf = HBBP_SOURCE_PERF,
    }
}

values! {
    /// The event whose occurrences make up a period.
    Event: i32 {
        /// Instructions where a counter of the PMU costs little at context switches, else the task
        /// clock.
        Auto = HBBP_EVENT_AUTO,
        /// Nanoseconds that a thread ran.
        TaskClock = HBBP_EVENT_TASK_CLOCK,
        /// Nanoseconds by the clock of the CPU.
        CpuClock = HBBP_EVENT_CPU_CLOCK,
        /// Instructions retired, as precise as the PMU allows.
        Instructions = HBBP_EVENT_INSTRUCTIONS,
        /// Cycles.
        Cycles = HBBP_EVENT_CYCLES,
        /// Only for sources, not in options: taken branches.
        TakenBranches = HBBP_EVENT_TAKEN_BRANCHES,
        /// Only for sources, not in options: the name of the event defines it.
        Other = HBBP_EVENT_OTHER,
        /// Only for sources, not in options: uops dispatched, as IBS of AMD counts them.
        Uops = HBBP_EVENT_UOPS,
    }
}

values! {
    /// How periods follow each other.
    PeriodMode: i32 {
        /// The largest prime that is not above the period, which avoids resonance.
        Prime = HBBP_PERIOD_PRIME,
        /// Exactly the period.
        Fixed = HBBP_PERIOD_FIXED,
        /// A random period within 12.5 % of the period, a new one every time that samples are
        /// collected.
        Random = HBBP_PERIOD_RANDOM,
        /// Of sources, not of options: the kernel adapts it to a frequency.
        ByFrequency = HBBP_PERIOD_BY_FREQUENCY,
    }
}

values! {
    /// How software branch tracing resolves branches that the code alone does not determine.
    TraceMode: i32 {
        /// By interpretation; by a breakpoint where that fails.
        Lookahead = HBBP_TRACE_LOOKAHEAD,
        /// By a breakpoint each.
        Breakpoint = HBBP_TRACE_BREAKPOINT,
        /// By interpretation, each compared with the result of a breakpoint.
        Verify = HBBP_TRACE_VERIFY,
    }
}

values! {
    /// Which instruction a sample counts for.
    EbsMethod: i32 {
        /// `IpPlusOne` for precise events with branch stacks, else `Plain`.
        Auto = HBBP_EBS_AUTO,
        /// The one at its instruction pointer.
        Plain = HBBP_EBS_PLAIN,
        /// The one that was executed before that, if the newest branch of the sample determines it.
        IpPlusOne = HBBP_EBS_IP_PLUS_ONE,
    }
}

values! {
    /// What a period of a source counts.
    Unit: i32 {
        /// Instructions: block counts are absolute.
        Instructions = HBBP_UNIT_INSTRUCTIONS,
        /// Time: block counts are up to a factor.
        Nanoseconds = HBBP_UNIT_NANOSECONDS,
        /// Like `Nanoseconds`, but absolute by branch stacks that weigh by their cycles.
        Cycles = HBBP_UNIT_CYCLES,
        /// Taken branches: block counts are absolute.
        TakenBranches = HBBP_UNIT_TAKEN_BRANCHES,
        /// Like `Nanoseconds`.
        Events = HBBP_UNIT_EVENTS,
        /// Dispatched micro-operations: block counts are absolute, as far as the number per
        /// instruction is known.
        Uops = HBBP_UNIT_UOPS,
    }
}
