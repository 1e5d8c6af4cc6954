#include "isa/taxonomy.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Code = std::vector<uint8_t>;

std::vector<Taxonomy> Parse(const std::string& text) {
  auto taxonomies = ParseTaxonomies(text);
  if (!taxonomies.ok()) FAIL(taxonomies.status().message());
  return *std::move(taxonomies);
}

std::string ErrorOf(const std::string& text) {
  auto taxonomies = ParseTaxonomies(text);
  INFO(text);
  REQUIRE_FALSE(taxonomies.ok());
  CHECK(taxonomies.status().code() == StatusCode::kInvalidArgument);
  return taxonomies.status().message();
}

std::string FindGroup(const Taxonomy& taxonomy, const Code& code) {
  InstructionProperties properties;
  REQUIRE(DescribeInstruction(code, &properties));
  return std::string(taxonomy.GroupName(taxonomy.GroupOf(properties)));
}

const Code kDiv = {0xf7, 0xf1};
const Code kXchgMemory = {0x87, 0x01};
const Code kAdd = {0x01, 0xc8};

TEST_CASE("the first group that fits counts, and what fits none is other") {
  const auto taxonomies = Parse(
      "slow: category = divide\n"
      "odd: category = divide or lock = yes\n");
  REQUIRE(taxonomies.size() == 1);
  CHECK(taxonomies[0].name() == "groups");
  CHECK(taxonomies[0].groups().size() == 2);
  CHECK(FindGroup(taxonomies[0], kDiv) == "slow");
  CHECK(FindGroup(taxonomies[0], kXchgMemory) == "odd");
  CHECK(FindGroup(taxonomies[0], kAdd) == "other");
}

TEST_CASE("taxonomies, comments, empty lines, lines that go on") {
  const auto taxonomies = Parse(
      "# first\r\n"
      "\r\n"
      "[ by cost ]\r\n"
      "very slow :\r\n"
      "  category = divide\r\n"
      "  # in between\r\n"
      "\r\n"
      "\tor lock = yes\r\n"
      "[rest]\n"
      "all: length > 0");
  REQUIRE(taxonomies.size() == 2);
  CHECK(taxonomies[0].name() == "by cost");
  CHECK(FindGroup(taxonomies[0], kXchgMemory) == "very slow");
  CHECK(taxonomies[1].name() == "rest");
  CHECK(FindGroup(taxonomies[1], kAdd) == "all");
}

TEST_CASE("errors name the line and the column") {
  CHECK(ErrorOf("a: flops > 0\nb: category = divid\n") ==
        "line 2, column 15: no category 'divid'; did you mean 'divide'?");
  CHECK(ErrorOf("a: flops > 0\n  or\n  # x\n  mnemnic = add\n") ==
        "line 4, column 3: no key 'mnemnic'; did you mean 'mnemonic'?");
  CHECK(ErrorOf("a flops > 0\n") ==
        "line 1, column 1: no ':' between the name of a group and what it is");
  CHECK(ErrorOf("  a: flops > 0\n") ==
        "line 1, column 1: an indented line continues a group, and there is none before it");
  CHECK(ErrorOf("[x]\n") == "line 1, column 1: taxonomy 'x' has no group");
  CHECK(ErrorOf("[x]\n[y]\na: flops > 0") == "line 1, column 1: taxonomy 'x' has no group");
  CHECK(ErrorOf("[x\na: flops > 0") == "line 1, column 1: ']' must end the name of a taxonomy");
  CHECK(ErrorOf("[lock]\na: flops > 0") ==
        "line 1, column 1: 'lock' is the name of a property, not of a taxonomy");
  CHECK(ErrorOf("[x]\na: flops > 0\n[x]\na: flops > 0") ==
        "line 3, column 1: a second taxonomy 'x'");
  CHECK(ErrorOf("a: flops > 0\na: flops > 0") ==
        "line 2, column 1: a second group 'a' in taxonomy 'groups'");
  CHECK(ErrorOf("a: flops > 0\nother: flops = 0") ==
        "line 2, column 1: 'other' is what fits no group, and cannot be one");
  CHECK(ErrorOf("[x,y]\na: flops > 0").starts_with("line 1, column 1: the name of a taxonomy"));
  CHECK(ErrorOf("") == "line 1, column 1: no group: 'name: expression' makes one");
  CHECK(ErrorOf("# nothing\n").find("no group") != std::string::npos);
  CHECK(ErrorOf(": flops > 0").find("must have a name") != std::string::npos);
  CHECK(ErrorOf("a:").starts_with("line 1, column 3: a key, 'not' or '(' must stand here"));
}

