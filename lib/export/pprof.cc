// Profiles for go tool pprof, of blocks. A sample is a run of instructions that have one line, in
// one thread: its location is the first one, with the functions inlined there. The executions of a
// block are those of its first run, so that sums are right.
#include <map>
#include <utility>
#include <vector>

#include "export/address_layout.h"
#include "export/code_runs.h"
#include "export/exporter.h"
#include "export/pprof_file.h"
#include "mix/pivot_input.h"

namespace hbbp {
namespace {

class PprofWriter {
 public:
  PprofWriter(const ExportSubject& subject, const PivotInput& input, ExportSink* sink)
      : subject_(subject),
        input_(input),
        check_(subject.work.cancel),
        layout_(subject.analysis, input),
        runs_(subject),
        file_(subject, layout_, sink) {}

  void Write() {
    file_.WriteSampleType("executions", "count");
    file_.WriteSampleType("instructions", "count");
    file_.WriteHeader("instructions");
    for (const PivotObservation& observation : input_.observations) {
      check_.Step();
      const PivotBlock& block = input_.blocks[observation.block];
      FindLocations(observation.block);
      const ProtoMessage& labels = FindLabels(observation.thread, block.source);
      for (size_t i = 0; i < locations_.size(); ++i) {
        const double executions =
            i == 0 && block.block != kNoIndex ? observation.estimate.count : 0;
        const double instructions = observation.estimate.count * locations_[i].instructions;
        file_.WriteSample({locations_[i].id}, {WholeCount(executions), WholeCount(instructions)},
                          labels);
      }
    }
    file_.Finish();
  }

 private:
  struct WrittenLocation {
    uint64_t id = 0;
    uint32_t instructions = 0;
  };

  // Writes the locations of a block, unless they are those that were written last.
  void FindLocations(uint32_t index) {
    const PivotBlock& block = input_.blocks[index];
    const bool is_same_function = block.block == kNoIndex && block.function == missing_function_;
    if (index == located_block_ || is_same_function) return;
    located_block_ = index;
    missing_function_ = block.block == kNoIndex ? block.function : kNoIndex;
    locations_.clear();
    for (const CodeRun& run : runs_.Split(block)) {
      locations_.push_back(
          {file_.WriteLocation(block.module, run.start, run.frames), run.instructions});
    }
  }

  const ProtoMessage& FindLabels(uint32_t thread, SourceKind source) {
    const auto [known, is_new] = labels_.try_emplace({thread, source});
    if (is_new) {
      const ThreadRecord& record = subject_.analysis.data().threads[thread];
      if (!record.name.empty()) file_.AddLabel("thread", record.name, &known->second);
      file_.AddLabel("tid", record.tid, &known->second);
      file_.AddLabel("source", SourceName(source), &known->second);
    }
    return known->second;
  }

  const ExportSubject& subject_;
  const PivotInput& input_;
  CancelCheck check_;
  const AddressLayout layout_;
  CodeRuns runs_;
  PprofFile file_;
  std::map<std::pair<uint32_t, SourceKind>, ProtoMessage> labels_;
  uint32_t located_block_ = kNoIndex;
  uint32_t missing_function_ = kNoIndex;  // of that block, if its code is missing
  std::vector<WrittenLocation> locations_;
};

Status WritePprof(const ExportSubject& subject, ExportSink* sink) {
  HBBP_ASSIGN_OR_RETURN(const PivotInput input, FindCountedBlocks(subject));
  PprofWriter(subject, input, sink).Write();
  return OkStatus();
}

}  // namespace

constexpr Exporter kPprofExporter = {
    "pprof", "compressed profile.proto for go tool pprof and what else reads its files", false,
    &WritePprof};

}  // namespace hbbp
