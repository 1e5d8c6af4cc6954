// The text of LLVM's sample profiles (-fprofile-sample-use, llvm-profdata merge --sample).
#include <string>

#include "export/exporter.h"
#include "export/sample_profile.h"

namespace hbbp {
namespace {

void WriteLocation(const SampleLocation& location, size_t depth, ExportSink* sink) {
  sink->Write(std::string(depth, ' '));
  sink->WriteNumber(location.line);
  if (location.discriminator != 0) {
    sink->Write(".");
    sink->WriteNumber(location.discriminator);
  }
  sink->Write(": ");
}

void WriteNamed(const std::string& name, double count, ExportSink* sink) {
  sink->Write(name);
  sink->Write(":");
  sink->WriteNumber(WholeCount(count));
}

void WriteBody(const SampledFunction& function, size_t depth, ExportSink* sink) {
  for (const auto& [location, line] : function.lines) {
    WriteLocation(location, depth, sink);
    sink->WriteNumber(WholeCount(line.count));
    for (const auto& [callee, count] : line.calls) {
      sink->Write(" ");
      WriteNamed(callee, count, sink);
    }
    sink->Write("\n");
  }
  for (const auto& [location, calls] : function.inlined) {
    for (const auto& [callee, body] : calls) {
      WriteLocation(location, depth, sink);
      WriteNamed(callee, body.total, sink);
      sink->Write("\n");
      WriteBody(body, depth + 1, sink);
    }
  }
}

Status WriteLlvm(const ExportSubject& subject, ExportSink* sink) {
  const SampleProfile profile = MakeSampleProfile(subject);
  if (profile.functions.empty()) {
    return MakeStatus(StatusCode::kNotFound,
                      "no code with counts has lines, which an LLVM profile is by: build with "
                      "debug information (clang -g -fdebug-info-for-profiling)");
  }
  for (const auto& [name, function] : profile.functions) {
    WriteNamed(name, function.total, sink);
    sink->Write(":");
    sink->WriteNumber(WholeCount(function.entries));
    sink->Write("\n");
    WriteBody(function, 1, sink);
  }
  return OkStatus();
}

}  // namespace

constexpr Exporter kLlvmExporter = {
    "llvm", "text for clang and rustc: -fprofile-sample-use, llvm-profdata merge --sample", false,
    &WriteLlvm};

}  // namespace hbbp
