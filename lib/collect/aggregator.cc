// A sample or a burst comes in by one of the functions of EventSink. CountOrDrop counts it; without
// memory it compacts and tries again, and then drops the sample. The locator finds locations, an IP
// sample goes to the IpTable, and a burst to the BranchTable of its source, which FlushTable turns
// into sorted BranchCounts when a slice ends. Recorder and Importer call the rest: Compact and
// WidenSlices as memory fills up, and Snapshot, which flushes, copies and sorts.
#include "collect/aggregator.h"

#include <algorithm>
#include <array>

#include "collect/code_location.h"
#include "collect/memory_use.h"
#include "profile/stream_sums.h"

namespace hbbp {
namespace {

// Sorting waits until more than this number of unsorted branches, and half of the number of sorted
// ones, were appended.
constexpr size_t kFewBranches = 65536;

// Of more repeats of a burst, several are put into a replicate at once.
constexpr uint32_t kMaxDraws = 65536;

BranchCount MakeBranchCount(const BranchTable::Entry& entry, uint32_t kernel_module) {
  const CodeLocation from = UnpackLocation(entry.from, kernel_module);
  const CodeLocation to = UnpackLocation(entry.to, kernel_module);
  BranchCount branch;
  branch.thread = entry.thread;
  branch.from_module = from.module;
  branch.from = from.offset;
  branch.to_module = to.module;
  branch.to = to.offset;
  if (entry.end == BranchTable::kCutEnd) {
    branch.stream_end = kStreamCut;
  } else if (entry.end != BranchTable::kNoEnd) {
    const CodeLocation end = UnpackLocation(entry.end, kernel_module);
    // The last values of the address space, where no branch can be, are reserved as marks.
    const bool has_end = end.module == to.module && end.offset < kStreamCut;
    branch.stream_end = has_end ? end.offset : kStreamLeavesModule;
  }
  branch.number = entry.number;
  branch.weights = entry.weights;
  branch.replicates = entry.replicates;
  branch.oldest = entry.oldest;
  branch.oldest_expected = entry.oldest_expected;
  return branch;
}

std::unique_ptr<BurstKeeper> NewBurstKeeper(const KeptDetail& detail, CountedMemory* memory) {
  if (detail.new_burst_keeper == nullptr) return nullptr;
  return detail.new_burst_keeper(memory, detail);
}

std::unique_ptr<DataKeeper> NewDataKeeper(const KeptDetail& detail, CountedMemory* memory) {
  return detail.new_data_keeper != nullptr ? detail.new_data_keeper(memory) : nullptr;
}

}  // namespace

Aggregator::Aggregator(Locator* locator, const KeptDetail& detail, CountedMemory* memory)
    : ForwardingSink(locator),
      locator_(*locator),
      memory_(memory),
      keepers_{NewBurstKeeper(detail, memory), NewDataKeeper(detail, memory)},
      charge_(memory),
      slice_clock_(detail.slice_ns),
      ip_table_(memory),
      branches_(memory),
      read_memory_nodes_(detail.memory_nodes),
      ibs_charge_(memory) {}

uint32_t Aggregator::AddSource(SourceRecord source) {
  branch_tables_.reserve(sources_.size() + 1);  // so that both lists grow or neither
  sources_.push_back(std::move(source));
  branch_tables_.emplace_back(memory_);
  return static_cast<uint32_t>(sources_.size() - 1);
}

bool Aggregator::RenameThread(uint32_t pid, uint32_t tid, const std::string& name) {
  const auto known = threads_by_id_.find({pid, tid});
  if (known == threads_by_id_.end()) return false;
  threads_[known->second].name = name;
  return true;
}

void Aggregator::OnFork(const ForkEvent& fork) {
  locator_.OnFork(fork);
  if (keepers_.data != nullptr) keepers_.data->OnFork(fork);
  const std::string name = locator_.InheritedName(fork);
  if (!name.empty()) OnThreadName(fork.pid, fork.tid, name);
}

void Aggregator::OnExec(uint32_t pid) {
  locator_.OnExec(pid);
  if (keepers_.data != nullptr) keepers_.data->DropBlocks(pid);
}

void Aggregator::OnExit(uint32_t pid) {
  locator_.OnExit(pid);
  if (keepers_.data != nullptr) keepers_.data->DropBlocks(pid);
}

void Aggregator::OnData(const DataEvent& data) {
  if (keepers_.data == nullptr) return;
  (void)HasMemoryFor([&] { (void)keepers_.data->AddBlock(data); });  // counts what it refuses
}

void Aggregator::OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) {
  locator_.OnThreadName(pid, tid, name);
  (void)RenameThread(pid, tid, name);
}

