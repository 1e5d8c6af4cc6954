// InferFlow finds counts of blocks and edges that are consistent with each other, from measurements
// that are not.
//
// What flows into a node flows out of it. Of all flows f >= 0 that obey this, it takes the one that
// is nearest to the measurements m, each weighted by its certainty:
//
//   minimise  sum over measurements of (f - m)^2 / v   subject to   A f = 0,  f >= 0
//
// with v = unit * max(f, min(unit, min_expected)) + (relative_error * f)^2 + error^2: `unit` is the
// count of one observation, so that f / unit of them, Poisson distributed, are expected;
// `min_expected` bounds the expectation where a small f would make the measurement too certain; the
// errors are those that do not shrink with the number of observations. The variance is that of the
// expected and not of the measured count, because the latter gives most weight to what was by
// chance observed too rarely (nothing observed: no error at all). Because f is unknown, it
// iterates.
//
// An edge without measurements takes any flow that the others require, and 0 if they require none.
//
// For fixed v, and if the edges with f = 0 are known, f is a linear function of the measurements.
// It is applied to their replicates too (stream_estimator.h): those of the result add up to it, and
// give the standard error of any sum of flows, with all correlations; but only for errors that the
// replicates have, which relative_error and error are not.
//
//   Ground -> a -> ground; a was counted 90 times with unit 1, its entry 110 with unit 1, its exit
//   not at all: all three are 100, roughly (v is the same for both).
//
// docs/internals/flow.md describes the solver, its running time and its accuracy.
#ifndef HBBP_LIB_ESTIMATE_FLOW_INFERENCE_H_
#define HBBP_LIB_ESTIMATE_FLOW_INFERENCE_H_

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "estimate/stream_estimator.h"

namespace hbbp {

// The node outside: the source and sink of all flow through the graph.
inline constexpr uint32_t kGround = 0;

// Larger values and units are refused.
inline constexpr double kMaxFlow = 1e30;

struct FlowEdge {
  uint32_t from = kGround;
  uint32_t to = kGround;
};

// Several measurements of one edge are combined.
struct FlowMeasurement {
  uint32_t edge = 0;
  double value = 0;
  double unit = 1;
  double min_expected = kMaxFlow;
  double relative_error = 0;
  double error = 0;
  ReplicateSums replicates;  // they add up to the value
};

struct FlowProblem {
  uint32_t nodes = 1;  // includes the ground
  std::vector<FlowEdge> edges;
  std::vector<FlowMeasurement> measurements;
};

struct Flow {
  double count = 0;
  ReplicateSums replicates;
};

struct FlowSolution {
  std::vector<Flow> flows;  // by edge
  // The largest violation of conservation at a node, as a fraction of the largest measurement.
  double imbalance = 0;
};

// Returns kInvalidArgument for an edge between nodes, or a measurement of an edge, that does not
// exist; for a value or error that is negative, more than kMaxFlow or not a number; and for a unit
// or min_expected that is not positive. Returns kUnsupported for a large graph that is unlike those
// of programs, and for numbers too far apart.
StatusOr<FlowSolution> InferFlow(const FlowProblem& problem);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_FLOW_INFERENCE_H_
