// Seccomp filters. A filter of the program seldom allows what the profiler needs of the kernel, and
// a system call that it forbids ends the program. So sampling ends before the filter is set, and
// from then on nothing of ours makes a system call that the program did not ask for.
#ifndef HBBP_TOOLS_PRELOAD_SECCOMP_FILTER_H_
#define HBBP_TOOLS_PRELOAD_SECCOMP_FILTER_H_

namespace hbbp::preload {

// Returns whether the program has set a filter, or inherited one from an earlier image.
// Async-signal-safe.
bool HasFilter();
void SetHasFilter();

// Does the same in constructors, after checking whether an earlier image has set one.
bool HasFilterFromTheStart();

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_SECCOMP_FILTER_H_
