#include "truth/exp_bbv.h"

#include <string>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

std::string VectorsFailure(const std::string& text) {
  const auto vectors = ParseBbVectors(text, "bb.out");
  REQUIRE_FALSE(vectors.ok());
  CHECK(vectors.status().code() == StatusCode::kBadFormat);
  return vectors.status().message();
}

std::string AddressesFailure(const std::string& text) {
  const auto addresses = ParseBbAddresses(text, "pc.out");
  REQUIRE_FALSE(addresses.ok());
  CHECK(addresses.status().code() == StatusCode::kBadFormat);
  return addresses.status().message();
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("exp-bbv: intervals are added up, and the comments have the total") {
  const auto vectors = ParseBbVectors(
      "T:1:40 :2:20   :3:9   \nT:1:8   :4:7   \n\n\n# Thread 1\n#   Total instructions: 90\n",
      "bb.out");
  REQUIRE(vectors.ok());
  CHECK(vectors->instructions == std::map<uint64_t, uint64_t>{{1, 48}, {2, 20}, {3, 9}, {4, 7}});
  CHECK(vectors->total == 84);
  CHECK(vectors->declared_total == 90);
}

TEST_CASE("exp-bbv: a file without a full interval has no blocks") {
  const auto vectors = ParseBbVectors("\n\n#   Total instructions: 90\n", "bb.out");
  REQUIRE(vectors.ok());
  CHECK(vectors->instructions.empty());
  CHECK(vectors->declared_total == 90);
}

TEST_CASE("exp-bbv: absurd counts are named with their line") {
  CHECK(Contains(VectorsFailure("T:1:5\nT:1:-5\n"), "bb.out: line 2: a negative count"));
  CHECK(Contains(VectorsFailure("T:1:nan\n"), "line 1: a count that is not a number"));
  CHECK(Contains(VectorsFailure("T:1:1.5\n"), "a count that is not a whole number"));
  CHECK(Contains(VectorsFailure("T:1:9223372036854775809\n"), "a count above 2^63"));
  CHECK(Contains(VectorsFailure("T:1:9223372036854775807\nT:2:2\n"),
                 "line 2: counts above 2^63 in total"));
  CHECK(Contains(VectorsFailure("T:x:1\n"), "a block that is not a number"));
  CHECK(Contains(VectorsFailure("T:1\n"), "a block without its count"));
  CHECK(Contains(VectorsFailure("T1:1\n"), "without a colon"));
  CHECK(Contains(VectorsFailure("X:1:1\n"), "neither an interval"));
  CHECK(Contains(VectorsFailure("T:1:5\n#   Total instructions: 4\n"), "than its comments say"));
}

TEST_CASE("exp-bbv: addresses are hexadecimal, and names may have colons") {
  const auto addresses =
      ParseBbAddresses("F:7:10a000:\nF:2:4001010:a::b(int)\n# a comment\n", "pc.out");
  REQUIRE(addresses.ok());
  REQUIRE(addresses->size() == 2);
  CHECK(addresses->at(0).block == 7);
  CHECK(addresses->at(0).address == 0x10a000);
  CHECK(addresses->at(0).function.empty());
  CHECK(addresses->at(1).function == "a::b(int)");
}

TEST_CASE("exp-bbv: malformed addresses are named with their line") {
  CHECK(Contains(AddressesFailure("F:1:10:\nF:2:zz:f\n"), "pc.out: line 2: an address"));
  CHECK(Contains(AddressesFailure("F:1:10:\nF:1:20:\n"), "line 2: a block that has an address"));
  CHECK(Contains(AddressesFailure("F:-1:10:\n"), "a block that is not a number"));
  CHECK(Contains(AddressesFailure("F:1:10\n"), "not F:BLOCK:ADDRESS:FUNCTION"));
  CHECK(Contains(AddressesFailure("T:1:10:f\n"), "not F:BLOCK:ADDRESS:FUNCTION"));
}

}  // namespace
}  // namespace hbbp::tools
