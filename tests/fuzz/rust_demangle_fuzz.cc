// Any bytes as a name of Rust.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "symbols/rust_demangle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* prefix : {"", "_R", "_ZN"}) {
    const std::optional<std::string> name =
        hbbp::DemangleRust(std::string(prefix) + std::string(text));
    // Of the scheme v0 it is bounded, of the older one not longer than the symbol.
    constexpr size_t kMostOfV0 = 64 << 10;
    if (name && name->size() > kMostOfV0 + 4 * size) std::abort();
  }
  return 0;
}
