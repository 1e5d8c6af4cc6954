// Libraries that are loaded when they are first needed.
#ifndef HBBP_LIB_BASE_SHARED_LIBRARY_H_
#define HBBP_LIB_BASE_SHARED_LIBRARY_H_

#include "base/status.h"

namespace hbbp {

// Loads a library for good, as dlsym takes it. kUnsupported, with the reason, if it cannot be
// loaded, and always in a static program: the library would bring a libc of its own along, whose
// memory and thread-local variables are not those of the program's.
StatusOr<void*> LoadSharedLibrary(const char* file);

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_SHARED_LIBRARY_H_
