// Where code is: a module and an offset in it, in one word, so that branches of all processes are
// counted in one table.
#ifndef HBBP_LIB_COLLECT_CODE_LOCATION_H_
#define HBBP_LIB_COLLECT_CODE_LOCATION_H_

#include <cstdint>

#include "profile/profile_data.h"

namespace hbbp {

// kNoModule and an address by itself, if it is in none.
struct CodeLocation {
  uint32_t module;
  uint64_t offset;  // as IpCount::offset
};

// Of a sample that was counted.
struct SampleLocation {
  uint32_t thread;
  uint32_t module;
  uint64_t offset;  // as IpCount::offset
};

// 16 bits say which module, 48 the offset, or the run-time address where there is no offset.
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

constexpr CodeLocation UnpackLocation(uint64_t place, uint32_t kernel_module) {
  const auto module = static_cast<uint32_t>(place >> kLocationOffsetBits);
  const uint64_t offset = place & kLocationOffsetMask;
  if (module == 0) return {kNoModule, offset};
  if (module == 1) return {kernel_module, offset | ~kLocationOffsetMask};
  return {module - kFirstLocatedModule, offset};
}

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_CODE_LOCATION_H_
