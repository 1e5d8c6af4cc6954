#include "base/glob.h"

#include <cstddef>

namespace hbbp {
namespace {

// Returns how many characters of the pattern stand for one character of the text.
size_t UnitSize(std::string_view pattern) {
  if (pattern.front() != '[') return 1;
  const size_t end = pattern.find(']');
  return end == pattern.npos ? 1 : end + 1;
}

bool UnitMatches(std::string_view unit, char c) {
  if (unit.size() > 1) return unit.substr(1, unit.size() - 2).find(c) != unit.npos;
  return unit[0] == '?' || unit[0] == c;
}

}  // namespace

bool MatchesGlob(std::string_view pattern, std::string_view text) {
  size_t at = 0;
  size_t in_text = 0;
  // `star` is the position after the last *, and `star_end` the end of the text that this * covers.
  // Going back to an earlier * never helps.
  size_t star = pattern.npos;
  size_t star_end = 0;
  while (in_text < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      star_end = in_text;
      continue;
    }
    if (at < pattern.size()) {
      const size_t size = UnitSize(pattern.substr(at));
      if (UnitMatches(pattern.substr(at, size), text[in_text])) {
        at += size;
        ++in_text;
        continue;
      }
    }
    if (star == pattern.npos) return false;
    at = star;
    in_text = ++star_end;
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace hbbp
