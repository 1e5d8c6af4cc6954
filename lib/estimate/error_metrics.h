// Measures how far estimated counts are from reference counts. All errors are fractions: 0.05 is 5
// %.
//
// A worked example. Two blocks; block 1 has 4 instructions (3 add, 1 jne), block 2 has 2 (1 add, 1
// ret). Truth: block 1 ran 100 times, block 2 ran 50 times, so 500 instructions: add 350, jne 100,
// ret 50. The estimate is 90 and 70, so add 340, jne 90, ret 70.
//
//   relative error of add        |350 - 340| / 350                        = 0.0286
//   average weighted error       (10 + 10 + 20) / 500                     = 0.08
//   block accuracy error         (|90 - 100| * 4 + |70 - 50| * 2) / 500   = 0.16
//   overlap over mnemonics       min(.70, .68) + min(.20, .18) + min(.10, .14) = 0.96
//   overlap over blocks          (by instructions) min(.8, .72) + min(.2, .28) = 0.92
//
// If the reference is 0, an error is 0 if the estimate is 0 too, and infinite otherwise.
#ifndef HBBP_LIB_ESTIMATE_ERROR_METRICS_H_
#define HBBP_LIB_ESTIMATE_ERROR_METRICS_H_

#include <cstddef>
#include <span>

namespace hbbp {

// The counts of one mnemonic, or of whatever else is counted.
struct CountPair {
  double reference = 0;
  double estimate = 0;
};

// The counts of one basic block, in executions and not in instructions.
struct BlockCountPair {
  double reference = 0;
  double estimate = 0;
  double instruction_count = 0;  // of the block: its length
  double standard_error = 0;     // of the estimate; 0: it is not known
};

// Returns |ref - est| / ref.
double RelativeError(double reference, double estimate);

// Returns sum |ref - est| / sum ref: the relative errors, each weighted by its share of the
// reference. Over mnemonics this is the metric of Nowak et al., "Hybrid Basic Block Profiling",
// VI.B.
double AverageWeightedError(std::span<const CountPair> counts);

// Returns sum |est - ref| * length / sum ref * length: the share of instructions that were
// attributed to the wrong block ("Base of Trust", 3.3).
double BlockAccuracyError(std::span<const BlockCountPair> blocks);

// How often the 95 % interval of an estimate (count_interval.h) has the reference.
struct IntervalCoverage {
  size_t intervals = 0;  // of blocks with a standard error
  size_t covering = 0;
};
IntervalCoverage CountIntervals(std::span<const BlockCountPair> blocks);

// Returns sum min(ref / sum ref, est / sum est): 1 if both have the same distribution, whatever
// their scale, 0 if they have nothing in common. It is 1 if both are empty, 0 if only one is.
double Overlap(std::span<const CountPair> counts);

// Returns the overlap over blocks, each weighted by executions * length.
double BlockOverlap(std::span<const BlockCountPair> blocks);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_ERROR_METRICS_H_
