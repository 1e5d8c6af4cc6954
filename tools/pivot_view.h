// Pivots of the C ABI, as the sub-commands look at them.
#ifndef HBBP_TOOLS_PIVOT_VIEW_H_
#define HBBP_TOOLS_PIVOT_VIEW_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "table.h"

namespace hbbp::tools {

struct PivotRequest {
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<std::string> values;
  std::string where;
  std::string sort;  // empty: by the first value
  uint64_t top = 0;  // 0: all
  bool join_names = false;
  const hbbp::taxonomy* taxonomy = nullptr;  // nullptr: the groups of the library
};

// The label of what only code tells of code that is missing.
inline constexpr char kNoCode[] = "no-code";

// "a,b" and "c": {"a", "b", "c"}, without spaces around names. A name that is empty or there twice
// is an error, which names the option.
StatusOr<std::vector<std::string>> SplitLists(const char* option,
                                              const std::vector<std::string>& lists);

// Addresses mean something in their module only: rows of them have one.
void AddModuleOfAddresses(std::vector<std::string>* keys);

// None if there is no path.
std::optional<hbbp::taxonomy> LoadGroups(const std::string& path);

// Does it ask for lines, files or inlined functions, as a key or in its condition?
bool NeedsLines(const PivotRequest& request);

// A note for tables that --where left empty.
inline constexpr char kNothingMatches[] =
    "nothing matches --where; 'hbbp mix FILE --by KEY' lists what a key of the condition can be";

// A condition that is one of KEY=VALUE may have any characters in its value.
hbbp::pivot MakePivot(const hbbp::analysis& analysis, const PivotRequest& request);
// The same for a condition alone.
hbbp::ratios MakeRatios(const hbbp::analysis& analysis, const std::string& where,
                        const hbbp::taxonomy* taxonomy);

// How the labels of a key are shown. Functions are demangled.
Column::Kind KindOfKey(std::string_view key);
Cell LabelCell(std::string_view key, const hbbp_pivot_label& label);
// As one word, for the title of a column.
std::string LabelText(std::string_view key, const hbbp_pivot_label& label);

// "read_bytes" for "read-bytes", as keys of JSON are.
std::string JsonKey(std::string_view name);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PIVOT_VIEW_H_
