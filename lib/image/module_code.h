// ModuleCode is the code of a module, wherever it comes from (an ELF file, memory, a profile).
#ifndef HBBP_LIB_IMAGE_MODULE_CODE_H_
#define HBBP_LIB_IMAGE_MODULE_CODE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/address.h"

namespace hbbp {

// The range is [start, end).
struct AddressRange {
  ModuleAddress start;
  ModuleAddress end;

  bool Contains(ModuleAddress address) const { return start <= address && address < end; }
  bool operator==(const AddressRange&) const = default;
};

// Objects are not thread-safe: an implementation may read lazily. Spans live as long as the object.
class ModuleCode {
 public:
  virtual ~ModuleCode() = default;

  // Returns `size` executable bytes from `address` on, fewer where the code ends, none outside of
  // code.
  virtual std::span<const uint8_t> CodeAt(ModuleAddress address, size_t size) const = 0;

  // Returns bytes of any loaded segment, for jump tables; otherwise like CodeAt.
  virtual std::span<const uint8_t> DataAt(ModuleAddress address, size_t size) const = 0;

  // Returns the function, or the part of one (".cold"), around `address`, as exactly as the module
  // shows it: by unwind tables, symbols, or the bounds of the section in the worst case. It is
  // never larger than the executable segment. Returns nothing where there is no code.
  virtual std::optional<AddressRange> FunctionAround(ModuleAddress address) const = 0;

  // Returns the name of the function around `address` as in the symbol table (mangled), or nothing
  // if the module has none.
  virtual std::string FunctionName(ModuleAddress address) const = 0;

  // Returns the address in this module that the loader stores in the pointer at `slot`, or nothing
  // if the bytes there are all there is.
  virtual std::optional<ModuleAddress> PointerAt([[maybe_unused]] ModuleAddress slot) const {
    return std::nullopt;
  }

  // Returns the name of the function whose address the loader stores in the pointer at `slot`, or
  // nothing if it stores none that has a name.
  virtual std::string ImportAt([[maybe_unused]] ModuleAddress slot) const { return {}; }

  // Returns whether exceptions in a function (part) may be handled in another part.
  virtual bool HasDistantHandlers([[maybe_unused]] const AddressRange& part) const { return false; }
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_MODULE_CODE_H_
