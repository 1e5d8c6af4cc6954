#include "symbols/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "symbols/rust_demangle.h"

namespace hbbp {
namespace {

// Removes what follows the parameters: " const", " [clone .cold]".
std::string_view WithoutQualifiers(std::string_view name) {
  constexpr std::string_view kQualifiers[] = {" const", " volatile", " &", " &&"};
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const std::string_view qualifier : kQualifiers) {
      if (!name.ends_with(qualifier)) continue;
      name.remove_suffix(qualifier.size());
      is_new = true;
    }
    const size_t clone = name.rfind(" [clone ");
    if (name.ends_with(']') && clone != std::string_view::npos) {
      name = name.substr(0, clone);
      is_new = true;
    }
  }
  return name;
}

}  // namespace

std::string Demangle(std::string_view symbol) {
  // Real names are shorter; names in damaged files may be of any length.
  constexpr size_t kMaxLength = 16 << 10;
  const bool may_be_mangled = symbol.starts_with("_Z") || symbol.starts_with("_R");
  if (!may_be_mangled || symbol.size() > kMaxLength) return std::string(symbol);
  if (std::optional<std::string> rust = DemangleRust(symbol)) return *std::move(rust);
  std::string name(symbol);
  // Without the prefix, a C function named "f" or "i" would be demangled to the type float or int.
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && demangled != nullptr ? demangled.get() : name;
}

std::string_view WithoutParameters(std::string_view demangled) {
  const std::string_view name = WithoutQualifiers(demangled);
  if (!name.ends_with(')')) return demangled;
  size_t open = name.size();
  for (size_t depth = 0; open > 0;) {
    const char c = name[--open];
    if (c == ')') ++depth;
    if (c == '(' && --depth == 0) break;
  }
  const std::string_view before = name.substr(0, open);
  // In "a::operator()" and "(anonymous namespace)" the parentheses are not those of parameters.
  return before.empty() || before.ends_with("operator") || before.ends_with("::") ? demangled
                                                                                  : before;
}

}  // namespace hbbp
