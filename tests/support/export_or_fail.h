// An export that works, as text, for tests.
#ifndef HBBP_TESTS_SUPPORT_EXPORT_OR_FAIL_H_
#define HBBP_TESTS_SUPPORT_EXPORT_OR_FAIL_H_

#include <string>
#include <string_view>
#include <vector>

#include "export/exporter.h"
#include "support/catch.h"

namespace hbbp {

struct Exported {
  std::string text;
  std::vector<std::string> notes;
};

inline Status ExportTo(const Exporter& exporter, const Analysis& analysis, Exported* exported,
                       uint32_t module = kNoIndex) {
  const LineTableCache lines(analysis.shared_modules());
  ExportSubject subject{analysis, lines, module};
  subject.note = [exported](const std::string& note) { exported->notes.push_back(note); };
  ExportSink sink([exported](std::string_view piece) {
    exported->text += piece;
    return OkStatus();
  });
  return Export(exporter, subject, &sink);
}

inline Exported ExportOrFail(const Exporter& exporter, const Analysis& analysis,
                             uint32_t module = kNoIndex) {
  Exported exported;
  const Status status = ExportTo(exporter, analysis, &exported, module);
  INFO(status.message());
  REQUIRE(status.ok());
  return exported;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_EXPORT_OR_FAIL_H_
