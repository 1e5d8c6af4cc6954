// NumberPairs gives each pair of numbers one number, counted from 0.
//
//   NumberPairs pairs;
//   pairs.Combine(3, 4)   // 0
//   pairs.Combine(3, 5)   // 1
//   pairs.Combine(3, 4)   // 0
//   pairs.Parts(1)        // {3, 5}
#ifndef HBBP_LIB_MIX_NUMBER_PAIRS_H_
#define HBBP_LIB_MIX_NUMBER_PAIRS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hbbp {

// Pairs with the same first number often come in one run: all instructions of a function, then all
// of the next. A first number that does not come back costs neither a look-up nor space in a hash
// table.
class NumberPairs {
 public:
  // `first` must be small, because it is the index of a table.
  uint32_t Combine(uint32_t first, uint32_t second) {
    if (first != first_ || round_ == 0) TurnTo(first);
    if (second >= kRemembered) {
      if (!is_hashed_) Hash();
      return FindOrAdd(second);
    }
    if (remembered_.size() <= second) remembered_.resize(second + size_t{1});
    Remembered& known = remembered_[second];
    if (known.round != round_) known = {round_, is_hashed_ ? FindOrAdd(second) : Append(second)};
    return known.number;
  }

  std::pair<uint32_t, uint32_t> Parts(uint32_t number) const { return parts_[number]; }
  size_t size() const { return parts_.size(); }

 private:
  // The state of a first number.
  enum class State : uint8_t {
    kNew,
    kInOneRun,  // its pairs are contiguous in parts_, and it did not come back since
    kHashed,    // its pairs are in numbers_
  };
  struct Run {
    uint32_t begin = 0;
    State state = State::kNew;
  };

  void TurnTo(uint32_t first) {
    ++round_;
    first_ = first;
    if (runs_.size() <= first) runs_.resize(first + size_t{1});
    Run& run = runs_[first];
    is_hashed_ = run.state == State::kHashed;
    if (run.state == State::kNew) {
      run = {static_cast<uint32_t>(parts_.size()), State::kInOneRun};
    } else if (run.state == State::kInOneRun) {
      Hash();
    }
  }

  void Hash() {
    Run& run = runs_[first_];
    for (uint32_t i = run.begin; i < parts_.size() && parts_[i].first == first_; ++i) {
      numbers_.emplace(Packed(parts_[i].second), i);
    }
    run.state = State::kHashed;
    is_hashed_ = true;
  }

  uint64_t Packed(uint32_t second) const { return uint64_t{first_} << 32 | second; }

  uint32_t Append(uint32_t second) {
    parts_.emplace_back(first_, second);
    return static_cast<uint32_t>(parts_.size() - 1);
  }

  uint32_t FindOrAdd(uint32_t second) {
    const auto next = static_cast<uint32_t>(parts_.size());
    const auto [number, is_new] = numbers_.try_emplace(Packed(second), next);
    if (is_new) parts_.emplace_back(first_, second);
    return number->second;
  }

  std::vector<std::pair<uint32_t, uint32_t>> parts_;
  std::vector<Run> runs_;  // by first number
  std::unordered_map<uint64_t, uint32_t> numbers_;
  // The pairs with the current first number, by the second one.
  static constexpr uint32_t kRemembered = 4096;
  struct Remembered {
    uint64_t round = 0;
    uint32_t number = 0;
  };
  std::vector<Remembered> remembered_;
  uint32_t first_ = 0;
  bool is_hashed_ = false;
  uint64_t round_ = 0;  // 0: no pair yet
};

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_NUMBER_PAIRS_H_
