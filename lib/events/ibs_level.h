// IbsLevel is the level of memory that a load of IBS had its data from, IbsNode the node.
#ifndef HBBP_LIB_EVENTS_IBS_LEVEL_H_
#define HBBP_LIB_EVENTS_IBS_LEVEL_H_

#include <cstdint>

#include "events/ibs_sample.h"

namespace hbbp {

// Local is the node of the core, remote another one. The numbers are in profile files.
enum class IbsLevel : uint8_t {
  kNone = 0,  // the op is not a load
  kL1 = 1,
  kL2 = 2,
  kLocalL3 = 3,
  kLocalCache = 4,  // of another core complex
  kRemoteCache = 5,
  kLocalDram = 6,
  kRemoteDram = 7,
  kExtensionMemory = 8,
  kLongLatencyMemory = 9,
  kPeerMemory = 10,
  kLocalOther = 11,
  kRemoteOther = 12,
  kMissUnderway = 13,  // another op was waiting for the line already
  kUnknown = 14,
};
inline constexpr uint32_t kIbsLevels = 15;

// Returns whether IbsOp::dc_miss_cycles is known if the op missed the L1 data cache. It is not of
// stores and software prefetches.
inline bool HasLoadLatency(const IbsOp& op) { return op.is_load && !op.is_software_prefetch; }

// Loads that hit the L1 data cache are of kL1, and those that missed it of what IBS_OP_DATA2 says.
// It says nothing of those that hit the L2 cache. Of memory that is not cached nothing is known,
// unless it is of a device: kUnknown.
IbsLevel IbsLevelOf(const IbsOp& op);

// Returns a name like those of the events of the north bridge: "local-dram".
const char* IbsLevelName(IbsLevel level);

enum class IbsNode : uint8_t { kNone, kLocal, kRemote };

// Is of loads with data from beyond the caches of their core; kNone for all others.
IbsNode IbsNodeOf(const IbsOp& op);

}  // namespace hbbp

#endif  // HBBP_LIB_EVENTS_IBS_LEVEL_H_
