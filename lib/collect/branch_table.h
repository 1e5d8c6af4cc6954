// BranchTable: counts taken branches, and the streams between them, by address or by any other word
// that says where they are.
//
// A burst is counted at memory speed: nothing is allocated for a branch that is known. The entries
// are dense, the hash table holds only their indices.
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
  // A branch, and the stream behind it. Two cache lines, the second for the replicates.
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
  // The last branch of a burst has no stream behind it.
  static constexpr uint64_t kNoEnd = UINT64_MAX;
  // Nor has the last of a burst that is continued.
  static constexpr uint64_t kCutEnd = UINT64_MAX - 1;

  explicit BranchTable(std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
      : entries_(memory), slots_(memory) {}

  // `weight` is that of each stream, `stack` where they are from, `repeats` how often the same
  // burst was seen. Without memory nothing is counted.
  void CountBurst(uint32_t thread, std::span<const TakenBranch> branches, double weight,
                  size_t replicate, StackPart stack = {}, uint32_t repeats = 1);

  const std::pmr::vector<Entry>& entries() const { return entries_; }
  void Clear();
  // The same, and keeps no memory.
  void Release();

 private:
  // The upper half of a hash, and 1 + the index of the entry; 0 for a free one.
  using Slot = uint64_t;

  Entry& Find(uint64_t hash, uint32_t thread, uint64_t from, uint64_t to, uint64_t end);
  void Reserve(size_t more);

  std::pmr::vector<Entry> entries_;
  std::pmr::vector<Slot> slots_;  // a power of two of them, at most half used
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_BRANCH_TABLE_H_
