// ReuseDistances computes how many different lines were accessed between two accesses to a line:
// the stack distance of Mattson et al. A cache of more lines than that still has the line, if it is
// fully associative and evicts the least recently used one.
//
// As Olken does, it counts the lines by the time of their last access. The times are slots of a
// Fenwick tree, which are assigned anew when they are used up, so that an access costs the
// logarithm of the number of lines, and the memory goes by that number.
#ifndef HBBP_LIB_PROBES_REUSE_DISTANCES_H_
#define HBBP_LIB_PROBES_REUSE_DISTANCES_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace hbbp {

class ReuseDistances {
 public:
  static constexpr uint64_t kFirst = ~uint64_t{0};  // it is larger than all others

  // Returns the number of other lines that were accessed since the last access to this one, or
  // kFirst.
  uint64_t Access(uint64_t line);

  size_t lines() const { return last_slots_.size(); }

 private:
  void Add(size_t slot, int32_t difference);
  // Returns how many lines were accessed last in a slot up to this one.
  uint64_t CountUpTo(size_t slot) const;
  void AssignSlots();

  std::unordered_map<uint64_t, size_t> last_slots_;  // by line
  std::vector<int32_t> tree_;                        // by slot, from 1 on
  size_t next_slot_ = 1;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_REUSE_DISTANCES_H_
