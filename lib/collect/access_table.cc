#include "collect/access_table.h"

#include "events/ibs_level.h"

namespace hbbp {

IbsAccesses MakeAccesses(const IbsOp& op, IbsAccesses range) {
  range.loads = op.is_load;
  range.stores = op.is_store;
  range.misses = op.missed_dc;
  if (HasLoadLatency(op) && op.missed_dc) range.miss_cycles = op.dc_miss_cycles;
  const IbsNode node = IbsNodeOf(op);
  range.local = node == IbsNode::kLocal;
  range.remote = node == IbsNode::kRemote;
  return range;
}

}  // namespace hbbp
