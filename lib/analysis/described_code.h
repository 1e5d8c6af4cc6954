// DescribedCode: the instructions of the blocks of a profile, as numbers of kinds.
//
// Instructions of one kind have all properties in common, so that a query looks at each kind once
// and not at each instruction. Describing them is most of the time that a query takes, and the
// result is the same for all: who makes several queries keeps it.
#ifndef HBBP_LIB_ANALYSIS_DESCRIBED_CODE_H_
#define HBBP_LIB_ANALYSIS_DESCRIBED_CODE_H_

#include <cstdint>
#include <vector>

#include "analysis/analysis.h"
#include "isa/instruction_properties.h"

namespace hbbp {

struct DescribedInstruction {
  uint32_t kind = 0;
  uint32_t offset = 0;  // from the start of its block
};

struct DescribedCode {
  std::vector<InstructionProperties> kinds;
  std::vector<DescribedInstruction> instructions;  // of all blocks, in their order
};

// Of Analysis::blocks(). Instructions whose code is gone have no properties.
DescribedCode DescribeCode(const Analysis& analysis);

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_DESCRIBED_CODE_H_
