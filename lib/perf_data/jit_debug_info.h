// ReadJitDebugInfo reads the source lines of a function from a record JIT_CODE_DEBUG_INFO of a
// jitdump.
#ifndef HBBP_LIB_PERF_DATA_JIT_DEBUG_INFO_H_
#define HBBP_LIB_PERF_DATA_JIT_DEBUG_INFO_H_

#include <cstdint>
#include <optional>
#include <span>

#include "symbols/code_lines.h"

namespace hbbp {

// Returns the address of the function that a record is of, or nothing if it is too short.
std::optional<uint64_t> AddressOfJitDebugInfo(std::span<const uint8_t> record);

// `record` is whole, with its prefix; the function has `code_bytes` bytes. Returns no rows if any
// entry cannot be: node 20 writes names out of memory that it has freed.
//
// LLVM and V8 give addresses that are 64 bytes too high, the size of the ELF header that perf
// inject puts in front of the code; agents of Java do not. A function has a line from its first
// bytes on, which distinguishes the two.
CodeLines ReadJitDebugInfo(std::span<const uint8_t> record, uint64_t code_bytes);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_JIT_DEBUG_INFO_H_
