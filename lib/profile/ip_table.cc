#include "profile/ip_table.h"

#include <utility>

namespace hbbp {

size_t IpTable::KeyHash::operator()(const Key& key) const {
  static_assert(kNoSlice + 1 == 0, "without slices the hash is that of the rest");
  uint64_t hash = key.offset * 0x9E3779B97F4A7C15ull;
  hash ^= (static_cast<uint64_t>(key.module) << 40) ^ (static_cast<uint64_t>(key.thread) << 20) ^
          (static_cast<uint64_t>(key.slice + 1) << 8) ^ key.source;
  return hash * 0x9E3779B97F4A7C15ull >> 7;
}

void IpTable::Count(const Key& key, uint64_t period) {
  Sum& sum = sums_[key];
  const auto events = static_cast<double>(period);
  ++sum.samples;
  sum.period_sum += events;
  sum.period_squares += events * events;
}

void IpTable::JoinSlices() {
  std::unordered_map<Key, Sum, KeyHash> joined;
  for (const auto& [key, sum] : sums_) {
    Key half = key;
    half.slice = HalfOf(key.slice);
    Sum& all = joined[half];
    all.samples += sum.samples;
    all.period_sum += sum.period_sum;
    all.period_squares += sum.period_squares;
  }
  sums_ = std::move(joined);
}

void IpTable::AppendTo(std::vector<IpCount>* counts) const {
  counts->reserve(counts->size() + sums_.size());
  for (const auto& [key, sum] : sums_) {
    IpCount count;
    count.source = key.source;
    count.thread = key.thread;
    count.module = key.module;
    count.offset = key.offset;
    count.position = key.position;
    count.slice = key.slice;
    count.samples = sum.samples;
    count.period_sum = sum.period_sum;
    count.period_squares = sum.period_squares;
    counts->push_back(count);
  }
}

}  // namespace hbbp
