// Infers the flow of control through the functions of a module, from what was observed in their
// blocks.
//
// A function (or part of one, or window: what BlockMap decodes as one) becomes a graph for
// flow_inference.h: each block is an edge, so is each way to continue, and the ground is everything
// outside of the function.
//
//   falls through, jumps, branches     to the block there; to the ground if that is elsewhere
//   indirect jumps                     to observed targets, and to the ground
//   calls, system calls                to the next block, and sometimes to the ground, because the
//                                      callee may exit, throw, longjmp or switch stacks
//   returns, traps                     to the ground
//   entries, and blocks that nothing   from the ground; blocks after calls, and all blocks of a
//   leads to (landing pads, cases)     function with indirect jumps, sometimes too
//
// IP samples measure blocks. Streams measure edges: falling through where they cross two blocks,
// branches where they begin. They do not measure blocks too, because that would count the same
// observations again.
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

// Errors of measurements that do not shrink with their number, as fractions of counts; one sigma.
// They are not in standard errors, but reduce the weight of a measurement.
struct FlowErrors {
  double ebs = 0.05;
  // The instructions that samples skid over: a block has this many samples too many or too few,
  // times the executions of it or of its neighbours, divided by its length.
  double ebs_skid = 1;
  double streams = 0.02;
  double biased_streams = 0.5;  // next to a suspect branch (branch_bias.h)
  double leak = 0.1;            // of calls, if some return
};

// Returns the errors for the sources of `data`: samples of a clock measure time.
FlowErrors FlowErrorsOf(const ProfileData& data);

struct FlowEvidence {
  const ProfileData& data;
  const BlockObservations& observations;  // of the module
  // Returns the address for an offset of data.branches.
  std::function<std::optional<ModuleAddress>(uint64_t offset)> address_of;
  uint32_t module_index = 0;
  // The contributions for data.counts, with period sums on the scale of the result.
  std::span<const Contribution> contributions;
  double streams_scale = 1;  // factor for the sums of streams
};

struct CombinedBlock {
  Block block;
  double count = 0;
  ReplicateSums replicates;
};

// Returns, by address, all blocks that ran or were observed, of functions in which anything was
// observed. `map` must be that of the observations, and may be null if there are none.
std::vector<CombinedBlock> CombineByFlow(const FlowEvidence& evidence, BlockMap* map,
                                         const FlowErrors& errors);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_FLOW_GRAPH_H_
