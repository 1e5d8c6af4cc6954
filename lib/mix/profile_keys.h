// Makes the keys that every profile has: who ran, and where.
#ifndef HBBP_LIB_MIX_PROFILE_KEYS_H_
#define HBBP_LIB_MIX_PROFILE_KEYS_H_

#include <memory>
#include <string_view>
#include <vector>

#include "mix/pivot_key.h"
#include "mix/pivot_subject.h"

namespace hbbp {

// Returns process, thread, module, function, block, address, source, slice, loop, file, line,
// inlined.
const std::vector<std::string_view>& ProfileKeyNames();

// Returns null if there is no such key. The subject must outlive the key, and have the data that
// the key needs when values are computed.
std::unique_ptr<PivotKey> MakeProfileKey(std::string_view name, const PivotSubject& subject);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PROFILE_KEYS_H_
