// Loads the registers of the interrupted program from a signal frame.
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

// Loads gpr, rip and flags, and fs_base and gs_base of the calling thread. Clears poison and
// has_vector_state.
void LoadGeneralRegisters(const ucontext_t& context, MachineState* state);

// Loads mxcsr, k, zmm and fxsave from the XSAVE area of the frame; CPUID leaf 0xD has the offsets,
// and XSTATE_BV says which components are in their initial state. What the processor or the frame
// does not have is zero. Sets has_vector_state.
void LoadVectorState(const ucontext_t& context, MachineState* state);

// The kernel enters handlers with rights to the memory of protection key 0 only. From here until
// the handler returns, the calling thread has the rights of the program, whose memory may have
// other keys.
void TakeProtectionKeys(const ucontext_t& context);

// Finds the XSAVE layout. Call it before the functions above, outside signal handlers.
void PrepareSignalContext();

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_SIGNAL_CONTEXT_H_
