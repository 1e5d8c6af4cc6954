// Assertion is what a profile must satisfy, such as `share(vector-bits >= 256) >= 20%`.
//
//   assertion = quantity ( "<" | "<=" | ">" | ">=" ) limit
//   quantity = NAME [ "(" [ CONDITION ] ")" ] [ "of" "(" CONDITION ")" ]
//   limit = NUMBER [ "%" | "k" | "M" | "G" | "T" ]
//
// A condition is an expression as of --where; only its end is found here, by its parentheses and
// quotes. Which names there are is the caller's matter too. docs/guide/ci.md is the manual.
#ifndef HBBP_TOOLS_GATE_ASSERTION_H_
#define HBBP_TOOLS_GATE_ASSERTION_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "gate/decision.h"

namespace hbbp::tools {

// A part of the text of an assertion.
struct TextPart {
  std::string text;
  size_t offset = 0;
};

struct Assertion {
  std::string text;  // all of it, without spaces around
  TextPart name;
  TextPart condition;          // empty: everything
  std::optional<TextPart> of;  // the condition of the whole
  Comparison comparison = Comparison::kLess;
  std::string comparison_text;
  TextPart limit_text;
  double limit = 0;  // of 20 %, 0.2
  bool is_percent = false;

  // Returns "'share(x) >= 20%': column 7: what", for the byte at `offset` of the text.
  Status ErrorAt(size_t offset, std::string_view what) const;
};

// Errors are those of ErrorAt, and say what was expected.
StatusOr<Assertion> ParseAssertion(std::string_view text);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_GATE_ASSERTION_H_
