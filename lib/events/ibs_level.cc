#include "events/ibs_level.h"

#include <cstddef>
#include <iterator>

namespace hbbp {

IbsLevel IbsLevelOf(const IbsOp& op) {
  using enum IbsLevel;
  if (!op.is_load) return kNone;
  if (!op.missed_dc) return kL1;
  if (op.data_source == IbsDataSource::kNone) {
    if (!op.missed_l2) return kL2;
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
  // The register is valid only for loads that missed.
  const bool is_from_beyond = op.is_load && op.missed_dc && op.data_source != IbsDataSource::kNone;
  if (!is_from_beyond) return IbsNode::kNone;
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
