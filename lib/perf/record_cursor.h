// RecordCursor is a ByteCursor that turns integers into the byte order of this machine.
#ifndef HBBP_LIB_PERF_RECORD_CURSOR_H_
#define HBBP_LIB_PERF_RECORD_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/byte_cursor.h"
#include "perf/byte_order.h"
#include "perf/u64_view.h"

namespace hbbp {

class RecordCursor {
 public:
  RecordCursor(std::span<const uint8_t> bytes, ByteOrder order) : cursor_(bytes), order_(order) {}

  ByteOrder order() const { return order_; }
  size_t remaining() const { return cursor_.remaining(); }

  // Returns false, and does not move, if fewer bytes remain. The same holds for every function
  // below.
  bool Skip(size_t size) { return cursor_.Skip(size); }

  template <typename T>
  requires std::is_unsigned_v<T>
  bool Read(T* value) {
    if (!cursor_.Read(value)) return false;
    *value = ToNative(*value, order_);
    return true;
  }

  bool ReadBytes(uint64_t size, std::span<const uint8_t>* bytes) {
    return size <= remaining() && cursor_.ReadBytes(static_cast<size_t>(size), bytes);
  }

  bool ReadWords(uint64_t count, U64View* words) {
    std::span<const uint8_t> bytes;
    if (count > remaining() / 8 || !ReadBytes(8 * count, &bytes)) return false;
    *words = U64View(bytes, order_);
    return true;
  }

  bool ReadCString(std::string* text) { return cursor_.ReadCString(text); }

 private:
  ByteCursor cursor_;
  ByteOrder order_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_RECORD_CURSOR_H_
