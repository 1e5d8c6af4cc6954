// Pivots of the C ABI, as the sub-commands look at them.
#ifndef HBBP_TOOLS_PIVOT_VIEW_H_
#define HBBP_TOOLS_PIVOT_VIEW_H_

#include <hbbp/hbbp.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "profile_view.h"
#include "table.h"

namespace hbbp::tools {

using PivotHandle = std::unique_ptr<hbbp_pivot, HandleDeleter<hbbp_pivot_destroy>>;
using TaxonomyHandle = std::unique_ptr<hbbp_taxonomy, HandleDeleter<hbbp_taxonomy_destroy>>;

struct PivotRequest {
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<std::string> values;
  std::string where;
  std::string sort;  // empty: by the first value
  uint64_t top = 0;  // 0: all
  const hbbp_taxonomy* taxonomy = nullptr;
};

// "a,b" and "c": {"a", "b", "c"}, without spaces around names.
std::vector<std::string> SplitLists(const std::vector<std::string>& lists);

// Addresses mean something in their module only: rows of them have one.
void AddModuleOfAddresses(std::vector<std::string>* keys);

// nullptr, for the groups of the library, if there is no path.
StatusOr<TaxonomyHandle> LoadGroups(const std::string& path);

// A condition that is one of KEY=VALUE may have any characters in its value.
StatusOr<PivotHandle> MakePivot(const hbbp_profile* profile, const PivotRequest& request);
// The same for a condition alone.
StatusOr<std::vector<hbbp_ratio>> Ratios(const hbbp_profile* profile, const std::string& where,
                                         const hbbp_taxonomy* taxonomy);

// Of lines, keys and values that there are.
hbbp_pivot_label LabelAt(const hbbp_pivot* pivot, hbbp_pivot_axis axis, size_t line, size_t key);
hbbp_pivot_cell CellAt(const hbbp_pivot* pivot, size_t row, size_t column, size_t value);

// How the labels of a key are shown. Functions are demangled.
Column::Kind KindOfKey(std::string_view key);
Cell LabelCell(std::string_view key, const hbbp_pivot_label& label);
// As one word, for the title of a column.
std::string LabelText(std::string_view key, const hbbp_pivot_label& label);

// "read_bytes" for "read-bytes", as keys of JSON are.
std::string JsonKey(std::string_view name);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PIVOT_VIEW_H_
