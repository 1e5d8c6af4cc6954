// DataKeeper keeps the accesses of IBS samples by the data that they were to, in addition to those
// by cache line. It is an interface, so that libhbbp-collect, which keeps none, carries nothing of
// it.
#ifndef HBBP_LIB_COLLECT_DATA_KEEPER_H_
#define HBBP_LIB_COLLECT_DATA_KEEPER_H_

#include <cstdint>

#include "base/work.h"
#include "collect/locator.h"
#include "events/code_events.h"
#include "events/ibs_sample.h"
#include "events/samples.h"
#include "profile/profile_data.h"

namespace hbbp {

// One thread at a time may use it.
class DataKeeper {
 public:
  virtual ~DataKeeper() = default;

  // Adds a block, or frees memory. Returns false if there is no room; then the memory has no block.
  // Throws std::bad_alloc without memory for it; then the process has no blocks, and they are
  // counted as refused.
  virtual bool AddBlock(const DataEvent& data) = 0;
  // The child has the blocks of the parent.
  virtual void OnFork(const ForkEvent& fork) = 0;
  // The process became another program, or ended.
  virtual void DropBlocks(uint32_t pid) = 0;

  // Adds the access of an op that has a linear address, or counts it if there is no memory.
  virtual void AddAccess(Locator* locator, const IpSample& sample, uint32_t thread,
                         const IbsOp& op) = 0;
  // Says that accesses come in rounds, later than other events of their time; without it, all come
  // in the order of time.
  virtual void BeginRounds() noexcept = 0;
  // Says that all accesses up to `complete_ns` were added. The last that were taken before it may
  // come in the next round.
  virtual void EndRound(uint64_t complete_ns) = 0;

  // Appends a counter for what was dropped of the source.
  virtual void AppendLosses(uint32_t source, Counters* counters) const = 0;
  // Sets ProfileData::ibs_data, and adds to ibs_names. With `check`, throws WorkCancelled if it is
  // cancelled.
  virtual void CopyTo(ProfileData* data, CancelCheck* check) const = 0;

  // Drops everything; takes no memory, and frees what it took.
  virtual void Clear() = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_DATA_KEEPER_H_
