// JoinedText concatenates texts with a separator.
#ifndef HBBP_LIB_BASE_JOINED_TEXT_H_
#define HBBP_LIB_BASE_JOINED_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

namespace hbbp {

inline std::string JoinedText(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_JOINED_TEXT_H_
