// Demangles names of Rust: the scheme v0 (RFC 2603, "_R...") and the older one
// ("_ZN...17h<hash>E").
#ifndef HBBP_LIB_SYMBOLS_RUST_DEMANGLE_H_
#define HBBP_LIB_SYMBOLS_RUST_DEMANGLE_H_

#include <optional>
#include <string>
#include <string_view>

namespace hbbp {

// Returns the name without hashes, as `c++filt` and `llvm-cxxfilt` print it, or nothing if it is
// not a name of Rust.
std::optional<std::string> DemangleRust(std::string_view symbol);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_RUST_DEMANGLE_H_
