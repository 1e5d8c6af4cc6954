// The environment variables by which `hbbp record` controls libhbbp-preload.so.
#ifndef HBBP_TOOLS_PRELOAD_OPTIONS_H_
#define HBBP_TOOLS_PRELOAD_OPTIONS_H_

namespace hbbp::preload {

// The directory for a file of each program image: PID.TIME.hbbp, or PID.TIME.partial if the image
// did not reach an end that we know of, or PID.TIME.error with the reason why there is no profile.
// TIME is when it began, in nanoseconds of CLOCK_MONOTONIC.
inline constexpr char kDirectoryVariable[] = "HBBP_PRELOAD_DIRECTORY";

// The path of the library: LD_PRELOAD is made from it for children (preload_variable.h).
inline constexpr char kLibraryVariable[] = "HBBP_PRELOAD_LIBRARY";

// The signals that the program must ignore from its start on and could not inherit
// (ignored_signals.h); `hbbp record` sets it to kNoneIgnored.
inline constexpr char kIgnoredVariable[] = "HBBP_PRELOAD_IGNORED";
inline constexpr char kNoneIgnored[] = "000";

// The process id of the requested program. If that one cannot be profiled, it is not run. It writes
// PID.starting into the directory until it is about to run, and PID.started from then on.
inline constexpr char kRootVariable[] = "HBBP_PRELOAD_ROOT";

// The number of seccomp filters that `hbbp record` has itself. An image with more of them has a
// filter of the program, and is not profiled.
inline constexpr char kFiltersVariable[] = "HBBP_PRELOAD_FILTERS";

// Numbers as in hbbp_session_options, and when to stop, in CLOCK_MONOTONIC (0: never): "event
// period-mode period frequency kernel deadline source trace-mode burst branch-period
// expected-seconds event-type event-config ebs-method imprecise slice-ns realtime-offset
// max-overhead max-memory kept-burst-bytes [event-name]"; max-overhead in parts of kOverheadUnit.
inline constexpr char kSessionVariable[] = "HBBP_PRELOAD_SESSION";

// What `hbbp record` has found out about the machine (machine_facts.h). Without it, each image asks
// and measures itself.
inline constexpr char kMachineVariable[] = "HBBP_PRELOAD_MACHINE";

// A whole number does not depend on the locale of the program.
inline constexpr double kOverheadUnit = 1e9;

// A file in the directory, by which `hbbp record` finds out whether it can write there. Marks are
// links to it, because a link costs much less than a new file.
inline constexpr char kProbeFile[] = "probe";

// A FIFO in the directory. Each image has it open while it is profiled, and writes its process id.
inline constexpr char kLiveFifo[] = "live";

// An empty file in the directory: a process has forked, so that there may be one that is not yet
// profiled.
inline constexpr char kForkedMark[] = "forked";

// A file in the directory, of programs that run without the library: a line "TARGET PATH" each, by
// ExecTarget. It gets no longer than so many bytes.
inline constexpr char kUnprofiledFile[] = "unprofiled";
inline constexpr long kMaxUnprofiledBytes = 64 * 1024;

inline constexpr char kProfileSuffix[] = ".hbbp";
inline constexpr char kPartialSuffix[] = ".partial";
inline constexpr char kErrorSuffix[] = ".error";
inline constexpr char kStartingSuffix[] = ".starting";
inline constexpr char kStartedSuffix[] = ".started";

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_OPTIONS_H_
