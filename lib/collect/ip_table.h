// IpTable counts IP samples by source, thread, module, offset, position and slice.
#ifndef HBBP_LIB_COLLECT_IP_TABLE_H_
#define HBBP_LIB_COLLECT_IP_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/work.h"
#include "profile/profile_data.h"

namespace hbbp {

class IpTable {
 public:
  struct Key {
    uint32_t source, thread, module, slice;
    uint64_t offset;
    IpPosition position = IpPosition::kAt;

    bool operator==(const Key& other) const {
      return offset == other.offset && Pair(source, thread) == Pair(other.source, other.thread) &&
             Pair(module, slice) == Pair(other.module, other.slice) && position == other.position;
    }

   private:
    // Two neighbours in memory are compared as one word.
    static uint64_t Pair(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }
  };

  explicit IpTable(std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
      : sums_(memory) {}

  void Count(const Key& key, uint64_t period);
  size_t bytes() const { return BytesOf(sums_.size()); }
  // Returns the size that the table would have without slices.
  size_t BytesWithoutSlices() const;
  // Merges slices 2 i and 2 i + 1 into slice i. Works without memory too.
  void MergeSlices();

  // Appends the counts in no order. With `check`, throws WorkCancelled if it is cancelled.
  void AppendTo(std::vector<IpCount>* counts, CancelCheck* check = nullptr) const;

 private:
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Sum {
    uint64_t samples = 0;
    double period_sum = 0;
    double period_squares = 0;
  };

  // Returns the approximate size of nodes and buckets.
  static constexpr size_t BytesOf(size_t counts) {
    return counts * (sizeof(std::pair<Key, Sum>) + 3 * sizeof(void*));
  }

  using Sums = std::pmr::unordered_map<Key, Sum, KeyHash>;

  static Sums WithBuckets(size_t count, std::pmr::memory_resource* memory);

  Sums sums_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_IP_TABLE_H_
