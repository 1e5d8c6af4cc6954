// The flow of control through the functions of a module, from what was observed in their blocks.
//
// A function (or part of one, or window: what BlockMap decodes as one) becomes a graph for
// flow_inference.h: each block is an edge, so is each way to go on, and the ground is all
// that is not the function.
//
//   falls through, jumps, branches     to the block there; to the ground if that is elsewhere
//   indirect jumps                     to where they were seen to go, and to the ground
//   calls, system calls                to the block behind, and now and then to the ground, because
//                                      what is called may exit, throw, longjmp or switch stacks
//   returns, traps                     to the ground
//   entries, and blocks that nothing   from the ground; blocks behind calls, and all blocks of a
//   leads to (landing pads, cases)     function with indirect jumps, now and then too
//
// IP samples measure blocks. Streams measure edges: falling through where they cross two blocks,
// branches where they begin. That they do not measure blocks too is because they would by what
// they measure of the edges into them.
#ifndef HBBP_LIB_ESTIMATE_FLOW_GRAPH_H_
#define HBBP_LIB_ESTIMATE_FLOW_GRAPH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"
#include "blocks/block_map.h"
#include "estimate/block_evidence.h"
#include "estimate/block_record.h"
#include "profile/profile_data.h"
#include "profile/stream_sums.h"

namespace hbbp {

// What is wrong with measurements however many there are, as fractions of counts; one sigma. Not in
// standard errors, but in how much a measurement weighs.
struct FlowErrors {
  double ebs = 0.05;
  // Instructions that samples slip by: of as many times as it or its neighbours ran, divided by its
  // length, a block has too many samples or too few.
  double ebs_skid = 1;
  double streams = 0.02;
  double biased_streams = 0.5;  // next to a suspect branch (branch_bias.h)
  double leak = 0.1;            // of calls, if some come back
};

// Samples of a clock tell where time goes.
FlowErrors FlowErrorsOf(const ProfileData& data);

struct FlowEvidence {
  const ProfileData& data;
  const BlockObservations& observations;  // of the module
  // The address that an offset of data.branches stands for.
  std::function<std::optional<ModuleAddress>(uint64_t offset)> address_of;
  uint32_t module_index = 0;
  // Of data.counts, with period sums on the scale of the result.
  std::span<const Contribution> contributions;
  double streams_scale = 1;  // what the sums of streams have to be multiplied by
};

struct CombinedBlock {
  Block block;
  double count = 0;
  ReplicateSums replicates;
};

// All blocks that ran, by address, and all that were observed: those of functions in which anything
// was observed. `map` is the one that the observations were made with; not null if there are any.
std::vector<CombinedBlock> CombineByFlow(const FlowEvidence& evidence, BlockMap* map,
                                         const FlowErrors& errors);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_FLOW_GRAPH_H_
