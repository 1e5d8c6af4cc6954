// MemoryCode holds code that was copied from memory piece by piece, such as the output of a JIT.
#ifndef HBBP_LIB_IMAGE_MEMORY_CODE_H_
#define HBBP_LIB_IMAGE_MEMORY_CODE_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "image/module_code.h"

namespace hbbp {

// Addresses are those of the process. A piece with a name is a function. Of other code it is only
// known that functions do not reach over a gap between pieces, or into a piece with a name.
class MemoryCode : public ModuleCode {
 public:
  // Where pieces overlap, the one added first is kept. It is fast if pieces come by rising address.
  void Add(ModuleAddress start, std::span<const uint8_t> bytes, std::string name = {});
  // Adds a function without code; it is ignored if it overlaps another function.
  void AddFunction(AddressRange range, std::string name);

  std::span<const uint8_t> CodeAt(ModuleAddress address, size_t size) const override;
  std::span<const uint8_t> DataAt(ModuleAddress address, size_t size) const override;
  std::optional<AddressRange> FunctionAround(ModuleAddress address) const override;
  std::string FunctionName(ModuleAddress address) const override;

 private:
  struct Function {
    ModuleAddress end;
    std::string name;
  };

  void AddToRegions(ModuleAddress start, std::span<const uint8_t> bytes);

  std::map<ModuleAddress, std::vector<uint8_t>> regions_;  // by start; with gaps between them
  std::map<ModuleAddress, Function> functions_;            // by start; no overlaps
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_MEMORY_CODE_H_
