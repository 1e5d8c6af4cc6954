// DemangleRust chooses the scheme by the prefix. V0Parser parses the newer one by recursive descent
// over its grammar, a function for each production, and prints as it parses; DemangleLegacy splits
// the older one into its parts and replaces escapes such as "$LT$". Demangle calls it before it
// tries C++.
#include "symbols/rust_demangle.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace hbbp {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }

std::string_view BasicType(char tag) {
  switch (tag) {
    case 'a':
      return "i8";
    case 'b':
      return "bool";
    case 'c':
      return "char";
    case 'd':
      return "f64";
    case 'e':
      return "str";
    case 'f':
      return "f32";
    case 'h':
      return "u8";
    case 'i':
      return "isize";
    case 'j':
      return "usize";
    case 'l':
      return "i32";
    case 'm':
      return "u32";
    case 'n':
      return "i128";
    case 'o':
      return "u128";
    case 'p':
      return "_";
    case 's':
      return "i16";
    case 't':
      return "u16";
    case 'u':
      return "()";
    case 'v':
      return "...";
    case 'x':
      return "i64";
    case 'y':
      return "u64";
    case 'z':
      return "!";
    default:
      return {};
  }
}

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += static_cast<char>(0xc0 | (code >> 6));
    *out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *out += static_cast<char>(0xe0 | (code >> 12));
    *out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    *out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    *out += static_cast<char>(0xf0 | (code >> 18));
    *out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    *out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    *out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// Parses the part after "_R". Back references make names of exponential length possible, hence the
// bounds; a function that reaches one sets ok_ to false and stops.
class V0Parser {
 public:
  explicit V0Parser(std::string_view input) : input_(input) {}

  std::optional<std::string> Parse() {
    if (Peek() >= '0' && Peek() <= '9') return std::nullopt;  // an unknown version
    Path(/*in_type=*/false, /*leave_open=*/false);
    if (ok_ && position_ < input_.size() && IsUpper(Peek())) {
      is_silent_ = true;  // the crate that instantiated it
      Path(false, false);
    }
    const bool is_at_end = position_ == input_.size() || Peek() == '.' || Peek() == '$';
    if (!ok_ || !is_at_end || output_.empty()) return std::nullopt;
    return std::move(output_);
  }

 private:
  static constexpr int kMaxDepth = 200;
  static constexpr size_t kMaxOutput = 64 << 10;
  static constexpr int kMaxSteps = 1 << 16;

  struct DepthGuard {
    explicit DepthGuard(V0Parser* of) : parser(of) {
      if (++parser->depth_ > kMaxDepth || ++parser->steps_ > kMaxSteps) parser->ok_ = false;
    }
    ~DepthGuard() { --parser->depth_; }
    V0Parser* parser;
  };

  char Peek() const { return position_ < input_.size() ? input_[position_] : '\0'; }
  char Next() {
    if (position_ < input_.size()) return input_[position_++];
    ok_ = false;
    return '\0';
  }
  bool Take(char c) {
    if (Peek() != c || position_ >= input_.size()) return false;
    ++position_;
    return true;
  }

  void Print(std::string_view text) {
    if (is_silent_ || !ok_) return;
    if (output_.size() + text.size() > kMaxOutput) {
      ok_ = false;
      return;
    }
    output_ += text;
  }

  // Reads a number: "_" is 0, "0_" is 1, ...
  uint64_t Base62() {
    if (Take('_')) return 0;
    uint64_t value = 0;
    while (ok_ && !Take('_')) {
      const char c = Next();
      uint64_t digit;
      if (IsDigit(c)) {
        digit = static_cast<uint64_t>(c - '0');
      } else if (IsLower(c)) {
        digit = static_cast<uint64_t>(c - 'a') + 10;
      } else if (IsUpper(c)) {
        digit = static_cast<uint64_t>(c - 'A') + 36;
      } else {
        ok_ = false;
        return 0;
      }
      if (__builtin_mul_overflow(value, uint64_t{62}, &value) ||
          __builtin_add_overflow(value, digit, &value)) {
        ok_ = false;
      }
    }
    if (value == UINT64_MAX) ok_ = false;
    return ok_ ? value + 1 : 0;
  }

  uint64_t OptionalBase62(char tag) {
    if (!Take(tag)) return 0;
    const uint64_t value = Base62();
    if (value == UINT64_MAX) ok_ = false;
    return ok_ ? value + 1 : 0;
  }

