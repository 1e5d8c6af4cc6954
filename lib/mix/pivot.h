// Computes pivots: executed instructions, and amounts that follow from them, summed by any keys.
//
//   executions of a block * what one execution adds = what the block adds to a cell
//
// Each block is examined once: the amounts of its instructions are summed for each cell of the
// pivot first, and then multiplied by the executions of the block, for each thread if threads
// matter.
//
// The standard error: blocks that IP samples counted are independent of each other, but the
// instructions of one block are not: if it adds a to a cell, it adds (a s)^2 to its variance, with
// s the error of its count. The error of a total does not follow from the cells, so rows, columns
// and the whole are summed separately. Where streams counted, replicates are summed
// (estimate/stream_estimator.h), which include all of that and the correlation of blocks.
//
// The error of a share x / T: with V the variance of x, W that of T and C their covariance, which
// is a sum of a b s^2 over blocks that add a to the cell and b to the whole, the share r = x / T
// has the variance (V - 2 r C + r^2 W) / T^2; with replicates that of x_g - r T_g.
#ifndef HBBP_LIB_MIX_PIVOT_H_
#define HBBP_LIB_MIX_PIVOT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mix/pivot_axis.h"
#include "mix/pivot_input.h"
#include "mix/pivot_key.h"

namespace hbbp {

// The amounts that a pivot can sum.
enum class PivotMeasure : uint8_t {
  kInstructions,
  kExecutions,  // of blocks with an instruction in the cell
  kBytes,       // of code
  kReadBytes,
  kWrittenBytes,
  kFlops,
};

// Returns whether the measure depends on single instructions.
bool NeedsInstructions(PivotMeasure measure);

// A sum with the moments and replicates from which its error follows.
struct PivotSum {
  double value = 0;
  double variance = 0;       // from IP samples
  double covariance = 0;     // with the whole, from IP samples
  ReplicateSums replicates;  // from streams

  double StandardError() const;
};

// Returns the share of `part` in `whole`, with its error; 0 if the whole is 0.
CountEstimate ComputeShare(const PivotSum& part, const PivotSum& whole);

// A PivotFilter decides which instructions count.
class PivotFilter {
 public:
  virtual ~PivotFilter() = default;
  // Returns whether it depends on single instructions.
  virtual bool NeedsInstructions() const = 0;
  // Returns whether it can decide about code that is missing, all of which is dropped otherwise.
  virtual bool DoesWithoutCode() const = 0;
  // Returns a small number that is the same for all observations with the same values in all keys
  // of the filter.
  virtual uint32_t ClassOf(const PivotObservation& observation) = 0;
  // Decides about an instruction, or about a block if instructions are not needed.
  virtual bool Keeps(uint32_t observation_class, const PivotContext& context) = 0;
};

struct PivotCell {
  uint32_t row = 0;
  uint32_t column = 0;
};

// PivotSums holds the sums of all requested measures, by index of a line or a cell. Replicates,
// which are three quarters of a PivotSum, are allocated only if there are some.
class PivotSums {
 public:
  explicit PivotSums(size_t measures = 0) : measures_(measures) {}

  PivotSum At(size_t index, size_t measure) const;
  double ValueAt(size_t index, size_t measure) const {
    return moments_[Slot(index, measure)].value;
  }

  void Resize(size_t size);
  // Adds to the sum, and creates it and all before it if needed.
  void Add(size_t index, size_t measure, double value, double variance, double covariance);
  // Adds the replicates `amount` times.
  void Add(size_t index, size_t measure, double value, double amount,
           const ReplicateSums& replicates);

 private:
  struct Moments {
    double value = 0;
    double variance = 0;
    double covariance = 0;
  };

  size_t Slot(size_t index, size_t measure) const { return index * measures_ + measure; }
  size_t MakeSlot(size_t index, size_t measure) {
    if ((index + 1) * measures_ > moments_.size()) Resize(index + 1);
    return Slot(index, measure);
  }

  size_t measures_;
  std::vector<Moments> moments_;
  std::vector<ReplicateSums> replicates_;  // as many as moments, or none
};

struct Pivot {
  PivotSums whole;  // at index 0
  PivotSums rows;   // by line of the axis
  PivotSums columns;
  // Cells are in order of appearance. Without column keys there are none: rows have all sums then.
  std::vector<PivotCell> cells;
  PivotSums cell_sums;
};

// `input` must have instructions if an axis, a measure or the filter needs them. `filter` may be
// null. Lines are added to the axes. Work is in observations; throws WorkCancelled.
Pivot MakePivot(const PivotInput& input, const std::vector<PivotMeasure>& measures,
                PivotFilter* filter, PivotAxis* rows, PivotAxis* columns, const Work& work = {});

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PIVOT_H_
