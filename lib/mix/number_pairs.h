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
    // Pairs often come with the same first number, one after the other.
    if (second < kRemembered) {
      if (first != first_of_remembered_) {
        first_of_remembered_ = first;
        ++round_;
      }
      if (remembered_.size() <= second) remembered_.resize(second + size_t{1});
      if (remembered_[second].round == round_) return remembered_[second].number;
    }
    const uint64_t key = uint64_t{first} << 32 | second;
    const auto [number, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(parts_.size()));
    if (is_new) parts_.emplace_back(first, second);
    if (second < kRemembered) remembered_[second] = {round_, number->second};
    return number->second;
  }

  std::pair<uint32_t, uint32_t> Parts(uint32_t number) const { return parts_[number]; }
  size_t size() const { return parts_.size(); }

 private:
  absl::flat_hash_map<uint64_t, uint32_t> numbers_;
  std::vector<std::pair<uint32_t, uint32_t>> parts_;
  // Pairs with the first number that came last, by the second.
  static constexpr uint32_t kRemembered = 4096;
  struct Remembered {
    uint64_t round = 0;
    uint32_t number = 0;
  };
  std::vector<Remembered> remembered_;
  uint32_t first_of_remembered_ = 0;
  uint64_t round_ = 1;
};

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_NUMBER_PAIRS_H_
