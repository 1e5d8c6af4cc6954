// Adds up the IBS samples of a profile by instruction.
#ifndef HBBP_LIB_ANALYSIS_IBS_SUMS_H_
#define HBBP_LIB_ANALYSIS_IBS_SUMS_H_

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "analysis/function_records.h"
#include "analysis/resolved_modules.h"
#include "analysis/taken_branches.h"
#include "base/address.h"

namespace hbbp {

// The sum of IBS samples of one instruction by one event, by all threads and sources.
struct IbsSumRecord {
  uint32_t module = 0;
  uint32_t function = kNoIndex;
  ModuleAddress address = kNoAddress;  // a run-time address in the kernel and in generated code
  uint32_t event = 0;                  // index of ProfileData::ibs_names
  uint64_t sum = 0;

  auto Key() const { return std::tie(module, address, event); }
  void Add(const IbsSumRecord& more) { sum += more.sum; }
};

// How many loads of one instruction had their data from one level of memory with a latency in a
// bucket (profile/ibs_buckets.h), by all threads and sources.
struct IbsLatencyRecord {
  uint32_t module = 0;
  uint32_t function = kNoIndex;
  ModuleAddress address = kNoAddress;  // like that of a sum
  uint32_t level = 0;                  // an IbsLevel
  uint32_t bucket = 0;
  uint64_t samples = 0;

  auto Key() const { return std::tie(module, address, level, bucket); }
  void Add(const IbsLatencyRecord& more) { samples += more.samples; }
};

// Returns the sums by module, address and event.
std::vector<IbsSumRecord> ListIbsSums(const ResolvedModules& modules,
                                      std::span<const FunctionRecord> functions);

// Returns the latencies by module, address, level and bucket.
std::vector<IbsLatencyRecord> ListIbsLatencies(const ResolvedModules& modules,
                                               std::span<const FunctionRecord> functions);

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_IBS_SUMS_H_
