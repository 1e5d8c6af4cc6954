// Compilers move code of a function that rarely runs into a part of its own, with a symbol of its
// own: "f.cold" is a part of f.
#ifndef HBBP_LIB_EXPORT_FUNCTION_PART_H_
#define HBBP_LIB_EXPORT_FUNCTION_PART_H_

#include <cstddef>
#include <string_view>

namespace hbbp {

// Returns "f" for "f.cold" and "f.cold.3".
inline std::string_view WithoutPart(std::string_view name) {
  constexpr std::string_view kPart = ".cold";
  for (size_t at = 0; (at = name.find(kPart, at)) != name.npos; at += kPart.size()) {
    const std::string_view rest = name.substr(at + kPart.size());
    if (rest.empty() || rest.front() == '.') return name.substr(0, at);
  }
  return name;
}

inline bool IsPart(std::string_view name) { return WithoutPart(name).size() < name.size(); }

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_FUNCTION_PART_H_
