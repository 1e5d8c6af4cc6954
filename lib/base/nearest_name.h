// Suggests names for one that is unknown, probably because it is misspelt.
#ifndef HBBP_LIB_BASE_NEAREST_NAME_H_
#define HBBP_LIB_BASE_NEAREST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace hbbp {

// Counts the insertions, deletions, substitutions and swaps of neighbours that turn one name into
// the other. Only the first kMaxComparedName characters of each are compared.
inline constexpr size_t kMaxComparedName = 64;
int EditDistance(std::string_view a, std::string_view b);

// Returns the name that differs least, ignoring case; the first of several. Returns an empty name
// if all differ in more than a third of `name` and in more than two characters.
std::string_view NearestName(std::string_view name, const std::vector<std::string_view>& names);

// Returns "; did you mean 'nearest'?", or nothing.
std::string DidYouMean(std::string_view name, const std::vector<std::string_view>& names);

// Returns the same, or "; choose from a, b, c" if no name is near. If there are too many to print,
// it returns `listed_by`, which says where they are listed ("; ..."). Empty names are left out.
std::string DidYouMeanOneOf(std::string_view name, const std::vector<std::string_view>& names,
                            std::string_view listed_by = "");

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_NEAREST_NAME_H_
