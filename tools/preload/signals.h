// What libhbbp-preload-swbt.so does with signals, for the code that both libraries have in common.
#ifndef HBBP_TOOLS_PRELOAD_SIGNALS_H_
#define HBBP_TOOLS_PRELOAD_SIGNALS_H_

namespace hbbp::preload {

// Tracing has ended for good: what the program has set for the signals that were shared with it is
// given to the kernel.
void ReleaseSignals();

// Around exec, for what a new image inherits: ignored signals and the mask of the calling thread
// are what the program set. The second is for an exec that failed.
void PrepareSignalsForExec();
void RestoreSignalsAfterExec();

// Around functions that run a program in a child: the mask. True: it was changed, and is to be
// restored.
bool PrepareSignalsForSpawn();
void RestoreSignalsAfterSpawn();

// Does the program ignore this signal, while the kernel has a handler of ours?
bool IsIgnoredHere(int signal);
// Sets it in the kernel.
void IgnoreInKernel(int signal);

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_SIGNALS_H_
