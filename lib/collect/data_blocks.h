// DataBlocks knows the blocks of memory that processes reported by name, and when they were there.
//
// Memory is bounded: beyond either limit, what was freed or replaced before the samples that are
// still to come is dropped first. A block that then finds no room is refused, and so that no other
// block has its samples, its memory is as if it was freed. Without memory even for that, all blocks
// of the process are dropped.
#ifndef HBBP_LIB_COLLECT_DATA_BLOCKS_H_
#define HBBP_LIB_COLLECT_DATA_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counted_memory.h"
#include "collect/address_space.h"
#include "events/code_events.h"

namespace hbbp {

class DataBlocks {
 public:
  struct Limits {
    // Layers of address spaces; a block has one or more, and those of freed memory may be as many.
    size_t pieces = size_t{1} << 16;
    size_t names = size_t{1} << 14;
  };

  // `memory` must outlive it.
  DataBlocks(CountedMemory* memory, const Limits& limits) : limits_(limits), charge_(memory) {}
  explicit DataBlocks(CountedMemory* memory) : DataBlocks(memory, Limits()) {}

  // Returns false, and counts the block, if there is no room for it. Without memory for it, drops
  // and counts all of the process, and throws std::bad_alloc.
  bool Add(const DataEvent& data);
  void Share(uint32_t parent_pid, uint32_t pid);
  void Drop(uint32_t pid);
  // Retired blocks are still found, where no newer one is. The second call of DropRetired drops
  // them, or the first with UINT64_MAX.
  void Retire(uint32_t pid);
  void DropRetired(uint64_t complete_ns);

  // Returns the number of the name of the block at an address.
  std::optional<uint32_t> Find(uint32_t pid, RuntimeAddress address, uint64_t time_ns) const;
  const std::string& name(uint32_t number) const { return *names_[number]; }

  // Says that what is found from here on is later than `time_ns`; UINT64_MAX is ignored.
  void SetSettled(uint64_t time_ns) {
    if (time_ns != UINT64_MAX) settled_ns_ = time_ns;
  }

  // Returns how many blocks were refused.
  uint64_t refused() const { return refused_; }

 private:
  struct Space {
    AddressSpace addresses;  // its modules are numbers of names, or kNoModule
    size_t pieces = 0;
  };
  using SharedSpace = std::shared_ptr<Space>;      // by a process and its children
  using Spaces = std::map<uint32_t, SharedSpace>;  // by pid
  struct Range {
    RuntimeAddress start;
    RuntimeAddress end;
  };

  bool AddWithMemory(const DataEvent& data);
  size_t MaxAdded(const DataEvent& data, const Range& range) const;
  std::optional<uint32_t> NumberOf(std::string_view name);
  Space& SpaceToChange(uint32_t pid);
  void DropFrom(uint32_t pid, Spaces* spaces);
  void DropAndCount(uint32_t pid);
  void DropReplaced(size_t more);
  void ChargePieces(size_t more);
  uint64_t BytesWith(size_t more) const;

  const Limits limits_;
  MemoryCharge charge_;
  Spaces spaces_;
  Spaces retired_, retired_before_;  // since the last DropRetired, and before it
  std::map<std::string, uint32_t, std::less<>> numbers_;
  std::vector<const std::string*> names_;  // the keys of numbers_
  uint64_t name_bytes_ = 0;
  size_t pieces_ = 0;  // of all spaces
  uint64_t settled_ns_ = 0;
  uint64_t refused_ = 0;
  // Until then, or the other, no replaced pieces are searched for.
  size_t adds_until_search_ = 0;
  uint64_t next_search_ns_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_DATA_BLOCKS_H_
