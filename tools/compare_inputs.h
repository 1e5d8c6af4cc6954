// Converts profiles and exact counts to the types of compare.h.
#ifndef HBBP_TOOLS_COMPARE_INPUTS_H_
#define HBBP_TOOLS_COMPARE_INPUTS_H_

#include <hbbp/hbbp.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compare.h"
#include "profile_view.h"
#include "truth/module_functions.h"
#include "truth/truth_modules.h"

namespace hbbp::tools {

// Code of one module of an analysis, which must outlive this object. Functions without samples,
// which the analysis does not list, are found in the file of the module.
class ModuleCode : public Code {
 public:
  ModuleCode(const hbbp::analysis& analysis, uint32_t module)
      : analysis_(analysis), module_(module) {}

  std::optional<Block> FindBlock(uint64_t address) const override;
  std::optional<Instruction> Decode(uint64_t address) const override;
  std::optional<Function> FindFunction(uint64_t address) const override;

 private:
  const hbbp::analysis& analysis_;
  uint32_t module_;
  // Read at the first call of FindFunction.
  mutable std::vector<hbbp_function> functions_;  // by address
  mutable std::unique_ptr<ModuleFunctions> others_;
};

// Returns the modules of the profile with their blocks, in its order.
std::vector<EstimatedModule> Estimates(const hbbp::analysis& analysis);

// Returns the modules in the form that readers of exact counts take.
std::vector<ProfiledModule> ProfiledModules(const std::vector<EstimatedModule>& estimates);

// Returns kMismatch if the truth belongs to another build of a module, by its build ID.
Status CheckBuilds(const std::vector<ReferenceModule>& references,
                   const std::vector<std::optional<size_t>>& match,
                   const std::vector<EstimatedModule>& estimates);

// Returns kMismatch if counts lie between instructions or outside of the code, as those of another
// file of the same name do.
Status CheckAddresses(const ModuleCounts& counts, const ModuleView& module);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COMPARE_INPUTS_H_
