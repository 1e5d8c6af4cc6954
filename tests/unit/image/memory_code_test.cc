#include "image/memory_code.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes CodeFrom(const MemoryCode& code, uint64_t address) {
  const auto bytes = code.CodeAt({address}, 100);
  return {bytes.begin(), bytes.end()};
}

TEST_CASE("pieces that touch become one region, in whatever order they come") {
  const std::vector<std::pair<uint64_t, Bytes>> pieces = {
      {0x1000, {1, 2}}, {0x1002, {3}}, {0x1003, {4, 5}}, {0x2000, {9}}};
  for (const std::vector<size_t>& order :
       {std::vector<size_t>{0, 1, 2, 3}, {3, 2, 1, 0}, {0, 2, 3, 1}}) {
    MemoryCode code;
    for (const size_t i : order) code.Add({pieces[i].first}, pieces[i].second);
    CHECK(CodeFrom(code, 0x1000) == Bytes{1, 2, 3, 4, 5});
    CHECK(CodeFrom(code, 0x1004) == Bytes{5});
    CHECK(CodeFrom(code, 0x1005).empty());
    CHECK(CodeFrom(code, 0x2000) == Bytes{9});
    CHECK(code.FunctionAround({0x1003}) == AddressRange{{0x1000}, {0x1005}});
  }
}

TEST_CASE("where pieces overlap, the one added first is kept") {
  MemoryCode code;
  code.Add({0x1002}, Bytes{3, 4});
  code.Add({0x1003}, Bytes{7, 8});
  code.Add({0x1000}, Bytes{1, 2, 9});
  code.Add({0x1001}, Bytes{7, 7});
  CHECK(CodeFrom(code, 0x1000) == Bytes{1, 2, 3, 4, 8});
}

TEST_CASE("a piece with a name is a function, and bounds what is around it") {
  MemoryCode code;
  code.Add({0x1000}, Bytes(0x100, 0x90));
  code.Add({0x1040}, Bytes(0x10, 0x90), "inner");
  code.Add({0x1100}, Bytes(0x10, 0x90), "next");
  code.Add({0x1048}, Bytes(0x10, 0x90), "overlapping");
  CHECK(code.FunctionAround({0x1000}) == AddressRange{{0x1000}, {0x1040}});
  CHECK(code.FunctionAround({0x104f}) == AddressRange{{0x1040}, {0x1050}});
  CHECK(code.FunctionAround({0x1050}) == AddressRange{{0x1050}, {0x1100}});
  CHECK(code.FunctionAround({0x1100}) == AddressRange{{0x1100}, {0x1110}});
  CHECK_FALSE(code.FunctionAround({0x1110}).has_value());
  CHECK(code.FunctionName({0x103f}).empty());
  CHECK(code.FunctionName({0x1040}) == "inner");
  CHECK(code.FunctionName({0x1050}).empty());
  CHECK(code.FunctionName({0x110f}) == "next");
}

TEST_CASE("functions may be known of which there is no code") {
  MemoryCode code;
  code.AddFunction({{0x2000}, {0x2040}}, "gone");
  code.AddFunction({{0x2030}, {0x2050}}, "overlapping");
  code.Add({0x1000}, Bytes(0x10, 0x90));
  CHECK(code.FunctionAround({0x203f}) == AddressRange{{0x2000}, {0x2040}});
  CHECK(code.FunctionName({0x2000}) == "gone");
  CHECK(code.CodeAt({0x2000}, 1).empty());
  CHECK_FALSE(code.FunctionAround({0x2040}).has_value());
  CHECK(code.FunctionAround({0x1000}) == AddressRange{{0x1000}, {0x1010}});
}

}  // namespace
}  // namespace hbbp
