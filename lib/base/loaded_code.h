// Keeps the code of this library mapped.
#ifndef HBBP_LIB_BASE_LOADED_CODE_H_
#define HBBP_LIB_BASE_LOADED_CODE_H_

namespace hbbp {

// After this call dlclose does not unmap the library or plugin that this code is linked into,
// because signal handlers and data of the whole process outlive any handle. libhbbp.so is linked
// with -z nodelete; the call is for libhbbp.a inside another library. In a program it does nothing.
void KeepThisCodeLoaded();

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_LOADED_CODE_H_
