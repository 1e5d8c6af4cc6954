#include "image/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "image/rust_demangle.h"

namespace hbbp {

std::string Demangle(std::string_view symbol) {
  // Real names are shorter; the names that damaged files have are as long as one likes.
  constexpr size_t kMaxLength = 16 << 10;
  const bool may_be_mangled = symbol.starts_with("_Z") || symbol.starts_with("_R");
  if (!may_be_mangled || symbol.size() > kMaxLength) return std::string(symbol);
  if (std::optional<std::string> rust = DemangleRust(symbol)) return *std::move(rust);
  std::string name(symbol);
  // Without the prefix, a C function named "f" or "i" would come out as the type float or int.
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && demangled != nullptr ? demangled.get() : name;
}

}  // namespace hbbp
