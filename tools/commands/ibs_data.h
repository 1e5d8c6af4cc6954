// Tables of hbbp ibs --data: of accessed memory by cache line, page or object.
#ifndef HBBP_TOOLS_COMMANDS_IBS_DATA_H_
#define HBBP_TOOLS_COMMANDS_IBS_DATA_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>

#include "table.h"

namespace hbbp::tools {

// Both have at most that number of rows, those with the most samples first.
Table LineTable(const hbbp::profile& profile, bool by_page, uint64_t rows);
Table ObjectTable(const hbbp::analysis& analysis, uint64_t rows);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COMMANDS_IBS_DATA_H_
