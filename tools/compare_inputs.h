// Profiles and exact counts, as compare.h takes them.
#ifndef HBBP_TOOLS_COMPARE_INPUTS_H_
#define HBBP_TOOLS_COMPARE_INPUTS_H_

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compare.h"
#include "profile_view.h"
#include "truth/truth_modules.h"

namespace hbbp::tools {

// The code of one module of a profile that outlives this object.
class ProfileCode : public Code {
 public:
  ProfileCode(const hbbp_profile* profile, uint32_t module) : profile_(profile), module_(module) {}

  std::optional<Block> FindBlock(uint64_t address) const override;
  std::optional<Instruction> Decode(uint64_t address) const override;

 private:
  const hbbp_profile* profile_;
  uint32_t module_;
};

// The modules of the profile, in its order.
StatusOr<std::vector<EstimatedModule>> Estimates(const hbbp_profile* profile);

// As readers of exact counts want to know them.
std::vector<ProfiledModule> ProfiledModules(const std::vector<EstimatedModule>& estimates);

// kMismatch if the truth is of another build of a module, by its build ID.
Status CheckBuilds(const std::vector<ReferenceModule>& references,
                   const std::vector<std::optional<size_t>>& match,
                   const std::vector<EstimatedModule>& estimates);

// kMismatch if counts fall between instructions or outside of the code, as those of another file of
// the same name do.
Status CheckPlaces(const ModuleCounts& counts, const hbbp_module& module);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COMPARE_INPUTS_H_
