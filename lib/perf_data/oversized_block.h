// Finds the size of compressed blocks that perf of Linux 6.16 writes with a wrong one.
//
// A record of type COMPRESSED2 is a header, the number of compressed bytes, these bytes, and
// padding up to a multiple of 8. If that is more than the 16 bits of the header's size can say,
// perf writes its low 16 bits and no padding. If there is still more, what perf took for one record
// is several: the number in the first is that of all bytes up to the end of the last, and the
// others have a right size in their header, any number after it, and no padding either.
#ifndef HBBP_LIB_PERF_DATA_OVERSIZED_BLOCK_H_
#define HBBP_LIB_PERF_DATA_OVERSIZED_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "perf/byte_order.h"

namespace hbbp {

// FirstRecordBytes may have to see as many bytes as this.
inline constexpr size_t kOversizedLookAhead = 160 << 10;

// Returns how many bytes there are up to the end of the last record, or 0 if the size of the record
// is as it should be. `bytes` begins with a record of type COMPRESSED2 and has
// kPerfCompressed2Bytes or more.
uint64_t OversizedBytes(std::span<const uint8_t> bytes, ByteOrder order);

// Returns how many of `all_bytes`, which is from OversizedBytes, are the first record, or 0 if that
// cannot be found.
size_t FirstRecordBytes(std::span<const uint8_t> bytes, uint64_t all_bytes, ByteOrder order);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_OVERSIZED_BLOCK_H_
