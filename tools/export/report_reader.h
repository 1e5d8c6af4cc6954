// Reads what a report shows out of a profile.
#ifndef HBBP_TOOLS_EXPORT_REPORT_READER_H_
#define HBBP_TOOLS_EXPORT_REPORT_READER_H_

#include "html_page.h"
#include "report.h"

namespace hbbp::tools {

inline constexpr uint64_t kReportFunctions = 200;
inline constexpr uint64_t kReportBlocks = 2000;

Report ReadReport(const PageRequest& request);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_REPORT_READER_H_
