// Packs the location of code, a module and an offset in it, into one word, so that branches of all
// processes can be counted in one table.
#ifndef HBBP_LIB_COLLECT_CODE_LOCATION_H_
#define HBBP_LIB_COLLECT_CODE_LOCATION_H_

#include <cstdint>

#include "profile/profile_data.h"

namespace hbbp {

// Without a mapping, this is kNoModule and the address.
struct CodeLocation {
  uint32_t module;
  uint64_t offset;  // like IpCount::offset
};

// SampleLocation is the location and the thread of a sample that was counted.
struct SampleLocation {
  uint32_t thread;
  uint32_t module;
  uint64_t offset;  // like IpCount::offset
};

// 16 bits are for the module, and 48 for the offset, or for the run-time address without a module.
inline constexpr unsigned kLocationOffsetBits = 48;
inline constexpr uint64_t kLocationOffsetMask = (uint64_t{1} << kLocationOffsetBits) - 1;
inline constexpr uint64_t kKernelLocation = uint64_t{1} << kLocationOffsetBits;
inline constexpr uint32_t kFirstLocatedModule = 2;  // 0: none, 1: the kernel
inline constexpr uint64_t kMaxLocatedModules =
    (uint64_t{1} << (64 - kLocationOffsetBits)) - kFirstLocatedModule;

constexpr uint64_t LocationInModule(uint32_t module, uint64_t offset) {
  return (uint64_t{module} + kFirstLocatedModule) << kLocationOffsetBits |
         (offset & kLocationOffsetMask);
}
constexpr uint64_t LocationInKernel(uint64_t address) {
  return kKernelLocation | (address & kLocationOffsetMask);
}
constexpr uint64_t LocationInNoModule(uint64_t address) { return address & kLocationOffsetMask; }

constexpr CodeLocation UnpackLocation(uint64_t location, uint32_t kernel_module) {
  const auto module = static_cast<uint32_t>(location >> kLocationOffsetBits);
  const uint64_t offset = location & kLocationOffsetMask;
  if (module == 0) return {kNoModule, offset};
  if (module == 1) return {kernel_module, offset | ~kLocationOffsetMask};
  return {module - kFirstLocatedModule, offset};
}

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_CODE_LOCATION_H_
