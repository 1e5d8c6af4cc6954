// InferFlow: counts of blocks and edges that agree with each other, from measurements that do not.
//
// What flows into a node flows out of it. Of all flows f >= 0 that obey this, the one is taken that
// is nearest to the measurements m, each weighing as it is sure:
//
//   minimise  sum over measurements of (f - m)^2 / v   subject to   A f = 0,  f >= 0
//
// with v = unit * max(f, min(unit, least)) + (relative_error * f)^2 + error^2: `unit` is what one
// observation counts, so that f / unit of them, Poisson distributed, are expected; `least` is what
// is expected where f alone would be sure of too little; the errors are what is wrong however many
// observations there are. The variance is that of the expected and not of the measured count,
// because the latter trusts most what was by chance observed too rarely (nothing observed: no error
// at all). As f is not known, some rounds find it.
//
// An edge that nothing measured takes any flow that the others ask for, and 0 if none does.
//
// For fixed v, and with the edges known where f = 0, f is a linear function of the measurements. It
// is applied to their replicates too (stream_estimator.h): those of the result add up to it, and
// tell the standard error of any sum of flows, with all correlations, as long as each replicate is
// measured, that is without the errors that
// are told.
//
//   Ground -> a -> ground; a was counted 90 times with unit 1, its entry 110 with unit 1, its exit
//   not at all: all three are 100, roughly (v is the same for both).
//
// docs/internals/flow.md says how it is solved, how long that takes and what it is good for.
#ifndef HBBP_LIB_ESTIMATE_FLOW_INFERENCE_H_
#define HBBP_LIB_ESTIMATE_FLOW_INFERENCE_H_

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "estimate/stream_estimator.h"

namespace hbbp {

// Where flow comes from and goes to that no other node accounts for.
inline constexpr uint32_t kGround = 0;

// Values and units of more than this are absurd.
inline constexpr double kMaxFlow = 1e30;

struct FlowEdge {
  uint32_t from = kGround;
  uint32_t to = kGround;
};

// Several of one edge are combined.
struct FlowMeasurement {
  uint32_t edge = 0;
  double value = 0;
  double unit = 1;
  double least = kMaxFlow;
  double relative_error = 0;
  double error = 0;
  ReplicateSums replicates;  // they add up to the value
};

struct FlowProblem {
  uint32_t nodes = 1;  // with the ground
  std::vector<FlowEdge> edges;
  std::vector<FlowMeasurement> measurements;
};

struct Flow {
  double count = 0;
  ReplicateSums replicates;
};

struct FlowSolution {
  std::vector<Flow> flows;  // of the edges
  // Of the largest measurement: how much the worst node fails to conserve.
  double imbalance = 0;
};

// kInvalidArgument: an edge between nodes, or a measurement of an edge, that does not exist; a
// value or error that is negative, more than kMaxFlow or no number; a unit or least that is not
// positive.
// kUnsupported: a large graph that is not like those of programs; numbers too far apart.
StatusOr<FlowSolution> InferFlow(const FlowProblem& problem);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_FLOW_INFERENCE_H_
