#include "train/labels.h"

#include <cmath>
#include <optional>
#include <utility>

namespace hbbp::tools {
namespace {

struct Scales {
  double ebs = 0;
  double streams = 0;
};

Scales FindScales(const ModuleCounts& truth, const ObservedModule& observed) {
  double executed = 0;
  for (const auto& [start, block] : truth.blocks) {
    executed += block.reference * block.instruction_count;
  }
  double ebs = 0;
  double streams = 0;
  for (const auto& [start, block] : observed.blocks) {
    ebs += block.ebs * block.instruction_count;
    streams += block.streams * block.instruction_count;
  }
  Scales scales;
  if (ebs > 0) scales.ebs = executed / ebs;
  if (streams > 0) scales.streams = executed / streams;
  return scales;
}

// Computes the features of a block that no source observed.
std::vector<double> FeaturesOfCode(uint64_t start, double length, const Code& code,
                                   const std::vector<std::string>& names) {
  const std::optional<Code::Block> block = code.FindBlock(start);
  std::vector<double> features(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "length") features[i] = length;
    if (names[i] == "bytes" && block) features[i] = static_cast<double>(block->end - start);
  }
  return features;
}

LabelledBlock Label(uint64_t start, double length, double truth, double ebs, double streams) {
  LabelledBlock result;
  result.address = start;
  result.truth = truth;
  result.ebs = ebs;
  result.streams = streams;
  result.weight = truth * length;
  result.is_streams = std::abs(streams - truth) <= std::abs(ebs - truth);
  return result;
}

}  // namespace

std::vector<LabelledBlock> LabelModule(const ModuleCounts& truth, const ObservedModule& observed,
                                       const Code& code,
                                       const std::vector<std::string>& feature_names) {
  const Scales scales = FindScales(truth, observed);
  if (scales.ebs == 0 || scales.streams == 0) return {};
  std::map<uint64_t, LabelledBlock> labels;
  for (const auto& [start, block] : observed.blocks) {
    const auto exact = truth.blocks.find(start);
    const double executions = exact == truth.blocks.end() ? 0 : exact->second.reference;
    LabelledBlock& label = labels[start] =
        Label(start, block.instruction_count, executions, scales.ebs * block.ebs,
              scales.streams * block.streams);
    label.function = block.function;
    label.features = block.features;
  }
  for (const auto& [start, block] : truth.blocks) {
    if (block.reference == 0 || labels.contains(start)) continue;
    LabelledBlock& label = labels[start] =
        Label(start, block.instruction_count, block.reference, 0, 0);
    label.features = FeaturesOfCode(start, block.instruction_count, code, feature_names);
  }
  std::vector<LabelledBlock> result;
  for (auto& [start, label] : labels) {
    label.module = observed.path;
    result.push_back(std::move(label));
  }
  return result;
}

Table LabelTable(const std::vector<std::string>& feature_names) {
  std::vector<Column> columns = {{"program", "program"},
                                 {"module", "module", Column::kPath},
                                 {"function", "function"},
                                 {"address", "address", Column::kAddress},
                                 {"truth", "truth", Column::kCount},
                                 {"ebs", "ebs", Column::kCount},
                                 {"streams", "streams", Column::kCount},
                                 {"weight", "weight", Column::kCount},
                                 {"label", "label"}};
  for (const std::string& name : feature_names) columns.push_back({name, name, Column::kCount});
  return Table(std::move(columns));
}

void AddLabels(const std::string& program, const std::vector<LabelledBlock>& blocks, Table* table) {
  for (const LabelledBlock& block : blocks) {
    std::vector<Cell> row = {program,       block.module, block.function,
                             block.address, block.truth,  block.ebs,
                             block.streams, block.weight, block.is_streams ? "streams" : "ebs"};
    row.insert(row.end(), block.features.begin(), block.features.end());
    table->AddRow(std::move(row));
  }
}

}  // namespace hbbp::tools
