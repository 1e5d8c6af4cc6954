#include "base/hex_bytes.h"

#include "support/catch.h"

namespace hbbp {
namespace {

using Bytes = std::vector<uint8_t>;

TEST_CASE("two digits are a byte, in either case") {
  CHECK(BytesOfHex("00ff7fAbcD") == Bytes{0, 0xff, 0x7f, 0xab, 0xcd});
  CHECK(BytesOfHex("").empty());
  CHECK(BytesOfHex("123") == Bytes{0x12});
}

TEST_CASE("what is not all digits is nothing") {
  for (const char* text : {"12g4", "0x12", "12 34", "-1", "+1", "1234zz"}) {
    CAPTURE(text);
    CHECK(BytesOfHex(text).empty());
  }
}

}  // namespace
}  // namespace hbbp
