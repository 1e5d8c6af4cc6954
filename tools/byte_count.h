// Parses amounts of memory.
#ifndef HBBP_TOOLS_BYTE_COUNT_H_
#define HBBP_TOOLS_BYTE_COUNT_H_

#include <cstdint>
#include <string>

#include "base/status.h"

namespace hbbp::tools {

// Returns "64M", "64MiB" or "1G" in bytes, and 0 for an empty text. `option` is for messages,
// and `min_bytes` a multiple of a KiB.
StatusOr<uint64_t> ParseByteCount(const char* option, const std::string& text, uint64_t min_bytes);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_BYTE_COUNT_H_
