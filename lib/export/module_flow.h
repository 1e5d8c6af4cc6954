// ModuleFlow is what control did in one module: how often its blocks ran and its branches were
// taken.
#ifndef HBBP_LIB_EXPORT_MODULE_FLOW_H_
#define HBBP_LIB_EXPORT_MODULE_FLOW_H_

#include <cstdint>
#include <vector>

#include "analysis/analysis.h"
#include "base/address.h"
#include "base/work.h"
#include "isa/branch_kind.h"

namespace hbbp {

struct FlowBlock {
  ModuleAddress start;
  ModuleAddress last;  // its last instruction
  ModuleAddress end;   // exclusive
  double count = 0;
  double fell_through = 0;  // how often it went on to the block after it; only of streams
};

struct FlowBranch {
  ModuleAddress from;
  ModuleAddress to;
  double count = 0;
};

// The code from the target of a branch to the next branch that was taken.
struct FlowStream {
  ModuleAddress start;
  ModuleAddress end;  // the branch
  double count = 0;
};

struct ModuleFlow {
  std::vector<FlowBlock> blocks;     // those that ran, by address
  std::vector<FlowBranch> branches;  // taken ones inside of the module, by origin and target
};

// Both throw WorkCancelled.
ModuleFlow FindModuleFlow(const Analysis& analysis, uint32_t module, const Work& work);
// Returns those that begin and end in the module, by start and end.
std::vector<FlowStream> FindModuleStreams(const Analysis& analysis, uint32_t module,
                                          const Work& work);

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_MODULE_FLOW_H_
