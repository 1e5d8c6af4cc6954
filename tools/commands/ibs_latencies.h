// Tables of hbbp ibs --latencies: of loads by instruction and level of memory, or the histogram of
// one instruction.
#ifndef HBBP_TOOLS_COMMANDS_IBS_LATENCIES_H_
#define HBBP_TOOLS_COMMANDS_IBS_LATENCIES_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <string>

#include "base/status.h"
#include "table.h"

namespace hbbp::tools {

struct LatencyChoice {
  std::string function;  // like those of FunctionChoice
  std::string address;   // of the instruction of which a histogram is wanted
  std::string module;
  uint64_t instructions = 0;  // maximum number that is listed
};

StatusOr<Table> LatencyTable(const hbbp::analysis& analysis, const LatencyChoice& choice);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COMMANDS_IBS_LATENCIES_H_
