#include "html_page.h"

#include "report_json.h"
#include "report_page.h"
#include "report_reader.h"

namespace hbbp::tools {

HtmlPage WriteHtmlPage(const PageRequest& request) {
  const Report report = ReadReport(request);
  return {std::string(kPageBeforeData) + ReportToJson(report) + std::string(kPageAfterData),
          report.line_problems};
}

}  // namespace hbbp::tools
