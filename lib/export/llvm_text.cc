// The text of LLVM's sample profiles (-fprofile-sample-use, llvm-profdata merge --sample).
//
// A profile is by lines, or by the pseudo-probes of modules that have them.
#include <vector>

#include "export/exporter.h"
#include "export/probe_profile.h"
#include "export/sample_profile.h"

namespace hbbp {
namespace {

Status NothingToWrite(bool is_by_probes) {
  if (!is_by_probes) return NoLinesToWrite();
  return Status(StatusCode::kNotFound,
                "no function with pseudo-probes has counts that can be written; build the program "
                "again (clang -fpseudo-probe-for-profiling), and keep its symbols");
}

Status WriteLlvm(const ExportSubject& subject, ExportSink* sink) {
  const std::vector<ProbedModule> probed = OpenProbedModules(subject);
  const SampleProfile profile =
      probed.empty() ? MakeSampleProfile(subject) : MakeProbeProfile(subject, probed);
  if (profile.functions.empty()) return NothingToWrite(!probed.empty());
  WriteSampleProfile(profile, sink);
  return OkStatus();
}

}  // namespace

constexpr Exporter kLlvmExporter = {
    "llvm", "text for clang and rustc: -fprofile-sample-use, llvm-profdata merge --sample", false,
    &WriteLlvm};

}  // namespace hbbp
