// The signal functions of libhbbp-preload-swbt.so, for the code that both libraries have in common.
#ifndef HBBP_TOOLS_PRELOAD_SIGNALS_H_
#define HBBP_TOOLS_PRELOAD_SIGNALS_H_

#include <cstddef>

namespace hbbp::preload {

// Tracing has ended for good: the kernel gets what the program has set for the signals that were
// shared with it.
void ReleaseSignals();

// Call these around exec, for what a new image inherits: ignored signals and the mask of the
// calling thread become what the program set. The second is for an exec that failed.
void PrepareSignalsForExec();
void RestoreSignalsAfterExec();

// Call these around functions that run a program in a child, for the mask. Returns true if it was
// changed and must be restored.
bool PrepareSignalsForSpawn();
void RestoreSignalsAfterSpawn();

// Returns whether the program ignores this signal, while the kernel has a handler of ours.
bool IsIgnoredHere(int signal);
// Ignores the signal in the kernel.
void IgnoreInKernel(int signal);

// Call these around a wait under a mask that lets SIGTRAP come. The first returns false if the
// program has not blocked it in this thread, and the second need not be called then.
bool PrepareForTrapInWait();
void BlockTrapAfterWait();

// For rt_sigaction(2), whose arguments these are. Returns false if the kernel is to be called.
bool SetRawAction(int signal, const void* action, void* previous, size_t set_bytes);

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_SIGNALS_H_
