// FirstBursts keeps bursts, the first ones until there is no room, in the form of kept_bursts.h.
//
// A branch takes 16 bytes once, and about 16 in tables; a burst about 12 bytes, and one or two for
// each branch that is not predicted. An access to memory takes two bytes or three if its
// instruction strides, and a value as much if it changes little.
#ifndef HBBP_LIB_COLLECT_FIRST_BURSTS_H_
#define HBBP_LIB_COLLECT_FIRST_BURSTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "base/counted_memory.h"
#include "collect/burst_keeper.h"
#include "collect/kept_detail.h"

namespace hbbp {

class FirstBursts : public BurstKeeper {
 public:
  // Takes at most `max_bytes` of `memory`, from the first burst on, and no more than an eighth of
  // its limit. `memory` must outlive it. `kinds` are recorded of
  // instructions.
  FirstBursts(CountedMemory* memory, uint64_t max_bytes, RecordedKinds kinds = 0);

  void Add(const Head& head, std::span<const TakenBranch> locations) override;
  void Clear() override;
  std::vector<uint8_t> Encode(const ProfileData& data, uint32_t kernel_module,
                              CancelCheck* check) const override;

 private:
  // The bytes of accesses or of values. The constructor of a deque takes memory.
  struct NumberBytes {
    std::optional<std::pmr::deque<uint8_t>> bytes;
    std::pmr::vector<uint64_t> last;  // of NumberPredictor
    uint64_t last_burst = 0;          // that has some: how many bursts were kept with it
  };

  void Append(const Head& head, std::span<const TakenBranch> locations);
  void AppendBranches(std::span<const TakenBranch> locations);
  // Appends the accesses, or the values, of a burst.
  void AppendNumbers(std::span<const RecordedAccess> accesses,
                     std::span<const TakenBranch> locations, bool are_values);
  void PutNumber(uint64_t number);
  uint32_t IndexOf(const TakenBranch& branch);
  void GrowSlots();

  CountedMemory memory_;
  const RecordedKinds recorded_kinds_;
  std::pmr::vector<TakenBranch> branches_;  // each once
  std::pmr::vector<uint32_t> predicted_;    // by branch
  std::pmr::vector<uint32_t> slots_;        // 1 + index of a branch; 0: free; at most half are used
  std::optional<std::pmr::deque<uint8_t>> bytes_;
  NumberBytes accesses_;
  NumberBytes values_;
  uint64_t last_time_ns_ = 0;
  uint64_t kept_ = 0;
  uint64_t not_kept_ = 0;
  bool is_full_ = false;
};

// Has the first bursts kept in at most `bytes`; 0: none.
void KeepBursts(uint64_t bytes, KeptDetail* detail);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_FIRST_BURSTS_H_
