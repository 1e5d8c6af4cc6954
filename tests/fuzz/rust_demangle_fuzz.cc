// Demangles any bytes as a name of Rust.
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
    // A name of the scheme v0 is bounded, and one of the older scheme is not longer than the
    // symbol.
    constexpr size_t kMaxV0Size = 64 << 10;
    if (name && name->size() > kMaxV0Size + 4 * size) std::abort();
  }
  return 0;
}
