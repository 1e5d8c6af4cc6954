// The blocks of a stream: code from the target of a taken branch to the next taken branch.
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
  kNoCode,        // no code at its start
  kUndecodable,   // code at its start, at its end or in between is no instruction
  kBackwards,     // it ends before it starts
  kPassesBranch,  // it passes a jump, call, return or trap, which leave nothing to fall through
  kNotABranch,    // it ends with an instruction that cannot branch
  kTooLong,       // it passes thousands of blocks
};

// Tells the map what the stream proves: a branch arrived at `start`, another one is at `end`. To
// be done for all streams before any is walked, because it may move the bounds of blocks.
void AddStreamEvidence(const ModuleCode& code, ModuleAddress start, ModuleAddress end,
                       BlockMap* map);

// Appends the blocks from `start` to the one that the branch at `end` closes, or says why no static
// path explains that; then what is in `blocks` means nothing.
StreamFault WalkStream(const ModuleCode& code, ModuleAddress start, ModuleAddress end,
                       BlockMap* map, std::vector<Block>* blocks);

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_STREAM_WALK_H_
