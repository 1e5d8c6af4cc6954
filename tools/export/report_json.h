// Writes a report as JSON, which the page of hbbp export --format html reads.
#ifndef HBBP_TOOLS_EXPORT_REPORT_JSON_H_
#define HBBP_TOOLS_EXPORT_REPORT_JSON_H_

#include <string>

#include "report.h"

namespace hbbp::tools {

// The text is ASCII without "<", ">" and "&", so that it can stand in a <script> element whatever
// the names in it are. Bytes that are not UTF-8 become U+FFFD. Long lists are columns: an array for
// each field. Estimates have six significant digits.
std::string ReportToJson(const Report& report);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_REPORT_JSON_H_
