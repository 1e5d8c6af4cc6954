// MemoryCode: code that was copied out of memory piece by piece, such as what a JIT generated.
#ifndef HBBP_LIB_IMAGE_MEMORY_CODE_H_
#define HBBP_LIB_IMAGE_MEMORY_CODE_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "image/module_code.h"

namespace hbbp {

// Addresses are those of the process. A piece with a name is a function. Of other code nothing is
// known but that functions do not reach over a gap between pieces, or into one with a name.
class MemoryCode : public ModuleCode {
 public:
  // Where pieces overlap, the one added first is kept. Fast if they come by rising address.
  void Add(ModuleAddress start, std::span<const uint8_t> bytes, std::string name = {});
  // A function of which there is no code; left out where it overlaps another one.
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
