// MergeProfiles takes one profile after the other: Index maps its modules, sources and threads to
// those of the sum, by a key for each kind of record; counts and branches get the new indices and
// the slices of SliceMerger and are appended; at the end Normalize adds up equal ones. KeepThread,
// KeepSlice and KeepSources filter in place. lib/capi calls them.
#include "profile/profile_merge.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "profile/profile_runs.h"
#include "profile/slice_merger.h"

namespace hbbp {
namespace {

// Maps the elements of one profile's list to indices of the merged list.
template <typename Record, typename Key>
class Index {
 public:
  explicit Index(std::vector<Record>* merged) : merged_(merged) {}

  // Returns the index, and whether the record is new in the merged list.
  std::pair<uint32_t, bool> Add(const Key& key, const Record& record) {
    auto [index, added] = indices_.emplace(key, static_cast<uint32_t>(merged_->size()));
    if (added) merged_->push_back(record);
    return {index->second, added};
  }

 private:
  std::vector<Record>* merged_;
  std::map<Key, uint32_t> indices_;
};

using ModuleKey = std::tuple<ModuleKind, std::vector<uint8_t>, std::string, uint64_t, uint64_t>;
using SourceKey = std::tuple<SourceKind, EventKind, PeriodMode, bool, uint64_t, uint64_t,
                             std::string, uint32_t, EbsMethod, BurstExtent>;
using ThreadKey = std::pair<uint32_t, uint32_t>;

// Returns the same for two build IDs that SameBuildId finds equal.
std::vector<uint8_t> WithoutZerosAtEnd(std::vector<uint8_t> build_id) {
  while (!build_id.empty() && build_id.back() == 0) build_id.pop_back();
  return build_id;
}

ModuleKey MakeModuleKey(const ModuleRecord& module, uint32_t pid) {
  switch (module.kind) {
    case ModuleKind::kAnonymous:
      return {module.kind, {}, module.path, pid, 0};
    case ModuleKind::kVdso:
      return {module.kind, module.build_id, module.path, 0, 0};
    case ModuleKind::kKernel:
      // Its addresses differ from boot to boot.
      return {module.kind, module.build_id, module.path + module.kernel.boot_id,
              module.kernel.reference_address, 0};
    case ModuleKind::kFile:
      break;
  }
  const std::vector<uint8_t> build_id = WithoutZerosAtEnd(module.build_id);
  if (!build_id.empty()) return {module.kind, build_id, {}, 0, 0};
  return {module.kind, {}, module.path, module.device, module.inode};
}

SourceKey KeyOf(const SourceRecord& source) {
  return {source.kind,       source.event,        source.period_mode, source.include_kernel,
          source.period,     source.frequency_hz, source.event_name,  source.precise_ip,
          source.ebs_method, source.burst_extent};
}

void AddPeriods(const SourceRecord& from, SourceRecord* to) {
  if (from.largest_period == 0) return;
  to->smallest_period = to->largest_period == 0
                            ? from.smallest_period
                            : std::min(to->smallest_period, from.smallest_period);
  to->largest_period = std::max(to->largest_period, from.largest_period);
}

void AddChunks(const ModuleRecord& from, ModuleRecord* to) {
  for (const CodeChunk& chunk : from.chunks) {
    const auto contains_chunk = [&chunk](const CodeChunk& known) {
      return known.offset == chunk.offset && known.bytes.size() >= chunk.bytes.size();
    };
    if (std::none_of(to->chunks.begin(), to->chunks.end(), contains_chunk)) {
      to->chunks.push_back(chunk);
    }
  }
  SortChunks(&to->chunks);
  for (const NamedRange& function : from.functions) AddRange(function, &to->functions);
  if (to->pinned_file == nullptr) to->pinned_file = from.pinned_file;
}

}  // namespace

ProfileData MergeProfiles(std::span<const ProfileData* const> profiles, const Work& work) {
  ProfileData merged;
  Index<SourceRecord, SourceKey> sources(&merged.sources);
  Index<ThreadRecord, ThreadKey> threads(&merged.threads);
  Index<ModuleRecord, ModuleKey> modules(&merged.modules);
  Index<std::string, std::string> names(&merged.ibs_names);
  SliceMerger slices(profiles);
  for (size_t number = 0; number < profiles.size(); ++number) {
    ReportOrThrow(work, number, profiles.size());
    const ProfileData* profile = profiles[number];
    const bool first = profile == profiles.front();
    merged.pid = first || merged.pid == profile->pid ? profile->pid : 0;
    merged.start_time_ns =
        first ? profile->start_time_ns : std::min(merged.start_time_ns, profile->start_time_ns);
    if (first) {
      merged.command = profile->command;
      merged.host = profile->host;
    }
    std::vector<uint32_t> source_of, thread_of, module_of;
    for (const SourceRecord& source : profile->sources) {
      auto [index, added] = sources.Add(KeyOf(source), source);
      source_of.push_back(index);
      if (added) continue;
      merged.sources[index].lost += source.lost;
      merged.sources[index].throttled += source.throttled;
      merged.sources[index].unmapped += source.unmapped;
      AddPeriods(source, &merged.sources[index]);
      AddTraceStatistics(source.trace, &merged.sources[index].trace);
    }
    for (const ThreadRecord& thread : profile->threads) {
      thread_of.push_back(threads.Add({thread.pid, thread.tid}, thread).first);
    }
    for (const ModuleRecord& module : profile->modules) {
      auto [index, added] = modules.Add(MakeModuleKey(module, profile->pid), module);
      module_of.push_back(index);
      if (added) continue;
      ModuleRecord& known = merged.modules[index];
      if (module.build_id.size() < known.build_id.size()) known.build_id = module.build_id;
      AddChunks(module, &known);
      MergeKernel(module.kernel, &known.kernel);
    }
    for (IpCount count : profile->counts) {
      count.source = source_of[count.source];
      count.thread = thread_of[count.thread];
      count.module = module_of[count.module];
      count.slice = slices.Map(number, count.slice);
      merged.counts.push_back(count);
    }
    for (BranchCount branch : profile->branches) {
      branch.source = source_of[branch.source];
      branch.thread = thread_of[branch.thread];
      for (uint32_t* module : {&branch.from_module, &branch.to_module}) {
        if (*module != kNoModule) *module = module_of[*module];
      }
      branch.slice = slices.Map(number, branch.slice);
      merged.branches.push_back(branch);
    }
    std::vector<uint32_t> name_of;
    for (const std::string& name : profile->ibs_names) {
      name_of.push_back(names.Add(name, name).first);
    }
    for (IbsCount count : profile->ibs_counts) {
      count.source = source_of[count.source];
      count.thread = thread_of[count.thread];
      count.module = module_of[count.module];
      count.event = name_of[count.event];
      merged.ibs_counts.push_back(count);
    }
    for (IbsBucket bucket : profile->ibs_buckets) {
      bucket.source = source_of[bucket.source];
      bucket.thread = thread_of[bucket.thread];
      bucket.latency = name_of[bucket.latency];
      merged.ibs_buckets.push_back(bucket);
    }
    for (IbsLine line : profile->ibs_lines) {
      line.source = source_of[line.source];
      line.thread = thread_of[line.thread];
      merged.ibs_lines.push_back(line);
    }
  }
  ReportOrThrow(work, profiles.size(), profiles.size());
  merged.duration_ns = DurationOfRuns(profiles);
  merged.slices = slices.merged();
  CancelCheck check(work.cancel);
  Normalize(&merged, &check);
  return merged;
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
