// Reads block counts of Intel SDE, as `sde64 -mix -omix FILE -top_blocks 1000000 -- CMD` writes
// them.
//
// The format is known from public material, not from SDE itself: Pin's tool mix-mt.cpp (whose "#
// Mix output version 2" SDE's continues) and scripts that read SDE's files. docs/guide/truth.md
// names them. These parts are read:
// - the table of images between "# EMIT_IMAGE_ADDRESSES" and "# END_IMAGE_ADDRESSES", a line of
//   path, lowest and highest address each, hexadecimal;
// - sections from "# EMIT_TOP_BLOCK_STATS FOR TID n" to "# END_TOP_BLOCK_STATS", with lines
//   "BLOCK: i PC: hex ICOUNT: n EXECUTIONS: n #BYTES: n ..." and below each, a line
//   "XDIS address: ..." for each instruction;
// - "*total" of the dynamic counts by thread, which show what share of it the blocks are.
// Everything else is ignored. Blocks are Pin's: they may overlap, and the iterations of a
// rep-prefixed instruction after the first are blocks of their own.
#ifndef HBBP_TOOLS_TRUTH_SDE_MIX_H_
#define HBBP_TOOLS_TRUTH_SDE_MIX_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hbbp::tools {

struct MixImage {
  std::string path;
  uint64_t low = 0;
  uint64_t high = 0;  // inclusive
};

struct MixBlock {
  uint64_t line = 0;  // number in the file
  uint64_t address = 0;
  uint64_t executions = 0;
  uint64_t instruction_count = 0;
  uint64_t bytes = 0;
  std::vector<uint64_t> instructions;  // addresses; empty if the file has no disassembly
};

struct Mix {
  std::vector<MixImage> images;  // by address, without overlaps
  std::vector<MixBlock> blocks;  // of all threads
  uint64_t block_instructions = 0;
  uint64_t total_instructions = 0;  // sum of the dynamic counts; 0 if there are none
  uint32_t threads = 0;
};

// Errors: kBadFormat, with the number of the line. `name` is for messages.
StatusOr<Mix> ParseSdeMix(std::string_view text, const std::string& name);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_SDE_MIX_H_
