// Labelled blocks: which family of sources is closer to exact counts. Pure arithmetic over what the
// caller collects.
//
// Both families are scaled so that they give a module as many instructions as the truth does:
// what is learned is which of them tells the blocks of a module apart. A module that one family
// observed alone is left out, since nothing chooses there.
#ifndef HBBP_TOOLS_TRAIN_LABELS_H_
#define HBBP_TOOLS_TRAIN_LABELS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compare.h"
#include "table.h"

namespace hbbp::tools {

// A block of a profile, as counted by each family.
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
  double truth = 0;  // executions, as the next two
  double ebs = 0;
  double streams = 0;
  double weight = 0;  // executed instructions
  bool is_streams = false;
  std::vector<double> features;
};

// The labels of one module, by address. A block that the truth alone knows has no features but
// those of `feature_names` that its code tells: "length" and "bytes". Empty if a family did not
// observe the module, or it never ran.
std::vector<LabelledBlock> LabelModule(const ModuleCounts& truth, const ObservedModule& observed,
                                       const Code& code,
                                       const std::vector<std::string>& feature_names);

// The columns of the CSV file of labels, and the blocks of one program as its rows.
Table LabelTable(const std::vector<std::string>& feature_names);
void AddLabels(const std::string& program, const std::vector<LabelledBlock>& blocks, Table* table);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRAIN_LABELS_H_
