// BranchTable counts taken branches, and the streams between them, by address or by any other
// 64-bit location.
//
// A burst is counted at memory speed: nothing is allocated for a branch that has an entry. The
// entries are dense, and the hash table holds only their indices.
#ifndef HBBP_LIB_COLLECT_BRANCH_TABLE_H_
#define HBBP_LIB_COLLECT_BRANCH_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "events/samples.h"
#include "profile/stream_sums.h"

namespace hbbp {

class BranchTable {
 public:
  // An Entry is a branch, and the stream after it. It takes two cache lines, the second for the
  // replicates.
  struct alignas(64) Entry {
    uint64_t from = 0;
    uint64_t to = 0;
    uint64_t end = kNoEnd;  // of the stream: the next taken branch
    uint32_t thread = 0;
    uint64_t number = 0;
    double weights = 0;
    uint64_t oldest = 0;
    double oldest_expected = 0;
    alignas(64) ReplicateSums replicates;
  };
  // No stream follows the last branch of a burst.
  static constexpr uint64_t kNoEnd = UINT64_MAX;
  // Nor does one follow the last branch of a part of a burst that is continued.
  static constexpr uint64_t kCutEnd = UINT64_MAX - 1;

  explicit BranchTable(std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
      : entries_(memory), slots_(memory) {}

  // `weight` is that of each stream, `stack` the part of a branch stack that the burst is, and
  // `repeats` how often the same burst was seen. If it throws std::bad_alloc, it counted nothing.
  void CountBurst(uint32_t thread, std::span<const TakenBranch> branches, double weight,
                  size_t replicate, StackPart stack = {}, uint32_t repeats = 1);

  const std::pmr::vector<Entry>& entries() const { return entries_; }
  // Returns whether the sum of a replicate is so large that a weight like the last ones would soon
  // be rounded away: the table must be cleared.
  bool has_full_sums() const { return has_full_sums_; }
  void Clear();
  // Clears the table and frees its memory.
  void Release();

 private:
  // The upper half of a hash, and 1 + the index of the entry in the lower half; 0 if it is free.
  using Slot = uint64_t;

  Entry& Find(uint64_t hash, uint32_t thread, uint64_t from, uint64_t to, uint64_t end);
  void Reserve(size_t more);

  std::pmr::vector<Entry> entries_;
  std::pmr::vector<Slot> slots_;  // the size is a power of two, and at most half are used
  bool has_full_sums_ = false;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_BRANCH_TABLE_H_
