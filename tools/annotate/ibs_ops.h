// IbsOps says what instruction-based sampling (IBS) of AMD knows of the ops of an instruction.
#ifndef HBBP_TOOLS_ANNOTATE_IBS_OPS_H_
#define HBBP_TOOLS_ANNOTATE_IBS_OPS_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <map>
#include <optional>
#include <utility>

namespace hbbp::tools {

struct IbsOps {
  uint64_t samples = 0;
  uint64_t dc_misses = 0;  // of loads and stores
  uint64_t loads = 0;
  uint64_t load_miss_cycles = 0;
  // Of loads whose latencies are known by level of memory:
  uint64_t loads_by_level = 0;
  uint64_t load_misses = 0;  // of the L1 data cache

  // Returns nothing if no load missed, or if latencies of some loads are not known, as in older
  // profiles, and where there was no room for them.
  std::optional<double> MeanMissCycles() const {
    if (load_misses == 0 || loads_by_level != loads) return std::nullopt;
    return static_cast<double>(load_miss_cycles) / static_cast<double>(load_misses);
  }
};

// By module and address. It is empty if no op was sampled.
using IbsOpsByAddress = std::map<std::pair<uint32_t, uint64_t>, IbsOps>;

IbsOpsByAddress CollectIbsOps(const hbbp::analysis& analysis);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_ANNOTATE_IBS_OPS_H_
