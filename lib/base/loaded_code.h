// Code that must not be unmapped.
#ifndef HBBP_LIB_BASE_LOADED_CODE_H_
#define HBBP_LIB_BASE_LOADED_CODE_H_

namespace hbbp {

// From now on dlclose leaves the library or plugin that this code is linked into where it is:
// signal handlers and what is kept for the whole process would otherwise be gone, or be left
// behind, each time. libhbbp.so is linked so that it stays anyway; this is for libhbbp.a inside
// something else. In a program there is nothing to do.
void KeepThisCodeLoaded();

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_LOADED_CODE_H_
