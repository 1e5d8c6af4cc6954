// Each format that hbbp export writes has one file, which defines one Exporter, and a line in
// exporters.cc.
#ifndef HBBP_TOOLS_EXPORT_EXPORTER_H_
#define HBBP_TOOLS_EXPORT_EXPORTER_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hbbp::tools {

struct ExportRequest {
  const hbbp::analysis* analysis = nullptr;
  std::vector<std::string> files;  // that the profile was read from
  uint64_t functions = 0;          // maximum number; 0: the default of the format
  uint64_t blocks = 0;             // maximum number, like functions
  bool with_source_text = true;    // of source files that exist here
};

struct Exported {
  std::string text;                // the whole file
  std::vector<std::string> notes;  // what its reader must know; the file has them too
};

struct Exporter {
  std::string_view name;     // the word of --format
  std::string_view summary;  // one line for --help
  Exported (*write)(const ExportRequest& request);
};

extern const Exporter kHtmlExporter;

std::span<const Exporter* const> Exporters();

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_EXPORTER_H_
