// Fields: reads the words of one line of text from the left. CountFromWord: counts as files of
// exact counts may have them.
#ifndef HBBP_TOOLS_TRUTH_FIELDS_H_
#define HBBP_TOOLS_TRUTH_FIELDS_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/status.h"

namespace hbbp::tools {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// What nothing can have been executed more often than, nor all of a file together.
inline constexpr uint64_t kMostCounts = uint64_t{1} << 63;

class Fields {
 public:
  explicit Fields(std::string_view line) : next_(line.data()), end_(next_ + line.size()) {}

  bool AtEnd();
  // The text up to the next blank.
  std::string_view Word();
  // Decimal or 0x hexadecimal, up to a blank or the end. False: no number, or above 64 bits.
  bool Number(uint64_t* value);
  // num | 0xhex | +n | -n | *, relative to `*position`, which gets the result.
  bool SubPosition(uint64_t* position);

 private:
  void SkipBlanks();
  bool AtBoundary() const { return next_ == end_ || IsBlank(*next_); }
  bool UnsignedHere(uint64_t* value);

  const char* next_;
  const char* end_;
};

// Null, or what is wrong with the word: it is negative, no number, or above 2^63.
const char* CountFromWord(std::string_view word, uint64_t* count);

// Hexadecimal without 0x. False: something else, or above 64 bits.
bool HexFromWord(std::string_view word, uint64_t* value);

// Adds `count` to `*sum`. False: the sum would be above 2^63.
inline bool AddCount(uint64_t count, uint64_t* sum) {
  return !__builtin_add_overflow(*sum, count, sum) && *sum <= kMostCounts;
}

// Calls `line(number, text)` for each line that is not empty, without its end, until one fails.
Status ForEachLine(std::string_view text,
                   const std::function<Status(uint64_t, std::string_view)>& line);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_FIELDS_H_
