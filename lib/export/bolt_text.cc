// Taken branches and the streams between them as text: what perf2bolt reads as pre-aggregated
// (-pa). Records are those of BOLT up to 19, which later versions read, too: B is a branch, with
// how often it was mispredicted, F the code from the target of a branch to the next branch.
// Addresses are those of the ELF file, which for a position-independent one are offsets from its
// first segment.
#include <vector>

#include "export/exporter.h"
#include "export/module_flow.h"

namespace hbbp {
namespace {

void WriteRecord(char kind, ModuleAddress from, ModuleAddress to, double count, const char* rest,
                 ExportSink* sink) {
  sink->Write({&kind, 1});
  for (const ModuleAddress address : {from, to}) {
    sink->Write(" ");
    sink->WriteHex(address.value);
  }
  sink->Write(" ");
  sink->WriteNumber(WholeCount(count));
  sink->Write(rest);
}

Status WriteBolt(const ExportSubject& subject, ExportSink* sink) {
  const ModuleFlow flow = FindModuleFlow(subject.analysis, subject.module, subject.work);
  const std::vector<FlowStream> streams =
      FindModuleStreams(subject.analysis, subject.module, subject.work);
  if (streams.empty()) {
    return MakeStatus(StatusCode::kNotFound,
                      "the profile has no streams of taken branches, which BOLT lays out code by: "
                      "record by branch tracing (--source swbt) or with branch stacks");
  }
  for (const FlowBranch& branch : flow.branches) {
    WriteRecord('B', branch.from, branch.to, branch.count, " 0\n", sink);
  }
  for (const FlowStream& stream : streams) {
    WriteRecord('F', stream.start, stream.end, stream.count, "\n", sink);
  }
  return OkStatus();
}

}  // namespace

constexpr Exporter kBoltExporter = {
    "bolt", "text for BOLT: perf2bolt -pa -p FILE -o OUT.fdata BINARY", true, &WriteBolt};

}  // namespace hbbp
