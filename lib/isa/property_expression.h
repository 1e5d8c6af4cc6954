// Expression is a filter such as `category = divide and (vector-bits >= 256 or mnemonic ~ v*pd)`.
//
//   expression = term { "or" term } ; term = factor { "and" factor }
//   factor = "not" factor | "(" expression ")" | FLAG | comparison
//   comparison = KEY ( "=" | "!=" | "~" ) VALUE { "," VALUE }
//              | KEY ( "<" | "<=" | ">" | ">=" ) NUMBER
//              | KEY "in" "(" VALUE { "," VALUE } ")"
//
// "||", "&&" and "!" are other spellings of "or", "and" and "not".
//
// ExpressionKeys defines the keys; PropertyKeys() has the properties of instructions.
// docs/reference/properties.md is the manual.
//
// A parsed expression is a small tree in one array. Matches does not allocate; a comparison of a
// key with a fixed list of words is one look-up in a bitmap, however many values it has.
#ifndef HBBP_LIB_ISA_PROPERTY_EXPRESSION_H_
#define HBBP_LIB_ISA_PROPERTY_EXPRESSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "isa/property_names.h"

namespace hbbp {

enum class KeyType : uint8_t {
  kNumber,
  kWord,  // one of a list that is known when the expression is parsed
  kText,
  kFlag,  // stands alone, without a comparison
};

struct ExpressionKey {
  uint32_t id = 0;  // the caller's number of the key
  KeyType type = KeyType::kText;
};

// The keys that an expression may use. Only the parser calls it.
class ExpressionKeys {
 public:
  virtual ~ExpressionKeys() = default;

  virtual std::optional<ExpressionKey> Find(std::string_view name) const = 0;
  // Lists the names for "did you mean".
  virtual std::vector<std::string_view> Names() const = 0;
  // Returns what to say of a name that resembles none.
  virtual std::string WhereListed() const { return "; 'hbbp mix --help' lists the keys"; }

  // Return the words of a key of type kWord, by number.
  virtual uint32_t WordCount(uint32_t id) const = 0;
  virtual std::string_view WordAt(uint32_t id, uint32_t word) const = 0;
  // Returns the number of the word that `word` is a synonym of.
  virtual std::optional<uint32_t> FindSynonym(uint32_t id, std::string_view word) const;
};

// Returns the properties of instructions. Ids are values of Property.
const ExpressionKeys& PropertyKeys();

inline constexpr size_t kMaxExpressionBytes = 16 << 10;
inline constexpr int kMaxExpressionDepth = 64;        // levels of parentheses and "not"
inline constexpr size_t kMaxExpressionTests = 1024;   // comparisons
inline constexpr size_t kMaxExpressionValues = 1024;  // in all comparisons

class Expression {
 public:
  // An empty expression matches everything.
  Expression() = default;

  // Errors are kInvalidArgument: "column 12: no key 'mnemnic'; did you mean 'mnemonic'?"
  // Columns count bytes from 1. Text without any word is an error.
  static StatusOr<Expression> Parse(std::string_view text, const ExpressionKeys& keys);
  // Returns the column separately, for callers whose text contains this one.
  static StatusOr<Expression> Parse(std::string_view text, const ExpressionKeys& keys,
                                    size_t* error_offset);

  // Values needs NumberOf(uint32_t id) -> uint64_t, for keys of type kNumber and kWord, and
  // TextOf(uint32_t id) -> std::string_view for those of type kText. Where a key has several texts,
  // Values has AnyText(uint32_t id, uint32_t test, fits) -> bool instead, which returns whether
  // fits(std::string_view) is true for one of them; `test` is the number of the comparison, so that
  // results can be cached. Any thread may call it.
  template <typename Values>
  bool Matches(const Values& values) const {
    return nodes_.empty() || NodeMatches(0, values);
  }

  enum class Decision : uint8_t { kNo, kYes, kDepends };

  // Decides as far as the known values do. Values needs what Matches needs, and Knows(uint32_t id)
  // -> bool; only known values are requested. It may have Minimum(uint32_t id) -> uint64_t, which
  // an unknown number is at least: that decides some comparisons.
  template <typename Values>
  Decision Decide(const Values& values) const {
    return nodes_.empty() ? Decision::kYes : DecideNode(0, values);
  }

  // Returns the number of comparisons, and of what joins them.
  size_t Size() const { return nodes_.size(); }

  // Returns the keys that the expression depends on, each once, in the order of ids.
  std::vector<uint32_t> KeyIds() const;

  // Returns values of a key that is not a text, such that each other value has the same results in
  // all comparisons of the expression as one of them.
  std::vector<uint64_t> RepresentativeValues(uint32_t key_id) const;

 private:
  friend class ExpressionParser;

  enum class NodeKind : uint8_t { kAnd, kOr, kNot, kNumber, kWord, kText };  // a flag is a number

  static constexpr uint32_t kNone = UINT32_MAX;

