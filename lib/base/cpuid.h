// Reads cpuid, which is a trap to a hypervisor, of some microseconds. __get_cpuid executes it
// twice, the first time for the highest leaf.
//
// Contract: the functions may be called in signal handlers and by any thread.
#ifndef HBBP_LIB_BASE_CPUID_H_
#define HBBP_LIB_BASE_CPUID_H_

#include <cpuid.h>

#include <atomic>
#include <cstdint>

namespace hbbp {

struct CpuidLeaf {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
};

// Returns the highest leaf of the range that begins at `first`, which is 0 or 0x80000000.
inline uint32_t HighestCpuidLeaf(uint32_t first) {
  static constinit std::atomic<uint32_t> known[2] = {};
  std::atomic<uint32_t>& highest = known[first != 0 ? 1 : 0];
  uint32_t leaf = highest.load(std::memory_order_relaxed);
  if (leaf != 0) return leaf;
  leaf = __get_cpuid_max(first, nullptr);
  highest.store(leaf, std::memory_order_relaxed);
  return leaf;
}

// Returns zeros for a leaf that the processor does not have.
inline CpuidLeaf ReadCpuid(uint32_t leaf, uint32_t subleaf = 0) {
  CpuidLeaf read;
  const uint32_t first = leaf & 0x80000000;
  if (leaf <= HighestCpuidLeaf(first)) {
    __cpuid_count(leaf, subleaf, read.eax, read.ebx, read.ecx, read.edx);
  }
  return read;
}

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_CPUID_H_
