#include "annotate/ibs_ops.h"

#include <string_view>

namespace hbbp::tools {

IbsOpsByAddress CollectIbsOps(const hbbp::analysis& analysis) {
  IbsOpsByAddress all;
  for (const hbbp_ibs_sum& sum : analysis.ibs_sums()) {
    const std::string_view event = sum.event;
    uint64_t IbsOps::*const field = event == "op-samples"               ? &IbsOps::samples
                                    : event == "op-loads"               ? &IbsOps::loads
                                    : event == "op-dc-misses"           ? &IbsOps::dc_misses
                                    : event == "op-dc-load-miss-cycles" ? &IbsOps::load_miss_cycles
                                                                        : nullptr;
    if (field != nullptr) all[{sum.module, sum.address}].*field += sum.sum;
  }
  for (const hbbp_ibs_latency& latency : analysis.ibs_latencies()) {
    IbsOps& ops = all[{latency.module, latency.address}];
    ops.loads_by_level += latency.samples;
    // Those that hit have none, whatever level they are of.
    if (latency.first_cycles != 0) ops.load_misses += latency.samples;
  }
  return all;
}

}  // namespace hbbp::tools
