// Converts the bytes of a recording, which may come from a machine of the other byte order.
#ifndef HBBP_LIB_PERF_BYTE_ORDER_H_
#define HBBP_LIB_PERF_BYTE_ORDER_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace hbbp {

enum class ByteOrder : uint8_t { kNative, kSwapped };

template <typename T>
requires std::is_unsigned_v<T>
constexpr T ToNative(T value, ByteOrder order) {
  if (order == ByteOrder::kNative) return value;
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  return value;
}

// Precondition: sizeof(T) bytes at `bytes`.
template <typename T>
T LoadNative(const uint8_t* bytes, ByteOrder order) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return ToNative(value, order);
}

// Returns a bit-field of `word`, whose first field is the lowest bit where bytes are little-endian
// and the highest where they are big-endian: compilers lay out the bit-fields of the perf ABI so.
constexpr uint64_t BitField(uint64_t word, unsigned first, unsigned width, ByteOrder order) {
  const unsigned shift = order == ByteOrder::kNative ? first : 64 - first - width;
  return word >> shift & ((uint64_t{1} << width) - 1);
}

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_BYTE_ORDER_H_
