// Wraps pivots of the C ABI for the sub-commands.
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
  const hbbp::taxonomy* taxonomy = nullptr;  // nullptr: the library's groups
};

// Keys that depend on code have this label where the code is missing.
inline constexpr char kNoCode[] = "no-code";

// Splits "a,b" and "c" into {"a", "b", "c"}, without spaces around names. An empty or repeated name
// is an error that names the option.
StatusOr<std::vector<std::string>> SplitLists(const char* option,
                                              const std::vector<std::string>& lists);

// Addresses are meaningful only in their module, so rows of addresses get its key too.
void AddModuleOfAddresses(std::vector<std::string>* keys);

// Returns nothing if the path is empty.
std::optional<hbbp::taxonomy> LoadGroups(const std::string& path);

// Returns whether lines, files or inlined functions are requested, as a key or in the condition.
bool NeedsLines(const PivotRequest& request);

// Tables that are empty because of --where have this note.
inline constexpr char kNothingMatches[] =
    "nothing matches --where; 'hbbp mix FILE --by KEY' lists what a key of the condition can be";

// If the condition is one KEY=VALUE, the value may contain any characters.
hbbp::pivot MakePivot(const hbbp::analysis& analysis, const PivotRequest& request);
// Returns the condition, with quotes where only they make it readable, so that it can be a part of
// another one. Throws hbbp::error if it cannot be read.
std::string ReadableCondition(const hbbp::analysis& analysis, const std::string& where,
                              const hbbp::taxonomy* taxonomy);
// Does what MakePivot does for a condition alone.
hbbp::ratios MakeRatios(const hbbp::analysis& analysis, const std::string& where,
                        const hbbp::taxonomy* taxonomy);

// Returns how to show the labels of a key. Functions are demangled.
Column::Kind KindOfKey(std::string_view key);
Cell LabelCell(std::string_view key, const hbbp_pivot_label& label);
// Returns the label as one word, for the title of a column.
std::string LabelText(std::string_view key, const hbbp_pivot_label& label);

// Returns "read_bytes" for "read-bytes", like other keys of JSON.
std::string JsonKey(std::string_view name);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PIVOT_VIEW_H_
