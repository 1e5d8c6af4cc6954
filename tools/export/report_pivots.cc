#include "report_pivots.h"

#include <algorithm>
#include <tuple>

namespace hbbp::tools {
namespace {

constexpr const char* kKeys[] = {"mnemonic", "extension",   "category", "packing",
                                 "element",  "vector-bits", "memory"};

// The taxonomies of the library itself.
StatusOr<std::vector<std::string>> Taxonomies() {
  HBBP_INIT(hbbp_error, error);
  hbbp_taxonomy* made = nullptr;
  if (hbbp_taxonomy_create(nullptr, &made, &error) != HBBP_OK) return ToStatus(error);
  const TaxonomyHandle taxonomy(made);
  std::vector<std::string> names;
  for (size_t i = 0; i < hbbp_taxonomy_count(made); ++i) {
    names.emplace_back(hbbp_taxonomy_name_at(made, i));
  }
  return names;
}

// The sum of each line of an axis.
ReportMix MixOf(const hbbp_pivot* pivot, const PivotReader& reader, hbbp_pivot_axis axis,
                const std::string& key) {
  ReportMix mix;
  mix.key = key;
  for (size_t line = 0; line < hbbp_pivot_line_count(pivot, axis); ++line) {
    const hbbp_pivot_cell cell = axis == HBBP_PIVOT_ROWS ? reader.CellAt(line, HBBP_PIVOT_ALL, 0)
                                                         : reader.CellAt(HBBP_PIVOT_ALL, line, 0);
    mix.values.emplace_back(reader.LabelAt(axis, line, 0).text);
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

StatusOr<InstructionTuples> InstructionTuples::Read(const hbbp_profile* profile, Report* report) {
  InstructionTuples tuples(report);
  HBBP_ASSIGN_OR_RETURN(const std::vector<std::string> taxonomies, Taxonomies());
  PivotRequest request;
  request.rows = {"block", "address"};
  request.values = {"instructions"};
  for (const char* key : kKeys) report->properties.push_back({key, {}});
  for (const std::string& key : taxonomies) report->properties.push_back({key, {}});
  for (const ReportProperty& property : report->properties) request.rows.push_back(property.key);
  tuples.values_.resize(report->properties.size());
  HBBP_RETURN_IF_ERROR(tuples.ReadInstructions(profile, request));
  return tuples;
}

Status InstructionTuples::ReadInstructions(const hbbp_profile* profile,
                                           const PivotRequest& request) {
  struct Row {
    uint32_t block;
    Instruction instruction;
  };
  HBBP_ASSIGN_OR_RETURN(const PivotHandle pivot, MakePivot(profile, request));
  const PivotReader reader(pivot.get());
  const size_t blocks = hbbp_profile_block_count(profile);
  const size_t keys = request.rows.size() - values_.size();
  std::vector<Row> rows;
  rows.reserve(hbbp_pivot_line_count(pivot.get(), HBBP_PIVOT_ROWS));
  ReportTuple tuple(values_.size());
  for (size_t row = 0; row < rows.capacity(); ++row) {
    const hbbp_pivot_label block = reader.LabelAt(HBBP_PIVOT_ROWS, row, 0);
    const hbbp_pivot_label address = reader.LabelAt(HBBP_PIVOT_ROWS, row, 1);
    if (block.index >= blocks) continue;
    for (size_t i = 0; i < tuple.size(); ++i) {
      tuple[i] = InternValue(i, reader.LabelAt(HBBP_PIVOT_ROWS, row, keys + i).text);
    }
    rows.push_back({block.index, {address.number, Intern(tuple)}});
  }
  HBBP_RETURN_IF_ERROR(reader.status());
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.block, a.instruction.address) < std::tie(b.block, b.instruction.address);
  });
  instructions_.reserve(rows.size());
  for (const Row& row : rows) {
    first_of_block_.resize(row.block + 1, instructions_.size());
    instructions_.push_back(row.instruction);
  }
  first_of_block_.resize(blocks + 1, instructions_.size());
  return OkStatus();
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

// Two at a time: a pivot knows the sums of its rows and of its columns.
Status ReadMixes(const hbbp_profile* profile, Report* report) {
  const std::vector<ReportProperty>& properties = report->properties;
  for (size_t i = 0; i < properties.size(); i += 2) {
    PivotRequest request;
    request.rows = {properties[i].key};
    request.values = {"instructions"};
    const bool is_pair = i + 1 < properties.size();
    if (is_pair) request.columns = {properties[i + 1].key};
    HBBP_ASSIGN_OR_RETURN(const PivotHandle pivot, MakePivot(profile, request));
    const PivotReader reader(pivot.get());
    report->mixes.push_back(MixOf(pivot.get(), reader, HBBP_PIVOT_ROWS, properties[i].key));
    if (is_pair) {
      report->mixes.push_back(
          MixOf(pivot.get(), reader, HBBP_PIVOT_COLUMNS, properties[i + 1].key));
    }
    HBBP_RETURN_IF_ERROR(reader.status());
  }
  return OkStatus();
}

Status ReadRatios(const hbbp_profile* profile, Report* report) {
  HBBP_ASSIGN_OR_RETURN(const std::vector<hbbp_ratio> ratios, Ratios(profile, "", nullptr));
  for (const hbbp_ratio& ratio : ratios) {
    if (ratio.is_known == 0) continue;
    report->ratios.push_back({ratio.group, ratio.name, ratio.value, ratio.unit});
  }
  return OkStatus();
}

}  // namespace hbbp::tools
