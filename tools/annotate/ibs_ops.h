// IbsOps says what instruction-based sampling (IBS) of AMD knows of the ops of an instruction.
#ifndef HBBP_TOOLS_ANNOTATE_IBS_OPS_H_
#define HBBP_TOOLS_ANNOTATE_IBS_OPS_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <map>
#include <utility>

namespace hbbp::tools {

struct IbsOps {
  uint64_t samples = 0;
  uint64_t dc_misses = 0;    // of loads and stores
  uint64_t load_misses = 0;  // of the L1 data cache
  uint64_t load_miss_cycles = 0;

  // There must be load misses.
  double MeanMissCycles() const {
    return static_cast<double>(load_miss_cycles) / static_cast<double>(load_misses);
  }
};

// By module and address. It is empty if no op was sampled.
using IbsOpsByAddress = std::map<std::pair<uint32_t, uint64_t>, IbsOps>;

IbsOpsByAddress CollectIbsOps(const hbbp::analysis& analysis);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_ANNOTATE_IBS_OPS_H_
