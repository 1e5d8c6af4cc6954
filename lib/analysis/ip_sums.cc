#include "analysis/ip_sums.h"

#include <utility>

#include "analysis/block_observations.h"
#include "analysis/located_sums.h"

namespace hbbp {
namespace {

// Returns the instruction that ends at an address and runs on from there, as samples of blocks have
// it, or if there is none the address.
ModuleAddress FindInstructionBefore(const Analysis& analysis, uint32_t module, ModuleAddress end) {
  if (end.value == 0) return end;
  const StatusOr<BlockRecord> record = analysis.FindBlock(module, end - 1);
  if (!record.ok() || (record->block.end == end && !RunsOn(record->block.terminator))) return end;
  for (const Instruction& instruction : analysis.modules().DecodeBlock(module, record->block)) {
    if (instruction.address + instruction.length == end.value) return {instruction.address};
  }
  return end;
}

}  // namespace

std::vector<IpSumRecord> ListIpSums(const ProfileData& data, const Analysis& analysis) {
  std::vector<IpSumRecord> all;
  all.reserve(data.counts.size());
  for (const IpCount& count : data.counts) {
    IpSumRecord& record = all.emplace_back();
    record.module = count.module;
    record.source = count.source;
    record.samples = count.samples;
    SetAddress(analysis.modules(), count.offset, &record);
    if (count.position == IpPosition::kAfter && record.address != kNoAddress) {
      record.address = FindInstructionBefore(analysis, count.module, record.address);
    }
    SetFunction(analysis.functions(), &record);
  }
  return AddUp(std::move(all));
}

}  // namespace hbbp
