// How `hbbp record` tells libhbbp-preload.so what to do: environment variables.
#ifndef HBBP_TOOLS_PRELOAD_OPTIONS_H_
#define HBBP_TOOLS_PRELOAD_OPTIONS_H_

namespace hbbp::preload {

// The folder that takes a file for each program image: PID.NUMBER.hbbp, or PID.NUMBER.error with
// the reason why there is no profile.
inline constexpr char kFolderVariable[] = "HBBP_PRELOAD_FOLDER";

// The process id of the program that was asked for. If that one cannot be profiled, it is not run.
inline constexpr char kRootVariable[] = "HBBP_PRELOAD_ROOT";

// Numbers as in hbbp_session_options, and when to stop, of CLOCK_MONOTONIC (0: never):
// "event period-mode period frequency kernel deadline source trace-mode burst branch-period
// expected-seconds event-type event-config ebs-method imprecise slice-ns
// [event-name]".
inline constexpr char kSessionVariable[] = "HBBP_PRELOAD_SESSION";

inline constexpr char kProfileSuffix[] = ".hbbp";
inline constexpr char kErrorSuffix[] = ".error";

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_OPTIONS_H_
