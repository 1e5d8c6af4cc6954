// The keys that a profile itself has: who ran, and where.
#ifndef HBBP_LIB_MIX_PROFILE_KEYS_H_
#define HBBP_LIB_MIX_PROFILE_KEYS_H_

#include <memory>
#include <string_view>
#include <vector>

#include "analysis/resolved_profile.h"
#include "mix/pivot_key.h"

namespace hbbp {

// process, thread, module, function, block, address, source, slice, loop, file, line, inlined.
const std::vector<std::string_view>& ProfileKeyNames();

// nullptr: no such key. The profile must outlive the key.
std::unique_ptr<PivotKey> MakeProfileKey(std::string_view name, const ResolvedProfile& profile);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PROFILE_KEYS_H_
