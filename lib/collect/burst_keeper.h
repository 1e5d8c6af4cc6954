// BurstKeeper keeps whole bursts for a profile, in addition to the counts of their branches. It is
// an interface, so that libhbbp-collect, which keeps none, carries nothing of it.
#ifndef HBBP_LIB_COLLECT_BURST_KEEPER_H_
#define HBBP_LIB_COLLECT_BURST_KEEPER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/recorded_access.h"
#include "base/taken_branch.h"
#include "base/work.h"
#include "profile/profile_data.h"

namespace hbbp {

// One thread at a time may use it.
class BurstKeeper {
 public:
  // What is kept of a burst in addition to its branches.
  struct Head {
    uint32_t source = 0;
    uint32_t thread = 0;
    uint64_t time_ns = 0;
    double weight = 0;  // StreamWeight, times how often it was seen
    std::span<const RecordedAccess> accesses = {};
  };

  virtual ~BurstKeeper() = default;

  // Keeps a burst, or counts it if there is no room. `locations` are those of code_location.h, and
  // at least one.
  virtual void Add(const Head& head, std::span<const TakenBranch> locations) = 0;

  // Drops all bursts; takes no memory, and frees what they took.
  virtual void Clear() = 0;

  // Returns ProfileData::kept_bursts for a profile that has all sources and threads. With `check`,
  // throws WorkCancelled if it is cancelled.
  virtual std::vector<uint8_t> Encode(const ProfileData& data, uint32_t kernel_module,
                                      CancelCheck* check) const = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_BURST_KEEPER_H_
