// Pivots: instructions that ran, and what follows from them, summed by any keys.
//
//   executions of a block * what one execution adds = what the block adds to a cell
//
// so each block is looked at once: what its instructions add to the cells of the pivot is summed
// first, and then multiplied with how often the block ran, in each thread if that matters.
//
// Of the standard error. Blocks that IP samples counted are independent of each other, but the
// instructions of one of them are not: if it adds a to a cell, it adds (a s)^2 to its variance,
// with s the error of its count. So sums of cells are not enough to know the error of a total, and
// lines and the whole are summed for themselves. Where streams counted, replicates are summed
// (estimate/stream_estimator.h), which know all of that and the correlation of blocks.
//
// Of the error of a share x / T. With V the variance of x, W that of T and C their covariance,
// which is a sum of a b s^2 over blocks that add a to the cell and b to the whole, the share r = x
// / T has the variance (V - 2 r C + r^2 W) / T^2; with replicates that of x_g - r T_g.
#ifndef HBBP_LIB_MIX_PIVOT_H_
#define HBBP_LIB_MIX_PIVOT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mix/pivot_axis.h"
#include "mix/pivot_input.h"
#include "mix/pivot_key.h"

namespace hbbp {

// What is added up.
enum class PivotMeasure : uint8_t {
  kInstructions,
  kExecutions,  // of blocks that have an instruction in the cell
  kBytes,       // of code
  kReadBytes,
  kWrittenBytes,
  kFlops,
};

// Which of them needs to look at instructions.
bool NeedsInstructions(PivotMeasure measure);

// A sum with what its error is known by.
struct PivotSum {
  double value = 0;
  double variance = 0;       // of what IP samples gave
  double covariance = 0;     // with the whole, of the same
  ReplicateSums replicates;  // of what streams gave

  double StandardError() const;
};

// What share of `whole` is `part`, with its error. 0 of nothing.
CountEstimate ShareOf(const PivotSum& part, const PivotSum& whole);

// Which instructions count.
class PivotFilter {
 public:
  virtual ~PivotFilter() = default;
  // Does it ask for more than blocks tell?
  virtual bool NeedsInstructions() const = 0;
  // Can it tell what to keep of code that is missing? None is there if it cannot.
  virtual bool DoesWithoutCode() const = 0;
  // The number, a small one, of the observations that agree in all that the filter asks of them.
  virtual uint32_t ClassOf(const PivotObservation& observation) = 0;
  // Of an instruction, or of a block if instructions are not needed.
  virtual bool Keeps(uint32_t observation_class, const PivotPlace& place) = 0;
};

struct PivotCell {
  uint32_t row = 0;
  uint32_t column = 0;
};

// Sums of all measures that were asked for, at places: lines or cells. Replicates, which are three
// quarters of a PivotSum, take memory only where there are some.
class PivotSums {
 public:
  explicit PivotSums(size_t measures = 0) : measures_(measures) {}

  PivotSum At(size_t place, size_t measure) const;
  double ValueAt(size_t place, size_t measure) const {
    return moments_[Index(place, measure)].value;
  }

  void Resize(size_t places);
  // Makes the place, and all before it, if they are not there.
  void Add(size_t place, size_t measure, double value, double variance, double covariance);
  // `amount` is how often the replicates are added.
  void Add(size_t place, size_t measure, double value, double amount,
           const ReplicateSums& replicates);

 private:
  struct Moments {
    double value = 0;
    double variance = 0;
    double covariance = 0;
  };

  size_t Index(size_t place, size_t measure) const { return place * measures_ + measure; }
  size_t MakeIndex(size_t place, size_t measure) {
    if ((place + 1) * measures_ > moments_.size()) Resize(place + 1);
    return Index(place, measure);
  }

  size_t measures_;
  std::vector<Moments> moments_;
  std::vector<ReplicateSums> replicates_;  // as many as moments, or none
};

struct Pivot {
  PivotSums whole;  // one place
  PivotSums rows;   // by line of the axis
  PivotSums columns;
  // In the order in which they came up. None without keys of columns: rows are all there is then.
  std::vector<PivotCell> cells;
  PivotSums cell_sums;
};

// Precondition: `input` has instructions if an axis, a measure or the filter needs them. `filter`
// may be null. The axes learn the lines that come up.
Pivot MakePivot(const PivotInput& input, const std::vector<PivotMeasure>& measures,
                PivotFilter* filter, PivotAxis* rows, PivotAxis* columns);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PIVOT_H_
