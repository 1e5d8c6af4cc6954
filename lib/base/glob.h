// Matches shell patterns: * is any text, ? any character, [abc] one of these.
#ifndef HBBP_LIB_BASE_GLOB_H_
#define HBBP_LIB_BASE_GLOB_H_

#include <string_view>

namespace hbbp {

// Returns whether the pattern matches the whole text. A [ without ] stands for itself. Takes at
// most pattern.size() * text.size() steps and does not allocate.
bool MatchesGlob(std::string_view pattern, std::string_view text);

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_GLOB_H_
