// In libhbbp-preload.so, which takes no signals.
#include "preload/signals.h"

namespace hbbp::preload {

void ReleaseSignals() {}
void PrepareSignalsForExec() {}
void RestoreSignalsAfterExec() {}

}  // namespace hbbp::preload
