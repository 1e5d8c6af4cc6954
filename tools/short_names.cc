// Shortens names of functions. Brackets are paired once for the whole name; then Elision walks
// through it, with a stack of its own for what is nested: names of hostile files nest deeply.
#include "short_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hbbp::tools {
namespace {

constexpr size_t kShortEnough = 8;

struct Form {
  bool without_lists = false;  // of template arguments
  bool without_parameters = false;
};
constexpr Form kForms[] = {{true, true}, {true, false}, {false, true}};

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Returns whether `text` ends with `word`, which no letter precedes.
bool EndsWithWord(std::string_view text, std::string_view word) {
  return text.ends_with(word) &&
         (text.size() == word.size() || !IsWordCharacter(text[text.size() - word.size() - 1]));
}

char ClosingBracket(char c) {
  switch (c) {
    case '<':
      return '>';
    case '(':
      return ')';
    case '[':
      return ']';
    case '{':
      return '}';
    default:
      return '\0';
  }
}

// Returns the length of "operator<<" if there is one, else 0. Brackets in it are not brackets.
size_t OperatorLength(std::string_view text, size_t at) {
  constexpr std::string_view kWord = "operator";
  // Those that begin with others are before these.
  constexpr std::string_view kSymbols[] = {
      "()", "[]", "<=>", "->*", "->", "<<=", "<<", ">>=", ">>", "&&", "||", "++", "--", "-=",
      "+=", "*=", "/=",  "%=",  "^=", "&=",  "|=", "~=",  "!=", "==", "<=", ">=", "-",  "+",
      "*",  "/",  "%",   "^",   "&",  "|",   "~",  "!",   "=",  "<",  ">",  ","};
  if (text[at] != 'o' || !text.substr(at).starts_with(kWord)) return 0;
  if (at != 0 && IsWordCharacter(text[at - 1])) return 0;
  const size_t start = text.find_first_not_of(' ', at + kWord.size());
  if (start == std::string_view::npos) return 0;
  for (const std::string_view symbol : kSymbols) {
    if (text.substr(start).starts_with(symbol)) return start + symbol.size() - at;
  }
  return 0;
}

constexpr size_t kUnpaired = std::string_view::npos;

// Returns where each opening bracket is closed.
std::vector<size_t> PairBrackets(std::string_view text) {
  std::vector<size_t> closing(text.size(), kUnpaired);
  std::vector<size_t> open;
  for (size_t at = 0; at < text.size(); ++at) {
    if (const size_t length = OperatorLength(text, at)) {
      at += length - 1;
    } else if (ClosingBracket(text[at]) != '\0') {
      open.push_back(at);
    } else if (!open.empty() && text[at] == ClosingBracket(text[open.back()])) {
      const bool is_arrow = text[at] == '>' && text[at - 1] == '-';
      if (is_arrow) continue;
      closing[open.back()] = at;
      open.pop_back();
    }
  }
  return closing;
}

// Elision leaves out template arguments, parameters or both, and the type that a function template
// returns.
class Elision {
 public:
  Elision(std::string_view text, Form form)
      : text_(text), form_(form), closing_(PairBrackets(text)) {}

  std::string Make() {
    out_.reserve(text_.size());
    parts_.push_back({text_.size(), 0, 0, false});
    while (at_ < text_.size()) {
      if (at_ == parts_.back().end) {
        EndPart();
      } else if (const size_t length = OperatorLength(text_, at_)) {
        AddOperator(length);
      } else if (closing_[at_] == kUnpaired) {
        AddCharacter();
      } else {
        AddBrackets(closing_[at_]);
      }
    }
    return std::move(out_);
  }

 private:
  // What is within brackets, or the whole.
  struct Part {
    size_t end;        // in text_
    size_t start;      // in out_
    size_t name_from;  // in out_: types that are returned come before it
    bool has_parameters;
  };

  void AddOperator(size_t length) {
    out_ += text_.substr(at_, length);
    at_ += length;
    is_named_ = true;
    if (text_.substr(at_).starts_with(" <")) ++at_;
  }

  void AddCharacter() {
    const char c = text_[at_++];
    out_ += c;
    is_named_ = IsWordCharacter(c);
    Part& part = parts_.back();
    if (c != ' ' || part.has_parameters) return;
    part.name_from = IsInName() ? part.start : out_.size();
  }

  // Returns whether the space at the end is within a name: "non-virtual thunk to f()", "operator
  // bool()".
  bool IsInName() const {
    const std::string_view written = Written();
    constexpr std::string_view kWords[] = {"operator ", "new ", "delete ", "to ", "for ", "as "};
    return std::any_of(std::begin(kWords), std::end(kWords),
                       [&](std::string_view word) { return EndsWithWord(written, word); });
  }

