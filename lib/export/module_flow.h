// What control did in one module: how often its blocks ran and its branches were taken.
#ifndef HBBP_LIB_EXPORT_MODULE_FLOW_H_
#define HBBP_LIB_EXPORT_MODULE_FLOW_H_

#include <vector>

#include "base/address.h"
#include "export/export_subject.h"

namespace hbbp {

struct FlowBlock {
  ModuleAddress start;  // the first instruction
  ModuleAddress last;   // the last one
  double count = 0;
};

struct FlowBranch {
  ModuleAddress from;
  ModuleAddress to;
  double count = 0;
};

// These are of the module of the subject, and throw WorkCancelled.

// Returns the blocks that ran, by address.
std::vector<FlowBlock> FindBlocks(const ExportSubject& subject);
// Returns the taken branches inside of the module, by origin and target; where it has samples
// alone, those that blocks always end with.
std::vector<FlowBranch> FindBranches(const ExportSubject& subject);

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_MODULE_FLOW_H_
