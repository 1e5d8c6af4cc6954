// LineMemory: what of debug information is kept decoded, of all modules of a profile together, up
// to one limit. What was used longest ago is dropped first; whoever made it makes it again.
#ifndef HBBP_LIB_SYMBOLS_LINE_MEMORY_H_
#define HBBP_LIB_SYMBOLS_LINE_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace hbbp {

struct LineCost {
  uint64_t bytes = 0;
  size_t descriptors = 0;  // of open files
};

// Any thread may call anything. A maker holds what it made by a weak pointer: what is dropped while
// somebody uses it goes when that use ends.
class LineMemory {
 public:
  static constexpr size_t kMostDescriptors = 64;

  explicit LineMemory(uint64_t limit_bytes) : limit_{limit_bytes, kMostDescriptors} {}

  // Keeps `thing`, which costs as much as this from now on, as what was used last; drops others as
  // far as the limits want it. What was used last is kept at any cost.
  void Use(const std::shared_ptr<const void>& thing, LineCost cost);
  void Drop(const void* thing);
  // Of memory that cannot be dropped. The other things have so much less room, from the next use
  // on.
  void Hold(uint64_t bytes);
  void Release(uint64_t bytes);
  // Was this the last that was used, so that using it again would change nothing?
  bool IsLast(const void* thing) const { return last_.load(std::memory_order_relaxed) == thing; }

  LineCost limit() const { return limit_; }
  LineCost kept() const;

 private:
  struct Entry {
    std::shared_ptr<const void> thing;
    LineCost cost;
  };
  using Entries = std::list<Entry>;  // used last: first

  bool IsFull() const;
  void Remove(Entries::iterator entry, Entries* removed);

  const LineCost limit_;
  std::atomic<const void*> last_ = nullptr;  // written under mutex_
  mutable std::mutex mutex_;                 // everything below
  Entries entries_;
  std::unordered_map<const void*, Entries::iterator> known_;
  LineCost kept_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_LINE_MEMORY_H_