uint32_t Aggregator::ThreadFor(uint32_t pid, uint32_t tid) {
  const std::pair key(pid, tid);
  const auto known = threads_by_id_.find(key);
  if (known != threads_by_id_.end()) return known->second;
  charge_.Add(kThreadBytes);
  const auto index = static_cast<uint32_t>(threads_.size());
  threads_.push_back({pid, tid, locator_.NameOfThread(pid, tid)});
  threads_by_id_.emplace(key, uint32_t{index});
  return index;
}

// Compacting may free memory, but takes time, so it is tried again only after many more samples
// were dropped.
template <typename Body>
void Aggregator::CountOrDrop(uint32_t source, uint64_t samples, Body&& count) {
  if (HasMemoryFor(count)) return;
  if (dropped_samples_ >= compact_again_at_) {
    compact_again_at_ = dropped_samples_ + kFewBranches + branches_.size();
    Compact();
    (void)WidenSlices();
    if (HasMemoryFor(count)) return;
  }
  Drop(source, samples);
}

void Aggregator::Drop(uint32_t source, uint64_t samples) {
  dropped_samples_ += samples;
  branch_tables_[source].dropped += samples;
}

std::optional<SampleLocation> Aggregator::CountSample(const IpSample& sample) {
  std::optional<SampleLocation> counted;
  CountOrDrop(sample.source, 1, [&] {
    const uint64_t word = locator_.FindLocation(sample.pid, sample.ip, sample.time_ns);
    const CodeLocation location = UnpackLocation(word, locator_.kernel_module());
    if (location.module == kNoModule) {
      ++sources_[sample.source].unmapped;
      return;
    }
    const uint32_t thread = ThreadFor(sample.pid, sample.tid);
    ip_table_.Count({sample.source, thread, location.module, SliceAt(sample.time_ns),
                     location.offset, sample.position},
                    sample.period);
    counted = SampleLocation{thread, location.module, location.offset};
  });
  BoundSlices();
  return counted;
}

// Returns the location of a sample that was not dropped.
template <typename Ibs>
std::optional<SampleLocation> Aggregator::CountIbs(const IpSample& sample, const Ibs& ibs) {
  const std::optional<SampleLocation> location = CountSample(sample);
  if (!location) return location;
  const bool has_memory =
      HasMemoryFor([&] { ibs_charge_.GrowTo(ibs_attribution_.BytesWithOneMore()); });
  if (has_memory) {
    ibs_attribution_.Add(sample.source, *location, ibs);
  } else {
    ibs_attribution_.Drop(sample.source);
  }
  return location;
}
template std::optional<SampleLocation> Aggregator::CountIbs(const IpSample&, const IbsFetch&);

void Aggregator::OnIbsOp(const IpSample& sample, const IbsOp& op) {
  if (read_memory_nodes_ != nullptr && op.physical_address != 0) {
    SetMemoryNodes(read_memory_nodes_());
  }
  const std::optional<SampleLocation> location = CountIbs(sample, op);
  if (keepers_.data == nullptr || !location || !AccessesMemory(op)) return;
  keepers_.data->AddAccess(&locator_, sample, location->thread, op);
}

void Aggregator::OnBurst(const BurstSample& burst) {
  if (burst.branches.empty() || burst.repeats == 0) return;
  const uint32_t source = burst.source;
  const double weight = StreamWeight(burst.period, burst.branches.size(), burst.extent);
  CountOrDrop(source, burst.repeats, [&] {
    locator_.FindLocations(burst, &locations_);
    const uint32_t slice = SliceAt(burst.time_ns);
    if (slice != branch_tables_[source].slice || branch_tables_[source].table.has_full_sums()) {
      FlushBranches(source);
      branch_tables_[source].slice = slice;
    }
    const uint32_t thread = ThreadFor(burst.pid, burst.tid);
    CountBurst(burst, thread, weight);
    if (keepers_.bursts == nullptr) return;
    keepers_.bursts->Add({source, thread, burst.time_ns, weight * burst.repeats, burst.accesses},
                         locations_);
  });
  BoundSlices();
}

// Counts a burst at locations_. Each of its repeats was found by itself, and its parts were found
// together: they are of the same replicates.
void Aggregator::CountBurst(const BurstSample& burst, uint32_t thread, double weight) {
  const uint32_t draws = std::min(burst.repeats, kMaxDraws);
  const auto count = [&](size_t replicate, uint32_t repeats) {
    branch_tables_[burst.source].table.CountBurst(thread, locations_, weight, replicate,
                                                  burst.stack, repeats);
  };
  if (draws == 1) {
    count(ReplicateOf(burst_number_), 1);
  } else {
    std::array<uint32_t, kReplicates> repeats = {};
    for (uint32_t i = 0; i < draws; ++i) {
      const uint32_t drawn = burst.repeats / draws + (i < burst.repeats % draws ? 1 : 0);
      repeats[ReplicateOf(burst_number_ + i)] += drawn;
    }
    for (size_t i = 0; i < kReplicates; ++i) {
      if (repeats[i] != 0) count(i, repeats[i]);
    }
  }
  if (!burst.stack.is_continued) burst_number_ += draws;
}

