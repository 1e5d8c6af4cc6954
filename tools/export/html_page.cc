#include "html_page.h"

#include "report_json.h"
#include "report_page.h"
#include "report_reader.h"

namespace hbbp::tools {

HtmlPage WriteHtmlPage(const PageRequest& request) {
  const Report report = ReadReport(request);
  HtmlPage page{std::string(kPageBeforeData) + ReportToJson(report) + std::string(kPageAfterData),
                report.line_problems};
  page.notes.insert(page.notes.end(), report.source_problems.begin(), report.source_problems.end());
  return page;
}

}  // namespace hbbp::tools