  struct Identifier {
    std::string_view name;
    bool is_punycode = false;
    uint64_t disambiguator = 0;
  };

  Identifier ParseIdentifier() {
    Identifier identifier;
    identifier.disambiguator = OptionalBase62('s');
    return ParseUndisambiguated(identifier);
  }

  Identifier ParseUndisambiguated(Identifier identifier) {
    identifier.is_punycode = Take('u');
    if (!IsDigit(Peek())) ok_ = false;
    uint64_t length = 0;
    if (!Take('0')) {
      while (ok_ && IsDigit(Peek())) {
        length = length * 10 + static_cast<uint64_t>(Next() - '0');
        if (length > input_.size()) ok_ = false;
      }
    }
    Take('_');
    if (!ok_ || length > input_.size() - position_) {
      ok_ = false;
      return {};
    }
    identifier.name = input_.substr(position_, length);
    position_ += length;
    return identifier;
  }

  void Print(const Identifier& identifier) {
    if (identifier.is_punycode) Print("punycode{");
    Print(identifier.name);
    if (identifier.is_punycode) Print("}");
  }

  template <typename Body>
  void BackReference(Body&& body) {
    const size_t start = position_ - 1;
    const uint64_t target = Base62();
    if (!ok_ || target >= start) {
      ok_ = false;
      return;
    }
    if (is_silent_) return;
    const size_t resume = std::exchange(position_, target);
    body();
    position_ = resume;
  }

  // Returns whether `leave_open` was set and generic arguments were printed without their ">".
  bool Path(bool in_type, bool leave_open) {
    const DepthGuard guard(this);
    if (!ok_) return false;
    switch (Next()) {
      case 'C':
        Print(ParseIdentifier());
        break;
      case 'M':
        ImplPath();
        Print("<");
        Type();
        Print(">");
        break;
      case 'X':
        ImplPath();
        [[fallthrough]];
      case 'Y':
        Print("<");
        Type();
        Print(" as ");
        Path(true, false);
        Print(">");
        break;
      case 'N':
        NestedPath(in_type);
        break;
      case 'I': {
        Path(in_type, false);
        if (!in_type) Print("::");
        Print("<");
        for (bool is_first = true; ok_ && !Take('E'); is_first = false) {
          if (!is_first) Print(", ");
          GenericArgument();
        }
        if (leave_open) return true;
        Print(">");
        break;
      }
      case 'B': {
        bool is_open = false;
        BackReference([&] { is_open = Path(in_type, leave_open); });
        return is_open;
      }
      default:
        ok_ = false;
    }
    return false;
  }

  void ImplPath() {
    OptionalBase62('s');
    const bool was_silent = std::exchange(is_silent_, true);
    Path(false, false);
    is_silent_ = was_silent;
  }

  void NestedPath(bool in_type) {
    const char kind = Next();
    if (!IsUpper(kind) && !IsLower(kind)) ok_ = false;
    Path(in_type, false);
    const Identifier identifier = ParseIdentifier();
    if (IsUpper(kind)) {
      Print("::{");
      Print(kind == 'C'   ? std::string_view("closure")
            : kind == 'S' ? std::string_view("shim")
                          : std::string_view(&kind, 1));
      if (!identifier.name.empty()) {
        Print(":");
        Print(identifier);
      }
      Print("#");
      Print(std::to_string(identifier.disambiguator));
      Print("}");
    } else if (!identifier.name.empty()) {
      Print("::");
      Print(identifier);
    }
  }

  void GenericArgument() {
    if (Take('L')) {
      PrintLifetime(Base62());
    } else if (Take('K')) {
      Const();
    } else {
      Type();
    }
  }

  void PrintLifetime(uint64_t index) {
    if (index == 0) {
      Print("'_");
      return;
    }
    if (index > bound_lifetimes_) {
      ok_ = false;
      return;
    }
    const uint64_t depth = bound_lifetimes_ - index;
    Print("'");
    if (depth < 26) {
      const char letter = static_cast<char>('a' + depth);
      Print(std::string_view(&letter, 1));
    } else {
      Print("z");
      Print(std::to_string(depth - 26 + 1));
    }
  }

  void Binder() {
    const uint64_t lifetimes = OptionalBase62('G');
    if (lifetimes == 0) return;
    if (lifetimes > input_.size()) {
      ok_ = false;
      return;
    }
    Print("for<");
    for (uint64_t i = 0; i < lifetimes && ok_; ++i) {
      ++bound_lifetimes_;
      if (i > 0) Print(", ");
      PrintLifetime(1);
    }
    Print("> ");
  }

