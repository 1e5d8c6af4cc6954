// LineMemory limits the memory of the decoded debug information of all modules of a profile
// together. What was used longest ago is dropped first; its owner decodes it again on demand.
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

// Any thread may call any function. Owners hold entries by weak pointers: an entry that is dropped
// while a thread uses it lives until that use ends.
class LineMemory {
 public:
  static constexpr size_t kMaxDescriptors = 64;

  explicit LineMemory(uint64_t limit_bytes) : limit_{limit_bytes, kMaxDescriptors} {}

  // Keeps `thing`, which costs `cost` from now on, as the last used, and drops others as the limits
  // require. The last used is kept at any cost.
  void Use(const std::shared_ptr<const void>& thing, LineCost cost);
  void Drop(const void* thing);
  // Reserves memory that cannot be dropped. The entries have less room from the next use on.
  void Hold(uint64_t bytes);
  void Release(uint64_t bytes);
  // Returns whether this was the last used, so that using it again would change nothing.
  bool IsLast(const void* thing) const { return last_.load(std::memory_order_relaxed) == thing; }

  LineCost limit() const { return limit_; }
  LineCost kept() const;

 private:
  struct Entry {
    std::shared_ptr<const void> thing;
    LineCost cost;
  };
  using Entries = std::list<Entry>;  // last used first

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
