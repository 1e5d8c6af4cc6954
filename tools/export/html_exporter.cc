// hbbp export --format html: writes one page that needs nothing but a browser.
#include "exporter.h"
#include "report_json.h"
#include "report_page.h"
#include "report_reader.h"

namespace hbbp::tools {
namespace {

Exported WriteHtml(const ExportRequest& request) {
  const Report report = ReadReport(request);
  return Exported{std::string(kPageBeforeData) + ReportToJson(report) + std::string(kPageAfterData),
                  report.line_problems};
}

}  // namespace

const Exporter kHtmlExporter = {"html", "a page to look at, whole in one file", WriteHtml};

}  // namespace hbbp::tools
