// Tests that numbers of 7 bits a byte are read as they were written, in as many bytes as they need.
#include "base/leb128.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("numbers are read as they were appended, to a list or a string") {
  const std::pair<uint64_t, size_t> cases[] = {{0, 1},      {0x7f, 1},   {0x80, 2},
                                               {0x3fff, 2}, {0x4000, 3}, {UINT64_MAX, 10}};
  for (const auto& [number, size] : cases) {
    CAPTURE(number);
    std::vector<uint8_t> bytes;
    std::string text;
    AppendUleb128(number, &bytes);
    AppendUleb128(number, &text);
    CHECK(bytes.size() == size);
    CHECK(text == std::string(bytes.begin(), bytes.end()));
    ByteCursor cursor(bytes);
    uint64_t read = 1;
    CHECK(ReadUleb128(&cursor, &read));
    CHECK(read == number);
    CHECK(cursor.remaining() == 0);
  }
}

}  // namespace
}  // namespace hbbp
