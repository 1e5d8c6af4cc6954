// Add maps the modules, sources and threads of a profile to those of the sum, by a key for each
// kind of record (AddRecords), appends its counts with the new indices (AppendCounts, AppendIbs)
// and adds up equal ones when there are many new ones (AddUp). Finish maps slices and adds up the
// rest. MergeProfiles and lib/capi call them.
#include "profile/profile_merger.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/random_bits.h"
#include "profile/slice_merger.h"

namespace hbbp {
namespace {

// Lists are added up when they have grown by so many records, or by as many as they had.
constexpr size_t kMinAppended = 65536;

// Returns the same for two build IDs that SameBuildId finds equal.
std::vector<uint8_t> WithoutZerosAtEnd(std::vector<uint8_t> build_id) {
  while (!build_id.empty() && build_id.back() == 0) build_id.pop_back();
  return build_id;
}

uint64_t Mixed(uint64_t sum, uint64_t more) { return RandomBits(sum ^ more).Next(); }

// Process ids are the same on many hosts; in containers most are 1. So the time belongs to it.
uint64_t ProcessKey(const ProfileData& profile) {
  return std::max(Mixed(Mixed(profile.start_time_ns, profile.pid), 0), uint64_t{1});
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

template <typename Record>
void AddUpList(std::vector<Record>* list, size_t* added, CancelCheck* check) {
  const size_t appended = list->size() - *added;
  if (appended < std::max(kMinAppended, *added)) return;
  Normalize(list, check);
  *added = list->size();
}

template <typename Record>
void MoveTo(std::vector<Record>* to, std::vector<Record>* from) {
  if (to->empty()) {
    *to = std::move(*from);
  } else {
    to->insert(to->end(), from->begin(), from->end());
  }
  *from = {};
}

}  // namespace

size_t ReplicateRotation(const ProfileData& recording) {
  uint64_t drawn = recording.pid;
  for (const uint64_t fact :
       {recording.start_time_ns, recording.duration_ns, uint64_t{recording.counts.size()},
        uint64_t{recording.branches.size()}}) {
    drawn = Mixed(drawn, fact);
  }
  for (const BranchCount& branch : recording.branches) {
    drawn += branch.number * (branch.to ^ branch.from);
  }
  return Mixed(drawn, 0) % kReplicates;
}

void RotateReplicates(size_t by, ReplicateSums* replicates) {
  auto& sums = replicates->sums;
  std::rotate(sums.begin(), sums.end() - static_cast<std::ptrdiff_t>(by), sums.end());
}

ProfileMerger::ModuleKey ProfileMerger::MakeModuleKey(const ModuleRecord& module) {
  switch (module.kind) {
    case ModuleKind::kAnonymous:
      return {module.kind, {}, module.path, module.process, 0};
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

ProfileMerger::SourceKey ProfileMerger::MakeSourceKey(const SourceRecord& source) {
  return {source.kind,       source.event,        source.period_mode, source.include_kernel,
          source.period,     source.frequency_hz, source.event_name,  source.precise_ip,
          source.ebs_method, source.burst_extent};
}

void ProfileMerger::Add(const ProfileData& profile, CancelCheck* check) {
  check->CheckNow();
  AddRun(profile);
  const Indices indices = AddRecords(profile);
  AppendCounts(profile, indices);
  AppendIbs(profile, indices);
  AddUp(check);
}

void ProfileMerger::AddRun(const ProfileData& profile) {
  const bool is_first = times_.empty();
  if (is_first) {
    merged_.command = profile.command;
    merged_.host = profile.host;
    merged_.pid = profile.pid;
    merged_.start_time_ns = profile.start_time_ns;
  }
  if (merged_.pid != profile.pid) merged_.pid = 0;
  merged_.start_time_ns = std::min(merged_.start_time_ns, profile.start_time_ns);
  merged_.recordings += std::max(profile.recordings, uint64_t{1});
  times_.push_back(TimesOf(profile));
}

ProfileMerger::Indices ProfileMerger::AddRecords(const ProfileData& profile) {
  Indices indices;
  for (const SourceRecord& source : profile.sources) {
    auto [index, added] = sources_.Add(MakeSourceKey(source), source, &merged_.sources);
    indices.sources.push_back(index);
    if (added) continue;
    SourceRecord& known = merged_.sources[index];
    known.lost += source.lost;
    known.throttled += source.throttled;
    known.unmapped += source.unmapped;
    AddPeriods(source, &known);
    AddTraceStatistics(source.trace, &known.trace);
  }
  for (const ThreadRecord& thread : profile.threads) {
    const ThreadRecord kept = options_.drop_threads ? ThreadRecord() : thread;
    indices.threads.push_back(threads_.Add({kept.pid, kept.tid}, kept, &merged_.threads).first);
  }
  for (ModuleRecord module : profile.modules) {
    if (module.kind == ModuleKind::kAnonymous && module.process == 0) {
      module.process = ProcessKey(profile);
    }
    AddModule(std::move(module), &indices);
  }
  for (const std::string& name : profile.ibs_names) {
    indices.names.push_back(names_.Add(name, name, &merged_.ibs_names).first);
  }
  return indices;
}

void ProfileMerger::AddModule(ModuleRecord module, Indices* indices) {
  auto [index, added] = modules_.Add(MakeModuleKey(module), module, &merged_.modules);
  indices->modules.push_back(index);
  if (added) return;
  ModuleRecord& known = merged_.modules[index];
  if (module.build_id.size() < known.build_id.size()) known.build_id = std::move(module.build_id);
  AddChunks(module, &known);
  MergeKernel(module.kernel, &known.kernel);
}

void ProfileMerger::AppendCounts(const ProfileData& profile, const Indices& indices) {
  const bool has_slices = !options_.drop_slices && profile.slices.width_ns != 0;
  auto& counts = has_slices ? sliced_counts_ : merged_.counts;
  auto& branches = has_slices ? sliced_branches_ : merged_.branches;
  for (IpCount count : profile.counts) {
    count.source = indices.sources[count.source];
    count.thread = indices.threads[count.thread];
    count.module = indices.modules[count.module];
    if (!has_slices) count.slice = kNoSlice;
    counts.push_back(count);
  }
  rotation_ = profile.recordings == 0 ? ReplicateRotation(profile) : 0;
  for (BranchCount branch : profile.branches) {
    branch.source = indices.sources[branch.source];
    branch.thread = indices.threads[branch.thread];
    for (uint32_t* module : {&branch.from_module, &branch.to_module}) {
      if (*module != kNoModule) *module = indices.modules[*module];
    }
    if (!has_slices) branch.slice = kNoSlice;
    RotateReplicates(rotation_, &branch.replicates);
    branches.push_back(branch);
  }
  if (has_slices) sliced_.push_back({times_.size() - 1, counts.size(), branches.size()});
}

void ProfileMerger::AppendIbs(const ProfileData& profile, const Indices& indices) {
  for (IbsCount count : profile.ibs_counts) {
    count.source = indices.sources[count.source];
    count.thread = indices.threads[count.thread];
    count.module = indices.modules[count.module];
    count.event = indices.names[count.event];
    merged_.ibs_counts.push_back(count);
  }
  for (IbsBucket bucket : profile.ibs_buckets) {
    bucket.source = indices.sources[bucket.source];
    bucket.thread = indices.threads[bucket.thread];
    bucket.latency = indices.names[bucket.latency];
    merged_.ibs_buckets.push_back(bucket);
  }
  for (IbsLine line : profile.ibs_lines) {
    line.source = indices.sources[line.source];
    line.thread = indices.threads[line.thread];
    merged_.ibs_lines.push_back(line);
  }
}

void ProfileMerger::AddUp(CancelCheck* check) {
  AddUpList(&merged_.counts, &added_counts_, check);
  AddUpList(&merged_.branches, &added_branches_, check);
  AddUpList(&merged_.ibs_counts, &added_ibs_counts_, check);
  AddUpList(&merged_.ibs_buckets, &added_ibs_buckets_, check);
  AddUpList(&merged_.ibs_lines, &added_ibs_lines_, check);
}

void ProfileMerger::MapSlices() {
  SliceMerger slices(times_);
  size_t count = 0, branch = 0;
  for (const SlicedCounts& part : sliced_) {
    for (; count < part.counts_end; ++count) {
      sliced_counts_[count].slice = slices.Map(part.profile, sliced_counts_[count].slice);
    }
    for (; branch < part.branches_end; ++branch) {
      sliced_branches_[branch].slice = slices.Map(part.profile, sliced_branches_[branch].slice);
    }
  }
  merged_.slices = slices.merged();
  MoveTo(&merged_.counts, &sliced_counts_);
  MoveTo(&merged_.branches, &sliced_branches_);
}

ProfileData ProfileMerger::Finish(CancelCheck* check) {
  merged_.duration_ns = DurationOfRuns(times_);
  if (!options_.drop_slices) MapSlices();
  Normalize(&merged_, check);
  if (merged_.recordings == 1) {
    // A recording alone is not a sum.
    for (BranchCount& branch : merged_.branches) {
      RotateReplicates((kReplicates - rotation_) % kReplicates, &branch.replicates);
    }
    merged_.recordings = 0;
    for (ModuleRecord& module : merged_.modules) module.process = 0;
  }
  return std::move(merged_);
}

}  // namespace hbbp
