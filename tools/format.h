// Formats numbers for people and for programs.
#ifndef HBBP_TOOLS_FORMAT_H_
#define HBBP_TOOLS_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace hbbp::tools {

// Returns "1,234,567": rounded to a whole number, thousands separated.
std::string FormatCount(uint64_t count);
std::string FormatCount(double count);
// Returns for instance "1 sample" or "1,234 samples".
std::string Plural(uint64_t count, const char* one, const char* many);

// A number and its standard error, with the digits that the error allows and in the same unit:
// "163.6 M" and "3.7 M". Both are as of FormatCount if the error is very small.
struct MeasuredText {
  std::string value;
  std::string error;
};
MeasuredText FormatMeasured(double value, double error);

// Returns "12.34 %" for 0.1234; "-" for infinity.
std::string FormatShare(double share);

// Returns "1.234 s", "12.3 ms", "45 us", "678 ns".
std::string FormatDuration(uint64_t nanoseconds);

// Returns "0x401136".
std::string FormatAddress(uint64_t address);

// Returns "0a1b2c".
std::string FormatHex(const uint8_t* bytes, size_t size);

// Returns "2.171": four significant digits.
std::string FormatFactor(double factor);

// The shortest text that reads back as the same number.
std::string FormatExact(double number);

// Returns the name in C++ or Rust, or the symbol itself if it is not a mangled name.
std::string Demangle(const char* symbol);

// Returns "libc.so.6" for "/usr/lib/libc.so.6" and for "/usr/lib/libc.so.6 (deleted)".
std::string_view BaseName(std::string_view path);

// Shortens paths to their last parts, except those that share it with another path.
class ShortPaths {
 public:
  void Add(std::string_view path) { paths_[std::string(BaseName(path))].emplace(path); }
  // Takes a path that was added.
  std::string Of(std::string_view path) const;

 private:
  std::map<std::string, std::set<std::string>, std::less<>> paths_;  // by last part
};

// Replaces tabs by spaces, and other control characters, also those of UTF-8 (U+009B), by question
// marks.
std::string Printable(std::string_view text);

// Returns the number of columns that a text takes on a terminal: one for each character of UTF-8.
size_t DisplayWidth(std::string_view text);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_FORMAT_H_
