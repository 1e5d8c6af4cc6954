#include "export/code_runs.h"

#include <utility>

namespace hbbp {

StatusOr<PivotInput> FindCountedBlocks(const ExportSubject& subject) {
  PivotInput input =
      MakePivotInput(subject.analysis, nullptr, {.threads = true, .missing_code = true});
  std::erase_if(input.observations, [&](const PivotObservation& each) {
    return !(each.estimate.count > 0) || !subject.Wants(input.blocks[each.block].module);
  });
  if (!input.observations.empty()) return input;
  return MakeStatus(StatusCode::kNotFound,
                    "no block was counted, so there is nothing to write; hbbp info says what "
                    "became of the samples");
}

const std::vector<CodeRun>& CodeRuns::Split(const PivotBlock& block) {
  runs_.clear();
  if (block.block == kNoIndex) {
    const FunctionRecord& function = subject_.analysis.functions()[block.function];
    Add(block, function.range.start, block.instruction_count, {});
    return runs_;
  }
  if (block.module != module_) {
    module_ = block.module;
    const StatusOr<const LineTable*> table = subject_.lines.Open(module_);
    finder_.reset();
    if (table.ok()) finder_.emplace(*table);
  }
  if (finder_) {
    SplitByLines(block);
  } else {
    Add(block, block.start, block.instruction_count, {});
  }
  return runs_;
}

void CodeRuns::SplitByLines(const PivotBlock& block) {
  const std::vector<LineFrame>& first = finder_->At(block.start);
  if (block.start + block.bytes <= finder_->range().end) {
    Add(block, block.start, block.instruction_count, first);
    return;
  }
  const Block& code = subject_.analysis.blocks()[block.block].block;
  AddressRange range;
  for (const Instruction& instruction :
       subject_.analysis.modules().DecodeBlock(block.module, code)) {
    const ModuleAddress address{instruction.address};
    if (range.Contains(address)) {
      ++runs_.back().instructions;
      continue;
    }
    const std::vector<LineFrame>& frames = finder_->At(address);
    range = finder_->range();
    Add(block, address, 1, frames);
  }
}

void CodeRuns::Add(const PivotBlock& block, ModuleAddress start, uint32_t instructions,
                   std::vector<LineFrame> frames) {
  if (frames.empty()) frames.emplace_back();
  frames.back().function = subject_.analysis.functions()[block.function].name;
  runs_.push_back({start, instructions, std::move(frames)});
}

}  // namespace hbbp
