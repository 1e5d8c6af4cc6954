// Parses the filter of a query, an expression over its keys (isa/property_expression.h).
#ifndef HBBP_LIB_MIX_WHERE_FILTER_H_
#define HBBP_LIB_MIX_WHERE_FILTER_H_

#include <memory>
#include <string_view>

#include "base/status.h"
#include "mix/pivot.h"
#include "mix/query_keys.h"

namespace hbbp {

// A filter may refer to a value by its label or by an alias. Keys of `keys` are found on demand.
// Returns kInvalidArgument if the text cannot be parsed, with the position and the nearest name.
StatusOr<std::unique_ptr<PivotFilter>> ParseWhere(std::string_view text, QueryKeys* keys);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_WHERE_FILTER_H_
