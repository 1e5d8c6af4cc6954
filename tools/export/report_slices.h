// Adds slices of time to a report.
#ifndef HBBP_TOOLS_EXPORT_REPORT_SLICES_H_
#define HBBP_TOOLS_EXPORT_REPORT_SLICES_H_

#include <cstddef>
#include <hbbp/hbbp.hpp>

#include "report.h"

namespace hbbp::tools {

// If there are more slices, neighbours are merged in equal numbers.
inline constexpr size_t kReportSlices = 120;
// Maximum number of values per key; the busiest are listed.
inline constexpr size_t kTimelineValues = 7;

// Reads slices by each of the report's properties, and by function, module and thread; nothing if
// the profile keeps no slices. The report must have its properties and threads.
void ReadSlices(const hbbp::analysis& analysis, Report* report);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_REPORT_SLICES_H_