TEST_CASE("sizes are bounded") {
  CHECK(ErrorOf(std::string(kMaxTaxonomyBytes + 1, '\n')).find("are more than") !=
        std::string::npos);
  std::string groups;
  for (size_t i = 0; i <= kMaxGroups; ++i) groups += "g" + std::to_string(i) + ": flops > 0\n";
  CHECK(ErrorOf(groups) == "line 257, column 1: more than 256 groups");
  std::string taxonomies;
  for (size_t i = 0; i <= kMaxTaxonomies; ++i) {
    taxonomies += "[t" + std::to_string(i) + "]\na: flops > 0\n";
  }
  CHECK(ErrorOf(taxonomies) == "line 65, column 1: more than 32 taxonomies");
  std::string long_name(kMaxGroupNameBytes + 1, 'n');
  long_name += ": flops > 0";
  CHECK(ErrorOf(long_name) ==
        "line 1, column 1: a group must have a name of at most 64 printable bytes");
}

TEST_CASE("the default taxonomies have the groups of the HBBP paper and no instruction left over") {
  const auto taxonomies = Parse(std::string(DefaultTaxonomyText()));
  std::vector<std::string> names;
  for (const Taxonomy& taxonomy : taxonomies) names.push_back(taxonomy.name());
  CHECK(names == std::vector<std::string>{"groups", "traffic", "width", "flow", "precision"});
  const Taxonomy& groups = taxonomies[0];
  CHECK(FindGroup(groups, kDiv) == "long-latency");
  CHECK(FindGroup(groups, {0xf2, 0x0f, 0x51, 0xc1}) == "long-latency");  // sqrtsd
  CHECK(FindGroup(groups, kXchgMemory) == "long-latency");
  CHECK(FindGroup(groups, {0x87, 0xc8}) == "move");                   // xchg eax, ecx
  CHECK(FindGroup(groups, {0x0f, 0xc1, 0x01}) == "synchronization");  // xadd
  CHECK(FindGroup(groups, {0xf0, 0x01, 0x01}) == "synchronization");  // lock add
  CHECK(FindGroup(groups, {0x0f, 0xae, 0xf0}) == "synchronization");  // mfence
  CHECK(FindGroup(groups, {0x74, 0x00}) == "control-flow");
  CHECK(FindGroup(groups, {0x8b, 0x01}) == "load");
  CHECK(FindGroup(groups, {0x89, 0x01}) == "store");
  CHECK(FindGroup(groups, kAdd) == "integer");
  CHECK(FindGroup(groups, {0xc5, 0xf4, 0x58, 0xc2}) == "vector-arithmetic");
  CHECK(FindGroup(groups, {0xf2, 0x0f, 0x58, 0xc1}) == "floating-point");
  CHECK(FindGroup(taxonomies[1], {0x50}) == "stack");
  CHECK(FindGroup(taxonomies[1], {0x48, 0x01, 0x01}) == "load-and-store");
  CHECK(FindGroup(taxonomies[2], {0xc5, 0xf4, 0x58, 0xc2}) == "256-bit");
  CHECK(FindGroup(taxonomies[3], {0xff, 0xe0}) == "indirect");
  CHECK(FindGroup(taxonomies[4], {0xf2, 0x0f, 0x58, 0xc1}) == "double");
}

}  // namespace
}  // namespace hbbp
