// Seccomp filters of the calling process.
#ifndef HBBP_LIB_BASE_SECCOMP_FILTERS_H_
#define HBBP_LIB_BASE_SECCOMP_FILTERS_H_

namespace hbbp {

// Of its main thread, 0 if /proc does not show it. Before Linux 5.9 what changes with the first
// one. Uses no system calls but those that the dynamic linker has used.
int CountSeccompFilters();

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_SECCOMP_FILTERS_H_
