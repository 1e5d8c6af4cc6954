#include "collect/ip_table.h"

#include <limits>
#include <new>
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

// Makes a table with up to `count` buckets, as many as there is memory for, and with a load factor
// that never makes it grow. (rehash() would need libm.)
IpTable::Sums IpTable::WithBuckets(size_t count, std::pmr::memory_resource* memory) {
  const auto without_growth = [](Sums sums) {
    sums.max_load_factor(std::numeric_limits<float>::max());
    return sums;
  };
  for (; count > 1; count /= 4) {
    try {
      return without_growth(Sums(count, memory));
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
  return without_growth(Sums(memory));
}

void IpTable::MergeSlices() {
  const float load_factor = sums_.max_load_factor();
  Sums merged = WithBuckets(sums_.bucket_count(), sums_.get_allocator().resource());
  while (!sums_.empty()) {
    auto node = sums_.extract(sums_.begin());
    node.key().slice = CoarserSlice(node.key().slice);
    const auto inserted = merged.insert(std::move(node));
    if (inserted.inserted) continue;
    const Sum& sum = inserted.node.mapped();
    Sum& all = inserted.position->second;
    all.samples += sum.samples;
    all.period_sum += sum.period_sum;
    all.period_squares += sum.period_squares;
  }
  sums_ = std::move(merged);
  sums_.max_load_factor(load_factor);
}

size_t IpTable::BytesWithoutSlices() const {
  Sums keys;  // of which the sums are not used
  for (const auto& [key, sum] : sums_) {
    Key timeless = key;
    timeless.slice = kNoSlice;
    keys[timeless];
  }
  return BytesOf(keys.size());
}

void IpTable::AppendTo(std::vector<IpCount>* counts, CancelCheck* check) const {
  counts->reserve(counts->size() + sums_.size());
  for (const auto& [key, sum] : sums_) {
    if (check != nullptr) check->Step();
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
