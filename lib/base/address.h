// Addresses of three kinds that must never be mixed up.
#ifndef HBBP_LIB_BASE_ADDRESS_H_
#define HBBP_LIB_BASE_ADDRESS_H_

#include <compare>
#include <cstdint>

namespace hbbp {

template <typename Kind>
struct Address {
  uint64_t value = 0;

  constexpr auto operator<=>(const Address&) const = default;
  constexpr Address operator+(uint64_t bytes) const { return {value + bytes}; }
  constexpr Address operator-(uint64_t bytes) const { return {value - bytes}; }
  constexpr uint64_t operator-(Address other) const { return value - other.value; }
};

// An address in the memory of a running process.
using RuntimeAddress = Address<struct RuntimeAddressKind>;
// The kernel owns the upper half of the address space.
constexpr bool IsKernelAddress(uint64_t address) { return address >> 63 != 0; }
constexpr bool IsKernelAddress(RuntimeAddress address) { return IsKernelAddress(address.value); }
// A position in a file.
using FileOffset = Address<struct FileOffsetKind>;
// An address as the ELF file gives it (p_vaddr, st_value); objdump prints it.
using ModuleAddress = Address<struct ModuleAddressKind>;

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_ADDRESS_H_
