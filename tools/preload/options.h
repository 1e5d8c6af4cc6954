// How `hbbp record` tells libhbbp-preload.so what to do: environment variables.
#ifndef HBBP_TOOLS_PRELOAD_OPTIONS_H_
#define HBBP_TOOLS_PRELOAD_OPTIONS_H_

namespace hbbp::preload {

// The directory that takes a file for each program image: PID.TIME.hbbp, or PID.TIME.partial if the
// image has not been at an end that we know of, or PID.TIME.error with the reason why there is no
// profile. TIME is when it began, in nanoseconds of CLOCK_MONOTONIC.
inline constexpr char kFolderVariable[] = "HBBP_PRELOAD_FOLDER";

// The library itself: LD_PRELOAD is put together from it for children (preload_variable.h).
inline constexpr char kLibraryVariable[] = "HBBP_PRELOAD_LIBRARY";

// Signals that the program has to ignore from its start on, which it could not inherit
// (ignored_signals.h); as `hbbp record` sets it, kNoneIgnored.
inline constexpr char kIgnoredVariable[] = "HBBP_PRELOAD_IGNORED";
inline constexpr char kNoneIgnored[] = "000";

// The process id of the program that was asked for. If that one cannot be profiled, it is not run.
// It leaves PID.starting in the directory until it is about to run, and PID.started from then on.
inline constexpr char kRootVariable[] = "HBBP_PRELOAD_ROOT";

// The number of seccomp filters that `hbbp record` has itself. An image with more of them has a
// filter of the program, and is not profiled.
inline constexpr char kFiltersVariable[] = "HBBP_PRELOAD_FILTERS";

// Numbers as in hbbp_session_options, and when to stop, of CLOCK_MONOTONIC (0: never):
// "event period-mode period frequency kernel deadline source trace-mode burst branch-period
// expected-seconds event-type event-config ebs-method imprecise slice-ns realtime-offset
// [event-name]".
inline constexpr char kSessionVariable[] = "HBBP_PRELOAD_SESSION";

inline constexpr char kProfileSuffix[] = ".hbbp";
inline constexpr char kPartialSuffix[] = ".partial";
inline constexpr char kErrorSuffix[] = ".error";
inline constexpr char kStartingSuffix[] = ".starting";
inline constexpr char kStartedSuffix[] = ".started";

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_OPTIONS_H_
