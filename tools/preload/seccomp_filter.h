// Seccomp filters. What the profiler needs of the kernel, a filter of the program seldom allows: a
// system call that it does not allow ends the program. So sampling ends before the filter is
// there, and from then on nothing of ours makes a system call that the program did not ask for.
#ifndef HBBP_TOOLS_PRELOAD_SECCOMP_FILTER_H_
#define HBBP_TOOLS_PRELOAD_SECCOMP_FILTER_H_

namespace hbbp::preload {

// Has the program set a filter, or does it have one from an image before? Async-signal-safe.
bool HasFilter();
void SetHasFilter();

// For constructors: the same, and finds out first whether an image before has set one.
bool HasFilterFromTheStart();

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_SECCOMP_FILTER_H_
