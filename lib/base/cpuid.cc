// __get_cpuid would execute cpuid twice for each leaf, the first time for the highest one.
#include "base/cpuid.h"

#include <cpuid.h>

#include <atomic>
#include <cstddef>

namespace hbbp {
namespace {

const CpuidAtStart* known_leaves = nullptr;
constinit std::atomic<uint32_t> highest_leaves[2] = {};

// Returns the highest leaf of the range that begins at `first`, which is 0 or 0x80000000.
uint32_t HighestLeaf(uint32_t first) {
  std::atomic<uint32_t>& highest = highest_leaves[first != 0 ? 1 : 0];
  uint32_t leaf = highest.load(std::memory_order_relaxed);
  if (leaf != 0) return leaf;
  leaf = __get_cpuid_max(first, nullptr);
  highest.store(leaf, std::memory_order_relaxed);
  return leaf;
}

}  // namespace

CpuidAtStart ReadCpuidAtStart() {
  CpuidAtStart read;
  for (size_t i = 0; i < std::size(kCpuidAtStart); ++i) {
    read.leaves[i] = ReadCpuid(kCpuidAtStart[i].leaf, kCpuidAtStart[i].subleaf);
  }
  return read;
}

void SetKnownCpuid(const CpuidAtStart* known) { known_leaves = known; }

CpuidLeaf ReadCpuid(uint32_t leaf, uint32_t subleaf) {
  if (known_leaves != nullptr) {
    for (size_t i = 0; i < std::size(kCpuidAtStart); ++i) {
      const CpuidNumber& number = kCpuidAtStart[i];
      if (number.leaf == leaf && number.subleaf == subleaf) return known_leaves->leaves[i];
    }
  }
  CpuidLeaf read;
  if (leaf <= HighestLeaf(leaf & 0x80000000)) {
    __cpuid_count(leaf, subleaf, read.eax, read.ebx, read.ecx, read.edx);
  }
  return read;
}

}  // namespace hbbp