  void Type() {
    const DepthGuard guard(this);
    if (!ok_) return;
    const size_t start = position_;
    const char tag = Next();
    if (const std::string_view basic = BasicType(tag); !basic.empty()) {
      Print(basic);
      return;
    }
    switch (tag) {
      case 'A':
        Print("[");
        Type();
        Print("; ");
        Const();
        Print("]");
        break;
      case 'S':
        Print("[");
        Type();
        Print("]");
        break;
      case 'T': {
        Print("(");
        size_t count = 0;
        for (; ok_ && !Take('E'); ++count) {
          if (count > 0) Print(", ");
          Type();
        }
        Print(count == 1 ? ",)" : ")");
        break;
      }
      case 'R':
      case 'Q':
        Print("&");
        if (Take('L')) {
          const uint64_t lifetime = Base62();
          if (lifetime != 0) {
            PrintLifetime(lifetime);
            Print(" ");
          }
        }
        if (tag == 'Q') Print("mut ");
        Type();
        break;
      case 'P':
        Print("*const ");
        Type();
        break;
      case 'O':
        Print("*mut ");
        Type();
        break;
      case 'F':
        FunctionType();
        break;
      case 'D':
        DynType();
        break;
      case 'B':
        BackReference([&] { Type(); });
        break;
      default:
        position_ = start;
        Path(true, false);
    }
  }

  void FunctionType() {
    const uint64_t outer_lifetimes = bound_lifetimes_;
    Binder();
    if (Take('U')) Print("unsafe ");
    if (Take('K')) {
      Print("extern \"");
      if (Take('C')) {
        Print("C");
      } else {
        std::string abi(ParseUndisambiguated({}).name);
        std::replace(abi.begin(), abi.end(), '_', '-');
        Print(abi);
      }
      Print("\" ");
    }
    Print("fn(");
    for (bool is_first = true; ok_ && !Take('E'); is_first = false) {
      if (!is_first) Print(", ");
      Type();
    }
    Print(")");
    if (!Take('u')) {
      Print(" -> ");
      Type();
    }
    bound_lifetimes_ = outer_lifetimes;
  }

  void DynType() {
    Print("dyn ");
    const uint64_t outer_lifetimes = bound_lifetimes_;
    Binder();
    for (bool is_first = true; ok_ && !Take('E'); is_first = false) {
      if (!is_first) Print(" + ");
      bool is_open = Path(true, true);
      while (ok_ && Take('p')) {
        Print(is_open ? ", " : "<");
        is_open = true;
        Print(ParseUndisambiguated({}));
        Print(" = ");
        Type();
      }
      if (is_open) Print(">");
    }
    bound_lifetimes_ = outer_lifetimes;
    if (!Take('L')) {
      ok_ = false;
      return;
    }
    const uint64_t lifetime = Base62();
    if (lifetime != 0) {
      Print(" + ");
      PrintLifetime(lifetime);
    }
  }

  void Const() {
    const DepthGuard guard(this);
    if (!ok_) return;
    const char tag = Next();
    switch (tag) {
      case 'p':
        Print("_");
        return;
      case 'B':
        BackReference([&] { Const(); });
        return;
      case 'a':
      case 's':
      case 'l':
      case 'x':
      case 'n':
      case 'i':
        if (Take('n')) Print("-");
        [[fallthrough]];
      case 'h':
      case 't':
      case 'm':
      case 'y':
      case 'o':
      case 'j':
        PrintInteger(HexDigits());
        return;
      case 'b': {
        const std::string_view digits = HexDigits();
        if (digits != "0" && digits != "1") ok_ = false;
        Print(digits == "1" ? "true" : "false");
        return;
      }
      case 'c':
        PrintCharacter(HexDigits());
        return;
      default:
        ok_ = false;
    }
  }

  // Reads up to "_"; "" stands for 0.
  std::string_view HexDigits() {
    const size_t start = position_;
    while (ok_ && IsHexDigit(Peek())) ++position_;
    const std::string_view digits = input_.substr(start, position_ - start);
    if (!Take('_') || digits.empty()) ok_ = false;
    return digits;
  }

  static std::optional<uint64_t> ValueOf(std::string_view digits) {
    if (digits.size() > 16) return std::nullopt;
    uint64_t value = 0;
    for (const char c : digits) {
      value = value * 16 + static_cast<uint64_t>(IsDigit(c) ? c - '0' : c - 'a' + 10);
    }
    return value;
  }

