// Chooses the event that counts blocks, for each family of sources.
//
// The sources of a recording may sample several events, and a period of one is not a period of
// another: two sources of a program that ran once, one of instructions and one of cycles, are two
// observations of the same executions. They are never added. What samples the same event does add
// up: the parts of a merged profile, and the sources of one event that observed different code
// ("cycles:u" and "cycles:k") or different cores ("cpu_core/cycles/" and "cpu_atom/cycles/").
#ifndef HBBP_LIB_ESTIMATE_EVENT_CHOICE_H_
#define HBBP_LIB_ESTIMATE_EVENT_CHOICE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "profile/profile_data.h"

namespace hbbp {

// Returns, by source, whether its samples count. Sources without samples do, since they add
// nothing. `event` is a name as perf spells it, with or without modifiers; empty means for each
// family the event whose counts are nearest to executions. Returns kNotFound if no source of
// `event` has samples.
StatusOr<std::vector<bool>> ChooseEvents(std::span<const SourceRecord> sources,
                                         std::span<const uint64_t> samples_of_source,
                                         const std::string& event);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_EVENT_CHOICE_H_
