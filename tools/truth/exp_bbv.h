// Reads basic block vectors, as `valgrind --tool=exp-bbv --bb-out-file=A --pc-out-file=B` writes
// them.
//
// A has a line per interval, "T:ID:INSTRUCTIONS :ID:INSTRUCTIONS", and B a line per block,
// "F:ID:ADDRESS:FUNCTION". A reader must consider these properties of valgrind 3.19
// (exp-bbv/bbv_main.c):
// - A block is a superblock: from its address to the first branch, at most 60 instructions. It may
//   begin in the middle of another. With --vex-guest-chase=no, which exp-bbv forces, it has one
//   exit, its end.
// - INSTRUCTIONS is the number of executed instructions in it, not of its entries.
// - A rep-prefixed string instruction ends a superblock. It counts once per execution, whatever
//   its iterations, in the block of the instruction that follows it; two in a row count as one.
// - The last interval, which is not full, is not written. The comments at the end of A contain the
//   number of all instructions.
// - ADDRESS is the lower 32 bits of a run-time address. Modules and load addresses are in neither
//   file: exp_bbv_modules.h finds them.
// - Each further thread has a file A.THREAD.
#ifndef HBBP_TOOLS_TRUTH_EXP_BBV_H_
#define HBBP_TOOLS_TRUTH_EXP_BBV_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hbbp::tools {

struct BbVectors {
  std::map<uint64_t, uint64_t> instructions;  // by block
  uint64_t total = 0;
  std::optional<uint64_t> declared_total;
};

struct BbAddress {
  uint64_t block = 0;
  uint64_t address = 0;
  std::string function;  // empty if valgrind knows none
};

// Errors: kBadFormat, with the number of the line. `name` is for messages.
StatusOr<BbVectors> ParseBbVectors(std::string_view text, const std::string& name);
// Keeps the order of the file.
StatusOr<std::vector<BbAddress>> ParseBbAddresses(std::string_view text, const std::string& name);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_EXP_BBV_H_
