// map_sort_sum ROUNDS: fills a search tree that is larger than the caches, sorts random numbers and
// sums an array, one after the other. The phases last hundreds of ms: the first waits for memory,
// the second mispredicts branches, the third reads ahead. Prints a sum of what came out.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

namespace {

constexpr size_t kKeys = 600'000;
constexpr size_t kSorted = 4'500'000;
constexpr size_t kSummed = size_t{16} << 20;
constexpr int kPasses = 20;

uint64_t Next(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

__attribute__((noipa)) uint64_t FillMap(uint64_t& state) {
  std::map<uint64_t, uint64_t> counts;
  for (size_t i = 0; i < kKeys; ++i) counts[Next(state) >> 20] += i;
  uint64_t sum = 0;
  for (const auto& [key, count] : counts) sum = sum * 31 + (key ^ count);
  return sum;
}

__attribute__((noipa)) uint64_t Sort(uint64_t& state) {
  std::vector<uint32_t> values(kSorted);
  for (uint32_t& value : values) value = static_cast<uint32_t>(Next(state) >> 32);
  std::sort(values.begin(), values.end());
  uint64_t sum = 0;
  for (size_t i = 0; i < kSorted; i += 1000) sum = sum * 31 + values[i];
  return sum;
}

__attribute__((noipa)) uint64_t Sum(const std::vector<uint32_t>& array) {
  uint64_t sum = 0;
  for (const uint32_t value : array) sum += value;
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  uint64_t state = 88172645463325252;
  std::vector<uint32_t> array(kSummed);
  for (uint32_t& value : array) value = static_cast<uint32_t>(Next(state));
  uint64_t sum = 0;
  for (int round = 0; round < std::atoi(argv[1]); ++round) {
    sum = sum * 31 + FillMap(state);
    sum = sum * 31 + Sort(state);
    for (int pass = 0; pass < kPasses; ++pass) sum = sum * 31 + Sum(array);
  }
  std::printf("%016llx\n", static_cast<unsigned long long>(sum));
}
