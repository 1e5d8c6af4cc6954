// InstructionTable has the instructions of the blocks of a profile, as numbers of kinds.
//
// Instructions of one kind have all properties in common, so that a query examines each kind once
// and not each instruction. Making the table is most of the time of a query, and it is the same for
// all: a caller with several queries keeps it.
#ifndef HBBP_LIB_ANALYSIS_INSTRUCTION_TABLE_H_
#define HBBP_LIB_ANALYSIS_INSTRUCTION_TABLE_H_

#include <cstdint>
#include <vector>

#include "analysis/analysis.h"
#include "base/work.h"
#include "isa/instruction_properties.h"

namespace hbbp {

struct InstructionEntry {
  uint32_t kind = 0;
  uint32_t offset = 0;  // from the start of its block
};

struct InstructionTable {
  std::vector<InstructionProperties> kinds;
  std::vector<InstructionEntry> instructions;  // of all blocks, in their order
};

// Makes the table of Analysis::blocks(). Instructions whose code is missing have no properties.
// Work is in blocks; throws WorkCancelled.
InstructionTable MakeInstructionTable(const Analysis& analysis, const Work& work = {});

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_INSTRUCTION_TABLE_H_
