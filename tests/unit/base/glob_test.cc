#include "base/glob.h"

#include <string>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("a glob fits the whole text") {
  CHECK(MatchesGlob("", ""));
  CHECK(MatchesGlob("add", "add"));
  CHECK_FALSE(MatchesGlob("add", "addps"));
  CHECK_FALSE(MatchesGlob("addps", "add"));
  CHECK_FALSE(MatchesGlob("", "a"));
}

TEST_CASE("a star is any text, a question mark any character, a set one of its characters") {
  CHECK(MatchesGlob("*", ""));
  CHECK(MatchesGlob("v*pd", "vpd"));
  CHECK(MatchesGlob("v*pd", "vaddpdpd"));
  CHECK_FALSE(MatchesGlob("v*pd", "vaddps"));
  CHECK(MatchesGlob("*a*b*", "xxaxxbxx"));
  CHECK_FALSE(MatchesGlob("*a*b*", "xxbxxaxx"));
  CHECK(MatchesGlob("j?", "jz"));
  CHECK_FALSE(MatchesGlob("j?", "j"));
  CHECK(MatchesGlob("add[ps][sd]", "addsd"));
  CHECK_FALSE(MatchesGlob("add[ps][sd]", "addpx"));
  CHECK(MatchesGlob("*[sd]", "adds"));
}

TEST_CASE("an opening bracket that nothing closes stands for itself") {
  CHECK(MatchesGlob("a[b", "a[b"));
  CHECK_FALSE(MatchesGlob("a[b", "ab"));
  CHECK_FALSE(MatchesGlob("[]", "]"));
}

TEST_CASE("many stars take no more than the product of the lengths") {
  std::string pattern;
  for (int i = 0; i < 2000; ++i) pattern += "*a";
  CHECK_FALSE(MatchesGlob(pattern + "b", std::string(4000, 'a')));
}

}  // namespace
}  // namespace hbbp
