// What somebody meant who wrote a name that is not known.
#ifndef HBBP_LIB_BASE_NEAREST_NAME_H_
#define HBBP_LIB_BASE_NEAREST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace hbbp {

// Insertions, deletions, substitutions and swaps of neighbours that make one of the other.
// At most kMaxComparedName characters of each count.
inline constexpr size_t kMaxComparedName = 64;
int EditDistance(std::string_view a, std::string_view b);

// The name that differs least, upper and lower case being the same; the first one of several.
// Empty if all differ in more than a third of `name`, two at least being forgiven.
std::string_view NearestName(std::string_view name, const std::vector<std::string_view>& names);

// "; did you mean 'nearest'?", or nothing.
std::string DidYouMean(std::string_view name, const std::vector<std::string_view>& names);

// The same, and where no name is near, "; choose from a, b, c". Too many to print: `listed_by`
// instead, which says where they are listed ("; ..."). Names that are empty are no choice.
std::string DidYouMeanOneOf(std::string_view name, const std::vector<std::string_view>& names,
                            std::string_view listed_by = "");

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_NEAREST_NAME_H_
