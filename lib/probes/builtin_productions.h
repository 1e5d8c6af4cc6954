// Productions that come with the library, as text.
#ifndef HBBP_LIB_PROBES_BUILTIN_PRODUCTIONS_H_
#define HBBP_LIB_PROBES_BUILTIN_PRODUCTIONS_H_

#include <span>
#include <string_view>
#include <vector>

namespace hbbp {

struct BuiltinProductions {
  std::string_view name;
  std::string_view summary;
  std::string_view text;
};

// "framework" comes first; the others are profiles, which use it.
std::span<const BuiltinProductions> AllBuiltinProductions();

// Returns null if there is none of that name.
const BuiltinProductions* FindBuiltinProductions(std::string_view name);

std::vector<std::string_view> BuiltinProductionNames();

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_BUILTIN_PRODUCTIONS_H_
