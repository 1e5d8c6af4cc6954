// The edge of signal handlers: what runs in them before and after the times that HandlerTimes has.
// A sample that the kernel held back until it has returned to user mode is at the first
// instruction.
//
// Contract: plain functions without state.
#ifndef HBBP_LIB_TRACE_SIGNAL_EDGE_H_
#define HBBP_LIB_TRACE_SIGNAL_EDGE_H_

#include <cstdint>

// Of functions. Their code is in one piece.
#define HBBP_SIGNAL_EDGE [[gnu::section("hbbp_signal_edge")]]

namespace hbbp::trace {

// The linker has these of any section whose name may be one in C.
[[gnu::visibility("hidden")]] extern const char kSignalEdgeStart[] asm("__start_hbbp_signal_edge");
[[gnu::visibility("hidden")]] extern const char kSignalEdgeEnd[] asm("__stop_hbbp_signal_edge");

inline bool IsAtSignalEdge(uint64_t ip) {
  return ip >= reinterpret_cast<uint64_t>(kSignalEdgeStart) &&
         ip < reinterpret_cast<uint64_t>(kSignalEdgeEnd);
}

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_SIGNAL_EDGE_H_
