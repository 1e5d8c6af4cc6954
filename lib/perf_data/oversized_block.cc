#include "perf_data/oversized_block.h"

#include <algorithm>
#include <limits>

#include "perf/perf_abi.h"
#include "perf/record_format.h"

namespace hbbp {
namespace {

constexpr size_t kMaxRecordBytes = std::numeric_limits<uint16_t>::max();

// Returns the size of a record of the kind that follows the first one, or 0 if there is none.
size_t FollowerBytes(std::span<const uint8_t> bytes, ByteOrder order) {
  if (bytes.size() < sizeof(perf_event_header)) return 0;
  const perf_event_header header = RecordHeader(bytes, order);
  const bool is_block = header.type == kPerfCompressed2 && header.misc == 0;
  return is_block && header.size > kPerfCompressed2Bytes ? header.size : 0;
}

}  // namespace

uint64_t OversizedBytes(std::span<const uint8_t> bytes, ByteOrder order) {
  const uint64_t data_bytes = LoadNative<uint64_t>(bytes.data() + sizeof(perf_event_header), order);
  if (data_bytes > std::numeric_limits<uint32_t>::max()) return 0;
  const uint64_t all_bytes = kPerfCompressed2Bytes + data_bytes;
  const uint64_t padded = (all_bytes + 7) & ~uint64_t{7};
  const bool is_wrong =
      padded > kMaxRecordBytes && RecordHeader(bytes, order).size == (padded & kMaxRecordBytes);
  return is_wrong ? all_bytes : 0;
}

size_t FirstRecordBytes(std::span<const uint8_t> bytes, uint64_t all_bytes, ByteOrder order) {
  if (all_bytes <= kMaxRecordBytes) {
    return all_bytes <= bytes.size() ? static_cast<size_t>(all_bytes) : 0;
  }
  // The largest size is the likeliest.
  for (size_t at = std::min(kMaxRecordBytes, bytes.size()); at > kPerfCompressed2Bytes; --at) {
    const size_t follower = FollowerBytes(bytes.subspan(at), order);
    if (follower == 0) continue;
    const size_t next = at + follower;
    if (next == all_bytes) return at;
    if (next < bytes.size() && FollowerBytes(bytes.subspan(next), order) != 0) return at;
  }
  return 0;
}

}  // namespace hbbp
