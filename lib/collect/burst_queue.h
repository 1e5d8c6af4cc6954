// BurstQueue holds bursts until all mappings before them are known.
#ifndef HBBP_LIB_COLLECT_BURST_QUEUE_H_
#define HBBP_LIB_COLLECT_BURST_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "events/samples.h"

namespace hbbp {

class BurstQueue {
 public:
  explicit BurstQueue(std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
      : waiting_(memory), entries_(memory) {}

  void Add(const BurstSample& burst);

  // Calls count(burst) for each burst up to `complete_ns`, by rising time, and removes it.
  template <typename Count>
  void TakeUpTo(uint64_t complete_ns, Count&& count) {
    Sort(Order::kTime);
    size_t taken = 0;
    for (; taken < waiting_.size() && waiting_[taken].burst.time_ns <= complete_ns; ++taken) {
      count(BurstAt(taken));
    }
    Drop(taken);
  }

  // Frees all memory that is not needed.
  void Shrink();

  size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    BurstSample burst;  // without branches and accesses
    size_t first;       // index of its first entry
    size_t branches;    // entries that are branches; the others are accesses
    size_t count;
  };

  union Entry {
    Entry() : branch() {}

    TakenBranch branch;
    RecordedAccess access;
  };
  // So that entries are arrays of branches or of accesses.
  static_assert(sizeof(Entry) == sizeof(TakenBranch) && sizeof(Entry) == sizeof(RecordedAccess));

  enum class Order { kTime, kArrival };

  BurstSample BurstAt(size_t index) const;
  void Sort(Order order);
  void Drop(size_t count);

  std::pmr::vector<Waiting> waiting_;
  std::pmr::vector<Entry> entries_;  // of all waiting bursts
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_BURST_QUEUE_H_
