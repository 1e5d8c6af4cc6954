#include "export/proto_message.h"

#include <string>

#include "support/catch.h"
#include "unit/export/proto_reader.h"

namespace hbbp {
namespace {

// The examples are those of the documentation of the encoding.
TEST_CASE("fields are encoded as Protocol Buffers are") {
  ProtoMessage message;
  message.AddNumber(1, 150);
  CHECK(message.bytes() == "\x08\x96\x01");
  message.Clear();
  message.AddBytes(2, "testing");
  CHECK(message.bytes() == "\x12\x07testing");
  message.Clear();
  message.AddPacked(6, {3, 270, 86942});
  CHECK(message.bytes() == "\x32\x06\x03\x8e\x02\x9e\xa7\x05");
}

TEST_CASE("numbers of 0 are left out, empty strings and elements are not") {
  ProtoMessage message;
  message.AddNumber(1, 0);
  CHECK(message.bytes().empty());
  message.AddPresent(1, 0);
  CHECK(message.bytes() == std::string("\x08\x00", 2));
  message.AddBytes(2, "");
  message.AddPacked(3, {0, UINT64_MAX, 0});
  const ProtoFields fields = ReadProto(message.bytes());
  CHECK(fields.All(2) == std::vector<std::string>{""});
  CHECK(fields.Packed(3) == std::vector<uint64_t>{0, UINT64_MAX, 0});
}

TEST_CASE("messages contain others, and fields of others") {
  ProtoMessage inner, outer;
  inner.AddNumber(20, 1ull << 63);
  outer.AddBytes(1, inner.bytes());
  outer.Append(inner);
  const ProtoFields fields = ReadProto(outer.bytes());
  CHECK(fields.Number(20) == 1ull << 63);
  REQUIRE(fields.All(1).size() == 1);
  CHECK(ReadProto(fields.All(1)[0]).Number(20) == 1ull << 63);
}

}  // namespace
}  // namespace hbbp
