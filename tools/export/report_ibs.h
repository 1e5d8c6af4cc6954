// Adds to a report what IBS says of single instructions.
#ifndef HBBP_TOOLS_EXPORT_REPORT_IBS_H_
#define HBBP_TOOLS_EXPORT_REPORT_IBS_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <vector>

#include "report.h"

namespace hbbp::tools {

inline constexpr size_t kReportIbsRows = 300;
// Maximum number of instructions with latencies, and of lines, of pages and of objects.
inline constexpr size_t kReportIbsLoads = 100;

// Reads it after the blocks. `listed` has the report's index of each function of the analysis.
void ReadIbs(const hbbp::analysis& analysis, const std::vector<uint32_t>& listed, Report* report);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_REPORT_IBS_H_
