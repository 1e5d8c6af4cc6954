// Loads libraries when they are first needed.
#ifndef HBBP_LIB_BASE_SHARED_LIBRARY_H_
#define HBBP_LIB_BASE_SHARED_LIBRARY_H_

#include "base/status.h"

namespace hbbp {

// Loads a library that is never unloaded; dlsym accepts the result. Fails with kUnsupported and the
// reason, always so in a static program: the library would bring a libc of its own along, whose
// memory and thread-local variables are not the program's.
StatusOr<void*> LoadSharedLibrary(const char* file);

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_SHARED_LIBRARY_H_