  // The children of a node are first_child and its siblings. A node without children has
  // alternatives instead: ranges_, words_ (one bitmap) or patterns_ from begin to end.
  struct Node {
    NodeKind kind = NodeKind::kAnd;
    bool is_negated = false;
    uint32_t first_child = kNone;
    uint32_t next_sibling = kNone;
    uint32_t key_id = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
  };

  struct Range {
    uint64_t first = 0;
    uint64_t last = 0;
  };

  struct AnyPattern {
    bool operator()(std::string_view) const { return true; }
  };

  struct Pattern {
    std::string text;
    bool is_glob = false;
  };

  template <typename Values>
  bool NodeMatches(uint32_t index, const Values& values) const {
    const Node& node = nodes_[index];
    switch (node.kind) {
      case NodeKind::kAnd:
        for (uint32_t i = node.first_child; i != kNone; i = nodes_[i].next_sibling) {
          if (!NodeMatches(i, values)) return false;
        }
        return true;
      case NodeKind::kOr:
        for (uint32_t i = node.first_child; i != kNone; i = nodes_[i].next_sibling) {
          if (NodeMatches(i, values)) return true;
        }
        return false;
      case NodeKind::kNot:
        return !NodeMatches(node.first_child, values);
      default:
        return TestMatches(node, values);
    }
  }

  template <typename Values>
  Decision DecideNode(uint32_t index, const Values& values) const {
    const Node& node = nodes_[index];
    switch (node.kind) {
      case NodeKind::kAnd:
      case NodeKind::kOr: {
        const Decision strongest = node.kind == NodeKind::kAnd ? Decision::kNo : Decision::kYes;
        const Decision weakest = node.kind == NodeKind::kAnd ? Decision::kYes : Decision::kNo;
        Decision result = weakest;
        for (uint32_t i = node.first_child; i != kNone; i = nodes_[i].next_sibling) {
          const Decision part = DecideNode(i, values);
          if (part == strongest) return strongest;
          if (part == Decision::kDepends) result = Decision::kDepends;
        }
        return result;
      }
      case NodeKind::kNot: {
        const Decision inner = DecideNode(node.first_child, values);
        if (inner == Decision::kDepends) return inner;
        return inner == Decision::kYes ? Decision::kNo : Decision::kYes;
      }
      default:
        if (!values.Knows(node.key_id)) {
          if constexpr (requires { values.Minimum(node.key_id); }) {
            if (node.kind == NodeKind::kNumber)
              return DecideFrom(node, values.Minimum(node.key_id));
          }
          return Decision::kDepends;
        }
        return TestMatches(node, values) ? Decision::kYes : Decision::kNo;
    }
  }

  template <typename Values>
  bool TestMatches(const Node& node, const Values& values) const {
    if (node.kind == NodeKind::kNumber) {
      return IsInRanges(node, values.NumberOf(node.key_id)) != node.is_negated;
    }
    if (node.kind == NodeKind::kWord) {
      return HasWord(node, values.NumberOf(node.key_id)) != node.is_negated;
    }
    if constexpr (requires { values.AnyText(node.key_id, node.begin, AnyPattern()); }) {
      const auto fits = [&](std::string_view text) { return FitsPattern(node, text); };
      return values.AnyText(node.key_id, node.begin, fits) != node.is_negated;
    } else if constexpr (requires { values.TextOf(node.key_id); }) {
      return FitsPattern(node, values.TextOf(node.key_id)) != node.is_negated;
    }
    return false;
  }

  bool IsInRanges(const Node& node, uint64_t number) const {
    for (uint32_t i = node.begin; i < node.end; ++i) {
      if (ranges_[i].first <= number && number <= ranges_[i].last) return true;
    }
    return false;
  }

  // Decides a comparison with a number that is at least `minimum`.
  Decision DecideFrom(const Node& node, uint64_t minimum) const {
    bool overlaps = false;
    for (uint32_t i = node.begin; i < node.end; ++i) {
      if (ranges_[i].first <= minimum && ranges_[i].last == UINT64_MAX) {
        return node.is_negated ? Decision::kNo : Decision::kYes;
      }
      overlaps |= minimum <= ranges_[i].last;
    }
    if (overlaps) return Decision::kDepends;
    return node.is_negated ? Decision::kYes : Decision::kNo;
  }

  bool HasWord(const Node& node, uint64_t word) const {
    const uint64_t at = word / 64;
    return at < node.end - node.begin && (words_[node.begin + at] >> (word % 64) & 1) != 0;
  }

  bool FitsPattern(const Node& node, std::string_view text) const;

  std::vector<Node> nodes_;  // the first one is the root
  std::vector<Range> ranges_;
  std::vector<uint64_t> words_;
  std::vector<Pattern> patterns_;
};

// Gives the properties of one instruction to Expression::Matches.
class PropertyValues {
 public:
  explicit PropertyValues(const InstructionProperties& properties) : properties_(properties) {}

  uint64_t NumberOf(uint32_t id) const {
    return PropertyNumber(properties_, static_cast<Property>(id));
  }

 private:
  const InstructionProperties& properties_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_PROPERTY_EXPRESSION_H_