  void AddBrackets(size_t end) {
    const char c = text_[at_];
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    const bool is_list = c == '<' && is_named_;
    const bool is_parameters = c == '(' && inside != "anonymous namespace" &&
                               !EndsWithWord(Written(), "decltype") &&
                               !EndsWithWord(Written(), "decltype ");
    Part& part = parts_.back();
    if (is_parameters && !part.has_parameters) {
      part.has_parameters = true;
      out_.erase(part.start, part.name_from - part.start);
    }
    out_ += c;
    const bool may_leave_out =
        (is_list && form_.without_lists) || (is_parameters && form_.without_parameters);
    if (may_leave_out && IsLong(inside)) {
      out_ += "...";
      Close(end);
    } else if (is_list) {
      out_ += inside;
      Close(end);
    } else {
      ++at_;
      is_named_ = false;
      parts_.push_back({end, out_.size(), out_.size(), is_parameters});
    }
  }

  void EndPart() {
    parts_.pop_back();
    Close(at_);
  }

  void Close(size_t end) {
    out_ += text_[end];
    is_named_ = text_[end] != ')';
    at_ = end + 1;
  }

  // Counts characters of UTF-8.
  static bool IsLong(std::string_view text) {
    if (text.size() <= kShortEnough) return false;
    size_t characters = 0;
    for (size_t i = 0; i < text.size() && characters <= kShortEnough; ++i) {
      if ((text[i] & 0xC0) != 0x80) ++characters;
    }
    return characters > kShortEnough;
  }

  std::string_view Written() const { return std::string_view(out_).substr(parts_.back().start); }

  const std::string_view text_;
  const Form form_;
  const std::vector<size_t> closing_;
  size_t at_ = 0;
  std::string out_;
  std::vector<Part> parts_;
  bool is_named_ = false;  // what comes next is a list of arguments if it is in angle brackets
};

void ReplaceAll(std::string_view what, std::string_view by, std::string* text) {
  std::string replaced;
  size_t done = 0;
  for (size_t at; (at = text->find(what, done)) != std::string::npos; done = at + what.size()) {
    replaced.append(*text, done, at - done).append(by);
  }
  if (done != 0) *text = replaced.append(*text, done);
}

std::string WithStdString(std::string_view name) {
  std::string text(name);
  const std::string basic = "basic_string<char, std::char_traits<char>, std::allocator<char>";
  if (text.find(basic) == std::string::npos) return text;
  for (const char* scope : {"std::", "std::__cxx11::"}) {
    for (const char* end : {">", " >"}) ReplaceAll(scope + basic + end, "std::string", &text);
  }
  return text;
}

// Leaves out "[abi:cxx11]".
void RemoveAbiTags(std::string* name) {
  constexpr std::string_view kTag = "[abi:";
  std::string text;
  size_t done = 0;
  for (size_t at = 0; (at = name->find(kTag, at)) != std::string::npos;) {
    const size_t word = at + kTag.size();
    size_t end = word;
    while (end < name->size() && IsWordCharacter((*name)[end])) ++end;
    if (end == word || end == name->size() || (*name)[end] != ']') {
      at = word;
      continue;
    }
    text.append(*name, done, at - done);
    done = at = end + 1;
  }
  if (done != 0) *name = text.append(*name, done);
}

std::string Shortened(std::string_view name, Form form) {
  const std::string text = WithStdString(name);
  std::string shortened = Elision(text, form).Make();
  RemoveAbiTags(&shortened);
  return shortened;
}

}  // namespace

ShortNames::ShortNames(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const Form& form : kForms) {
    std::vector<std::string> shortened;
    for (const std::string& name : names) shortened.push_back(Shortened(name, form));
    std::unordered_map<std::string_view, size_t> times;
    for (const std::string& text : shortened) ++times[text];
    for (size_t i = 0; i < names.size(); ++i) {
      if (times[shortened[i]] == 1) short_.try_emplace(names[i], shortened[i]);
    }
    // Names that differ in the shortest form do so in all others; those that differ in another form
    // may be like others in the next one.
    if (&form == kForms)
      std::erase_if(names, [&](const auto& name) { return short_.contains(name); });
  }
}

std::string ShortNames::Of(std::string_view name) const {
  const auto found = short_.find(name);
  return found == short_.end() ? std::string(name) : found->second;
}

}  // namespace hbbp::tools
