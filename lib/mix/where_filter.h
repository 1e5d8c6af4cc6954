// The filter of a query: an expression over its keys (isa/property_expression.h).
#ifndef HBBP_LIB_MIX_WHERE_FILTER_H_
#define HBBP_LIB_MIX_WHERE_FILTER_H_

#include <memory>
#include <string_view>

#include "base/status.h"
#include "mix/pivot.h"
#include "mix/query_keys.h"

namespace hbbp {

// A value may be called by its label or by an alias. Keys of `keys` are found as they are needed.
// kInvalidArgument: the text cannot be read; the message says where and what is near.
StatusOr<std::unique_ptr<PivotFilter>> ParseWhere(std::string_view text, QueryKeys* keys);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_WHERE_FILTER_H_
