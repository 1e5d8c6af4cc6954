#include "truth/fields.h"

namespace hbbp::tools {
namespace {

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

void Fields::SkipBlanks() {
  while (next_ != end_ && IsBlank(*next_)) ++next_;
}

bool Fields::AtEnd() {
  SkipBlanks();
  return next_ == end_;
}

std::string_view Fields::Word() {
  SkipBlanks();
  const char* first = next_;
  while (next_ != end_ && !IsBlank(*next_)) ++next_;
  return {first, static_cast<size_t>(next_ - first)};
}

bool Fields::Number(uint64_t* value) {
  SkipBlanks();
  return UnsignedHere(value);
}

bool Fields::SubPosition(uint64_t* position) {
  SkipBlanks();
  if (next_ == end_) return false;
  const char sign = *next_;
  if (sign == '*') {
    ++next_;
    return AtBoundary();
  }
  if (sign != '+' && sign != '-') return UnsignedHere(position);
  ++next_;
  uint64_t distance;
  if (!UnsignedHere(&distance)) return false;
  return sign == '+' ? !__builtin_add_overflow(*position, distance, position)
                     : !__builtin_sub_overflow(*position, distance, position);
}

bool Fields::UnsignedHere(uint64_t* value) {
  uint64_t result = 0;
  if (end_ - next_ > 2 && next_[0] == '0' && (next_[1] | 0x20) == 'x') {
    next_ += 2;
    for (; next_ != end_; ++next_) {
      const int digit = HexDigit(*next_);
      if (digit < 0) break;
      if (result >> 60 != 0) return false;
      result = result << 4 | static_cast<uint64_t>(digit);
    }
  } else {
    if (next_ == end_ || !IsDigit(*next_)) return false;
    for (; next_ != end_ && IsDigit(*next_); ++next_) {
      if (__builtin_mul_overflow(result, uint64_t{10}, &result) ||
          __builtin_add_overflow(result, static_cast<uint64_t>(*next_ - '0'), &result)) {
        return false;
      }
    }
  }
  *value = result;
  return AtBoundary();
}

bool ReadCount(std::string_view word, uint64_t* count) {
  uint64_t read = 0;
  for (const char c : word) {
    if (!IsDigit(c) || __builtin_mul_overflow(read, uint64_t{10}, &read) ||
        !AddCount(static_cast<uint64_t>(c - '0'), &read)) {
      return false;
    }
  }
  *count = read;
  return !word.empty();
}

Status CountFromWord(std::string_view word, uint64_t* count) {
  if (ReadCount(word, count)) return OkStatus();
  if (word.size() > 1 && word[0] == '-' && IsDigit(word[1])) return BadLine("a negative count");
  if (word.empty() || !IsDigit(word[0])) return BadLine("a count that is not a number");
  for (const char c : word) {
    if (!IsDigit(c)) return BadLine("a count that is not a whole number");
  }
  return BadLine("a count above 2^63");
}

bool HexFromWord(std::string_view word, uint64_t* value) {
  *value = 0;
  for (const char c : word) {
    const int digit = HexDigit(c);
    if (digit < 0 || *value >> 60 != 0) return false;
    *value = *value << 4 | static_cast<uint64_t>(digit);
  }
  return !word.empty();
}

Status ForEachLine(std::string_view text,
                   const std::function<Status(uint64_t, std::string_view)>& line) {
  uint64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    ++number;
    size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) end = text.size();
    std::string_view content = text.substr(begin, end - begin);
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (!content.empty()) HBBP_RETURN_IF_ERROR(line(number, content));
    begin = end + 1;
  }
  return OkStatus();
}

}  // namespace hbbp::tools
