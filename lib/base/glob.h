// Shell patterns: * for any text, ? for any character, [abc] for one of some.
#ifndef HBBP_LIB_BASE_GLOB_H_
#define HBBP_LIB_BASE_GLOB_H_

#include <string_view>

namespace hbbp {

// Does the pattern fit all of the text? A [ without ] stands for itself. Takes at most
// pattern.size() * text.size() steps and no memory.
bool MatchesGlob(std::string_view pattern, std::string_view text);

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_GLOB_H_
