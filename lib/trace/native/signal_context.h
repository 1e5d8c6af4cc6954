// Registers of the interrupted program out of a signal frame.
//
// Contract: async-signal-safe; reads the frame and writes the MachineState, nothing else.
#ifndef HBBP_LIB_TRACE_NATIVE_SIGNAL_CONTEXT_H_
#define HBBP_LIB_TRACE_NATIVE_SIGNAL_CONTEXT_H_

#include <ucontext.h>

#include <cstdint>

#include "trace/native/machine_state.h"

namespace hbbp::trace {

inline uint64_t Ip(const ucontext_t& context) {
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
}

inline uint64_t StackPointer(const ucontext_t& context) {
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
}

// gpr, rip, flags; fs_base and gs_base of the calling thread. Clears poison and has_vector_state.
void LoadGeneralRegisters(const ucontext_t& context, MachineState* state);

// mxcsr, k, zmm and fxsave from the XSAVE area of the frame (offsets by CPUID leaf 0xD, parts in
// their initial state by XSTATE_BV). What the processor or the frame does not have is zero. Sets
// has_vector_state.
void LoadVectorState(const ucontext_t& context, MachineState* state);

// Finds the XSAVE layout out; before the first use of LoadVectorState, outside signal handlers.
void PrepareSignalContext();

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_SIGNAL_CONTEXT_H_
