// A file by which `hbbp record` knows of programs that run without the library.
#ifndef HBBP_TOOLS_PRELOAD_UNPROFILED_H_
#define HBBP_TOOLS_PRELOAD_UNPROFILED_H_

#include "preload/exec_target.h"

namespace hbbp::preload {

// Does nothing if the target is ordinary, or the file cannot be written. `path` may be nullptr. It
// is async-signal-safe and preserves errno.
void RecordUnprofiled(ExecTarget target, const char* path);

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_UNPROFILED_H_
