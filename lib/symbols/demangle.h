// Demangles the names of functions.
#ifndef HBBP_LIB_SYMBOLS_DEMANGLE_H_
#define HBBP_LIB_SYMBOLS_DEMANGLE_H_

#include <string>
#include <string_view>

namespace hbbp {

// Returns the name of the symbol in C++ or Rust, or `symbol` itself if it is not a mangled name.
// Any thread may call it.
//
// C++ names are left to the C++ run-time library. Rust needs code of our own: neither of its two
// schemes has a demangler that can be linked here (Debian does not have libiberty as a library,
// LLVM's is 100 MB, the one of Rust needs Rust).
std::string Demangle(std::string_view symbol);

// Returns "a::(anonymous namespace)::f" for "a::(anonymous namespace)::f(int) const". A name
// without parameters, such as any name of Rust, is returned as it is.
std::string_view WithoutParameters(std::string_view demangled);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_DEMANGLE_H_
