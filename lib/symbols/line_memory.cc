#include "symbols/line_memory.h"

#include <iterator>

namespace hbbp {

// Moves the entry into `removed`, so that its destructor runs without the lock.
void LineMemory::Remove(Entries::iterator entry, Entries* removed) {
  kept_.bytes -= entry->cost.bytes;
  kept_.descriptors -= entry->cost.descriptors;
  known_.erase(entry->thing.get());
  if (last_ == entry->thing.get()) last_ = nullptr;
  removed->splice(removed->end(), entries_, entry);
}

bool LineMemory::IsFull() const {
  return kept_.bytes > limit_.bytes || kept_.descriptors > limit_.descriptors;
}

void LineMemory::Use(const std::shared_ptr<const void>& thing, LineCost cost) {
  Entries removed;
  std::lock_guard lock(mutex_);
  const auto [known, is_new] = known_.try_emplace(thing.get());
  if (is_new) {
    entries_.push_front({thing, {}});
    known->second = entries_.begin();
  } else {
    entries_.splice(entries_.begin(), entries_, known->second);
  }
  Entry& used = entries_.front();
  kept_.bytes += cost.bytes - used.cost.bytes;
  kept_.descriptors += cost.descriptors - used.cost.descriptors;
  used.cost = cost;
  last_ = thing.get();
  const auto is_too_much = [this](const Entry& entry) {
    return (kept_.bytes > limit_.bytes && entry.cost.bytes != 0) ||
           (kept_.descriptors > limit_.descriptors && entry.cost.descriptors != 0);
  };
  for (auto entry = entries_.end(); IsFull() && entry != std::next(entries_.begin());) {
    const auto oldest = std::prev(entry);
    if (is_too_much(*oldest)) {
      Remove(oldest, &removed);
    } else {
      entry = oldest;
    }
  }
}

void LineMemory::Drop(const void* thing) {
  Entries removed;
  std::lock_guard lock(mutex_);
  const auto known = known_.find(thing);
  if (known != known_.end()) Remove(known->second, &removed);
}

void LineMemory::Hold(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  kept_.bytes += bytes;
}

void LineMemory::Release(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  kept_.bytes -= bytes;
}

LineCost LineMemory::kept() const {
  std::lock_guard lock(mutex_);
  return kept_;
}

}  // namespace hbbp
