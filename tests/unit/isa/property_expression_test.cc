// Tests Expression: comparisons, patterns, precedence, error messages, limits, and keys that the
// caller defines (OtherKeys). Most expressions are about one of four instructions at the top;
// Holds() returns whether an expression matches one, ErrorOf() why it is not an expression.
#include "isa/property_expression.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "support/allocation_count.h"
#include "support/catch.h"

namespace hbbp {
namespace {

using Code = std::vector<uint8_t>;

const Code kDiv = {0xf7, 0xf1};                   // div ecx
const Code kVaddps = {0xc5, 0xf4, 0x58, 0x01};    // vaddps ymm0, ymm1, [rcx]
const Code kLockXadd = {0xf0, 0x0f, 0xc1, 0x01};  // lock xadd [rcx], eax
const Code kJe = {0x74, 0x00};

bool Holds(const std::string& text, const Code& code) {
  auto expression = Expression::Parse(text, PropertyKeys());
  INFO(text);
  if (!expression.ok()) FAIL(expression.status().message());
  InstructionProperties properties;
  REQUIRE(DescribeInstruction(code, &properties));
  return expression->Matches(PropertyValues(properties));
}

std::string ErrorOf(const std::string& text) {
  auto expression = Expression::Parse(text, PropertyKeys());
  INFO(text);
  REQUIRE_FALSE(expression.ok());
  CHECK(expression.status().code() == StatusCode::kInvalidArgument);
  return expression.status().message();
}

TEST_CASE("words are compared for equality, with several, and by patterns") {
  CHECK(Holds("mnemonic = div", kDiv));
  CHECK(Holds("mnemonic = idiv,div", kDiv));
  CHECK(Holds("mnemonic = idiv, div", kDiv));
  CHECK(Holds("mnemonic in (idiv, div)", kDiv));
  CHECK_FALSE(Holds("mnemonic in (idiv)", kDiv));
  CHECK_FALSE(Holds("mnemonic != idiv, div", kDiv));
  CHECK(Holds("mnemonic != idiv", kDiv));
  CHECK(Holds("mnemonic ~ *div", kDiv));
  CHECK(Holds("mnemonic ~ v*ps, x*", kVaddps));
  CHECK_FALSE(Holds("mnemonic ~ v*pd", kVaddps));
  CHECK(Holds("mnemonic ~ 'd?v'", kDiv));
  CHECK(Holds("lock = yes and memory = read-write", kLockXadd));
}

TEST_CASE("words have no case, and mnemonics have synonyms") {
  CHECK(Holds("mnemonic = DIV and extension = Base", kDiv));
  CHECK(Holds("mnemonic ~ VADD*", kVaddps));
  CHECK(Holds("mnemonic = jz", kJe));
  CHECK(Holds("mnemonic = je", kJe));
}

TEST_CASE("numbers are compared in every way") {
  CHECK(Holds("vector-bits = 256", kVaddps));
  CHECK(Holds("vector-bits = 0x100", kVaddps));
  CHECK(Holds("vector-bits in (128, 256)", kVaddps));
  CHECK(Holds("vector-bits >= 256 and vector-bits <= 256", kVaddps));
  CHECK_FALSE(Holds("vector-bits > 256", kVaddps));
  CHECK_FALSE(Holds("vector-bits < 256", kVaddps));
  CHECK(Holds("vector-bits != 128, 512", kVaddps));
  CHECK(Holds("read-bytes>16 and flops<9", kVaddps));
  CHECK_FALSE(Holds("flops < 0", kDiv));
  CHECK_FALSE(Holds("flops > 18446744073709551615", kVaddps));
  CHECK(Holds("flops <= 18446744073709551615", kVaddps));
}

TEST_CASE("'and' binds closer than 'or', 'not' closer than both") {
  CHECK(Holds("mnemonic = div or mnemonic = je and flops > 0", kDiv));
  CHECK_FALSE(Holds("(mnemonic = div or mnemonic = je) and flops > 0", kDiv));
  CHECK(Holds("not mnemonic = je and mnemonic = div", kDiv));
  CHECK_FALSE(Holds("not (mnemonic = je or mnemonic = div)", kDiv));
  CHECK(Holds("not not mnemonic = div", kDiv));
  CHECK(Holds("mnemonic = je or mnemonic = jne or mnemonic = div or mnemonic = mul", kDiv));
  CHECK(Holds("  ((\tmnemonic\n=\r\ndiv ))  ", kDiv));
}

TEST_CASE("an expression that is not there fits everything") {
  InstructionProperties properties;
  CHECK(Expression().Matches(PropertyValues(properties)));
  CHECK(Expression().KeyIds().empty());
}

TEST_CASE("errors name the column and the nearest name") {
  CHECK(ErrorOf("mnemnic = div") == "column 1: no key 'mnemnic'; did you mean 'mnemonic'?");
  CHECK(ErrorOf("flops > 0 and lokc = yes") == "column 15: no key 'lokc'; did you mean 'lock'?");
  CHECK(ErrorOf("mnemonic = idvi") == "column 12: no mnemonic 'idvi'; did you mean 'idiv'?");
  CHECK(ErrorOf("category in (divide, swrt)") ==
        "column 22: no category 'swrt'; did you mean 'sqrt'?");
  const std::string of_no_key = ErrorOf("zzzzzzzz = 1");
  CHECK(of_no_key.starts_with("column 1: no key 'zzzzzzzz'; choose from mnemonic, "));
  CHECK(of_no_key.ends_with(", length"));
  CHECK(ErrorOf("flops = many") == "column 9: 'flops' is a number (12, 0x1f), and 'many' is not");
  CHECK(ErrorOf("flops = 18446744073709551616") ==
        "column 9: '18446744073709551616' is more than 64 bits");
  CHECK(ErrorOf("flops ~ 1*") == "column 7: 'flops' is a number, which has no pattern");
  CHECK(ErrorOf("category < 3") ==
        "column 10: 'category' is not a number: =, !=, ~ and 'in' compare words");
  CHECK(ErrorOf("flops < 1, 2") == "column 12: only one value may follow '<'");
}

TEST_CASE("errors name what is expected") {
  const std::string of_no_key = ErrorOf("zzzzzzzz = 1");
  CHECK(ErrorOf("") == "column 1: a key, 'not' or '(' must stand here, not the end");
  CHECK(ErrorOf("lock") ==
        "column 5: =, !=, ~, <, <=, >, >= or 'in' must follow 'lock', not the end");
  CHECK(ErrorOf("lock = ") == "column 8: a value must stand here, not the end");
  CHECK(ErrorOf("lock = yes,") == "column 12: a value must stand here, not the end");
  CHECK(ErrorOf("lock = yes flops > 0") ==
        "column 12: 'and', 'or' or the end must follow, not 'flops'");
  CHECK(ErrorOf("(lock = yes") == "column 12: ')' must follow, not the end");
  CHECK(ErrorOf("lock = yes)") == "column 11: 'and', 'or' or the end must follow, not ')'");
  CHECK(ErrorOf("lock in yes") == "column 9: '(' must follow 'in', not 'yes'");
  CHECK(ErrorOf("lock in (yes") == "column 13: ',' or ')' must follow, not the end");
  CHECK(ErrorOf("lock = 'yes") == "column 8: a quote that does not end");
  CHECK(ErrorOf("lock == yes") == "column 7: a value must stand here, not '='");
  CHECK(ErrorOf(std::string("lock\0 = yes", 11)) == "column 5: a byte of value 0");
  CHECK(ErrorOf(std::string(200, 'x') + " = 1") == "column 1: no key '" + std::string(64, 'x') +
                                                       "...'" +
                                                       of_no_key.substr(of_no_key.find(';')));
}

TEST_CASE("depth, tests, values and length are bounded") {
  const auto nested = [](int depth) {
    const auto size = static_cast<size_t>(depth);
    return std::string(size, '(') + "flops > 0" + std::string(size, ')');
  };
  CHECK(Holds(nested(kMaxExpressionDepth), kVaddps));
  CHECK(ErrorOf(nested(kMaxExpressionDepth + 1)) ==
        "column 65: more than 64 levels of parentheses and 'not'");
  std::string negations;
  for (int i = 0; i <= kMaxExpressionDepth; ++i) negations += "not ";
  ErrorOf(negations + "flops > 0");

  std::string chain = "flops>0";
  for (size_t i = 1; i < kMaxExpressionTests; ++i) chain += " or flops>0";
  CHECK(Holds(chain, kVaddps));
  CHECK_FALSE(Holds(chain, kDiv));
  CHECK(ErrorOf(chain + " or flops>0").ends_with("more than 1024 comparisons"));

  std::string list = "flops=1";
  for (size_t i = 1; i < kMaxExpressionValues; ++i) list += ",2";
  CHECK_FALSE(Holds(list, kVaddps));
  CHECK(ErrorOf(list + ",3").ends_with("more than 1024 values"));
  CHECK(ErrorOf(std::string(kMaxExpressionBytes + 1, ' ')).find("longer than") !=
        std::string::npos);
}

TEST_CASE("testing an expression allocates nothing") {
  auto expression = Expression::Parse(
      "not (category = divide or mnemonic ~ v*pd) and (vector-bits >= 256 or lock != no)",
      PropertyKeys());
  REQUIRE(expression.ok());
  InstructionProperties properties;
  REQUIRE(DescribeInstruction(kVaddps, &properties));
  const auto before = AllocationCount();
  bool holds = true;
  for (int i = 0; i < 100; ++i) holds &= expression->Matches(PropertyValues(properties));
  REQUIRE(DescribeInstruction(kLockXadd, &properties));
  const auto after = AllocationCount();
  CHECK(holds);
  CHECK(after == before);
}

// Has keys as a pivot table does: texts, a number, and words, of which one is "a b"; and a flag.
class OtherKeys : public ExpressionKeys {
 public:
  std::optional<ExpressionKey> Find(std::string_view name) const override {
    if (name == "function") return ExpressionKey{7, KeyType::kText};
    if (name == "line") return ExpressionKey{8, KeyType::kNumber};
    if (name == "source") return ExpressionKey{9, KeyType::kWord};
    if (name == "hot") return ExpressionKey{10, KeyType::kFlag};
    return std::nullopt;
  }
  std::vector<std::string_view> Names() const override {
    return {"function", "line", "source", "hot"};
  }
  uint32_t WordCount(uint32_t) const override { return 3; }
  std::string_view WordAt(uint32_t, uint32_t word) const override {
    constexpr std::string_view kWords[] = {"ebs", "a b", "lbr"};
    return kWords[word];
  }
};

struct OtherValues {
  std::string function;
  uint64_t line = 0;
  uint64_t source = 0;
  uint64_t hot = 0;
  std::vector<uint32_t> unknown = {};

