// AccessTable adds up the accesses of IBS samples by the range of memory that they were to.
//
// Its memory is bounded for any recording: each time that there are twice as many ranges as the
// limit, the least sampled half is replaced by coarser ranges, or, where there are none, dropped. A
// range that would be dropped counts as if it had more samples, since that loses all of it.
#ifndef HBBP_LIB_COLLECT_ACCESS_TABLE_H_
#define HBBP_LIB_COLLECT_ACCESS_TABLE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "events/ibs_sample.h"
#include "profile/profile_data.h"

namespace hbbp {

// Returns the approximate size of an unordered map with `more` entries. Each entry is an allocation
// of its own with a link, a hash value, and two words of malloc's. There are at least as many
// buckets as entries, and their number grows by doubling.
template <typename Table>
uint64_t BytesWithMore(const Table& table, size_t more) {
  const size_t entries = table.size() + more;
  return entries * (sizeof(*table.begin()) + 4 * sizeof(void*)) +
         2 * std::bit_ceil(entries) * sizeof(void*);
}

// Returns the accesses of one op to the range.
IbsAccesses MakeAccesses(const IbsOp& op, IbsAccesses range);

// Has ranges that are dropped at once.
struct NothingCoarser {
  static constexpr bool Coarsen(IbsAccesses*) { return false; }
};

// Coarser::Coarsen makes a range coarser, or returns false if it is as coarse as it gets.
template <typename Coarser>
class AccessTable {
 public:
  // There may be up to twice as many ranges as the limit.
  explicit AccessTable(size_t limit) : limit_(limit) {}

  void Add(const IbsAccesses& accesses) {
    AddSums(accesses);
    if (ranges_.size() < 2 * limit_) return;
    // Coarser ranges may be as many as those that they replace.
    while (ranges_.size() > limit_ + limit_ / 2) ReplaceRarest();
  }

  // Returns the approximate size with one more range.
  uint64_t BytesWithOneMore() const { return BytesWithMore(ranges_, 1); }

  // Returns the number of accesses of the source that were dropped.
  uint64_t dropped(uint32_t source) const {
    const auto found = dropped_.find(source);
    return found == dropped_.end() ? 0 : found->second;
  }

  void AppendTo(std::vector<IbsAccesses>* accesses) const {
    for (const auto& [key, range] : ranges_) accesses->push_back(range);
  }

 private:
  // The address, the source, thread, module and name, the bytes, and the node.
  using Key = std::tuple<uint64_t, uint32_t, uint32_t, uint32_t, uint32_t, uint64_t, uint32_t>;

  static constexpr uint64_t kCostOfDrop = 16;

  static Key KeyOf(const IbsAccesses& range) {
    return {range.address, range.source, range.thread, range.module,
            range.name,    range.bytes,  range.node};
  }

  void AddSums(const IbsAccesses& accesses) {
    const auto [known, is_new] = ranges_.try_emplace(KeyOf(accesses), accesses);
    if (!is_new) AddAccesses(accesses, &known->second);
  }

  // Returns a number by which ranges are replaced, lowest first.
  static uint64_t RankOf(IbsAccesses range) {
    const uint64_t samples = range.loads + range.stores;
    return Coarser::Coarsen(&range) ? samples : kCostOfDrop * samples;
  }

  void ReplaceRarest() {
    std::vector<std::pair<uint64_t, Key>> by_rank;
    by_rank.reserve(ranges_.size());
    for (const auto& [key, range] : ranges_) by_rank.emplace_back(RankOf(range), key);
    const size_t replaced = ranges_.size() - limit_;
    std::nth_element(by_rank.begin(), by_rank.begin() + static_cast<std::ptrdiff_t>(replaced),
                     by_rank.end());
    for (size_t i = 0; i < replaced; ++i) {
      const auto found = ranges_.find(by_rank[i].second);
      IbsAccesses range = found->second;
      ranges_.erase(found);
      if (Coarser::Coarsen(&range)) {
        AddSums(range);
      } else {
        dropped_[range.source] += range.loads + range.stores;
      }
    }
  }

  size_t limit_;
  std::unordered_map<Key, IbsAccesses, TupleHash> ranges_;
  std::map<uint32_t, uint64_t> dropped_;  // by source
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_ACCESS_TABLE_H_
