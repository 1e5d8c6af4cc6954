#include "export/block_rows.h"

#include <cmath>
#include <vector>

#include "estimate/count_interval.h"
#include "image/build_id.h"
#include "symbols/demangle.h"

namespace hbbp {
namespace {

BlockCell TextCell(std::string_view text) { return text.empty() ? BlockCell() : BlockCell(text); }

// An error is infinite where one count is all that is known.
BlockCell NumberCell(double number) {
  return std::isfinite(number) ? BlockCell(number) : BlockCell();
}

}  // namespace

void BlockRows::BeginModule(uint32_t module) {
  module_ = module;
  const std::vector<uint8_t>& build_id = subject_.analysis.data().modules[module].build_id;
  build_id_ = build_id.empty() ? std::string() : BuildIdText(build_id);
  finder_.reset();
  const StatusOr<const LineTable*> table = subject_.lines.Open(module);
  if (table.ok()) finder_.emplace(*table);
}

void BlockRows::BeginFunction(uint32_t function) {
  function_ = function;
  symbol_ = {};
  if (function != kNoIndex) symbol_ = subject_.analysis.functions()[function].name;
  name_ = Demangle(symbol_);
}

const BlockRow* BlockRows::Next() {
  const std::vector<BlockRecord>& blocks = subject_.analysis.blocks();
  while (next_ < blocks.size() && !subject_.Wants(blocks[next_].module)) ++next_;
  if (next_ == blocks.size()) return nullptr;
  check_.Step();
  const BlockRecord& record = blocks[next_++];
  if (record.module != module_) BeginModule(record.module);
  if (record.function != function_) BeginFunction(record.function);
  const CountInterval interval = IntervalOf(record.estimate);
  BlockCell file, line;
  if (finder_) {
    const std::vector<LineFrame>& frames = finder_->At(record.block.start);
    if (!frames.empty()) file = TextCell(frames.front().file);
    if (!frames.empty() && frames.front().line != 0) line = uint64_t{frames.front().line};
  }
  row_ = {TextCell(subject_.analysis.data().modules[record.module].path),
          TextCell(build_id_),
          TextCell(name_),
          TextCell(symbol_),
          record.block.start,
          record.block.end,
          uint64_t{record.block.instruction_count},
          NumberCell(record.estimate.count),
          NumberCell(record.estimate.standard_error),
          NumberCell(interval.low),
          NumberCell(interval.high),
          std::string_view(SourceName(record.source)),
          record.samples,
          file,
          line};
  return &row_;
}

}  // namespace hbbp
