// json_malloc ROUNDS: parses JSON into a tree of small nodes, each of which it allocates, sums the
// tree, and frees it. Most of the time goes to malloc, free and short loops over characters. Prints
// a sum of the numbers and lengths found.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int kRecords = 40000;

struct Node {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  bool is_true = false;
  double number = 0;
  std::string text;
  std::vector<std::pair<std::unique_ptr<std::string>, std::unique_ptr<Node>>> children;
};

class Parser {
 public:
  explicit Parser(const std::string& text) : next_(text.c_str()) {}

  std::unique_ptr<Node> Parse() {
    SkipSpace();
    auto node = std::make_unique<Node>();
    switch (*next_) {
      case '{':
        node->kind = Node::Kind::kObject;
        ParseChildren('}', node.get());
        break;
      case '[':
        node->kind = Node::Kind::kArray;
        ParseChildren(']', node.get());
        break;
      case '"':
        node->kind = Node::Kind::kString;
        node->text = ParseString();
        break;
      case 't':
      case 'f':
        node->kind = Node::Kind::kBool;
        node->is_true = *next_ == 't';
        next_ += node->is_true ? 4 : 5;
        break;
      case 'n':
        next_ += 4;
        break;
      default:
        node->kind = Node::Kind::kNumber;
        node->number = ParseNumber();
    }
    return node;
  }

 private:
  void SkipSpace() {
    while (*next_ == ' ' || *next_ == '\n') ++next_;
  }

  void ParseChildren(char end, Node* node) {
    for (++next_; SkipSpace(), *next_ != end;) {
      std::unique_ptr<std::string> name;
      if (end == '}') {
        name = std::make_unique<std::string>(ParseString());
        SkipSpace();
        ++next_;
      }
      node->children.emplace_back(std::move(name), Parse());
      SkipSpace();
      if (*next_ == ',') ++next_;
    }
    ++next_;
  }

  std::string ParseString() {
    std::string text;
    for (++next_; *next_ != '"'; ++next_) {
      if (*next_ == '\\') ++next_;
      text.push_back(*next_);
    }
    ++next_;
    return text;
  }

  double ParseNumber() {
    const bool is_negative = *next_ == '-';
    if (is_negative) ++next_;
    double value = 0, unit = 1;
    for (; *next_ >= '0' && *next_ <= '9'; ++next_) value = value * 10 + (*next_ - '0');
    if (*next_ == '.') {
      for (++next_; *next_ >= '0' && *next_ <= '9'; ++next_) value += (*next_ - '0') * (unit /= 10);
    }
    return is_negative ? -value : value;
  }

  const char* next_;
};

uint64_t Sum(const Node& node) {
  uint64_t sum = node.text.size() + (node.is_true ? 1 : 0) + static_cast<uint64_t>(node.kind);
  sum += static_cast<uint64_t>(static_cast<int64_t>(node.number * 1000));
  for (const auto& [name, child] : node.children) {
    sum = sum * 31 + (name ? name->size() : 0) + Sum(*child);
  }
  return sum;
}

std::string MakeText() {
  uint32_t state = 1;
  const auto next = [&] { return (state = state * 1103515245 + 12345) >> 8; };
  const auto word = [&](uint32_t length) {
    std::string text = "\"";
    for (uint32_t i = 0; i < length; ++i) text.push_back(static_cast<char>('a' + next() % 26));
    return text + '"';
  };
  std::string text = "[";
  for (int i = 0; i < kRecords; ++i) {
    text += (i == 0 ? "\n{" : ",\n{") + word(3) + ": " + std::to_string(next() % 100000) + ", ";
    text += word(8) + ": " + word(next() % 40) + ", " + word(5) + ": [";
    const uint32_t items = next() % 9;
    for (uint32_t item = 0; item < items; ++item) {
      text += (item == 0 ? "" : ", ") + std::to_string(next() % 1000) + '.' +
              std::to_string(next() % 1000);
    }
    text += "], " + word(4) + ": {" + word(2) + ": " + (next() % 2 == 0 ? "true" : "null") + "}}";
  }
  return text + "\n]\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  const std::string text = MakeText();
  uint64_t sum = 0;
  for (int round = 0; round < std::atoi(argv[1]); ++round) {
    sum = sum * 31 + Sum(*Parser(text).Parse());
  }
  std::printf("%016llx\n", static_cast<unsigned long long>(sum));
}
