// Where code is: a module and an offset in it, in one word, so that branches of all processes are
// counted in one table.
#ifndef HBBP_LIB_COLLECT_CODE_PLACE_H_
#define HBBP_LIB_COLLECT_CODE_PLACE_H_

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
inline constexpr unsigned kPlaceOffsetBits = 48;
inline constexpr uint64_t kPlaceOffsetMask = (uint64_t{1} << kPlaceOffsetBits) - 1;
inline constexpr uint64_t kPlaceOfKernel = uint64_t{1} << kPlaceOffsetBits;
inline constexpr uint32_t kFirstPlacedModule = 2;  // 0: none, 1: the kernel
inline constexpr uint64_t kMostPlacedModules =
    (uint64_t{1} << (64 - kPlaceOffsetBits)) - kFirstPlacedModule;

constexpr uint64_t PlaceInModule(uint32_t module, uint64_t offset) {
  return (uint64_t{module} + kFirstPlacedModule) << kPlaceOffsetBits | (offset & kPlaceOffsetMask);
}
constexpr uint64_t PlaceInKernel(uint64_t address) {
  return kPlaceOfKernel | (address & kPlaceOffsetMask);
}
constexpr uint64_t PlaceInNoModule(uint64_t address) { return address & kPlaceOffsetMask; }

constexpr CodeLocation LocationOf(uint64_t place, uint32_t kernel_module) {
  const auto module = static_cast<uint32_t>(place >> kPlaceOffsetBits);
  const uint64_t offset = place & kPlaceOffsetMask;
  if (module == 0) return {kNoModule, offset};
  if (module == 1) return {kernel_module, offset | ~kPlaceOffsetMask};
  return {module - kFirstPlacedModule, offset};
}

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_CODE_PLACE_H_
