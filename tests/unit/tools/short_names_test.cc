#include "short_names.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

std::string Repeated(std::string_view text, size_t times) {
  std::string repeated;
  for (size_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

// Returns the short form of a name that no other one is like.
std::string Short(const std::string& name) { return ShortNames({name}).Of(name); }

TEST_CASE("short names: they are those of the page") {
  std::ifstream file(HBBP_SHORT_NAMES);
  const auto cases = nlohmann::json::parse(file).get<std::map<std::string, std::string>>();
  REQUIRE(cases.size() > 20);
  std::vector<std::string> names;
  for (const auto& [name, shortened] : cases) names.push_back(name);
  const ShortNames short_names(names);
  for (const auto& [name, shortened] : cases) CHECK(short_names.Of(name) == shortened);
}

TEST_CASE("short names: one function may be there several times") {
  const std::string name = "f(std::vector<int> const&)";
  const ShortNames names({name, "main", name});
  CHECK(names.Of(name) == "f(...)");
  CHECK(names.Of("main") == "main");
  CHECK(names.Of("unknown(std::vector<int>)") == "unknown(std::vector<int>)");
  CHECK(ShortNames().Of(name) == name);
}

TEST_CASE("short names: names that no way of shortening distinguishes stay whole") {
  const std::string one = "T<std::vector<int>>::f(std::vector<int>)";
  const std::string other = "T<std::vector<int>>::f(std::vector<char>)";
  const std::string third = "T<std::vector<char>>::f(std::vector<int>)";
  const std::string fourth = "T<std::vector<char>>::f(std::vector<char>)";
  const ShortNames names({one, other, third, fourth});
  for (const std::string& name : {one, other, third, fourth}) CHECK(names.Of(name) == name);
}

TEST_CASE("short names: brackets that do not pair are kept") {
  for (const std::string name : {"",
                                 "<",
                                 ">",
                                 "(",
                                 ")",
                                 "<>",
                                 "->",
                                 ">(<",
                                 "f(((((((((((",
                                 "))))))",
                                 "operator",
                                 "operator ",
                                 "operator<",
                                 "operator(",
                                 "[abi:",
                                 "[abi:]",
                                 "f[abi:x",
                                 "<(>)<(>)<(>)",
                                 "\xff\xfe(\xc3",
                                 "f(g]{h>"}) {
    CHECK(Short(name) == name);
  }
  CHECK(Short("f[abi:cxx11][abi:]") == "f[abi:]");
  CHECK(Short("f(longer_than_that") == "f(longer_than_that");
  CHECK(Short("f(longer_than_that))") == "f(...))");
}

TEST_CASE("short names: names may nest as deeply as they like") {
  constexpr size_t kDepth = 200'000;
  const std::string blocks = Repeated("{", kDepth) + Repeated("}", kDepth);
  CHECK(Short(blocks) == blocks);
  CHECK(Short("f" + Repeated("(", kDepth) + Repeated(")", kDepth)) == "f(...)");
  CHECK(Short("f" + Repeated("<f", kDepth) + Repeated(">", kDepth)) == "f<...>");
  const std::string open = Repeated("<(", kDepth);
  CHECK(Short(open) == open);
  const std::string operators = Repeated("operator ", kDepth);
  CHECK(Short(operators) == operators);
  // Names that are alike are shortened in another way.
  const std::string list = Repeated("{<", kDepth) + Repeated(">}", kDepth);
  const ShortNames names({list + "f(longer_than_that)", list + "f(longer_than_this)"});
  CHECK(names.Of(list + "f(longer_than_that)") == list + "f(longer_than_that)");
}

}  // namespace
}  // namespace hbbp::tools
