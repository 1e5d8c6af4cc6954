// CheckAttach says why a process cannot be traced from outside, before anything is done to it.
#ifndef HBBP_LIB_ATTACH_ATTACH_CHECK_H_
#define HBBP_LIB_ATTACH_ATTACH_CHECK_H_

#include <sys/types.h>

#include "base/status.h"

namespace hbbp {

// Errors: kNotFound without such a process, kInvalidArgument for the calling one, kUnsupported for
// those without code of their own (kernel threads, zombies) or of 32 bits, kBusy if another process
// traces it, kPermission.
Status CheckAttach(pid_t pid);

// Returns 0 if it has ended.
pid_t ParentOf(pid_t pid);

}  // namespace hbbp

#endif  // HBBP_LIB_ATTACH_ATTACH_CHECK_H_
