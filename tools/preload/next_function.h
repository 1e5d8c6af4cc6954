// Finds the functions that those of the library stand in front of.
#ifndef HBBP_TOOLS_PRELOAD_NEXT_FUNCTION_H_
#define HBBP_TOOLS_PRELOAD_NEXT_FUNCTION_H_

#include <dlfcn.h>

namespace hbbp::preload {

// Sets `function` to the next one of the name, or to null if there is none.
template <typename Function>
void LookUp(const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_NEXT_FUNCTION_H_
