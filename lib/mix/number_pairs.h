// NumberPairs: each pair of numbers as one number, counted from 0.
//
//   NumberPairs pairs;
//   pairs.Combine(3, 4)   // 0
//   pairs.Combine(3, 5)   // 1
//   pairs.Combine(3, 4)   // 0
//   pairs.Parts(1)        // {3, 5}
#ifndef HBBP_LIB_MIX_NUMBER_PAIRS_H_
#define HBBP_LIB_MIX_NUMBER_PAIRS_H_

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace hbbp {

class NumberPairs {
 public:
  uint32_t Combine(uint32_t first, uint32_t second) {
    const uint64_t key = uint64_t{first} << 32 | second;
    // What comes is often what came just before.
    if (!parts_.empty() && key == last_key_) return last_;
    const auto [number, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(parts_.size()));
    if (is_new) parts_.emplace_back(first, second);
    last_key_ = key;
    last_ = number->second;
    return last_;
  }

  std::pair<uint32_t, uint32_t> Parts(uint32_t number) const { return parts_[number]; }
  size_t size() const { return parts_.size(); }

 private:
  absl::flat_hash_map<uint64_t, uint32_t> numbers_;
  std::vector<std::pair<uint32_t, uint32_t>> parts_;
  uint64_t last_key_ = 0;
  uint32_t last_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_NUMBER_PAIRS_H_