  void PrintInteger(std::string_view digits) {
    const std::optional<uint64_t> value = ValueOf(digits);
    if (value) {
      Print(std::to_string(*value));
    } else {
      Print("0x");
      Print(digits);
    }
  }

  void PrintCharacter(std::string_view digits) {
    const std::optional<uint64_t> value = ValueOf(digits);
    if (!value || *value > 0x10ffff || (*value >= 0xd800 && *value < 0xe000)) {
      ok_ = false;
      return;
    }
    std::string text = "'";
    if (*value == '\n') {
      text += "\\n";
    } else if (*value == '\'' || *value == '\\') {
      text += '\\';
      text += static_cast<char>(*value);
    } else if (*value < 0x20) {
      text += "\\u{" + std::string(digits) + "}";
    } else {
      AppendUtf8(static_cast<uint32_t>(*value), &text);
    }
    Print(text + "'");
  }

  std::string_view input_;
  size_t position_ = 0;
  std::string output_;
  bool ok_ = true;
  bool is_silent_ = false;
  int depth_ = 0;
  int steps_ = 0;
  uint64_t bound_lifetimes_ = 0;
};

// Decodes "$LT$" and the like, and advances over it.
bool Unescape(std::string_view* text, std::string* out) {
  constexpr std::pair<std::string_view, char> kEscapes[] = {
      {"$SP$", '@'}, {"$BP$", '*'}, {"$RF$", '&'}, {"$LT$", '<'},
      {"$GT$", '>'}, {"$LP$", '('}, {"$RP$", ')'}, {"$C$", ','}};
  for (const auto& [escape, character] : kEscapes) {
    if (!text->starts_with(escape)) continue;
    *out += character;
    text->remove_prefix(escape.size());
    return true;
  }
  if (!text->starts_with("$u")) return false;
  const size_t end = text->find('$', 2);
  if (end == std::string_view::npos || end == 2 || end > 8) return false;
  uint32_t code = 0;
  for (const char c : text->substr(2, end - 2)) {
    if (!IsHexDigit(c)) return false;
    code = code * 16 + static_cast<uint32_t>(IsDigit(c) ? c - '0' : c - 'a' + 10);
  }
  if (code < 0x20 || code > 0x10ffff) return false;
  AppendUtf8(code, out);
  text->remove_prefix(end + 1);
  return true;
}

bool AppendLegacyPart(std::string_view part, std::string* out) {
  if (part.starts_with("_$")) part.remove_prefix(1);
  while (!part.empty()) {
    if (part.front() == '$') {
      if (!Unescape(&part, out)) return false;
    } else if (part.starts_with("..")) {
      *out += "::";
      part.remove_prefix(2);
    } else {
      *out += part.front();
      part.remove_prefix(1);
    }
  }
  return true;
}

// The form is "_ZN" parts "17h" 16 hexadecimal digits "E", as C++ mangles a nested name.
std::optional<std::string> DemangleLegacy(std::string_view symbol) {
  constexpr size_t kHashLength = 17;
  symbol.remove_prefix(3);
  std::string output;
  while (true) {
    size_t length = 0;
    size_t digits = 0;
    for (; digits < symbol.size() && digits < 6 && IsDigit(symbol[digits]); ++digits) {
      length = length * 10 + static_cast<size_t>(symbol[digits] - '0');
    }
    if (digits == 0 || length == 0 || length >= symbol.size() - digits) return std::nullopt;
    const std::string_view part = symbol.substr(digits, length);
    symbol.remove_prefix(digits + length);
    if (symbol.front() == 'E') {
      const bool is_hash = part.size() == kHashLength && part.front() == 'h' &&
                           std::all_of(part.begin() + 1, part.end(), IsHexDigit);
      const bool is_at_end = symbol.size() == 1 || symbol[1] == '.';
      if (!is_hash || !is_at_end || output.empty()) return std::nullopt;
      return output;
    }
    if (!output.empty()) output += "::";
    if (!AppendLegacyPart(part, &output)) return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> DemangleRust(std::string_view symbol) {
  if (symbol.starts_with("_R")) return V0Parser(symbol.substr(2)).Parse();
  if (symbol.starts_with("_ZN")) return DemangleLegacy(symbol);
  return std::nullopt;
}

}  // namespace hbbp
