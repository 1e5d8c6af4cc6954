// ResolvedModule: the code of a module of a profile, as far as it was found.
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
  std::string problem;               // one line, empty if there is none
  std::unique_ptr<ModuleCode> code;  // null if it is missing

  // The address in the module that IpCount::offset stands for.
  std::optional<ModuleAddress> AddressOf(uint64_t offset) const;

  bool offsets_are_of_file = false;

  // `code` knows functions that it has no code of: where their samples are is all that can be said.
  bool names_missing_code = false;

  // Of a kernel: `code` as what it is, and where a symbol of it was (see KernelRecord).
  const KernelCode* kernel = nullptr;
  std::string kernel_reference_symbol;
  uint64_t kernel_reference_address = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_RESOLVED_MODULE_H_
