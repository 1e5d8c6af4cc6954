#include "base/nearest_name.h"

#include <string>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("an edit distance counts insertions, deletions, substitutions and swaps") {
  CHECK(EditDistance("", "") == 0);
  CHECK(EditDistance("", "abc") == 3);
  CHECK(EditDistance("abc", "") == 3);
  CHECK(EditDistance("module", "modul") == 1);
  CHECK(EditDistance("module", "mobule") == 1);
  CHECK(EditDistance("idvi", "idiv") == 1);
  CHECK(EditDistance("kitten", "sitting") == 3);
  CHECK(EditDistance("DIV", "div") == 0);
  CHECK(EditDistance(std::string(1000, 'a'), std::string(1000, 'b')) == int{kMaxComparedName});
}

TEST_CASE("the nearest name is one that might have been meant") {
  const std::vector<std::string_view> names = {"mnemonic", "module", "memory", "lock"};
  CHECK(NearestName("mnemnic", names) == "mnemonic");
  CHECK(NearestName("modules", names) == "module");
  CHECK(NearestName("LOCK", names) == "lock");
  CHECK(NearestName("zzz", names).empty());
  CHECK(NearestName("", names).empty());
  CHECK(NearestName("x", names).empty());
  CHECK(DidYouMean("memroy", names) == "; did you mean 'memory'?");
  CHECK(DidYouMean("function", names).empty());
}

TEST_CASE("where no name is near, all are listed") {
  const std::vector<std::string_view> names = {"", "ebs", "swbt"};
  CHECK(DidYouMeanOneOf("swtb", names) == "; did you mean 'swbt'?");
  CHECK(DidYouMeanOneOf("timer", names, "; a list says") == "; choose from ebs, swbt");
  CHECK(DidYouMeanOneOf("", names) == "; choose from ebs, swbt");
  CHECK(DidYouMeanOneOf("x", {}).empty());
  const std::vector<std::string_view> many(300, "mnemonic");
  CHECK(DidYouMeanOneOf("x", many, "; a list says") == "; a list says");
  CHECK(DidYouMeanOneOf("mnemonik", many, "; a list says") == "; did you mean 'mnemonic'?");
}

}  // namespace
}  // namespace hbbp
