// ExpressionParser parses a filter expression by recursive descent; the grammar is in
// property_expression.h. Advance reads a token, a function Parse... reads each rule of the grammar,
// and MakeTest turns a comparison into a node of the Expression: numbers become ranges, words a
// bitmap of the words that match, other texts patterns. Expression::Parse, which mix/ and the
// taxonomies call, is at the end.
#include <algorithm>
#include <charconv>
#include <map>

#include "base/glob.h"
#include "base/nearest_name.h"
#include "isa/property_expression.h"

namespace hbbp {
namespace {

// Messages truncate words longer than this.
constexpr size_t kMaxQuoted = 64;

enum class TokenKind : uint8_t { kEnd, kWord, kQuoted, kSymbol };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  size_t offset = 0;
  std::string text;  // without quotes
};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool IsWordCharacter(char c) {
  constexpr std::string_view kOthers = " \t\n\r,()=!<>~\"'";
  return kOthers.find(c) == kOthers.npos && c != '\0';
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string Quote(std::string_view text) {
  if (text.size() <= kMaxQuoted) return "'" + std::string(text) + "'";
  return "'" + std::string(text.substr(0, kMaxQuoted)) + "...'";
}

std::string Quote(const Token& token) {
  return token.kind == TokenKind::kEnd ? "the end" : Quote(token.text);
}

}  // namespace

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const ExpressionKeys& keys) : text_(text), keys_(keys) {}

  StatusOr<Expression> Parse() {
    if (text_.size() > kMaxExpressionBytes) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "an expression of %zu bytes is longer than the %zu that are allowed",
                        text_.size(), kMaxExpressionBytes);
    }
    HBBP_RETURN_IF_ERROR(Advance());
    HBBP_ASSIGN_OR_RETURN(const uint32_t root, ParseOr());
    if (token_.kind != TokenKind::kEnd) {
      return Error(token_, "'and', 'or' or the end must follow, not " + Quote(token_));
    }
    // Children were made before their parents. The root goes first, and nothing refers to it.
    if (root != 0) MoveToFront(root);
    return std::move(expression_);
  }

  size_t error_offset() const { return error_offset_; }

 private:
  using Node = Expression::Node;
  using NodeKind = Expression::NodeKind;
  static constexpr uint32_t kNone = Expression::kNone;

  Status Error(const Token& token, const std::string& what) {
    error_offset_ = token.offset;
    return Status(StatusCode::kInvalidArgument, what);
  }

  // Reads the next token.
  Status Advance() {
    while (position_ < text_.size() && IsSpace(text_[position_])) ++position_;
    token_ = {.kind = TokenKind::kEnd, .offset = position_, .text = ""};
    if (position_ == text_.size()) return OkStatus();
    const char c = text_[position_];
    if (c == '"' || c == '\'') return ReadQuoted(c);
    if (c == '\0') return Error(token_, "a byte of value 0");
    if (IsOperatorHere()) {
      token_.kind = TokenKind::kSymbol;
      token_.text = text_.substr(position_, 2);
      position_ += 2;
      return OkStatus();
    }
    if (IsWordCharacter(c)) {
      token_.kind = TokenKind::kWord;
      while (position_ < text_.size() && IsWordCharacter(text_[position_]) && !IsOperatorHere()) {
        token_.text += text_[position_++];
      }
      return OkStatus();
    }
    token_.kind = TokenKind::kSymbol;
    token_.text = c;
    ++position_;
    const bool takes_equals = c == '!' || c == '<' || c == '>';
    if (takes_equals && position_ < text_.size() && text_[position_] == '=') {
      token_.text += text_[position_++];
    }
    return OkStatus();
  }

  // Returns whether "&&" or "||" is next. A single character of them is part of a word.
  bool IsOperatorHere() const {
    const std::string_view rest = text_.substr(position_);
    return rest.starts_with("&&") || rest.starts_with("||");
  }

  // A backslash escapes the character after it.
  Status ReadQuoted(char quote) {
    token_.kind = TokenKind::kQuoted;
    ++position_;
    while (position_ < text_.size() && text_[position_] != quote) {
      if (text_[position_] == '\\' && position_ + 1 < text_.size()) ++position_;
      token_.text += text_[position_++];
    }
    if (position_ == text_.size()) return Error(token_, "a quote that does not end");
    ++position_;
    return OkStatus();
  }

  bool IsSymbol(std::string_view symbol) const {
    return token_.kind == TokenKind::kSymbol && token_.text == symbol;
  }

  bool IsKeyword(std::string_view word) const {
    return token_.kind == TokenKind::kWord && token_.text == word;
  }

  bool IsOr() const { return IsKeyword("or") || IsSymbol("||"); }
  bool IsAnd() const { return IsKeyword("and") || IsSymbol("&&"); }

  uint32_t AddNode(const Node& node) {
    expression_.nodes_.push_back(node);
    return static_cast<uint32_t>(expression_.nodes_.size() - 1);
  }

  void MoveToFront(uint32_t root) {
    std::vector<Node>& nodes = expression_.nodes_;
    const auto moved = [root](uint32_t index) { return index == 0 ? root : index; };
    std::swap(nodes[0], nodes[root]);
    for (Node& node : nodes) {
      if (node.first_child != kNone) node.first_child = moved(node.first_child);
      if (node.next_sibling != kNone) node.next_sibling = moved(node.next_sibling);
    }
  }

  StatusOr<uint32_t> ParseOr() {
    return ParseList(&ExpressionParser::IsOr, NodeKind::kOr, &ExpressionParser::ParseAnd);
  }

  StatusOr<uint32_t> ParseAnd() {
    return ParseList(&ExpressionParser::IsAnd, NodeKind::kAnd, &ExpressionParser::ParseFactor);
  }

  // Parses part { keyword part }. A single part needs no list node.
  StatusOr<uint32_t> ParseList(bool (ExpressionParser::*is_keyword)() const, NodeKind kind,
                               StatusOr<uint32_t> (ExpressionParser::*parse_part)()) {
    HBBP_ASSIGN_OR_RETURN(const uint32_t first, (this->*parse_part)());
    if (!(this->*is_keyword)()) return uint32_t{first};
    uint32_t last = first;
    while ((this->*is_keyword)()) {
      HBBP_RETURN_IF_ERROR(Advance());
      HBBP_ASSIGN_OR_RETURN(const uint32_t next, (this->*parse_part)());
      expression_.nodes_[last].next_sibling = next;
      last = next;
    }
    Node list;
    list.kind = kind;
    list.first_child = first;
    return AddNode(list);
  }

  StatusOr<uint32_t> ParseFactor() {
    const bool is_not = IsKeyword("not") || IsSymbol("!");
    if (!is_not && !IsSymbol("(")) return ParseComparison();
    if (++depth_ > kMaxExpressionDepth) {
      return Error(token_, "more than " + std::to_string(kMaxExpressionDepth) +
                               " levels of parentheses and 'not'");
    }
    HBBP_RETURN_IF_ERROR(Advance());
    uint32_t result = 0;
    if (is_not) {
      HBBP_ASSIGN_OR_RETURN(const uint32_t inner, ParseFactor());
      Node negation;
      negation.kind = NodeKind::kNot;
      negation.first_child = inner;
      result = AddNode(negation);
    } else {
      HBBP_ASSIGN_OR_RETURN(result, ParseOr());
      if (!IsSymbol(")")) {
        return Error(token_, "')' must follow, not " + Quote(token_));
      }
      HBBP_RETURN_IF_ERROR(Advance());
    }
    --depth_;
    return uint32_t{result};
  }

  StatusOr<uint32_t> ParseComparison() {
    const Token name = token_;
    if (name.kind != TokenKind::kWord) {
      return Error(name, "a key, 'not' or '(' must stand here, not " + Quote(name));
    }
    if (++tests_ > kMaxExpressionTests) {
      return Error(name, "more than " + std::to_string(kMaxExpressionTests) + " comparisons");
    }
    const std::optional<ExpressionKey> key = keys_.Find(name.text);
    if (!key) {
      return Error(name, "no key " + Quote(name) +
                             DidYouMeanOneOf(name.text, keys_.Names(), keys_.WhereListed()));
    }
    HBBP_RETURN_IF_ERROR(Advance());
    if (key->type == KeyType::kFlag) return AddFlag(*key);
    const Token comparison = token_;
    const bool is_in = IsKeyword("in");
    static constexpr std::string_view kComparisons[] = {"=", "!=", "~", "<", "<=", ">", ">="};
    const bool is_symbol =
        comparison.kind == TokenKind::kSymbol &&
        std::ranges::find(kComparisons, comparison.text) != std::end(kComparisons);
    if (!is_in && !is_symbol) {
      return Error(comparison, "=, !=, ~, <, <=, >, >= or 'in' must follow " + Quote(name) +
                                   ", not " + Quote(comparison));
    }
    HBBP_RETURN_IF_ERROR(Advance());
    HBBP_ASSIGN_OR_RETURN(const std::vector<Token> values, ParseValues(is_in));
    return MakeTest(name, *key, comparison, values);
  }

  // A flag is true if its number is not 0.
  StatusOr<uint32_t> AddFlag(const ExpressionKey& key) {
    Node test;
    test.kind = NodeKind::kNumber;
    test.key_id = key.id;
    test.begin = static_cast<uint32_t>(expression_.ranges_.size());
    expression_.ranges_.push_back({1, UINT64_MAX});
    test.end = static_cast<uint32_t>(expression_.ranges_.size());
    return AddNode(test);
  }

  StatusOr<std::vector<Token>> ParseValues(bool in_parentheses) {
    if (in_parentheses) {
      if (!IsSymbol("(")) return Error(token_, "'(' must follow 'in', not " + Quote(token_));
      HBBP_RETURN_IF_ERROR(Advance());
    }
    std::vector<Token> values;
    for (;;) {
      if (token_.kind != TokenKind::kWord && token_.kind != TokenKind::kQuoted) {
        return Error(token_, "a value must stand here, not " + Quote(token_));
      }
      if (++values_ > kMaxExpressionValues) {
        return Error(token_, "more than " + std::to_string(kMaxExpressionValues) + " values");
      }
      values.push_back(token_);
      HBBP_RETURN_IF_ERROR(Advance());
      if (!IsSymbol(",")) break;
      HBBP_RETURN_IF_ERROR(Advance());
    }
    if (in_parentheses) {
      if (!IsSymbol(")")) return Error(token_, "',' or ')' must follow, not " + Quote(token_));
      HBBP_RETURN_IF_ERROR(Advance());
    }
    return values;
  }

  StatusOr<uint32_t> MakeTest(const Token& name, const ExpressionKey& key, const Token& comparison,
                              const std::vector<Token>& values) {
    const std::string_view symbol = comparison.text;
    const bool is_order = symbol[0] == '<' || symbol[0] == '>';
    if (is_order && key.type != KeyType::kNumber) {
      return Error(comparison, Quote(name) + " is not a number: =, !=, ~ and 'in' compare words");
    }
    if (is_order && values.size() > 1) {
      return Error(values[1], "only one value may follow " + Quote(comparison));
    }
    if (symbol == "~" && key.type == KeyType::kNumber) {
      return Error(comparison, Quote(name) + " is a number, which has no pattern");
    }
    Node test;
    test.is_negated = symbol == "!=";
    test.key_id = key.id;
    switch (key.type) {
      case KeyType::kNumber:
        HBBP_RETURN_IF_ERROR(AddRanges(name, symbol, values, &test));
        break;
      case KeyType::kWord:
        HBBP_RETURN_IF_ERROR(AddWords(name, symbol == "~", values, &test));
        break;
      case KeyType::kText:
        AddPatterns(symbol == "~", values, &test);
        break;
      case KeyType::kFlag:
        break;  // has no comparison
    }
    return AddNode(test);
  }

  StatusOr<uint64_t> ParseNumber(const Token& name, const Token& value) {
    std::string_view digits = value.text;
    const bool is_hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    if (is_hexadecimal) digits.remove_prefix(2);
    uint64_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] =
        std::from_chars(digits.data(), end, number, is_hexadecimal ? 16 : 10);
    if (error == std::errc::result_out_of_range) {
      return Error(value, Quote(value) + " is more than 64 bits");
    }
    if (error != std::errc() || stop != end) {
      return Error(value, Quote(name) + " is a number (12, 0x1f), and " + Quote(value) + " is not");
    }
    return uint64_t{number};
  }

  Status AddRanges(const Token& name, std::string_view symbol, const std::vector<Token>& values,
                   Node* test) {
    std::vector<Expression::Range>& ranges = expression_.ranges_;
    test->kind = NodeKind::kNumber;
    test->begin = static_cast<uint32_t>(ranges.size());
    for (const Token& value : values) {
      HBBP_ASSIGN_OR_RETURN(const uint64_t number, ParseNumber(name, value));
      if (symbol == "<=") {
        ranges.push_back({0, number});
      } else if (symbol == ">=") {
        ranges.push_back({number, UINT64_MAX});
      } else if (symbol == "<") {
        if (number > 0) ranges.push_back({0, number - 1});
      } else if (symbol == ">") {
        if (number < UINT64_MAX) ranges.push_back({number + 1, UINT64_MAX});
      } else {
        ranges.push_back({number, number});
      }
    }
    test->end = static_cast<uint32_t>(ranges.size());
    return OkStatus();
  }

  Status AddWords(const Token& name, bool is_glob, const std::vector<Token>& values, Node* test) {
    const std::vector<std::string>& candidates = LowerWordsOf(test->key_id);
    std::vector<uint64_t> bitmap((candidates.size() + 63) / 64);
    for (const Token& value : values) {
      HBBP_RETURN_IF_ERROR(AddWord(name, is_glob, value, test->key_id, candidates, &bitmap));
    }
    std::vector<uint64_t>& words = expression_.words_;
    test->kind = NodeKind::kWord;
    test->begin = static_cast<uint32_t>(words.size());
    words.insert(words.end(), bitmap.begin(), bitmap.end());
    test->end = static_cast<uint32_t>(words.size());
    return OkStatus();
  }

  const std::vector<std::string>& LowerWordsOf(uint32_t id) {
    const auto [entry, is_new] = lower_words_.try_emplace(id);
    if (is_new) {
      const uint32_t count = keys_.WordCount(id);
      entry->second.reserve(count);
      for (uint32_t word = 0; word < count; ++word) {
        entry->second.push_back(Lower(keys_.WordAt(id, word)));
      }
    }
    return entry->second;
  }

  Status AddWord(const Token& name, bool is_glob, const Token& value, uint32_t id,
                 const std::vector<std::string>& candidates, std::vector<uint64_t>* bitmap) {
    const std::string wanted = Lower(value.text);
    bool is_found = is_glob;
    const auto add = [&](size_t word) {
      (*bitmap)[word / 64] |= uint64_t{1} << (word % 64);
      is_found = true;
    };
    for (size_t word = 0; word < candidates.size(); ++word) {
      const std::string& candidate = candidates[word];
      if (is_glob ? MatchesGlob(wanted, candidate) : wanted == candidate) add(word);
    }
    if (!is_glob) {
      const std::optional<uint32_t> synonym = keys_.FindSynonym(id, wanted);
      if (synonym && *synonym < candidates.size()) add(*synonym);
    }
    if (is_found) return OkStatus();
    std::vector<std::string_view> words;
    for (uint32_t word = 0; word < candidates.size(); ++word) {
      words.push_back(keys_.WordAt(id, word));
    }
    const std::string listed_by =
        "; 'hbbp mix FILE --by " + name.text + "' lists those of a profile";
    return Error(
        value, "no " + name.text + " " + Quote(value) + DidYouMeanOneOf(wanted, words, listed_by));
  }

  void AddPatterns(bool is_glob, const std::vector<Token>& values, Node* test) {
    std::vector<Expression::Pattern>& patterns = expression_.patterns_;
    test->kind = NodeKind::kText;
    test->begin = static_cast<uint32_t>(patterns.size());
    for (const Token& value : values) patterns.push_back({value.text, is_glob});
    test->end = static_cast<uint32_t>(patterns.size());
  }

  std::string_view text_;
  const ExpressionKeys& keys_;
  size_t position_ = 0;
  Token token_;
  int depth_ = 0;
  size_t tests_ = 0;
  size_t values_ = 0;
  size_t error_offset_ = 0;
  std::map<uint32_t, std::vector<std::string>> lower_words_;  // by key
  Expression expression_;
};

StatusOr<Expression> Expression::Parse(std::string_view text, const ExpressionKeys& keys,
                                       size_t* error_offset) {
  ExpressionParser parser(text, keys);
  StatusOr<Expression> expression = parser.Parse();
  if (!expression.ok()) *error_offset = parser.error_offset();
  return expression;
}

StatusOr<Expression> Expression::Parse(std::string_view text, const ExpressionKeys& keys) {
  size_t error_offset = 0;
  StatusOr<Expression> expression = Parse(text, keys, &error_offset);
  if (expression.ok()) return expression;
  return expression.status().Annotate("column " + std::to_string(error_offset + 1));
}

}  // namespace hbbp
