// An entry of a BranchTable as ProfileData has it.
#ifndef HBBP_LIB_COLLECT_BRANCH_COUNT_OF_H_
#define HBBP_LIB_COLLECT_BRANCH_COUNT_OF_H_

#include <cstdint>

#include "collect/branch_table.h"
#include "profile/profile_data.h"

namespace hbbp {

// A module and an offset in it; kNoModule and an address by itself.
struct CodeLocation {
  uint32_t module;
  uint64_t offset;
};

// `locate` says of an address of the table where it is.
template <typename Locate>
BranchCount BranchCountOf(const BranchTable::Entry& entry, uint32_t source, Locate&& locate) {
  const CodeLocation from = locate(entry.from);
  const CodeLocation to = locate(entry.to);
  BranchCount branch;
  branch.source = source;
  branch.thread = entry.thread;
  branch.from_module = from.module;
  branch.from = from.offset;
  branch.to_module = to.module;
  branch.to = to.offset;
  if (entry.end == BranchTable::kCutEnd) {
    branch.stream_end = kStreamCut;
  } else if (entry.end != BranchTable::kNoEnd) {
    const CodeLocation end = locate(entry.end);
    // No branch is in the last bytes of the address space, which are marks here.
    const bool has_end = end.module == to.module && end.offset < kStreamCut;
    branch.stream_end = has_end ? end.offset : kStreamLeavesModule;
  }
  branch.number = entry.number;
  branch.weights = entry.weights;
  branch.replicates = entry.replicates;
  branch.oldest = entry.oldest;
  branch.oldest_expected = entry.oldest_expected;
  return branch;
}

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_BRANCH_COUNT_OF_H_
