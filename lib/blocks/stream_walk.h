// WalkStream finds the blocks of a stream: the code from the target of a taken branch to the next
// taken branch.
#ifndef HBBP_LIB_BLOCKS_STREAM_WALK_H_
#define HBBP_LIB_BLOCKS_STREAM_WALK_H_

#include <cstdint>
#include <vector>

#include "base/address.h"
#include "blocks/block_map.h"
#include "image/module_code.h"

namespace hbbp {

enum class StreamFault : uint8_t {
  kNone,
  kNoCode,        // there is no code at its start
  kUndecodable,   // code at its start, at its end or in between cannot be decoded
  kBackwards,     // it ends before it starts
  kPassesBranch,  // it passes a jump, call, return or trap, which never falls through
  kNotABranch,    // it ends with an instruction that cannot branch
  kTooLong,       // it passes thousands of blocks
};

// Adds to the map what the stream proves: a branch arrived at `start`, and another one is at `end`.
// Call it for all streams before any is walked, because it may move the bounds of blocks.
void AddStreamEvidence(const ModuleCode& code, ModuleAddress start, ModuleAddress end,
                       BlockMap* map);

// Appends the blocks from `start` to the one that the branch at `end` closes, or returns why no
// static path explains the stream; the content of `blocks` is then unspecified.
StreamFault WalkStream(const ModuleCode& code, ModuleAddress start, ModuleAddress end,
                       BlockMap* map, std::vector<Block>* blocks);

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_STREAM_WALK_H_
