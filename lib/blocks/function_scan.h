// ScanFunction decodes the code of a function, or of a part of one, in one linear sweep.
//
// The result depends only on the bytes, the address and the known starts, so that a function can be
// scanned again when evidence arrives, in whatever order that is.
#ifndef HBBP_LIB_BLOCKS_FUNCTION_SCAN_H_
#define HBBP_LIB_BLOCKS_FUNCTION_SCAN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "blocks/bitmap.h"

namespace hbbp {

struct ScanInput {
  // The code of the part follows `lead_in` bytes that are decoded only to synchronize with the
  // instructions. It may exceed the part, for an instruction across its end, and may end early,
  // where the code of the module does.
  std::span<const uint8_t> code;
  uint32_t lead_in = 0;
  uint64_t start = 0;  // the address of the part
  uint32_t size = 0;   // the size of the part
  // Offsets in the part where instructions are known to start, in order.
  std::span<const uint32_t> known_starts;
};

// Every offset counts from the start of the part.
struct FunctionScan {
  Bitmap starts;  // where instructions start
  // Where blocks start. A leader at which no instruction starts begins a gap of undecodable bytes.
  Bitmap leaders;
  uint32_t code_end = 0;  // where the last instruction or gap ends; may exceed the size
  uint32_t instruction_count = 0;
  uint32_t undecodable_bytes = 0;
  std::vector<uint64_t> exits;  // addresses outside that the part jumps to, sorted, each once
  std::vector<uint32_t> indirect_jumps;
};

// Recognizes the nops that assemblers align code with.
bool IsPadding(std::span<const uint8_t> instruction);

FunctionScan ScanFunction(const ScanInput& input);

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_FUNCTION_SCAN_H_
