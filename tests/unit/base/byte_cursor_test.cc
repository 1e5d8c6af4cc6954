#include "base/byte_cursor.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

// Copies the bytes to a heap block of exactly that size, so that a sanitizer sees every overrun.
class Bytes {
 public:
  explicit Bytes(const std::vector<uint8_t>& bytes)
      : size_(bytes.size()), data_(new uint8_t[bytes.size()]) {
    std::copy(bytes.begin(), bytes.end(), data_.get());
  }
  std::span<const uint8_t> span() const { return {data_.get(), size_}; }

 private:
  size_t size_;
  std::unique_ptr<uint8_t[]> data_;
};

struct Triple {
  uint8_t bytes[3];
};

TEST_CASE("fields are read one after another without alignment") {
  const Bytes bytes({1, 2, 0, 0, 0, 3, 4, 5, 6, 7});
  ByteCursor cursor(bytes.span());
  uint8_t first = 0;
  uint32_t second = 0;
  Triple third = {};
  CHECK(cursor.Read(&first));
  CHECK(cursor.Read(&second));
  CHECK(cursor.Read(&third));
  CHECK(first == 1);
  CHECK(second == 2);
  CHECK(third.bytes[2] == 5);
  CHECK(cursor.position() == 8);
  CHECK(cursor.remaining() == 2);
}

TEST_CASE("whatever fails leaves the position and the output alone") {
  const Bytes bytes({'a', 'b', 'c', 'd', 'e'});
  constexpr size_t kHuge = std::numeric_limits<size_t>::max();
  for (size_t position = 0; position <= 5; ++position) {
    CAPTURE(position);
    ByteCursor cursor(bytes.span());
    REQUIRE(cursor.Seek(position));
    const size_t left = 5 - position;
    uint64_t number = 42;
    std::span<const uint8_t> piece;
    std::string text = "kept";
    CHECK_FALSE(cursor.Read(&number));
    CHECK_FALSE(cursor.Skip(left + 1));
    CHECK_FALSE(cursor.Skip(kHuge));
    // This size wraps around to the start.
    if (position > 0) CHECK_FALSE(cursor.Skip(0 - position));
    CHECK_FALSE(cursor.Seek(6));
    CHECK_FALSE(cursor.Seek(kHuge));
    CHECK_FALSE(cursor.ReadBytes(left + 1, &piece));
    CHECK_FALSE(cursor.ReadBytes(kHuge, &piece));
    CHECK_FALSE(cursor.ReadCString(&text));
    CHECK(cursor.position() == position);
    CHECK(cursor.remaining() == left);
    CHECK(number == 42);
    CHECK(piece.empty());
    CHECK(text == "kept");
  }
}

TEST_CASE("everything up to the last byte can be reached") {
  const Bytes bytes({1, 2, 3});
  ByteCursor cursor(bytes.span());
  std::span<const uint8_t> piece;
  CHECK(cursor.ReadBytes(3, &piece));
  CHECK(piece.size() == 3);
  CHECK(piece[2] == 3);
  CHECK(cursor.remaining() == 0);
  CHECK(cursor.Skip(0));
  CHECK(cursor.ReadBytes(0, &piece));
  CHECK(piece.empty());
  CHECK(cursor.Seek(1));
  CHECK(cursor.Skip(2));
  CHECK(cursor.Seek(3));
  CHECK_FALSE(cursor.Skip(1));
}

TEST_CASE("strings end at their NUL") {
  const Bytes bytes({'a', 'b', 0, 0, 'c', 0, 'd'});
  ByteCursor cursor(bytes.span());
  std::string text;
  CHECK(cursor.ReadCString(&text));
  CHECK(text == "ab");
  CHECK(cursor.ReadCString(&text));
  CHECK(text.empty());
  CHECK(cursor.ReadCString(&text));
  CHECK(text == "c");
  CHECK(cursor.position() == 6);
  CHECK_FALSE(cursor.ReadCString(&text));
  CHECK(cursor.position() == 6);
}

TEST_CASE("nothing can be read of nothing") {
  ByteCursor cursor({});
  uint8_t byte = 0;
  std::string text;
  CHECK(cursor.remaining() == 0);
  CHECK_FALSE(cursor.Read(&byte));
  CHECK_FALSE(cursor.Skip(1));
  CHECK(cursor.Skip(0));
  CHECK(cursor.Seek(0));
}

}  // namespace
}  // namespace hbbp
