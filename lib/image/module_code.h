// ModuleCode: the code of a module, wherever it comes from (an ELF file, memory, a profile).
#ifndef HBBP_LIB_IMAGE_MODULE_CODE_H_
#define HBBP_LIB_IMAGE_MODULE_CODE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/address.h"

namespace hbbp {

// [start, end)
struct AddressRange {
  ModuleAddress start;
  ModuleAddress end;

  bool Contains(ModuleAddress address) const { return start <= address && address < end; }
  bool operator==(const AddressRange&) const = default;
};

// Not thread-safe: an implementation may read lazily. Spans live as long as the object.
class ModuleCode {
 public:
  virtual ~ModuleCode() = default;

  // Executable bytes from `address` on: `size` of them, fewer where the code ends, none where
  // there is no code.
  virtual std::span<const uint8_t> CodeAt(ModuleAddress address, size_t size) const = 0;

  // Bytes of any loaded segment, for jump tables. As CodeAt.
  virtual std::span<const uint8_t> DataAt(ModuleAddress address, size_t size) const = 0;

  // The function, or the part of one (".cold"), around `address`, as exactly as the module
  // tells: by unwind tables, symbols, or the bounds of the section in the worst case. Never
  // larger than the executable segment. Nothing where there is no code.
  virtual std::optional<AddressRange> FunctionAround(ModuleAddress address) const = 0;

  // The name of the function around `address`, as the symbol table has it (mangled); empty if
  // the module does not tell.
  virtual std::string FunctionName(ModuleAddress address) const = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_MODULE_CODE_H_
