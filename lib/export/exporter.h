// The formats of other tools that an analysis can be written in. Each has a file that defines one
// Exporter, and a line in exporter.cc.
#ifndef HBBP_LIB_EXPORT_EXPORTER_H_
#define HBBP_LIB_EXPORT_EXPORTER_H_

#include <span>
#include <string_view>

#include "base/status.h"
#include "export/export_sink.h"
#include "export/export_subject.h"

namespace hbbp {

struct Exporter {
  const char* name;       // of the format, as in hbbp_export
  const char* summary;    // one line
  bool is_of_one_module;  // ExportSubject::module is never kNoIndex
  Status (*write)(const ExportSubject& subject, ExportSink* sink);  // Finish is left to the caller
  bool is_of_code = is_of_one_module;  // functions without code are left out
};

extern const Exporter kLlvmExporter;
extern const Exporter kAutofdoExporter;
extern const Exporter kProfgenExporter;
extern const Exporter kBoltExporter;
extern const Exporter kBoltAggregatedExporter;
extern const Exporter kBrstackExporter;
extern const Exporter kCallgrindExporter;
extern const Exporter kPprofExporter;
extern const Exporter kGoPgoExporter;
extern const Exporter kSpeedscopeExporter;
extern const Exporter kBbvExporter;
extern const Exporter kPerfettoExporter;
extern const Exporter kCsvExporter;
extern const Exporter kJsonExporter;
extern const Exporter kSqlExporter;

// Returns all of these.
std::span<const Exporter* const> Exporters();
// Returns null if there is no such format.
const Exporter* FindExporter(std::string_view name);

// Writes the subject; formats of one module have the file (or other module, if there is none)
// with the most instructions if none is chosen. Returns kNotFound if there is nothing to write.
// Throws WorkCancelled.
Status Export(const Exporter& exporter, const ExportSubject& subject, ExportSink* sink);

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_EXPORTER_H_
