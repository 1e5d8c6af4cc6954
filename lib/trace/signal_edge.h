// The edge of signal handlers: what runs in them before and after the times that HandlerTimes has.
// A sample that the kernel held back until it has returned to user mode is at the first
// instruction.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_TRACE_SIGNAL_EDGE_H_
#define HBBP_LIB_TRACE_SIGNAL_EDGE_H_

#include <cstdint>

// Of functions. Their code is in one piece.
#define HBBP_SIGNAL_EDGE [[gnu::section("hbbp_signal_edge")]]

namespace hbbp::trace {

bool IsAtSignalEdge(uint64_t ip);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_SIGNAL_EDGE_H_
