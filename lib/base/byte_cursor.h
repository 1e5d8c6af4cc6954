// ByteCursor reads fields from untrusted bytes and cannot overrun them.
//
//   ByteCursor cursor(bytes);
//   uint32_t count;
//   if (!cursor.Read(&count)) return truncated;
#ifndef HBBP_LIB_BASE_BYTE_CURSOR_H_
#define HBBP_LIB_BASE_BYTE_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

namespace hbbp {

class ByteCursor {
 public:
  explicit ByteCursor(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }

  // Returns false, and does not move, if fewer bytes remain. The same holds for every function
  // below.
  bool Skip(size_t size) {
    if (size > remaining()) return false;
    position_ += size;
    return true;
  }

  bool Seek(size_t position) {
    if (position > bytes_.size()) return false;
    position_ = position;
    return true;
  }

  template <typename T>
  requires std::is_trivially_copyable_v<T>
  bool Read(T* value) {
    if (sizeof(T) > remaining()) return false;
    std::memcpy(value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return true;
  }

  bool ReadBytes(size_t size, std::span<const uint8_t>* bytes) {
    if (size > remaining()) return false;
    *bytes = bytes_.subspan(position_, size);
    position_ += size;
    return true;
  }

  // Reads a string that ends in NUL.
  bool ReadCString(std::string* text) {
    const void* end = std::memchr(bytes_.data() + position_, 0, remaining());
    if (end == nullptr) return false;
    const auto* first = reinterpret_cast<const char*>(bytes_.data() + position_);
    text->assign(first, static_cast<const char*>(end));
    position_ += text->size() + 1;
    return true;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_BYTE_CURSOR_H_
