#include <hbbp/formats.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/analysis_handle.h"
#include "capi/boundary.h"
#include "capi/host_handle.h"
#include "export/exporter.h"
#include "export/file_name.h"

using hbbp::Analysis;
using hbbp::BlockRecord;
using hbbp::Exporter;
using hbbp::Exporters;
using hbbp::kNoIndex;
using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::Status;
using hbbp::StatusCode;
using hbbp::StatusOr;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

namespace {

StatusOr<const Exporter*> ReadFormat(const char* name) {
  if (const Exporter* found = hbbp::FindExporter(name)) return found;
  std::string names;
  for (const Exporter* each : Exporters())
    names += (names.empty() ? "" : ", ") + std::string(each->name);
  return MakeStatus(StatusCode::kInvalidArgument, "no format \"%s\"; there are %s", name,
                    names.c_str());
}

// Returns a module of that path or file name. Several may be called alike: then it is one of that
// path, or else that with the most instructions.
StatusOr<uint32_t> FindModule(const Analysis& analysis, std::string_view name) {
  std::vector<double> instructions(analysis.data().modules.size());
  for (const BlockRecord& record : analysis.blocks()) {
    instructions[record.module] += record.estimate.count * record.block.instruction_count;
  }
  uint32_t found = kNoIndex;
  std::pair<bool, double> rank_of_found;
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    const std::string_view path = analysis.data().modules[i].path;
    if (path != name && hbbp::FileName(path) != name) continue;
    const bool is_path = path == name && instructions[i] > 0;
    const std::pair<bool, double> rank = {is_path, instructions[i]};
    if (found != kNoIndex && rank <= rank_of_found) continue;
    found = i;
    rank_of_found = rank;
  }
  if (found != kNoIndex) return found;
  return MakeStatus(StatusCode::kNotFound,
                    "no module of the profile has the path or file name \"%.*s\"",
                    static_cast<int>(name.size()), name.data());
}

}  // namespace

extern "C" {

HBBP_API size_t hbbp_export_format_count(void) { return Exporters().size(); }

HBBP_API hbbp_status hbbp_export_copy_formats(size_t first, size_t count, size_t size,
                                              hbbp_export_format* formats, size_t* copied,
                                              hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    return CopyList({"hbbp_export_copy_formats", "hbbp_export_format", "formats"},
                    Exporters().size(), {first, count, size}, formats, copied, [](size_t index) {
                      const Exporter& exporter = *Exporters()[index];
                      HBBP_INIT(hbbp_export_format, format);
                      format.is_of_one_module = exporter.is_of_one_module ? 1 : 0;
                      format.name = exporter.name;
                      format.summary = exporter.summary;
                      return format;
                    });
  });
}

HBBP_API hbbp_status hbbp_export(const struct hbbp_analysis* analysis, const char* format,
                                 const hbbp_export_options* options, const hbbp_work_options* work,
                                 hbbp_write write, void* user_data, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (analysis == nullptr) return NullArgument("hbbp_export", "analysis");
    if (format == nullptr) return NullArgument("hbbp_export", "format");
    if (write == nullptr) return NullArgument("hbbp_export", "write");
    HBBP_ASSIGN_OR_RETURN(const Exporter* exporter, ReadFormat(format));
    hbbp::ExportSubject subject{analysis->analysis(), analysis->lines()};
    HBBP_ASSIGN_OR_RETURN(subject.work, ReadWork(work));
    hbbp_export_options given = {};
    if (options != nullptr) {
      HBBP_RETURN_IF_ERROR(ReadInput(options, "hbbp_export_options", &given));
      HBBP_RETURN_IF_ERROR(CheckReserved("hbbp_export_options.reserved", given.reserved));
    }
    if (given.module != nullptr) {
      HBBP_ASSIGN_OR_RETURN(subject.module, FindModule(analysis->analysis(), given.module));
    }
    if (given.note != nullptr) {
      subject.note = [&given](const std::string& note) {
        given.note(note.c_str(), given.user_data);
      };
    }
    hbbp::ExportSink sink([write, user_data](std::string_view piece) {
      if (write(piece.data(), piece.size(), user_data) == 0) return OkStatus();
      return Status(StatusCode::kIo, "hbbp_export: the callback that writes has refused the bytes");
    });
    return hbbp::Export(*exporter, subject, &sink);
  });
}

}  // extern "C"
