// Reads cpuid, which is a trap to a hypervisor, of some microseconds.
//
// A process may take what another one has read, for leaves that say the same on all processors of a
// machine.
//
// Contract: the functions may be called in signal handlers and by any thread.
#ifndef HBBP_LIB_BASE_CPUID_H_
#define HBBP_LIB_BASE_CPUID_H_

#include <cstdint>
#include <iterator>

namespace hbbp {

struct CpuidLeaf {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
};

struct CpuidNumber {
  uint32_t leaf;
  uint32_t subleaf;
};

// The leaves that the library reads at each start: vendor, features, and where the components of
// the XSAVE area are that programs use.
inline constexpr CpuidNumber kCpuidAtStart[] = {{0, 0},   {1, 0},         {7, 0},   {7, 1},
                                                {0xd, 2}, {0xd, 5},       {0xd, 6}, {0xd, 7},
                                                {0xd, 9}, {0x80000001, 0}};

// CpuidAtStart has the leaves of kCpuidAtStart, in that order.
struct CpuidAtStart {
  CpuidLeaf leaves[std::size(kCpuidAtStart)];
};

CpuidAtStart ReadCpuidAtStart();

// ReadCpuid returns these from now on, without asking the processor. They must stay as they are.
// Call it before there are threads that read.
void SetKnownCpuid(const CpuidAtStart* known);

// Returns zeros for a leaf that the processor does not have.
CpuidLeaf ReadCpuid(uint32_t leaf, uint32_t subleaf = 0);

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_CPUID_H_
