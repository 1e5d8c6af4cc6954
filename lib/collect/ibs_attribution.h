// IbsAttribution adds up the events of IBS samples by instruction, their latencies, those of loads
// by instruction and level of memory too, and the cache lines that they accessed.
//
// Memory is bounded for any recording. Sums and latencies that come when their tables are full are
// dropped; of the cache lines, the least sampled half is dropped each time that there are twice as
// many as the limit. AppendLosses reports how many samples that concerned.
#ifndef HBBP_LIB_COLLECT_IBS_ATTRIBUTION_H_
#define HBBP_LIB_COLLECT_IBS_ATTRIBUTION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/work.h"
#include "collect/access_table.h"
#include "collect/code_location.h"
#include "events/ibs_level.h"
#include "events/ibs_sample.h"
#include "events/samples.h"
#include "perf/memory_nodes.h"
#include "profile/profile_data.h"

namespace hbbp {

class IbsAttribution {
 public:
  struct Limits {
    size_t sums = size_t{1} << 21;
    size_t buckets = size_t{1} << 20;
    size_t lines = size_t{1} << 16;  // there may be up to twice as many between two drops
  };

  IbsAttribution() : IbsAttribution(Limits()) {}
  explicit IbsAttribution(const Limits& limits) : limits_(limits), lines_(limits.lines) {}

  // `nodes` must outlive it, and may be filled later on; NULL: the nodes of lines are not known.
  void SetMemoryNodes(const MemoryNodes* nodes) { nodes_ = nodes; }

  void Add(uint32_t source, const SampleLocation& location, const IbsOp& op);
  void Add(uint32_t source, const SampleLocation& location, const IbsFetch& fetch);

  // Returns the approximate size with one more sample.
  uint64_t BytesWithOneMore() const;
  // Counts a sample that is dropped for want of memory.
  void Drop(uint32_t source);

  // Appends a counter for each kind of data of the source that was dropped.
  void AppendLosses(uint32_t source, Counters* counters) const;

  // Copies the data of all sources. With `check`, throws WorkCancelled if it is cancelled.
  void CopyTo(ProfileData* data, CancelCheck* check = nullptr) const;

 private:
  struct Losses {
    uint64_t sums = 0;
    uint64_t latencies = 0;
    uint64_t accesses = 0;
  };

  // The source, thread and module, the name, level and bucket in one number, and the offset.
  using SumKey = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint64_t>;
  using Sums = std::unordered_map<SumKey, uint64_t, TupleHash>;

  uint32_t NameIndex(const char* name);
  bool AddTo(Sums* sums, size_t limit, uint32_t source, const SampleLocation& location,
             const char* name, uint32_t level_and_bucket, uint64_t value);
  template <typename Sample>
  void AddSums(uint32_t source, const SampleLocation& location, const Sample& sample);
  void AddLatency(uint32_t source, const SampleLocation& location, const char* name, IbsLevel level,
                  uint16_t cycles);
  void AddAccess(uint32_t source, uint32_t thread, const IbsOp& op);

  const Limits limits_;
  const MemoryNodes* nodes_ = nullptr;
  std::vector<const char*> names_;  // a few literals, each once
  Sums sums_;
  Sums buckets_;
  AccessTable<NothingCoarser> lines_;
  std::map<uint32_t, Losses> losses_;  // by source
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_IBS_ATTRIBUTION_H_