void Aggregator::Compact() {
  for (uint32_t source = 0; source < branch_tables_.size(); ++source) {
    // Without memory to flush into, the table stays as it is.
    if (HasMemoryFor([&] { FlushBranches(source); })) branch_tables_[source].table.Release();
  }
  Normalize(&branches_);
  sorted_branches_ = branches_.size();
  HasMemoryFor([this] { branches_.shrink_to_fit(); });
  ++compactions_;
}

bool Aggregator::WidenSlices() {
  const bool widens = slice_clock_.Widen([this] { MergeSlices(); });
  has_widened_slices_ |= widens;
  return widens;
}

uint32_t Aggregator::SliceAt(uint64_t time_ns) {
  return slice_clock_.SliceAt(time_ns, [this] { MergeSlices(); });
}

// Unsorted branches are not counted here, because they may repeat sorted ones.
void Aggregator::BoundSlices() {
  slice_clock_.Bound(
      ip_table_.bytes() + sorted_branches_ * sizeof(BranchCount),
      [this] {
        const auto sorted = std::span<const BranchCount>(branches_).first(sorted_branches_);
        return ip_table_.BytesWithoutSlices() + CountWithoutSlices(sorted) * sizeof(BranchCount);
      },
      [this] { MergeSlices(); });
}

void Aggregator::MergeSlices() {
  for (SourceTable& counted : branch_tables_) counted.slice = CoarserSlice(counted.slice);
  for (BranchCount& branch : branches_) branch.slice = CoarserSlice(branch.slice);
  Normalize(&branches_);
  sorted_branches_ = branches_.size();
  ip_table_.MergeSlices();
}

// Flushes all of the table, or nothing if it throws.
void Aggregator::FlushTable(uint32_t source, CancelCheck* check) {
  BranchTable& table = branch_tables_[source].table;
  if (table.entries().empty()) return;
  MakeRoomFor(table.entries().size(), &branches_);
  const size_t known = branches_.size();
  try {
    AppendTable(source, check, &branches_);
  } catch (...) {
    branches_.resize(known);
    throw;
  }
  table.Clear();
}

void Aggregator::FlushBranches(uint32_t source) {
  FlushTable(source, nullptr);
  if (branches_.size() - sorted_branches_ <= kFewBranches + sorted_branches_ / 2) return;
  Normalize(&branches_);
  sorted_branches_ = branches_.size();
}

template <typename Branches>
void Aggregator::AppendTable(uint32_t source, CancelCheck* check, Branches* branches) const {
  const SourceTable& counted = branch_tables_[source];
  for (const BranchTable::Entry& entry : counted.table.entries()) {
    if (check != nullptr) check->Step();
    branches->push_back(MakeBranchCount(entry, locator_.kernel_module()));
    branches->back().source = source;
    branches->back().slice = counted.slice;
  }
}

// The sorted branches of the snapshot replace those of the aggregator, so that none is sorted
// twice.
ProfileData Aggregator::Snapshot(CancelCheck* check) {
  ProfileData data;
  data.sources = std::vector(sources_);
  data.threads = std::vector(threads_);
  data.modules = locator_.Modules();
  data.slices = slice_clock_.slices();
  ip_table_.AppendTo(&data.counts, check);
  Normalize(&data.counts, check);
  std::vector<uint32_t> not_flushed;  // for want of memory
  for (uint32_t source = 0; source < branch_tables_.size(); ++source) {
    if (!HasMemoryFor([&] { FlushTable(source, check); })) not_flushed.push_back(source);
    Counters* const counters = &data.sources[source].trace.counters;
    AddCounter("no-memory", branch_tables_[source].dropped, counters);
    ibs_attribution_.AppendLosses(source, counters);
    if (keepers_.data != nullptr) keepers_.data->AppendLosses(source, counters);
  }
  data.branches = CopyNormalized(branches_, sorted_branches_, check);
  if (sorted_branches_ != branches_.size()) {
    branches_.assign(data.branches.begin(), data.branches.end());
    sorted_branches_ = branches_.size();
  }
  for (const uint32_t source : not_flushed) AppendTable(source, check, &data.branches);
  if (!not_flushed.empty()) Normalize(&data.branches, check);
  ibs_attribution_.CopyTo(&data, check);
  if (keepers_.data != nullptr) keepers_.data->CopyTo(&data, check);
  if (keepers_.bursts != nullptr) {
    data.kept_bursts = keepers_.bursts->Encode(data, locator_.kernel_module(), check);
  }
  return data;
}

}  // namespace hbbp
