// Finds the functions that the options of a command select.
#ifndef HBBP_TOOLS_FUNCTION_CHOICE_H_
#define HBBP_TOOLS_FUNCTION_CHOICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "profile_view.h"

namespace hbbp::tools {

// Selects functions; everything that is set must hold.
struct FunctionChoice {
  std::string function;  // mangled, demangled, or demangled without parameters; empty: any
  std::string address;   // in the module, hexadecimal with 0x or decimal; empty: any
  std::string module;    // path or its last part; empty: any
  uint64_t top = 0;      // the hottest ones; 0: all
};

// Parses the value of an option --address.
StatusOr<uint64_t> ParseAddress(const std::string& text);

// Returns indices, the functions with most executed instructions first. The message of kNotFound
// suggests the nearest name, or explains why code is missing.
StatusOr<std::vector<uint32_t>> ChooseFunctions(const std::vector<ModuleView>& modules,
                                                const std::vector<hbbp_function>& functions,
                                                const FunctionChoice& choice);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_FUNCTION_CHOICE_H_
