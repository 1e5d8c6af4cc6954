// What a report shows over time.
#ifndef HBBP_TOOLS_EXPORT_REPORT_SLICES_H_
#define HBBP_TOOLS_EXPORT_REPORT_SLICES_H_

#include <cstddef>
#include <hbbp/hbbp.hpp>

#include "report.h"

namespace hbbp::tools {

// More slices than that are joined, neighbours in equal numbers.
inline constexpr size_t kReportSlices = 120;
// Each key has its busiest values.
inline constexpr size_t kTimelineValues = 7;

// By each of the report's properties, and by function, module and thread. Nothing if the profile
// keeps no slices. Precondition: the report has its properties and threads.
void ReadSlices(const hbbp::analysis& analysis, Report* report);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_REPORT_SLICES_H_
