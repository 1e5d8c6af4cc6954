// Compares two mixes row by row: what changed, and whether the change is significant.
#ifndef HBBP_TOOLS_COMMANDS_MIX_DIFF_H_
#define HBBP_TOOLS_COMMANDS_MIX_DIFF_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measured.h"

namespace hbbp::tools {

struct MixDiffRow {
  std::vector<std::string> labels;
  Measured before;
  Measured after;

  double Change() const { return after.value - before.value; }
  double ChangeError() const;
  // Returns the change divided by its error: infinite if there is a change and no error.
  double Z() const;
  // Returns the probability of a change of this size or more if there is none in truth. It is
  // unknown for a change without an error.
  std::optional<double> P() const;

 private:
  bool IsMoreThanRounding(double difference) const;
};

enum class MixDiffOrder { kChange, kSignificance };

// Rows that only one of the mixes has are 0 in the other. Add labels once on each side: the error
// of a sum is unavailable from the errors of its parts.
class MixDiff {
 public:
  void AddBefore(std::vector<std::string> labels, Measured measured);
  void AddAfter(std::vector<std::string> labels, Measured measured);

  // Returns the largest change first, whatever its sign; equal ones are sorted by their labels.
  // When sorted by significance, rows without a P() come last.
  std::vector<MixDiffRow> Sorted(MixDiffOrder order) const;

 private:
  MixDiffRow* RowOf(std::vector<std::string> labels);

  std::vector<MixDiffRow> rows_;
  std::map<std::vector<std::string>, size_t> indices_;  // index in rows_, by labels
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COMMANDS_MIX_DIFF_H_
