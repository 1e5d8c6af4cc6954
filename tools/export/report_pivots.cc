#include "report_pivots.h"

#include <algorithm>
#include <tuple>

namespace hbbp::tools {
namespace {

constexpr const char* kKeys[] = {"mnemonic", "extension",   "category", "packing",
                                 "element",  "vector-bits", "memory"};

// Returns the sum of each row or column.
ReportMix ReadMix(const hbbp::pivot& pivot, hbbp_pivot_axis axis, const std::string& key) {
  ReportMix mix;
  mix.key = key;
  const bool is_of_rows = axis == HBBP_PIVOT_ROWS;
  const size_t lines = is_of_rows ? pivot.rows() : pivot.columns();
  for (size_t line = 0; line < lines; ++line) {
    const hbbp_pivot_cell cell = is_of_rows ? pivot.cell(line) : pivot.cell(HBBP_PIVOT_ALL, line);
    mix.values.emplace_back(pivot.label(axis, line).text);
    mix.errors.push_back(cell.standard_error);
    mix.share_errors.push_back(cell.share_error);
  }
  return mix;
}

}  // namespace

size_t InstructionTuples::TupleHash::operator()(const ReportTuple& tuple) const {
  uint64_t hash = 0;
  for (const uint32_t value : tuple) hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

InstructionTuples InstructionTuples::Read(const hbbp::analysis& analysis, Report* report) {
  InstructionTuples tuples(report);
  PivotRequest request;
  request.rows = {"block", "address"};
  request.values = {"instructions"};
  for (const char* key : kKeys) report->properties.push_back({key, {}});
  for (const std::string& key : hbbp::taxonomy::built_in().names()) {
    report->properties.push_back({key, {}});
  }
  for (const ReportProperty& property : report->properties) request.rows.push_back(property.key);
  tuples.values_.resize(report->properties.size());
  tuples.ReadInstructions(analysis, request);
  return tuples;
}

void InstructionTuples::ReadInstructions(const hbbp::analysis& analysis,
                                         const PivotRequest& request) {
  struct Row {
    uint32_t block;
    Instruction instruction;
  };
  const hbbp::pivot pivot = MakePivot(analysis, request);
  const size_t blocks = analysis.block_count();
  const size_t keys = request.rows.size() - values_.size();
  std::vector<Row> rows;
  rows.reserve(pivot.rows());
  ReportTuple tuple(values_.size());
  for (size_t row = 0; row < pivot.rows(); ++row) {
    const hbbp_pivot_label block = pivot.label(HBBP_PIVOT_ROWS, row, 0);
    const hbbp_pivot_label address = pivot.label(HBBP_PIVOT_ROWS, row, 1);
    if (block.index >= blocks) continue;
    for (size_t i = 0; i < tuple.size(); ++i) {
      tuple[i] = InternValue(i, pivot.label(HBBP_PIVOT_ROWS, row, keys + i).text);
    }
    rows.push_back({block.index, {address.number, Intern(tuple)}});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.block, a.instruction.address) < std::tie(b.block, b.instruction.address);
  });
  instructions_.reserve(rows.size());
  for (const Row& row : rows) {
    first_of_block_.resize(row.block + 1, instructions_.size());
    instructions_.push_back(row.instruction);
  }
  first_of_block_.resize(blocks + 1, instructions_.size());
}

std::span<const InstructionTuples::Instruction> InstructionTuples::Of(uint32_t block) const {
  return std::span(instructions_)
      .subspan(first_of_block_[block], first_of_block_[block + 1] - first_of_block_[block]);
}

uint32_t InstructionTuples::InternValue(size_t property, std::string_view value) {
  Values& indexes = values_[property];
  if (const auto found = indexes.find(value); found != indexes.end()) return found->second;
  std::vector<std::string>& known = report_->properties[property].values;
  known.emplace_back(value);
  return indexes.emplace(value, known.size() - 1).first->second;
}

uint32_t InstructionTuples::Intern(const ReportTuple& tuple) {
  const auto [it, is_new] = tuples_.try_emplace(tuple, report_->tuples.size());
  if (is_new) report_->tuples.push_back(tuple);
  return it->second;
}

uint32_t InstructionTuples::InternAll(std::string_view value) {
  ReportTuple tuple(values_.size());
  for (size_t i = 0; i < tuple.size(); ++i) tuple[i] = InternValue(i, value);
  return Intern(tuple);
}

// Two properties share a pivot, which knows the sums of its rows and of its columns.
void ReadMixes(const hbbp::analysis& analysis, Report* report) {
  const std::vector<ReportProperty>& properties = report->properties;
  for (size_t i = 0; i < properties.size(); i += 2) {
    PivotRequest request;
    request.rows = {properties[i].key};
    request.values = {"instructions"};
    const bool is_pair = i + 1 < properties.size();
    if (is_pair) request.columns = {properties[i + 1].key};
    const hbbp::pivot pivot = MakePivot(analysis, request);
    report->mixes.push_back(ReadMix(pivot, HBBP_PIVOT_ROWS, properties[i].key));
    if (is_pair) {
      report->mixes.push_back(ReadMix(pivot, HBBP_PIVOT_COLUMNS, properties[i + 1].key));
    }
  }
}

void ReadRatios(const hbbp::analysis& analysis, Report* report) {
  const hbbp::ratios ratios = analysis.ratios_of();
  for (const hbbp_ratio& ratio : ratios.list()) {
    if (ratio.is_known == 0) continue;
    report->ratios.push_back(
        {ratio.group, ratio.name, ratio.value, ratio.unit, ratio.standard_error});
  }
}

}  // namespace hbbp::tools
