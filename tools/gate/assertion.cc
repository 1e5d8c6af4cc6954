#include "gate/assertion.h"

#include <array>
#include <utility>

#include "base/quantity.h"

namespace hbbp::tools {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr NamedUnit kMultiples[] = {{"", 1},    {"k", 1e3}, {"K", 1e3},
                                    {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

bool IsOfName(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

class AssertionParser {
 public:
  explicit AssertionParser(std::string_view text) { assertion_.text = Trimmed(text); }

  StatusOr<Assertion> Parse() {
    assertion_.name = ReadName();
    if (assertion_.name.text.empty()) return Error("a name such as 'share' must stand here");
    std::string_view expected = "'(', <, <=, > or >=";
    SkipSpace();
    if (Next() == '(') {
      HBBP_ASSIGN_OR_RETURN(assertion_.condition, ReadParentheses());
      expected = "'of', <, <=, > or >=";
    }
    SkipSpace();
    const size_t before_word = position_;
    if (ReadName().text == "of") {
      SkipSpace();
      if (Next() != '(') return Error("'(' must follow 'of'");
      const size_t parenthesis = position_;
      HBBP_ASSIGN_OR_RETURN(assertion_.of, ReadParentheses());
      if (assertion_.of->text.empty()) {
        return assertion_.ErrorAt(parenthesis + 1, "a condition must stand here");
      }
      expected = "<, <=, > or >=";
      SkipSpace();
    } else {
      position_ = before_word;
    }
    if (!ReadComparison()) return Error(std::string(expected) + " must stand here");
    SkipSpace();
    HBBP_RETURN_IF_ERROR(ReadLimit());
    return std::move(assertion_);
  }

 private:
  const std::string& text() const { return assertion_.text; }
  char Next() const { return position_ < text().size() ? text()[position_] : '\0'; }
  void SkipSpace() {
    while (position_ < text().size() && kSpace.find(text()[position_]) != kSpace.npos) ++position_;
  }

  // Returns an error at the current position, with what stands there.
  Status Error(const std::string& expected) const {
    constexpr size_t kMaxQuoted = 32;
    const std::string rest = text().substr(position_, kMaxQuoted);
    const std::string_view word = std::string_view(rest).substr(0, rest.find_first_of(kSpace, 1));
    return assertion_.ErrorAt(
        position_, expected + ", not " +
                       (rest.empty() ? std::string("the end") : "'" + std::string(word) + "'"));
  }

  TextPart ReadName() {
    const size_t start = position_;
    while (IsOfName(Next())) ++position_;
    return {text().substr(start, position_ - start), start};
  }

  // Reads up to the parenthesis that closes this one.
  StatusOr<TextPart> ReadParentheses() {
    const size_t start = ++position_;
    int depth = 1;
    char quote = '\0';
    for (; position_ < text().size(); ++position_) {
      const char c = Next();
      if (quote != '\0') {
        if (c == '\\') ++position_;
        if (c == quote) quote = '\0';
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '(') {
        ++depth;
      } else if (c == ')' && --depth == 0) {
        const std::string inner = text().substr(start, position_++ - start);
        const std::string_view condition = Trimmed(inner);
        const size_t before = condition.empty() ? 0 : inner.find_first_not_of(kSpace);
        return TextPart{std::string(condition), start + before};
      }
    }
    return assertion_.ErrorAt(start - 1, quote != '\0' ? "a quote after this '(' does not end"
                                                       : "')' is missing for this '('");
  }

  bool ReadComparison() {
    static constexpr std::array<std::pair<std::string_view, Comparison>, 4> kComparisons = {
        {{"<=", Comparison::kLessOrEqual},
         {">=", Comparison::kGreaterOrEqual},
         {"<", Comparison::kLess},
         {">", Comparison::kGreater}}};
    for (const auto& [symbol, comparison] : kComparisons) {
      if (text().compare(position_, symbol.size(), symbol) != 0) continue;
      position_ += symbol.size();
      assertion_.comparison = comparison;
      assertion_.comparison_text = symbol;
      return true;
    }
    return false;
  }

  Status ReadLimit() {
    assertion_.limit_text = {text().substr(position_), position_};
    const std::string& number = assertion_.limit_text.text;
    assertion_.is_percent = number.ends_with('%');
    const std::optional<double> plain = ParseWithUnit(number, kMultiples);
    const StatusOr<double> share = ParseShare(number);
    if (plain && *plain < 0) return Error("a limit of 0 or more must stand here");
    if (!plain && !share.ok())
      return Error("a number such as 0.2, 20%, 1.5M or 2G must stand here");
    assertion_.limit = plain ? *plain : *share;
    return OkStatus();
  }

  Assertion assertion_;
  size_t position_ = 0;
};

}  // namespace

Status Assertion::ErrorAt(size_t offset, std::string_view what) const {
  return Status(StatusCode::kInvalidArgument,
                "'" + text + "': column " + std::to_string(offset + 1) + ": " + std::string(what));
}

StatusOr<Assertion> ParseAssertion(std::string_view text) { return AssertionParser(text).Parse(); }

}  // namespace hbbp::tools
