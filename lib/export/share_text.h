// ShareText writes the share of a part for notes: "12.3 %".
#ifndef HBBP_LIB_EXPORT_SHARE_TEXT_H_
#define HBBP_LIB_EXPORT_SHARE_TEXT_H_

#include <cstdio>
#include <string>

namespace hbbp {

inline std::string ShareText(double part, double all) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%", 100 * part / all);
  return text;
}

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_SHARE_TEXT_H_
