// Adds up the IP samples of a profile by instruction.
#ifndef HBBP_LIB_ANALYSIS_IP_SUMS_H_
#define HBBP_LIB_ANALYSIS_IP_SUMS_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/function_records.h"
#include "base/address.h"
#include "profile/profile_data.h"

namespace hbbp {

// How many samples of one source count for one instruction, by all threads.
struct IpSumRecord {
  uint32_t module = 0;
  uint32_t function = kNoIndex;
  ModuleAddress address = kNoAddress;  // a run-time address in the kernel and in generated code
  uint32_t source = 0;
  uint64_t samples = 0;

  auto Key() const { return std::tie(module, address, source); }
  void Add(const IpSumRecord& more) { samples += more.samples; }
};

// Returns the sums by module, address and source. `data` is the profile that `analysis` is of, with
// all of its sources.
std::vector<IpSumRecord> ListIpSums(const ProfileData& data, const Analysis& analysis);

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_IP_SUMS_H_
