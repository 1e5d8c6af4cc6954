// Hashes keys that consist of several numbers, for std::unordered_map.
#ifndef HBBP_LIB_BASE_HASH_H_
#define HBBP_LIB_BASE_HASH_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <tuple>

namespace hbbp {

inline size_t HashNumbers(std::initializer_list<uint64_t> numbers) {
  // The multiplier is 2^64 divided by the golden ratio.
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  uint64_t hash = 0;
  for (const uint64_t number : numbers) {
    hash = (hash ^ number) * kMultiplier;
    hash ^= hash >> 32;
  }
  return hash;
}

// Hashes a std::tuple of numbers.
struct TupleHash {
  template <typename... Numbers>
  size_t operator()(const std::tuple<Numbers...>& tuple) const {
    return std::apply([](const auto&... numbers) { return HashNumbers({uint64_t{numbers}...}); },
                      tuple);
  }
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_HASH_H_
