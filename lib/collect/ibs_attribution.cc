#include "collect/ibs_attribution.h"

#include <algorithm>

#include "perf/ibs_events.h"
#include "profile/ibs_buckets.h"

namespace hbbp {
namespace {

constexpr uint64_t kLineBytes = 64;
constexpr uint32_t kParts = kIbsLevels * kIbsBuckets;  // of a name

constexpr char kTagToRetire[] = "tag-to-retire";
constexpr char kCompletionToRetire[] = "completion-to-retire";
constexpr char kDcMiss[] = "dc-miss";
constexpr char kLoad[] = "load";
constexpr char kDtlbRefill[] = "dtlb-refill";
constexpr char kFetch[] = "fetch";
constexpr char kItlbRefill[] = "itlb-refill";

}  // namespace

uint32_t IbsAttribution::NameIndex(const char* name) {
  const auto known = std::find(names_.begin(), names_.end(), name);
  const auto index = static_cast<uint32_t>(known - names_.begin());
  if (known == names_.end()) names_.push_back(name);
  return index;
}

// Returns false if there is no room for another sum.
bool IbsAttribution::AddTo(Sums* sums, size_t limit, uint32_t source,
                           const SampleLocation& location, const char* name,
                           uint32_t level_and_bucket, uint64_t value) {
  const uint32_t part = NameIndex(name) * kParts + level_and_bucket;
  const SumKey key = {source, location.thread, location.module, part, location.offset};
  if (sums->size() >= limit && !sums->contains(key)) return false;
  (*sums)[key] += value;
  return true;
}

template <typename Sample>
void IbsAttribution::AddSums(uint32_t source, const SampleLocation& location,
                             const Sample& sample) {
  const auto add = [&](const char* event, uint64_t value) {
    if (value == 0) return;
    if (!AddTo(&sums_, limits_.sums, source, location, event, 0, value)) ++losses_[source].sums;
  };
  VisitIbsEvents(sample, std::ref(add));  // by reference, since a copy would be on the heap
}

void IbsAttribution::AddLatency(uint32_t source, const SampleLocation& location, const char* name,
                                IbsLevel level, uint16_t cycles) {
  const uint32_t part = static_cast<uint32_t>(level) * kIbsBuckets + IbsBucketOf(cycles);
  // Those of all instructions are few, whatever the program.
  const size_t limit = location.module == kNoModule ? SIZE_MAX : limits_.buckets;
  if (!AddTo(&buckets_, limit, source, location, name, part, 1)) {
    ++losses_[source].latencies;
  }
}

void IbsAttribution::AddAccess(uint32_t source, uint32_t thread, const IbsOp& op) {
  IbsAccesses line;
  line.source = source;
  line.thread = thread;
  line.address = op.linear_address / kLineBytes * kLineBytes;
  // The kernel clears addresses, and not always the bit of their validity, for callers that may not
  // have them.
  const bool is_known = nodes_ != nullptr && op.physical_address != 0;
  if (is_known) line.node = nodes_->Find(op.physical_address);
  lines_.Add(MakeAccesses(op, line));
}

void IbsAttribution::Add(uint32_t source, const SampleLocation& location, const IbsOp& op) {
  AddSums(source, location, op);
  const auto add = [&](const char* name, uint16_t cycles) {
    AddLatency(source, {location.thread, kNoModule, 0}, name, IbsLevel::kNone, cycles);
  };
  add(kTagToRetire, op.tag_to_retire_cycles);
  add(kCompletionToRetire, op.completion_to_retire_cycles);
  const uint16_t miss_cycles = op.missed_dc ? op.dc_miss_cycles : 0;
  if (HasLoadLatency(op) && op.missed_dc) add(kDcMiss, miss_cycles);
  if (HasLoadLatency(op)) AddLatency(source, location, kLoad, IbsLevelOf(op), miss_cycles);
  if (op.missed_l1_dtlb && op.missed_l2_dtlb) add(kDtlbRefill, op.dtlb_refill_cycles);
  if (AccessesMemory(op)) AddAccess(source, location.thread, op);
}

void IbsAttribution::Add(uint32_t source, const SampleLocation& location, const IbsFetch& fetch) {
  AddSums(source, location, fetch);
  const auto add = [&](const char* name, uint16_t cycles) {
    AddLatency(source, {location.thread, kNoModule, 0}, name, IbsLevel::kNone, cycles);
  };
  if (fetch.is_complete) add(kFetch, fetch.latency_cycles);
  if (fetch.missed_l1_itlb && fetch.missed_l2_itlb) add(kItlbRefill, fetch.itlb_refill_cycles);
}

void IbsAttribution::AppendLosses(uint32_t source, Counters* counters) const {
  const auto found = losses_.find(source);
  const Losses losses = found == losses_.end() ? Losses() : found->second;
  AddCounter("ibs-sums-dropped", losses.sums, counters);
  AddCounter("ibs-latencies-dropped", losses.latencies, counters);
  AddCounter("ibs-accesses-dropped", losses.accesses + lines_.dropped(source), counters);
}

uint64_t IbsAttribution::BytesWithOneMore() const {
  // Maximum number of entries that one sample adds to a table.
  constexpr size_t kMaxAdded = 64;
  return BytesWithMore(sums_, kMaxAdded) + BytesWithMore(buckets_, kMaxAdded) +
         lines_.BytesWithOneMore();
}

void IbsAttribution::Drop(uint32_t source) {
  Losses& losses = losses_[source];
  ++losses.sums;
  ++losses.latencies;
  ++losses.accesses;
}

void IbsAttribution::CopyTo(ProfileData* data, CancelCheck* check) const {
  for (const char* name : names_) data->ibs_names.emplace_back(name);
  const auto copy = [check](const Sums& sums, std::vector<IbsCount>* counts) {
    for (const auto& [key, sum] : sums) {
      if (check != nullptr) check->Step();
      const auto& [source, thread, module, part, offset] = key;
      counts->push_back({source, thread, module, part / kParts, offset, sum,
                         part % kParts / kIbsBuckets, part % kIbsBuckets});
    }
  };
  copy(sums_, &data->ibs_counts);
  copy(buckets_, &data->ibs_buckets);
  lines_.AppendTo(&data->ibs_lines);
  Normalize(&data->ibs_counts, check);
  Normalize(&data->ibs_buckets, check);
  Normalize(&data->ibs_lines, check);
}

}  // namespace hbbp
