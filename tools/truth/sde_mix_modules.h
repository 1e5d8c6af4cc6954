// Converts counts of blocks of Intel SDE to counts of instructions of modules.
#ifndef HBBP_TOOLS_TRUTH_SDE_MIX_MODULES_H_
#define HBBP_TOOLS_TRUTH_SDE_MIX_MODULES_H_

#include <string>
#include <vector>

#include "truth/sde_mix.h"
#include "truth/truth_modules.h"

namespace hbbp::tools {

// `name` is that of the file, for messages. kBadFormat: the file has only some of the blocks.
StatusOr<std::vector<ReferenceModule>> CountsFromSdeMix(const Mix& mix, const std::string& name,
                                                        ModuleImages* images);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_SDE_MIX_MODULES_H_
