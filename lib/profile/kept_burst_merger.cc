#include "profile/kept_burst_merger.h"

#include <utility>

#include "profile/profile_runs.h"

namespace hbbp {
namespace {

size_t BytesOf(const RecordedBursts& recording) {
  return sizeof(recording) + recording.bytes.size() + recording.access_bytes.size() +
         recording.value_bytes.size() + recording.branches.size() * sizeof(KeptBranch) +
         (recording.sources.size() + recording.threads.size()) * sizeof(uint32_t);
}

void MapAll(const std::vector<uint32_t>& of_sum, std::vector<uint32_t>* indices) {
  for (uint32_t& index : *indices) index = of_sum[index];
}

}  // namespace

void KeptBurstMerger::Add(const ProfileData& profile, const MergedIndices& indices) {
  if (room_ < sizeof(RecordedBursts)) return AddTotals(profile);
  StatusOr<KeptBursts> added = ParseKeptBursts(profile);
  if (!added.ok()) return AddTotals(profile);
  AddNotKept(added->not_kept);
  for (RecordedBursts& recording : added->recordings) {
    if (recording.number == 0) continue;
    const size_t bytes = BytesOf(recording);
    if (bytes > room_) {
      AddNotKept(recording.number);
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

void KeptBurstMerger::AddTotals(const ProfileData& profile) {
  const KeptBurstTotals totals = ReadKeptBurstTotals(profile.kept_bursts);
  AddNotKept(totals.kept);
  AddNotKept(totals.not_kept);
}

void KeptBurstMerger::AddNotKept(uint64_t bursts) {
  merged_.not_kept = AddUpTo(UINT64_MAX, merged_.not_kept, bursts);
}

std::vector<uint8_t> KeptBurstMerger::Take() {
  const bool is_empty = merged_.recordings.empty() && merged_.not_kept == 0;
  return is_empty ? std::vector<uint8_t>() : SerializeKeptBursts(std::exchange(merged_, {}));
}

}  // namespace hbbp
