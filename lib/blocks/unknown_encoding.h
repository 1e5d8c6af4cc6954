// LengthOfUnknown measures instructions of extensions that the decoder does not know.
#ifndef HBBP_LIB_BLOCKS_UNKNOWN_ENCODING_H_
#define HBBP_LIB_BLOCKS_UNKNOWN_ENCODING_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace hbbp {

// Returns the length of the VEX, EVEX or XOP encoding at the start of `code`, whatever its opcode
// means, or 0 if it is none or its length does not follow from its form.
size_t LengthOfUnknown(std::span<const uint8_t> code);

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_UNKNOWN_ENCODING_H_
