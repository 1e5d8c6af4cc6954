#include "analysis/ip_sums.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/block_observations.h"
#include "analysis/located_sums.h"

namespace hbbp {
namespace {

// InstructionFinder keeps the block that it has decoded last, since samples are in order of their
// addresses, and a block may have very many.
class InstructionFinder {
 public:
  explicit InstructionFinder(const Analysis& analysis) : analysis_(analysis) {}

  // Returns the instruction that ends at an address and runs on from there, as samples of blocks
  // have it, or if there is none the address.
  ModuleAddress FindBefore(uint32_t module, ModuleAddress end) {
    if (end.value == 0) return end;
    const bool is_known = module == module_ && block_.Contains(end - 1);
    if (!is_known && !Decode(module, end - 1)) return end;
    if (block_.end == end && !RunsOn(block_.terminator)) return end;
    const auto ends_before = [](const Instruction& instruction, uint64_t address) {
      return instruction.address + instruction.length < address;
    };
    const auto found =
        std::lower_bound(instructions_.begin(), instructions_.end(), end.value, ends_before);
    const bool ends_there =
        found != instructions_.end() && found->address + found->length == end.value;
    return ends_there ? ModuleAddress{found->address} : end;
  }

 private:
  bool Decode(uint32_t module, ModuleAddress address) {
    const StatusOr<BlockRecord> record = analysis_.FindBlock(module, address);
    if (!record.ok()) return false;
    module_ = module;
    block_ = record->block;
    instructions_ = analysis_.modules().DecodeBlock(module, block_);
    return true;
  }

  const Analysis& analysis_;
  uint32_t module_ = kNoModule;
  Block block_;
  std::vector<Instruction> instructions_;
};

}  // namespace

std::vector<IpSumRecord> ListIpSums(const ProfileData& data, const Analysis& analysis) {
  std::vector<IpSumRecord> all;
  all.reserve(data.counts.size());
  InstructionFinder finder(analysis);
  for (const IpCount& count : data.counts) {
    IpSumRecord& record = all.emplace_back();
    record.module = count.module;
    record.source = count.source;
    record.samples = count.samples;
    SetAddress(analysis.modules(), count.offset, &record);
    if (count.position == IpPosition::kAfter && record.address != kNoAddress) {
      record.address = finder.FindBefore(count.module, record.address);
    }
    SetFunction(analysis.functions(), &record);
  }
  return AddUp(std::move(all));
}

}  // namespace hbbp
