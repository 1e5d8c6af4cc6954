// KeptDetail says what a profile keeps in addition to the counts of the whole run.
#ifndef HBBP_LIB_COLLECT_KEPT_DETAIL_H_
#define HBBP_LIB_COLLECT_KEPT_DETAIL_H_

#include <cstdint>
#include <memory>

#include "base/counted_memory.h"
#include "base/recorded_access.h"
#include "collect/burst_keeper.h"
#include "collect/data_keeper.h"
#include "perf/memory_nodes.h"

namespace hbbp {

struct KeptDetail {
  uint64_t slice_ns = 0;  // width of the slices of time that counts are kept by; 0: no slices
  RecordedKinds kept_kinds = 0;  // that whole bursts have
  // Bytes for whole bursts, and what keeps them: KeepBursts (first_bursts.h) sets both.
  uint64_t kept_burst_bytes = 0;
  std::unique_ptr<BurstKeeper> (*new_burst_keeper)(CountedMemory*, const KeptDetail&) = nullptr;
  // What keeps accesses of IBS samples by data: KeepData (data_attribution.h) sets it.
  std::unique_ptr<DataKeeper> (*new_data_keeper)(CountedMemory*) = nullptr;
  // Says which node memory is of: NodesOfThisMachine. NULL: nodes are not kept.
  const MemoryNodes* (*memory_nodes)() = nullptr;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_KEPT_DETAIL_H_
