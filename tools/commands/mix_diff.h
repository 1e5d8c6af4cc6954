// Two mixes, row by row: what changed, and whether that is more than chance.
#ifndef HBBP_TOOLS_COMMANDS_MIX_DIFF_H_
#define HBBP_TOOLS_COMMANDS_MIX_DIFF_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hbbp::tools {

struct Measured {
  double value = 0;
  double standard_error = 0;
};

struct MixDiffRow {
  std::vector<std::string> labels;
  Measured before;
  Measured after;

  double Change() const { return after.value - before.value; }
  double ChangeError() const;
  // The change by its error: infinite if there is a change and no error.
  double Z() const;
  // How likely a change of this size or more is by chance, if there is none. Nothing is known of a
  // change without an error.
  std::optional<double> P() const;

 private:
  bool IsMoreThanRounding(double difference) const;
};

enum class MixDiffOrder { kChange, kSignificance };

// Rows that only one of them has are 0 in the other. Labels come once on each side: the error of a
// sum is not to be had from those of its parts.
class MixDiff {
 public:
  void AddBefore(std::vector<std::string> labels, Measured measured);
  void AddAfter(std::vector<std::string> labels, Measured measured);

  // Largest first, whatever the sign; equal ones by their labels. By significance, rows whose P()
  // is not known are last.
  std::vector<MixDiffRow> Sorted(MixDiffOrder order) const;

 private:
  MixDiffRow* RowOf(std::vector<std::string> labels);

  std::vector<MixDiffRow> rows_;
  std::map<std::vector<std::string>, size_t> places_;  // in rows_, by labels
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COMMANDS_MIX_DIFF_H_
