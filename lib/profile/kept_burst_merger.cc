#include "profile/kept_burst_merger.h"

#include <utility>

namespace hbbp {
namespace {

size_t BytesOf(const RecordedBursts& recording) {
  return recording.bytes.size() + recording.branches.size() * sizeof(KeptBranch) +
         (recording.sources.size() + recording.threads.size()) * sizeof(uint32_t);
}

void MapAll(const std::vector<uint32_t>& of_sum, std::vector<uint32_t>* indices) {
  for (uint32_t& index : *indices) index = of_sum[index];
}

}  // namespace

void KeptBurstMerger::Add(const ProfileData& profile, const MergedIndices& indices) {
  StatusOr<KeptBursts> added = ParseKeptBursts(profile);
  if (!added.ok()) {
    const KeptBurstTotals totals = ReadKeptBurstTotals(profile.kept_bursts);
    merged_.not_kept += totals.kept + totals.not_kept;
    return;
  }
  merged_.not_kept += added->not_kept;
  for (RecordedBursts& recording : added->recordings) {
    const size_t bytes = BytesOf(recording);
    if (bytes > room_) {
      merged_.not_kept += recording.number;
      continue;
    }
    room_ -= bytes;
    MapAll(indices.sources, &recording.sources);
    MapAll(indices.threads, &recording.threads);
    for (KeptBranch& branch : recording.branches) {
      for (uint32_t* module : {&branch.from_module, &branch.to_module}) {
        if (*module != kNoModule) *module = indices.modules[*module];
      }
    }
    merged_.recordings.push_back(std::move(recording));
  }
}

std::vector<uint8_t> KeptBurstMerger::Take() {
  const bool is_empty = merged_.recordings.empty() && merged_.not_kept == 0;
  return is_empty ? std::vector<uint8_t>() : SerializeKeptBursts(std::exchange(merged_, {}));
}

}  // namespace hbbp
