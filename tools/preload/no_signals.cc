// Stubs for libhbbp-preload.so, which handles no signals.
#include <cstddef>

#include "preload/signals.h"

namespace hbbp::preload {

void ReleaseSignals() {}
void PrepareSignalsForExec() {}
void RestoreSignalsAfterExec() {}
bool PrepareSignalsForSpawn() { return false; }
void RestoreSignalsAfterSpawn() {}
bool IsIgnoredHere(int) { return false; }
void IgnoreInKernel(int) {}
bool SetRawAction(int, const void*, void*, size_t) { return false; }

}  // namespace hbbp::preload