  uint64_t NumberOf(uint32_t id) const { return id == 8 ? line : id == 9 ? source : hot; }
  std::string_view TextOf(uint32_t) const { return function; }
  bool Knows(uint32_t id) const { return std::ranges::count(unknown, id) == 0; }
};

TEST_CASE("keys are for the caller to define, texts among them") {
  const OtherValues values{"std::sort<int*>(int*, int*)", 12, 1};
  const auto holds = [&values](std::string_view text) {
    auto expression = Expression::Parse(text, OtherKeys());
    INFO(text);
    if (!expression.ok()) FAIL(expression.status().message());
    return expression->Matches(values);
  };
  CHECK(holds("function = 'std::sort<int*>(int*, int*)'"));
  CHECK_FALSE(holds("function = main"));
  CHECK(holds("function != main"));
  CHECK(holds("function = main, \"std::sort<int*>(int*, int*)\""));
  CHECK(holds("function ~ std::sort*"));
  CHECK_FALSE(holds("function ~ STD*"));
  CHECK(holds("line = 12 and source = \"a b\""));
  CHECK_FALSE(holds("source in (ebs, lbr)"));
  CHECK(holds("not function = 'it\\'s'"));
  auto expression = Expression::Parse("line = 1 or (function = x and line = 2)", OtherKeys());
  REQUIRE(expression.ok());
  CHECK(expression->KeyIds() == std::vector<uint32_t>{7, 8});
}

TEST_CASE("flags stand alone, and operators have the spelling of C as well") {
  const auto holds = [](std::string_view text, uint64_t hot) {
    auto expression = Expression::Parse(text, OtherKeys());
    INFO(text);
    if (!expression.ok()) FAIL(expression.status().message());
    return expression->Matches(OtherValues{.function = "f", .line = 3, .hot = hot});
  };
  CHECK(holds("hot", 1));
  CHECK_FALSE(holds("hot", 0));
  CHECK(holds("!hot && line = 3", 0));
  CHECK(holds("!(hot && line = 3) || hot", 1));
  CHECK(holds("not hot or line != 3 || hot and ! (line = 4)", 1));
  CHECK(holds("hot&&line=3", 1));
  CHECK_FALSE(holds("!hot&&line=3", 1));
  CHECK(holds("(hot)||line=4", 1));
  CHECK(holds("line=4||line=3&&hot", 1));
  CHECK(holds("function=f&&!function=\"g&&h\"", 1));
  CHECK_FALSE(holds("function=f&g", 1));
  CHECK_FALSE(holds("function~f|g", 1));
  const auto expression = Expression::Parse("hot = 1", OtherKeys());
  CHECK(expression.status().message() == "column 5: 'and', 'or' or the end must follow, not '='");
}

TEST_CASE("some values decide, and others do not matter then") {
  using Decision = Expression::Decision;
  const auto decide = [](std::string_view text, std::vector<uint32_t> unknown) {
    auto expression = Expression::Parse(text, OtherKeys());
    REQUIRE(expression.ok());
    return expression->Decide(
        OtherValues{.function = "f", .line = 3, .hot = 1, .unknown = std::move(unknown)});
  };
  CHECK(decide("hot and line = 3", {}) == Decision::kYes);
  CHECK(decide("hot and line = 3", {8}) == Decision::kDepends);
  CHECK(decide("hot and line = 3 and function = g", {8}) == Decision::kNo);
  CHECK(decide("hot or line = 4", {8}) == Decision::kYes);
  CHECK(decide("not hot or line = 4", {8}) == Decision::kDepends);
  CHECK(decide("not (hot and line = 4)", {8, 10}) == Decision::kDepends);
  CHECK(decide("not (not hot and line = 4)", {8}) == Decision::kYes);
}

TEST_CASE(
    "the minimum of an unknown number decides comparisons that hold from there on, or up to") {
  using Decision = Expression::Decision;
  struct BoundedValues : OtherValues {
    uint64_t Minimum(uint32_t id) const { return id == 8 ? line : 0; }
  };
  const auto decide = [](std::string_view text) {
    auto expression = Expression::Parse(text, OtherKeys());
    INFO(text);
    REQUIRE(expression.ok());
    const OtherValues known{.function = "f", .line = 100, .hot = 1, .unknown = {7, 8, 10}};
    return expression->Decide(BoundedValues{known});
  };
  CHECK(decide("line >= 100") == Decision::kYes);
  CHECK(decide("line > 99") == Decision::kYes);
  CHECK(decide("line > 100") == Decision::kDepends);
  CHECK(decide("line < 100") == Decision::kNo);
  CHECK(decide("not line < 100") == Decision::kYes);
  CHECK(decide("line = 99") == Decision::kNo);
  CHECK(decide("line = 100") == Decision::kDepends);
  CHECK(decide("line = 3, 4") == Decision::kNo);
  CHECK(decide("line != 3") == Decision::kYes);
  CHECK(decide("line != 100") == Decision::kDepends);
  // Others are at least 0, which decides nothing.
  CHECK(decide("hot") == Decision::kDepends);
  CHECK(decide("function = f") == Decision::kDepends);
}

TEST_CASE("representative values have all results that comparisons can have") {
  const auto expression = Expression::Parse(
      "line < 4 or line > 8 and line != 20 or source = ebs, lbr or hot", OtherKeys());
  REQUIRE(expression.ok());
  CHECK(expression->RepresentativeValues(8) == std::vector<uint64_t>{0, 4, 9, 20, 21});
  CHECK(expression->RepresentativeValues(9) == std::vector<uint64_t>{0, 1});
  CHECK(expression->RepresentativeValues(10) == std::vector<uint64_t>{0, 1});
}

}  // namespace
}  // namespace hbbp
