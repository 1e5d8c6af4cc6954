#include "events/ibs_level.h"

#include <cstddef>
#include <iterator>

namespace hbbp {
namespace {

// IC_IBS_EXTD_CTL, which came with family 17h, as did the bit for misses of the L2 cache.
constexpr uint32_t kHasL2Misses = 1u << 9;

bool HitL2(const IbsOp& op) {
  return (op.capabilities & kHasL2Misses) != 0 && !op.missed_l2 && !op.is_unknown_beyond_l1;
}

// Of memory that is not cached, only devices are known.
bool IsNotCached(const IbsOp& op) {
  return op.is_uncacheable && op.data_source != IbsDataSource::kOther;
}

}  // namespace

IbsLevel IbsLevelOf(const IbsOp& op) {
  using enum IbsLevel;
  if (!op.is_load) return kNone;
  if (IsNotCached(op)) return kUnknown;
  if (!op.missed_dc) return kL1;
  if (HitL2(op)) return kL2;
  if (op.data_source == IbsDataSource::kNone) {
    if (!op.is_unknown_beyond_l1 && !op.missed_l2) return kL2;
    return op.found_miss_underway ? kMissUnderway : kUnknown;
  }
  // By IbsDataSource, of the local node and another. Family 10h has one source for caches of other
  // cores (2), and the bit of the node; Zen 4 has one for those of other nodes (5).
  constexpr IbsLevel kLevels[][2] = {
      {kUnknown, kUnknown},
      {kLocalL3, kUnknown},
      {kLocalCache, kRemoteCache},
      {kLocalDram, kRemoteDram},
      {kUnknown, kUnknown},
      {kRemoteCache, kRemoteCache},
      {kLongLatencyMemory, kLongLatencyMemory},
      {kLocalOther, kRemoteOther},
      {kExtensionMemory, kExtensionMemory},
      {kUnknown, kUnknown},
      {kUnknown, kUnknown},
      {kUnknown, kUnknown},
      {kPeerMemory, kPeerMemory},
  };
  const auto source = static_cast<size_t>(op.data_source);
  return source < std::size(kLevels) ? kLevels[source][op.is_remote] : kUnknown;
}

IbsNode IbsNodeOf(const IbsOp& op) {
  // The register has what it had before, unless a load missed both caches.
  const bool has_missed = op.is_load && op.missed_dc && !HitL2(op);
  if (!has_missed || IsNotCached(op) || op.data_source == IbsDataSource::kNone)
    return IbsNode::kNone;
  const bool is_remote = op.is_remote || op.data_source == IbsDataSource::kFarCache;
  return is_remote ? IbsNode::kRemote : IbsNode::kLocal;
}

const char* IbsLevelName(IbsLevel level) {
  constexpr const char* kNames[] = {
      "none",         "l1",          "l2",           "local-l3",         "local-cache",
      "remote-cache", "local-dram",  "remote-dram",  "extension-memory", "long-latency-memory",
      "peer-memory",  "local-other", "remote-other", "miss-underway",    "unknown"};
  static_assert(std::size(kNames) == kIbsLevels);
  return kNames[static_cast<uint32_t>(level)];
}

}  // namespace hbbp
