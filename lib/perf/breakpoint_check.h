// BreakpointsAreHit says whether execution breakpoints, which the kernel lets a program set, are
// ever hit. Some hypervisors give the guest debug registers that do nothing: events open, and no
// exception comes.
#ifndef HBBP_LIB_PERF_BREAKPOINT_CHECK_H_
#define HBBP_LIB_PERF_BREAKPOINT_CHECK_H_

namespace hbbp {

inline constexpr char kNeverHit[] =
    "breakpoints can be set but are never hit: the hypervisor does not deliver them";

// Sets one and hits it, which takes some 30 us, in the first call of the process. Also returns true
// where none can be set, which whoever sets one finds out.
bool BreakpointsAreHit();

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_BREAKPOINT_CHECK_H_
