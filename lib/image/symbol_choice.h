// Chooses the name that a reader expects among several names of one address.
#ifndef HBBP_LIB_IMAGE_SYMBOL_CHOICE_H_
#define HBBP_LIB_IMAGE_SYMBOL_CHOICE_H_

#include <algorithm>
#include <string_view>

namespace hbbp {

// Returns whether `a` is the better name, all else being equal: fewer leading underscores (malloc,
// not __libc_malloc), then the longer one (as in perf), then the first one in the alphabet, so that
// the choice never depends on the order in the table.
inline bool IsBetterName(std::string_view a, std::string_view b) {
  size_t a_underscores = std::min(a.find_first_not_of('_'), a.size());
  size_t b_underscores = std::min(b.find_first_not_of('_'), b.size());
  if (a_underscores != b_underscores) return a_underscores < b_underscores;
  if (a.size() != b.size()) return a.size() > b.size();
  return a < b;
}

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_SYMBOL_CHOICE_H_
