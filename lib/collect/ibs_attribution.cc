#include "collect/ibs_attribution.h"

#include <algorithm>
#include <bit>

#include "perf/ibs_events.h"
#include "profile/ibs_buckets.h"

namespace hbbp {
namespace {

constexpr uint64_t kLineBytes = 64;

constexpr char kTagToRetire[] = "tag-to-retire";
constexpr char kCompletionToRetire[] = "completion-to-retire";
constexpr char kDcMiss[] = "dc-miss";
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
bool IbsAttribution::AddTo(const SumKey& key, uint64_t value, size_t limit, Sums* sums) {
  if (sums->size() >= limit && !sums->contains(key)) return false;
  (*sums)[key] += value;
  return true;
}

void IbsAttribution::AddSum(uint32_t source, const SampleLocation& location, const char* event,
                            uint64_t value) {
  const SumKey key = {source, location.thread, location.module, NameIndex(event), location.offset};
  if (!AddTo(key, value, limits_.sums, &sums_)) ++losses_[source].sums;
}

template <typename Sample>
void IbsAttribution::AddSums(uint32_t source, const SampleLocation& location,
                             const Sample& sample) {
  const auto add = [&](const char* event, uint64_t value) {
    if (value != 0) AddSum(source, location, event, value);
  };
  VisitIbsEvents(sample, std::ref(add));  // by reference, since a copy would be on the heap
}

void IbsAttribution::AddLatency(uint32_t source, uint32_t thread, const char* name,
                                uint16_t cycles) {
  const SumKey key = {source, thread, 0, NameIndex(name), IbsBucketOf(cycles)};
  if (!AddTo(key, 1, limits_.buckets, &buckets_)) ++losses_[source].latencies;
}

void IbsAttribution::AddAccess(uint32_t source, uint32_t thread, const IbsOp& op) {
  const uint64_t address = op.linear_address / kLineBytes * kLineBytes;
  const LineKey key = {address, source, thread};
  IbsLine& line = lines_[key];
  line.source = source;
  line.thread = thread;
  line.address = address;
  line.loads += op.is_load;
  line.stores += op.is_store;
  line.misses += op.missed_dc;
  if (op.is_load && op.missed_dc) line.miss_cycles += op.dc_miss_cycles;
  if (lines_.size() >= 2 * limits_.lines) DropRarestLines();
}

void IbsAttribution::DropRarestLines() {
  std::vector<std::pair<uint64_t, LineKey>> by_samples;
  by_samples.reserve(lines_.size());
  for (const auto& [key, line] : lines_) by_samples.emplace_back(line.loads + line.stores, key);
  const size_t dropped = lines_.size() - limits_.lines;
  std::nth_element(by_samples.begin(), by_samples.begin() + static_cast<ptrdiff_t>(dropped),
                   by_samples.end());
  for (size_t i = 0; i < dropped; ++i) {
    const auto& [samples, key] = by_samples[i];
    losses_[std::get<1>(key)].accesses += samples;
    lines_.erase(key);
  }
}

void IbsAttribution::Add(uint32_t source, const SampleLocation& location, const IbsOp& op) {
  AddSums(source, location, op);
  AddLatency(source, location.thread, kTagToRetire, op.tag_to_retire_cycles);
  AddLatency(source, location.thread, kCompletionToRetire, op.completion_to_retire_cycles);
  if (op.is_load && op.missed_dc) AddLatency(source, location.thread, kDcMiss, op.dc_miss_cycles);
  if (op.missed_l1_dtlb && op.missed_l2_dtlb) {
    AddLatency(source, location.thread, kDtlbRefill, op.dtlb_refill_cycles);
  }
  if ((op.is_load || op.is_store) && op.has_linear_address) AddAccess(source, location.thread, op);
}

void IbsAttribution::Add(uint32_t source, const SampleLocation& location, const IbsFetch& fetch) {
  AddSums(source, location, fetch);
  if (fetch.is_complete) AddLatency(source, location.thread, kFetch, fetch.latency_cycles);
  if (fetch.missed_l1_itlb && fetch.missed_l2_itlb) {
    AddLatency(source, location.thread, kItlbRefill, fetch.itlb_refill_cycles);
  }
}

void IbsAttribution::AppendLosses(uint32_t source, Counters* counters) const {
  const auto losses = losses_.find(source);
  if (losses == losses_.end()) return;
  AddCounter("ibs-sums-dropped", losses->second.sums, counters);
  AddCounter("ibs-latencies-dropped", losses->second.latencies, counters);
  AddCounter("ibs-accesses-dropped", losses->second.accesses, counters);
}

uint64_t IbsAttribution::BytesWithOneMore() const {
  // Maximum number of entries that one sample adds to a table.
  constexpr size_t kMaxAdded = 64;
  // Each entry is an allocation of its own with a link, a hash value, and two words of malloc's.
  // There are at least as many buckets as entries, and their number grows by doubling.
  const auto bytes = [](const auto& table) {
    const size_t entries = table.size() + kMaxAdded;
    return entries * (sizeof(*table.begin()) + 4 * sizeof(void*)) +
           2 * std::bit_ceil(entries) * sizeof(void*);
  };
  return bytes(sums_) + bytes(buckets_) + bytes(lines_);
}

void IbsAttribution::Drop(uint32_t source) {
  Losses& losses = losses_[source];
  ++losses.sums;
  ++losses.latencies;
  ++losses.accesses;
}

void IbsAttribution::CopyTo(ProfileData* data, CancelCheck* check) const {
  for (const char* name : names_) data->ibs_names.emplace_back(name);
  for (const auto& [key, sum] : sums_) {
    if (check != nullptr) check->Step();
    const auto& [source, thread, module, event, offset] = key;
    data->ibs_counts.push_back({source, thread, module, event, offset, sum});
  }
  for (const auto& [key, samples] : buckets_) {
    const auto& [source, thread, module, latency, bucket] = key;
    data->ibs_buckets.push_back({source, thread, latency, static_cast<uint32_t>(bucket), samples});
  }
  for (const auto& [key, line] : lines_) data->ibs_lines.push_back(line);
  Normalize(&data->ibs_counts, check);
  Normalize(&data->ibs_buckets, check);
  Normalize(&data->ibs_lines, check);
}

}  // namespace hbbp
