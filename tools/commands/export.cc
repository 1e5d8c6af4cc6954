// hbbp export: writes a profile in another format.
#include <algorithm>
#include <vector>

#include "base/files.h"
#include "command.h"
#include "debug_info_options.h"
#include "export/exporter.h"
#include "format.h"
#include "options.h"
#include "profile_options.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "export";

const Exporter& ExporterNamed(const std::string& name) {
  const auto exporters = Exporters();
  return **std::find_if(exporters.begin(), exporters.end(),
                        [&](const Exporter* exporter) { return exporter->name == name; });
}

}  // namespace

int RunExport(int argc, char** argv) {
  std::vector<std::string> names;
  std::string formats = "Formats:\n";
  for (const Exporter* exporter : Exporters()) {
    names.emplace_back(exporter->name);
    formats += "  " + names.back() + "  " + std::string(exporter->summary) + '\n';
  }
  std::string format = names.front();
  std::string output;
  ExportRequest request;
  Options options(kName, "Write a profile in another format");
  options.Profiles(&request.files, "profiles; several are added up");
  options.Choice("--format", &format, names, "what to write (" + format + ")");
  options.Value("-o,--output", &output, "OUT", "where to; without it, standard output");
  options.Count("--functions", &request.functions,
                "html: the N busiest functions by name, the others in sums (200)");
  options.Count("--blocks", &request.blocks,
                "html: the N busiest blocks of these with their code, the others in sums (2000)");
  options.Flag("--source,!--no-source", &request.with_source_text,
               "html: with the text of source lines, where the files exist here (default)");
  DebugInfoOptions debug_info(kName);
  debug_info.AddTo(&options);
  ProfileOptions profiles;
  profiles.AddTo(&options);
  options.Footer(formats);
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  const StatusOr<hbbp::analysis> analysis = profiles.Analyse(request.files, &debug_info);
  if (!analysis.ok()) return Fail(kName, analysis.status().message());
  request.analysis = &*analysis;
  const Exported exported = ExporterNamed(format).write(request);
  debug_info.EndProgress();
  for (const std::string& note : CodeProblems(*analysis)) Note(kName, note);
  for (const std::string& note : exported.notes) Note(kName, Printable(note));
  const std::string& text = exported.text;
  if (output.empty() || output == "-") return WriteOutput(kName, text);
  const Status written =
      WriteFileAtomically(output, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return written.ok() ? kExitSuccess : Fail(kName, written.message());
}

}  // namespace hbbp::tools
