// Events of IBS that listings show unless others are asked for, as far as they occurred.
#ifndef HBBP_TOOLS_IBS_EVENTS_H_
#define HBBP_TOOLS_IBS_EVENTS_H_

#include <array>

namespace hbbp::tools {

inline constexpr std::array kCommonIbsEvents = {
    "op-samples",        "op-tag-to-retire-cycles",  "op-loads",       "op-dc-misses",
    "op-l2-misses",      "op-dc-load-miss-cycles",   "op-dtlb-misses", "op-nb-remote",
    "op-taken-branches", "op-mispredicted-branches", "fetch-samples",  "fetch-ic-misses",
    "fetch-itlb-misses", "fetch-latency-cycles",
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_IBS_EVENTS_H_
