#include "export/bolt_streams.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "export/share_text.h"

namespace hbbp {
namespace {

class StreamFinder {
 public:
  explicit StreamFinder(const ExportSubject& subject)
      : subject_(subject), check_(subject.work.cancel) {}

  std::vector<BoltStream> Find() {
    const Analysis& analysis = subject_.analysis;
    double all = 0, unexplained = 0;
    for (const BranchCount& branch : analysis.data().branches) {
      check_.Step();
      const double count = branch.weights * analysis.family_scales().streams;
      if (branch.to_module != subject_.module || !branch.HasStream() || !(count > 0)) continue;
      all += count;
      if (!Add(branch, count)) unexplained += count;
    }
    ReportShare(subject_, unexplained, all,
                "of the streams are left out: no path through the code explains them, or they end "
                "in another module");
    std::vector<BoltStream> streams;
    streams.reserve(counts_.size());
    for (const auto& [key, count] : counts_) {
      const auto& [start, last, is_arrival] = key;
      streams.push_back({start, last, is_arrival, count});
    }
    return streams;
  }

 private:
  bool Add(const BranchCount& branch, double count) {
    if (branch.stream_end == kStreamLeavesModule) return false;
    const ModuleAddress start = FindModuleAddress(branch.to_module, branch.to);
    const ModuleAddress last = FindModuleAddress(branch.to_module, branch.stream_end);
    if (start == kNoAddress || last == kNoAddress || !IsExplained(start, last)) return false;
    if (IsInStub(start)) return true;
    const ModuleAddress from = FindModuleAddress(branch.from_module, branch.from);
    const auto [found, is_new] = is_arrival_.try_emplace({branch.from_module, from}, false);
    if (is_new) found->second = IsArrival(subject_, branch.from_module, from);
    counts_[{start, last, found->second}] += count;
    return true;
  }

  ModuleAddress FindModuleAddress(uint32_t module, uint64_t offset) const {
    return FindAddress(subject_.analysis.modules(), module, offset);
  }

  bool IsInStub(ModuleAddress address) const {
    const ResolvedModules::Use module = subject_.analysis.modules().Open(subject_.module);
    return module->code->FunctionName(address).ends_with("@plt");
  }

  const Block* BlockAt(ModuleAddress start) {
    const auto [found, is_new] = blocks_.try_emplace(start);
    if (is_new) {
      const StatusOr<BlockRecord> record = subject_.analysis.FindBlock(subject_.module, start);
      if (record.ok() && record->block.start == start) found->second = record->block;
    }
    return found->second ? &*found->second : nullptr;
  }

  bool IsExplained(ModuleAddress start, ModuleAddress last) {
    for (const Block* block = BlockAt(start); block != nullptr; block = BlockAt(block->next())) {
      if (block->Contains(last)) return EndsBlock(block->terminator);
      if (!FallsThrough(block->terminator) || last < block->start) return false;
    }
    return false;
  }

  const ExportSubject& subject_;
  CancelCheck check_;
  std::map<ModuleAddress, std::optional<Block>> blocks_;
  std::map<std::pair<uint32_t, ModuleAddress>, bool> is_arrival_;
  std::map<std::tuple<ModuleAddress, ModuleAddress, bool>, double> counts_;
};

}  // namespace

std::vector<BoltStream> FindBoltStreams(const ExportSubject& subject) {
  return StreamFinder(subject).Find();
}

bool IsArrival(const ExportSubject& subject, uint32_t from_module, ModuleAddress from) {
  if (from_module != subject.module || from == kNoAddress) return true;
  const StatusOr<Instruction> origin = subject.analysis.modules().Decode(from_module, from);
  return !origin.ok() || origin->branch == BranchKind::kReturn;
}

void ReportShare(const ExportSubject& subject, double part, double all, const char* what) {
  if (!(part > all * 0.001)) return;
  subject.Note(ShareText(part, all) + " " + what);
}

}  // namespace hbbp
