// TakenBranch: one branch that a program took, from the signal handler that saw it to the table
// that counts it.
#ifndef HBBP_LIB_BASE_TAKEN_BRANCH_H_
#define HBBP_LIB_BASE_TAKEN_BRANCH_H_

#include <cstdint>

namespace hbbp {

// Run-time addresses; in the tables of an Aggregator locations (collect/code_location.h).
struct TakenBranch {
  uint64_t from;  // of the branch instruction
  uint64_t to;

  bool operator==(const TakenBranch&) const = default;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_TAKEN_BRANCH_H_
