// Add maps the modules, sources and threads of a profile to those of the sum, by a key for each
// kind of record (AddRecords), appends its counts with the new indices (AppendCounts, AppendIbs)
// and adds up equal ones when there are many new ones (AddUp). Finish maps slices and adds up the
// rest. MergeProfiles and lib/capi call them.
#include "profile/profile_merger.h"

#include <algorithm>
#include <utility>

#include "base/random_bits.h"
#include "profile/module_key.h"
#include "profile/slice_merger.h"

namespace hbbp {
namespace {

// Counts are added up when there are so many new ones, and as many as there were.
constexpr size_t kMinAppended = 65536;

// Returns whether the counts of two sources can be added up.
bool CountAlike(const SourceRecord& a, const SourceRecord& b) {
  return a.kind == b.kind && a.event == b.event && a.period_mode == b.period_mode &&
         a.include_kernel == b.include_kernel && a.period == b.period &&
         a.frequency_hz == b.frequency_hz && a.event_name == b.event_name &&
         a.precise_ip == b.precise_ip && a.ebs_method == b.ebs_method &&
         a.burst_extent == b.burst_extent;
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
ProfileMerger::Part Append(const std::vector<Record>& more, std::vector<Record>* records) {
  const size_t begin = records->size();
  records->resize(begin + more.size());
  std::copy(more.begin(), more.end(), records->begin() + static_cast<std::ptrdiff_t>(begin));
  return {begin, more.size()};
}

size_t CountCounts(const ProfileData& data) { return data.counts.size() + data.branches.size(); }

size_t CountIbs(const ProfileData& data) {
  return data.ibs_counts.size() + data.ibs_buckets.size() + data.ibs_lines.size() +
         data.ibs_data.size();
}

// Returns whether lists of which `added_up` records were left the last time are added up again.
bool AreDue(size_t records, size_t added_up) {
  return records - added_up >= std::max(kMinAppended, added_up);
}

}  // namespace

size_t ReplicateRotation(const ProfileData& recording) {
  uint64_t drawn = ProcessKey(recording);
  for (const BranchCount& branch : recording.branches) {
    drawn += branch.number * (branch.to ^ branch.from);
  }
  return RandomBits(drawn).Next() % kReplicates;
}

void RotateReplicates(size_t by, ReplicateSums* replicates) {
  const ReplicateSums before = *replicates;
  for (size_t i = 0; i < kReplicates; ++i) {
    replicates->sums[(i + by) % kReplicates] = before.sums[i];
  }
}

void ProfileMerger::Add(const ProfileData& profile, CancelCheck* check) {
  check->CheckNow();
  AddRun(profile);
  const MergedIndices indices = AddRecords(profile, check);
  AppendCounts(profile, indices);
  AppendIbs(profile, indices);
  if (bursts_ != nullptr) bursts_->Add(profile, indices);
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
  merged_.recordings =
      AddUpTo(UINT64_MAX, merged_.recordings, std::max(profile.recordings, uint64_t{1}));
  has_sums_ |= profile.recordings != 0;
  times_.push_back(TimesOf(profile));
}

MergedIndices ProfileMerger::AddRecords(const ProfileData& profile, CancelCheck* check) {
  MergedIndices indices;
  for (const SourceRecord& source : profile.sources) {
    indices.sources.push_back(AddSource(source, check));
  }
  for (const ThreadRecord& thread : profile.threads) {
    const ThreadRecord kept = options_.drop_threads ? ThreadRecord() : thread;
    indices.threads.push_back(threads_.Add({kept.pid, kept.tid}, kept, &merged_.threads).first);
  }
  for (const ModuleRecord& module : profile.modules) {
    indices.modules.push_back(AddModule(module, GeneratingProcess(profile, module)));
  }
  for (const std::string& name : profile.ibs_names) {
    indices.names.push_back(names_.Add(name, name, &merged_.ibs_names).first);
  }
  return indices;
}

uint32_t ProfileMerger::AddSource(const SourceRecord& source, CancelCheck* check) {
  for (SourceRecord& known : merged_.sources) {
    check->Step();
    if (!CountAlike(known, source)) continue;
    known.lost += source.lost;
    known.throttled += source.throttled;
    known.unmapped += source.unmapped;
    AddPeriods(source, &known);
    AddTraceStatistics(source.trace, &known.trace);
    return static_cast<uint32_t>(&known - merged_.sources.data());
  }
  merged_.sources.push_back(source);
  return static_cast<uint32_t>(merged_.sources.size() - 1);
}

uint32_t ProfileMerger::AddModule(const ModuleRecord& module, uint64_t process) {
  auto [index, added] = modules_.Add(ModuleKey(module, process), module, &merged_.modules);
  ModuleRecord& known = merged_.modules[index];
  known.process = process;
  if (added) return index;
  if (module.build_id.size() < known.build_id.size()) known.build_id = module.build_id;
  AddChunks(module, &known);
  MergeKernel(module.kernel, &known.kernel);
  return index;
}

void ProfileMerger::AppendCounts(const ProfileData& profile, const MergedIndices& indices) {
  SlicedCounts sliced{times_.size() - 1, {}, {}};
  sliced.counts = Append(profile.counts, &merged_.counts);
  for (IpCount& count : sliced.counts.In(&merged_.counts)) {
    indices.Map(&count);
    count.module = indices.modules[count.module];
    if (options_.drop_slices) count.slice = kNoSlice;
  }
  rotation_ = profile.recordings == 0 ? ReplicateRotation(profile) : 0;
  sliced.branches = Append(profile.branches, &merged_.branches);
  for (BranchCount& branch : sliced.branches.In(&merged_.branches)) {
    indices.Map(&branch);
    for (uint32_t* module : {&branch.from_module, &branch.to_module}) {
      if (*module != kNoModule) *module = indices.modules[*module];
    }
    if (options_.drop_slices) branch.slice = kNoSlice;
    RotateReplicates(rotation_, &branch.replicates);
  }
  if (!options_.drop_slices && profile.slices.width_ns != 0) sliced_.push_back(sliced);
}

void ProfileMerger::AppendIbs(const ProfileData& profile, const MergedIndices& indices) {
  for (const auto list : {&ProfileData::ibs_counts, &ProfileData::ibs_buckets}) {
    for (IbsCount& count : Append(profile.*list, &(merged_.*list)).In(&(merged_.*list))) {
      indices.Map(&count);
      if (count.module != kNoModule) count.module = indices.modules[count.module];
      count.name = indices.names[count.name];
    }
  }
  for (const auto list : {&ProfileData::ibs_lines, &ProfileData::ibs_data}) {
    for (IbsAccesses& accesses : Append(profile.*list, &(merged_.*list)).In(&(merged_.*list))) {
      indices.Map(&accesses);
      if (accesses.module != kNoModule) accesses.module = indices.modules[accesses.module];
      if (accesses.name != kNoIbsName) accesses.name = indices.names[accesses.name];
    }
  }
}

void ProfileMerger::AddUp(CancelCheck* check) {
  if (sliced_.empty() && AreDue(CountCounts(merged_), added_up_)) {
    Normalize(&merged_.counts, check);
    Normalize(&merged_.branches, check);
    added_up_ = CountCounts(merged_);
  }
  if (AreDue(CountIbs(merged_), ibs_added_up_)) {
    NormalizeIbs(&merged_, check);
    ibs_added_up_ = CountIbs(merged_);
  }
}

size_t ProfileMerger::records() const { return CountCounts(merged_) + CountIbs(merged_); }

void ProfileMerger::MapSlices() {
  SliceMerger slices(times_);
  for (const SlicedCounts& part : sliced_) {
    for (IpCount& count : part.counts.In(&merged_.counts)) {
      count.slice = slices.Map(part.profile, count.slice);
    }
    for (BranchCount& branch : part.branches.In(&merged_.branches)) {
      branch.slice = slices.Map(part.profile, branch.slice);
    }
  }
  merged_.slices = slices.merged();
}

ProfileData ProfileMerger::Finish(CancelCheck* check) {
  merged_.duration_ns = DurationOfRuns(times_);
  if (!options_.drop_slices) MapSlices();
  Normalize(&merged_, check);
  if (bursts_ != nullptr) merged_.kept_bursts = bursts_->Take();
  if (size() == 1 && !has_sums_) {
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
