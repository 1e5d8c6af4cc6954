// Adds to a report how control went between the listed blocks of each function.
#ifndef HBBP_TOOLS_EXPORT_REPORT_EDGES_H_
#define HBBP_TOOLS_EXPORT_REPORT_EDGES_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <vector>

#include "report.h"

namespace hbbp::tools {

// `listed_functions` has the report's index of each function of the analysis, `listed_blocks` that
// of each block, or kNotListed.
void ReadEdges(const hbbp::analysis& analysis, const std::vector<uint32_t>& listed_functions,
               const std::vector<uint32_t>& listed_blocks, Report* report);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_REPORT_EDGES_H_
