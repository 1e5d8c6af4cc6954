#include "perf_data/record_queue.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/counted_memory.h"

namespace hbbp {
namespace {

constexpr auto kIsEarlier = [](const RecordQueue::Entry& a, const RecordQueue::Entry& b) {
  return a.time < b.time;
};

}  // namespace

void RecordQueue::Push(std::span<const uint8_t> record, uint64_t time, const PerfEvent* event,
                       uint64_t offset) {
  const size_t position = bytes_.size();
  bytes_.Append(record);
  try {
    entries_.push_back({time, position, static_cast<uint32_t>(record.size()), event, offset});
  } catch (const std::bad_alloc&) {
    bytes_.Truncate(position);
    throw;
  }
  latest_ = std::max(latest_, time);
}

uint64_t RecordQueue::MedianTime() const {
  if (entries_.empty()) return 0;
  std::vector<uint64_t> times;
  times.reserve(entries_.size());
  for (const Entry& entry : entries_) times.push_back(entry.time);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// The records of one CPU come in order: there are few runs to merge, pair by pair.
void RecordQueue::Sort() {
  std::vector<std::ptrdiff_t> ends;  // of runs
  for (size_t i = 1; i < entries_.size(); ++i) {
    if (kIsEarlier(entries_[i], entries_[i - 1])) ends.push_back(static_cast<std::ptrdiff_t>(i));
  }
  ends.push_back(static_cast<std::ptrdiff_t>(entries_.size()));
  while (ends.size() > 1) {
    std::ptrdiff_t begin = 0;
    size_t kept = 0;
    for (size_t i = 0; i < ends.size(); i += 2) {
      const std::ptrdiff_t end = i + 1 < ends.size() ? ends[i + 1] : ends[i];
      std::inplace_merge(entries_.begin() + begin, entries_.begin() + ends[i],
                         entries_.begin() + end, kIsEarlier);
      begin = ends[kept++] = end;
    }
    ends.resize(kept);
  }
}

void RecordQueue::Drop(size_t count) {
  if (count == 0) return;
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(count));
  if (entries_.empty()) {
    bytes_.Truncate(0);
    return;
  }
  size_t needed = 0;
  for (const Entry& entry : entries_) needed += entry.size;
  ByteBuffer kept(&memory_);
  // If there is no memory for that, what was dropped stays until there is some, or nothing waits.
  if (!HasMemoryFor([&] { kept.Reserve(needed); })) return;
  for (Entry& entry : entries_) {
    const std::span<const uint8_t> record(bytes_.data() + entry.position, entry.size);
    entry.position = kept.size();
    kept.Append(record);
  }
  bytes_.Swap(&kept);
}

void RecordQueue::Shrink() {
  if (!entries_.empty()) return;
  bytes_.Release();
  entries_.shrink_to_fit();
}

}  // namespace hbbp
