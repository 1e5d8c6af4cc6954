// The names of functions as their language spells them.
#ifndef HBBP_LIB_SYMBOLS_DEMANGLE_H_
#define HBBP_LIB_SYMBOLS_DEMANGLE_H_

#include <string>
#include <string_view>

namespace hbbp {

// What C++ or Rust calls the symbol; the symbol itself if it is no mangled name. Any thread.
//
// C++ names are left to the C++ run-time library. Rust needs code of its own: neither of its two
// schemes has a demangler that can be linked here (libiberty is no library of Debian, LLVM's is
// 100 MB, the one of Rust needs Rust).
std::string Demangle(std::string_view symbol);

// "a::(anonymous namespace)::f" for "a::(anonymous namespace)::f(int) const"; all of a name that
// has no parameters. Names of Rust have none.
std::string_view WithoutParameters(std::string_view demangled);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_DEMANGLE_H_
