// Labels blocks with the family of sources that is closer to exact counts. It is pure arithmetic
// over data that the caller collects.
//
// Both families are scaled so that they give a module as many instructions as the truth does: a
// tree learns which of them is better at the ratios of blocks within a module. A module that only
// one family observed is ignored, since there is no choice in it.
#ifndef HBBP_TOOLS_TRAIN_LABELS_H_
#define HBBP_TOOLS_TRAIN_LABELS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compare.h"
#include "table.h"

namespace hbbp::tools {

// A block of a profile, with the counts of each family.
struct ObservedBlock {
  std::string function;
  double instruction_count = 0;
  double ebs = 0;
  double streams = 0;
  std::vector<double> features;
};

struct ObservedModule {
  std::string path;
  std::map<uint64_t, ObservedBlock> blocks;  // by start address
};

struct LabelledBlock {
  std::string module;
  std::string function;
  uint64_t address = 0;
  double truth = 0;  // executions, like the next two
  double ebs = 0;
  double streams = 0;
  double weight = 0;  // executed instructions
  bool is_streams = false;
  std::vector<double> features;
};

// Returns the labels of one module, by address. A block that only the truth contains has no
// features but those of `feature_names` that follow from its code: "length" and "bytes". The result
// is empty if a family did not observe the module, or the module never ran.
std::vector<LabelledBlock> LabelModule(const ModuleCounts& truth, const ObservedModule& observed,
                                       const Code& code,
                                       const std::vector<std::string>& feature_names);

// Returns the columns of the CSV file of labels, and the blocks of one program as its rows.
Table LabelTable(const std::vector<std::string>& feature_names);
void AddLabels(const std::string& program, const std::vector<LabelledBlock>& blocks, Table* table);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRAIN_LABELS_H_
