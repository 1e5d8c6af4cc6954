// Profiles and exact counts, as compare.h takes them.
#ifndef HBBP_TOOLS_COMPARE_INPUTS_H_
#define HBBP_TOOLS_COMPARE_INPUTS_H_

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compare.h"
#include "profile_view.h"

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

// What is odd about the file is added to `notes`.
StatusOr<std::vector<ReferenceModule>> ReferenceFromCallgrind(const std::string& path,
                                                              std::vector<std::string>* notes);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COMPARE_INPUTS_H_
