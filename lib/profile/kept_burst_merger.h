// KeptBurstMerger keeps the bursts of the profiles of a sum, those that were added first, in memory
// of a limited size.
#ifndef HBBP_LIB_PROFILE_KEPT_BURST_MERGER_H_
#define HBBP_LIB_PROFILE_KEPT_BURST_MERGER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/kept_bursts.h"
#include "profile/profile_merger.h"

namespace hbbp {

class KeptBurstMerger : public BurstMerger {
 public:
  static constexpr size_t kMaxBytes = 256 << 20;

  explicit KeptBurstMerger(size_t max_bytes = kMaxBytes) : room_(max_bytes) {}

  // Of a recording all bursts are kept or none. Damaged ones are not, and recordings without bursts
  // take no memory.
  void Add(const ProfileData& profile, const MergedIndices& indices) override;
  std::vector<uint8_t> Take() override;

 private:
  void AddTotals(const ProfileData& profile);
  void AddNotKept(uint64_t bursts);

  size_t room_;
  KeptBursts merged_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_KEPT_BURST_MERGER_H_
