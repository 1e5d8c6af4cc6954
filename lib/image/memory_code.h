// MemoryCode: code that was copied out of memory piece by piece, such as what a JIT generated.
#ifndef HBBP_LIB_IMAGE_MEMORY_CODE_H_
#define HBBP_LIB_IMAGE_MEMORY_CODE_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "image/module_code.h"

namespace hbbp {

// Addresses are those of the process. Nothing is known of functions but that they do not reach
// over a gap between pieces.
class MemoryCode : public ModuleCode {
 public:
  // Where pieces overlap, the one added first is kept.
  void Add(ModuleAddress start, std::span<const uint8_t> bytes);

  std::span<const uint8_t> CodeAt(ModuleAddress address, size_t size) const override;
  std::span<const uint8_t> DataAt(ModuleAddress address, size_t size) const override;
  std::optional<AddressRange> FunctionAround(ModuleAddress address) const override;
  std::string FunctionName(ModuleAddress) const override { return {}; }

 private:
  std::map<ModuleAddress, std::vector<uint8_t>> regions_;  // by start; with gaps between them
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_MEMORY_CODE_H_
