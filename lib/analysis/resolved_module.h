// ResolvedModule is the code of a module of a profile, as far as it was found.
#ifndef HBBP_LIB_ANALYSIS_RESOLVED_MODULE_H_
#define HBBP_LIB_ANALYSIS_RESOLVED_MODULE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "image/module_code.h"

namespace hbbp {

// The values are those of hbbp_module_code; capi/ asserts it.
enum class CodeState : int32_t { kFile = 0, kProfile = 1, kMissing = 2, kMismatch = 3, kCore = 5 };

class KernelCode;

struct ResolvedModule {
  CodeState state = CodeState::kMissing;
  std::string problem;               // one line; empty if there is none
  std::unique_ptr<ModuleCode> code;  // null if it is missing

  // Returns the address in the module for an IpCount::offset.
  std::optional<ModuleAddress> AddressOf(uint64_t offset) const;

  bool offsets_are_of_file = false;

  // `code` knows the bounds and names of functions whose code it does not have, so samples there
  // can only be attributed to functions.
  bool names_missing_code = false;

  // Is set for a kernel: `code` with its type, and the address of one of its symbols (see
  // KernelRecord).
  const KernelCode* kernel = nullptr;
  std::string kernel_reference_symbol;
  uint64_t kernel_reference_address = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_RESOLVED_MODULE_H_
