// CallsOnlyCLibrary looks at where the functions that this library calls are.
#ifndef HBBP_TOOLS_PRELOAD_BOUND_FUNCTIONS_H_
#define HBBP_TOOLS_PRELOAD_BOUND_FUNCTIONS_H_

namespace hbbp::preload {

// Returns whether all of them are those of the C library and of the decoder, and none is of the
// program or of another library in place of one. They were bound when this library was loaded.
bool CallsOnlyCLibrary();

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_BOUND_FUNCTIONS_H_
