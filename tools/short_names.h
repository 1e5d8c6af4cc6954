// Short forms of the names of functions in C++ and Rust, by the rules of web/src/names.js:
// "lexer<...>::scan(...)".
#ifndef HBBP_TOOLS_SHORT_NAMES_H_
#define HBBP_TOOLS_SHORT_NAMES_H_

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hbbp::tools {

// Long template arguments and parameters are left out, and so are types that templates return. Of
// several ways to do so a name has the first one by which it differs from all other names; names
// that differ in none stay whole.
class ShortNames {
 public:
  ShortNames() = default;
  // A name may be there several times.
  explicit ShortNames(std::vector<std::string> names);

  // Returns other names as they are.
  std::string Of(std::string_view name) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> short_;  // by whole name
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_SHORT_NAMES_H_
