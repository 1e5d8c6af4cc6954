// Stubs for libhbbp-preload.so, which handles no signals.
#include "preload/signals.h"

namespace hbbp::preload {

void ReleaseSignals() {}
void PrepareSignalsForExec() {}
void RestoreSignalsAfterExec() {}
bool PrepareSignalsForSpawn() { return false; }
void RestoreSignalsAfterSpawn() {}
bool IsIgnoredHere(int) { return false; }
void IgnoreInKernel(int) {}

}  // namespace hbbp::preload
