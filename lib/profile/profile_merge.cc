#include "profile/profile_merge.h"

#include <utility>

#include "profile/profile_merger.h"

namespace hbbp {

ProfileData MergeProfiles(std::span<const ProfileData* const> profiles, const Work& work,
                          BurstMerger* bursts) {
  ProfileMerger merger({}, bursts);
  CancelCheck check(work.cancel);
  for (size_t number = 0; number < profiles.size(); ++number) {
    ReportOrThrow(work, number, profiles.size());
    merger.Add(*profiles[number], &check);
  }
  ReportOrThrow(work, profiles.size(), profiles.size());
  return merger.Finish(&check);
}

bool KeepThread(uint32_t tid, ProfileData* data) {
  constexpr uint32_t kOther = ~0u;
  std::vector<uint32_t> index_of(data->threads.size(), kOther);
  std::vector<ThreadRecord> kept;
  for (size_t i = 0; i < data->threads.size(); ++i) {
    if (data->threads[i].tid != tid) continue;
    index_of[i] = static_cast<uint32_t>(kept.size());
    kept.push_back(data->threads[i]);
  }
  if (kept.empty()) return false;
  data->threads = std::move(kept);
  const auto keep = [&index_of](auto* list) {
    std::erase_if(*list, [&](const auto& record) { return index_of[record.thread] == kOther; });
    for (auto& record : *list) record.thread = index_of[record.thread];
  };
  keep(&data->counts);
  keep(&data->branches);
  keep(&data->ibs_counts);
  keep(&data->ibs_buckets);
  keep(&data->ibs_lines);
  keep(&data->ibs_data);
  data->kept_bursts.clear();
  return true;
}

bool KeepSlice(uint32_t slice, ProfileData* data) {
  if (slice >= data->slices.count) return false;
  const auto is_elsewhen = [slice](const auto& count) { return count.slice != slice; };
  std::erase_if(data->counts, is_elsewhen);
  std::erase_if(data->branches, is_elsewhen);
  data->ibs_counts.clear();
  data->ibs_buckets.clear();
  data->ibs_lines.clear();
  data->ibs_data.clear();
  data->kept_bursts.clear();
  return true;
}

void KeepSources(const std::vector<bool>& kept, ProfileData* data) {
  const auto is_dropped = [&kept](const auto& count) { return !kept[count.source]; };
  std::erase_if(data->counts, is_dropped);
  std::erase_if(data->branches, is_dropped);
  for (size_t i = 0; i < data->sources.size(); ++i) {
    if (!kept[i]) data->sources[i].unmapped = 0;
  }
}

}  // namespace hbbp
