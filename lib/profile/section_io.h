// Encodes and decodes the content of a section of a profile file.
#ifndef HBBP_LIB_PROFILE_SECTION_IO_H_
#define HBBP_LIB_PROFILE_SECTION_IO_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/byte_cursor.h"
#include "base/status.h"

namespace hbbp {

class SectionWriter {
 public:
  void Reserve(size_t bytes) { bytes_.reserve(bytes); }

  template <typename T>
  void Put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* first = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), first, first + sizeof(value));
  }
  // Appends the first `size` bytes of a value.
  template <typename T>
  void PutBeginning(const T& value, size_t size) {
    const auto* first = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  void PutBytes(std::span<const uint8_t> bytes) {
    Put<uint64_t>(bytes.size());
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void PutString(std::string_view text) {
    PutBytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  std::vector<uint8_t> Take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

// Reads what SectionWriter wrote. After the first failure all reads return zeros.
class SectionReader {
 public:
  SectionReader(std::span<const uint8_t> bytes, const char* section)
      : cursor_(bytes), section_(section) {}

  template <typename T>
  T Get() {
    T value{};
    if (ok_ && !cursor_.Read(&value)) ok_ = false;
    return value;
  }
  // Reads the first `size` bytes of a value.
  void GetBeginning(size_t size, void* value) {
    std::span<const uint8_t> bytes;
    if (ok_ && !cursor_.ReadBytes(size, &bytes)) ok_ = false;
    if (ok_) std::memcpy(value, bytes.data(), size);
  }
  std::vector<uint8_t> GetBytes() {
    std::span<const uint8_t> bytes;
    const uint64_t size = Get<uint64_t>();
    if (ok_ && !cursor_.ReadBytes(size, &bytes)) ok_ = false;
    return {bytes.begin(), bytes.end()};
  }
  std::string GetString() {
    std::vector<uint8_t> bytes = GetBytes();
    return {bytes.begin(), bytes.end()};
  }
  // Reads a number of elements of at least `element_size` bytes each. Returns 0 if so many do not
  // fit into the rest.
  uint64_t GetCount(size_t element_size) {
    const uint64_t count = Get<uint64_t>();
    if (count > cursor_.remaining() / element_size) ok_ = false;
    return ok_ ? count : 0;
  }
  size_t remaining() const { return ok_ ? cursor_.remaining() : 0; }
  Status status() const {
    if (ok_ && cursor_.remaining() == 0) return OkStatus();
    return MakeStatus(StatusCode::kBadFormat, "the %s section is damaged at byte %zu", section_,
                      cursor_.position());
  }

 private:
  ByteCursor cursor_;
  const char* section_;
  bool ok_ = true;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_SECTION_IO_H_
