// Parses any text as /proc/kallsyms.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "image/kernel_symbols.h"

namespace {

using hbbp::AddressRange;
using hbbp::KernelSymbols;
using hbbp::ModuleAddress;

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto symbols = KernelSymbols::Parse({data, data + size});
  if (!symbols.ok()) return 0;
  for (const char* name : {"_text", "_stext", "", "a"}) {
    const std::optional<ModuleAddress> address = (*symbols)->AddressOf(name);
    if (!address) continue;
    const std::optional<AddressRange> function = (*symbols)->FunctionAround(*address);
    if (function) Require(function->Contains(*address));
  }
  for (const uint64_t address : {uint64_t{0}, uint64_t{0xffffffff81000010}, UINT64_MAX}) {
    const std::optional<AddressRange> function = (*symbols)->FunctionAround({address});
    const std::string name = (*symbols)->FunctionName({address});
    Require(function.has_value() == !name.empty());
    if (function) Require(function->Contains({address}));
    if (!function) Require((*symbols)->KernelModule({address}).empty());
  }
  return 0;
}
