// OnOneLine makes a name fit into formats of lines.
#ifndef HBBP_LIB_EXPORT_ONE_LINE_H_
#define HBBP_LIB_EXPORT_ONE_LINE_H_

#include <string>
#include <string_view>

namespace hbbp {

// Returns the text with a question mark for each control character.
inline std::string OnOneLine(std::string_view text) {
  std::string line(text);
  for (char& character : line) {
    if (static_cast<unsigned char>(character) < ' ') character = '?';
  }
  return line;
}

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_ONE_LINE_H_
