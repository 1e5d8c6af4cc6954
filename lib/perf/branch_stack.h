// BranchStack has the taken branches of a sample, as hardware and the kernel have left them.
#ifndef HBBP_LIB_PERF_BRANCH_STACK_H_
#define HBBP_LIB_PERF_BRANCH_STACK_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "perf/byte_order.h"
#include "perf/u64_view.h"

namespace hbbp {

struct BranchEntry {
  uint64_t from = 0;
  uint64_t to = 0;
  bool mispredicted = false;
  bool predicted = false;  // neither: not known
  bool in_transaction = false;
  bool aborted = false;     // a transaction
  uint16_t cycles = 0;      // since the branch before; 0: not known
  uint8_t type = 0;         // PERF_BR_*
  uint8_t speculation = 0;  // PERF_BR_SPEC_*
  uint8_t new_type = 0;     // PERF_BR_NEW_*, if type is PERF_BR_EXTEND_ABI
  uint8_t privilege = 0;    // PERF_BR_PRIV_*
};

// It is a view into a record.
class BranchStack {
 public:
  static constexpr size_t kEntryBytes = 24;
  static constexpr uint64_t kNoHardwareIndex = ~uint64_t{0};

  BranchStack() = default;
  // `entries` is a multiple of kEntryBytes.
  BranchStack(std::span<const uint8_t> entries, uint64_t hardware_index, U64View counters,
              ByteOrder order)
      : entries_(entries), hardware_index_(hardware_index), counters_(counters), order_(order) {}

  size_t size() const { return entries_.size() / kEntryBytes; }
  bool empty() const { return entries_.empty(); }

  // Entry 0 is the newest branch. Precondition: index < size().
  BranchEntry operator[](size_t index) const {
    const uint8_t* bytes = entries_.data() + kEntryBytes * index;
    const uint64_t flags = LoadNative<uint64_t>(bytes + 16, order_);
    const auto field = [&](unsigned first, unsigned width) {
      return BitField(flags, first, width, order_);
    };
    BranchEntry entry;
    entry.from = LoadNative<uint64_t>(bytes, order_);
    entry.to = LoadNative<uint64_t>(bytes + 8, order_);
    entry.mispredicted = field(0, 1) != 0;
    entry.predicted = field(1, 1) != 0;
    entry.in_transaction = field(2, 1) != 0;
    entry.aborted = field(3, 1) != 0;
    entry.cycles = static_cast<uint16_t>(field(4, 16));
    entry.type = static_cast<uint8_t>(field(20, 4));
    entry.speculation = static_cast<uint8_t>(field(24, 2));
    entry.new_type = static_cast<uint8_t>(field(26, 4));
    entry.privilege = static_cast<uint8_t>(field(30, 3));
    return entry;
  }

  // Returns where entry 0 stood in the ring of the hardware.
  uint64_t hardware_index() const { return hardware_index_; }
  // Returns the occurrences of other events since the branch before, one word an entry, or nothing.
  const U64View& counters() const { return counters_; }

 private:
  std::span<const uint8_t> entries_;
  uint64_t hardware_index_ = kNoHardwareIndex;
  U64View counters_;
  ByteOrder order_ = ByteOrder::kNative;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_BRANCH_STACK_H_
