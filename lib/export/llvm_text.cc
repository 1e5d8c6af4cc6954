// The text of LLVM's sample profiles (-fprofile-sample-use, llvm-profdata merge --sample).
//
// A profile is by lines, or by the pseudo-probes of modules that have them.
#include <string>
#include <vector>

#include "export/exporter.h"
#include "export/one_line.h"
#include "export/probe_profile.h"
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
  sink->Write(OnOneLine(name));
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
  if (!function.checksum) return;
  sink->Write(std::string(depth, ' ') + "!CFGChecksum: ");
  sink->WriteNumber(*function.checksum);
  sink->Write("\n");
}

Status NothingToWrite(bool is_by_probes) {
  return Status(StatusCode::kNotFound,
                is_by_probes ? "no function with pseudo-probes has counts that can be written; "
                               "build the program again (clang -fpseudo-probe-for-profiling), and "
                               "keep its symbols"
                             : "no code with counts has lines, which an LLVM profile is by: build "
                               "with debug information (clang -g -fdebug-info-for-profiling)");
}

Status WriteLlvm(const ExportSubject& subject, ExportSink* sink) {
  const std::vector<ProbedModule> probed = OpenProbedModules(subject);
  const SampleProfile profile =
      probed.empty() ? MakeSampleProfile(subject) : MakeProbeProfile(subject, probed);
  if (profile.functions.empty()) return NothingToWrite(!probed.empty());
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
