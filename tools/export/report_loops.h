// Adds loops to a report.
#ifndef HBBP_TOOLS_EXPORT_REPORT_LOOPS_H_
#define HBBP_TOOLS_EXPORT_REPORT_LOOPS_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <vector>

#include "report.h"

namespace hbbp::tools {

inline constexpr size_t kReportLoops = 500;

// Reads the busiest loops. `listed` has the report's index of each function of the analysis.
// loop_of_block gets, for each block of the analysis, the report's index of the innermost listed
// loop around it, or kNotListed.
void ReadLoops(const hbbp::analysis& analysis, const std::vector<uint32_t>& listed, Report* report,
               std::vector<uint32_t>* loop_of_block);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_REPORT_LOOPS_H_
