// MakeSampleProfile adds the instructions of each block at their locations (AddBlock), those of the
// blocks of the same functions that have no count with 0 (AddUnseenBlocks), and then the branches
// to the start of a function, as its entries and as calls of where they came from (AddCalls).
#include "export/sample_profile.h"

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "export/frame_finder.h"
#include "export/share_text.h"

namespace hbbp {
namespace {

class Maker {
 public:
  explicit Maker(const ExportSubject& subject) : subject_(subject), check_(subject.work.cancel) {}

  SampleProfile Make() {
    const size_t modules = analysis().data().modules.size();
    for (uint32_t module = 0; module < modules; ++module) {
      if (subject_.Wants(module)) AddModule(module);
    }
    AddCalls();
    return std::move(profile_);
  }

 private:
  const Analysis& analysis() const { return subject_.analysis; }

  void AddModule(uint32_t module) {
    double all = 0, without_lines = 0;
    std::vector<const BlockRecord*> records;
    for (const BlockRecord& record : analysis().blocks()) {
      if (record.module != module || !(record.estimate.count > 0)) continue;
      records.push_back(&record);
      all += record.estimate.count * record.block.instruction_count;
    }
    if (records.empty()) return;
    const StatusOr<const LineTable*> table = subject_.lines.Open(module);
    const std::string& path = analysis().data().modules[module].path;
    if (!table.ok()) {
      subject_.Note(path + " is left out: " + table.status().message());
      return;
    }
    FrameFinder frames(*table);
    for (const BlockRecord* record : records) {
      without_lines += AddBlock(module, record->block, record->estimate.count, &frames);
    }
    AddUnseenBlocks(module, records, &frames);
    if (without_lines <= all / 1000) return;
    subject_.Note(path + ": " + ShareText(without_lines, all) +
                  " of its instructions are of no line of a function, and left out");
  }

  // Returns how many instructions were executed of which no line is known.
  double AddBlock(uint32_t module, const Block& block, double count, FrameFinder* finder) {
    double without_lines = 0;
    for (const Instruction& instruction : analysis().modules().DecodeBlock(module, block)) {
      check_.Step();
      const std::vector<LineFrame>& frames = finder->At({instruction.address});
      if (!IsUsable(frames)) {
        without_lines += count;
        continue;
      }
      AddInstruction(frames, count, &profile_);
    }
    return without_lines;
  }

  // The other blocks of the functions (and parts) that have counts.
  void AddUnseenBlocks(uint32_t module, const std::vector<const BlockRecord*>& records,
                       FrameFinder* finder) {
    uint64_t end = 0;  // of the function that was added last
    for (const BlockRecord* record : records) {
      if (record->block.start.value < end) continue;
      const std::vector<Block> blocks = analysis().FunctionBlocks(module, record->block.start);
      for (const Block& block : blocks) AddBlock(module, block, 0, finder);
      if (!blocks.empty()) end = blocks.back().end.value;
    }
  }

  // Calls are branches to the start of a function, but for jumps of its own: loops begin there,
  // too.
  void AddCalls() {
    for (const TakenBranchRecord& branch : analysis().branches()) {
      check_.Step();
      if (!(branch.count > 0) || branch.to_module == kNoIndex || branch.to == kNoAddress) continue;
      const std::string* const callee = FunctionStartingAt(branch.to_module, branch.to);
      if (callee == nullptr || IsLoop(branch)) continue;
      const auto known = profile_.functions.find(*callee);
      if (known != profile_.functions.end() && subject_.Wants(branch.to_module)) {
        known->second.entries += branch.count;
      }
      if (branch.from_module == kNoIndex || branch.from == kNoAddress) continue;
      if (!subject_.Wants(branch.from_module)) continue;
      const StatusOr<const LineTable*> table = subject_.lines.Open(branch.from_module);
      if (!table.ok()) continue;
      const LineRange caller = (*table)->Find(branch.from);
      if (!IsUsable(caller.frames)) continue;
      SampledLineAt(caller.frames, 0, &profile_)->calls[*callee] += branch.count;
    }
  }

  bool IsLoop(const TakenBranchRecord& branch) const {
    if (branch.from_module != branch.to_module || branch.from == kNoAddress) return false;
    const uint32_t function = FindFunction(analysis().functions(), branch.to_module, branch.to);
    if (!analysis().functions()[function].range.Contains(branch.from)) return false;
    const StatusOr<Instruction> from = analysis().modules().Decode(branch.from_module, branch.from);
    return from.ok() && from->branch != BranchKind::kCall &&
           from->branch != BranchKind::kIndirectCall;
  }

  // Returns its name as the debug information has it, else that of its symbol, or null.
  const std::string* FunctionStartingAt(uint32_t module, ModuleAddress address) {
    const auto key = std::pair(module, address.value);
    const auto [known, is_new] = starts_.try_emplace(key);
    if (is_new) known->second = FindFunctionStart(module, address);
    return known->second ? &*known->second : nullptr;
  }

  std::optional<std::string> FindFunctionStart(uint32_t module, ModuleAddress address) const {
    std::optional<std::string> symbol = FindSymbolAtStart(analysis(), module, address);
    if (!symbol) return {};
    const StatusOr<const LineTable*> table = subject_.lines.Open(module);
    if (table.ok()) {
      const LineRange found = (*table)->Find(address);
      if (IsUsable(found.frames)) return std::string(found.frames.back().function);
    }
    return symbol;
  }

  const ExportSubject& subject_;
  CancelCheck check_;
  SampleProfile profile_;
  std::map<std::pair<uint32_t, uint64_t>, std::optional<std::string>> starts_;
};

}  // namespace

std::optional<std::string> FindSymbolAtStart(const Analysis& analysis, uint32_t module,
                                             ModuleAddress address) {
  const uint32_t index = FindFunction(analysis.functions(), module, address);
  if (index == kNoIndex || analysis.functions()[index].range.start != address) return {};
  const std::string& name = analysis.functions()[index].name;
  constexpr std::string_view kStub = "@plt";
  return name.ends_with(kStub) ? name.substr(0, name.size() - kStub.size()) : name;
}

SampleProfile MakeSampleProfile(const ExportSubject& subject) { return Maker(subject).Make(); }

}  // namespace hbbp
