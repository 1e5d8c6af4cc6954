// CountTable counts rows of up to kMaxFields numbers, up to a maximum number of different rows. A
// row of a sample counts by its weight as well.
#ifndef HBBP_LIB_PROBES_COUNT_TABLE_H_
#define HBBP_LIB_PROBES_COUNT_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "probes/production_set.h"

namespace hbbp {

// Fields that a table does not have are 0.
using ProbeRow = std::array<uint64_t, kMaxFields>;

// Returns a hash whose bits all depend on all fields.
uint64_t HashRow(const ProbeRow& row);

class CountTable {
 public:
  struct Entry {
    ProbeRow row{};
    uint64_t count = 0;   // 0: the slot is free
    double estimate = 0;  // the sum of weights: the count itself where nothing is sampled
  };

  explicit CountTable(size_t max_rows) : max_rows_(max_rows) {}

  void Add(const ProbeRow& row, double weight = 1) {
    Entry* entry = Find(row);
    if (entry == nullptr || entry->count == 0) entry = Insert(row, entry);
    if (entry == nullptr) {
      ++dropped_;
    } else {
      ++entry->count;
      entry->estimate += weight;
    }
    ++total_;
    total_estimate_ += weight;
  }

  size_t rows() const { return rows_; }
  // Returns the number of calls of Add, and of those that found the table full.
  uint64_t total() const { return total_; }
  uint64_t dropped() const { return dropped_; }
  // Returns the sum of all weights.
  double total_estimate() const { return total_estimate_; }

  // Returns the rows with the largest estimates first, equal ones by their numbers.
  std::vector<Entry> Sorted() const;

 private:
  // Returns the entry of the row or the free slot for it; null while the table is empty.
  Entry* Find(const ProbeRow& row) {
    if (slots_.empty()) return nullptr;
    const size_t mask = slots_.size() - 1;
    size_t slot = HashRow(row) & mask;
    while (slots_[slot].count != 0 && slots_[slot].row != row) slot = (slot + 1) & mask;
    return &slots_[slot];
  }
  // Returns null if the table is full.
  Entry* Insert(const ProbeRow& row, Entry* slot);

  size_t max_rows_;
  size_t rows_ = 0;
  uint64_t total_ = 0;
  uint64_t dropped_ = 0;
  double total_estimate_ = 0;
  std::vector<Entry> slots_;  // their number is a power of two, at least half of them free
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_COUNT_TABLE_H_
