// AddressTable counts executions by run-time address of the instruction. It is one flat array,
// because a look-up happens twice for every instruction that a program runs.
#ifndef HBBP_TOOLS_COUNT_ADDRESS_TABLE_H_
#define HBBP_TOOLS_COUNT_ADDRESS_TABLE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "truth/instruction_kind.h"

namespace hbbp::tools {

class AddressTable {
 public:
  struct Entry {
    uint64_t address = kNone;
    uint64_t count = 0;
    uint32_t mapping = 0;  // index of the owner's mapping
    InstructionKind kind = InstructionKind::kOrdinary;
    bool may_change = false;  // no file backs the code: `kind` is valid for one execution
  };

  // This is a non-canonical address, which no instruction has.
  static constexpr uint64_t kNone = uint64_t{1} << 63;

  AddressTable() : entries_(kFirstSize) {}

  // Returns null if there is none. The entry is valid until the next Insert or Clear.
  Entry* Find(uint64_t address) {
    Entry& entry = entries_[Slot(address)];
    return entry.address == address ? &entry : nullptr;
  }

  // `address` must not be in the table.
  Entry* Insert(uint64_t address) {
    if (++size_ > entries_.size() / 2) Grow();
    Entry& entry = entries_[Slot(address)];
    entry.address = address;
    return &entry;
  }

  template <typename Function>
  void ForEach(const Function& function) const {
    for (const Entry& entry : entries_) {
      if (entry.address != kNone) function(entry);
    }
  }

  void Clear() {
    entries_.assign(kFirstSize, Entry{});
    size_ = 0;
  }

  size_t size() const { return size_; }

 private:
  static constexpr size_t kFirstSize = size_t{1} << 12;

  size_t Slot(uint64_t address) const {
    const size_t mask = entries_.size() - 1;
    const int shift = 64 - std::countr_zero(entries_.size());
    size_t slot = address * 0x9e3779b97f4a7c15u >> shift;
    while (entries_[slot].address != address && entries_[slot].address != kNone) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  void Grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.address != kNone) entries_[Slot(entry.address)] = entry;
    }
  }

  std::vector<Entry> entries_;  // size is a power of two
  size_t size_ = 0;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COUNT_ADDRESS_TABLE_H_
