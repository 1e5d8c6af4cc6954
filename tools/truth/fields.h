// Fields reads the words of one line of text from the left. CountFromWord parses counts in files of
// exact counts.
#ifndef HBBP_TOOLS_TRUTH_FIELDS_H_
#define HBBP_TOOLS_TRUTH_FIELDS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace hbbp::tools {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// Maximum number of executions, also of a whole file.
inline constexpr uint64_t kMaxCounts = uint64_t{1} << 63;

class Fields {
 public:
  explicit Fields(std::string_view line) : next_(line.data()), end_(next_ + line.size()) {}

  bool AtEnd();
  // Returns the text up to the next blank.
  std::string_view Word();
  // Reads a decimal or 0x hexadecimal number, up to a blank or the end. Returns false if it is
  // none, or above 64 bits.
  bool Number(uint64_t* value);
  // Reads num | 0xhex | +n | -n | *, relative to `*position`, which gets the result.
  bool SubPosition(uint64_t* position);

 private:
  void SkipBlanks();
  bool AtBoundary() const { return next_ == end_ || IsBlank(*next_); }
  bool UnsignedHere(uint64_t* value);

  const char* next_;
  const char* end_;
};

// Says what is wrong with a line; ParseX() functions add the file, the line, and what to do.
inline Status BadLine(std::string what) { return Status(StatusCode::kBadFormat, std::move(what)); }

// Returns false if the word is negative, not a number, or above 2^63.
bool ReadCount(std::string_view word, uint64_t* count);
// Does the same, and says what is wrong with the word.
Status CountFromWord(std::string_view word, uint64_t* count);

// Reads a hexadecimal number without 0x. Returns false if it is none, or above 64 bits.
bool HexFromWord(std::string_view word, uint64_t* value);

// Adds `count` to `*sum`. Returns false if the sum would be above 2^63.
inline bool AddCount(uint64_t count, uint64_t* sum) {
  return !__builtin_add_overflow(*sum, count, sum) && *sum <= kMaxCounts;
}

// Calls `line(number, text)` for each line that is not empty, without its end, until one fails.
Status ForEachLine(std::string_view text,
                   const std::function<Status(uint64_t, std::string_view)>& line);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_FIELDS_H_
