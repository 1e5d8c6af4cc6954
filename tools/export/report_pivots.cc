#include "report_pivots.h"

#include <hbbp/pivot.h>

#include <memory>

namespace hbbp::tools {
namespace {

using PivotHandle = std::unique_ptr<hbbp_pivot, void (*)(hbbp_pivot*)>;

constexpr const char* kKeys[] = {"mnemonic", "extension",   "category", "packing",
                                 "element",  "vector-bits", "memory"};
constexpr char kUnknown[] = "unknown";

StatusOr<PivotHandle> MakePivot(const hbbp_profile* profile, const std::string& rows) {
  HBBP_INIT(hbbp_error, error);
  HBBP_INIT(hbbp_pivot_query, query);
  query.rows = rows.c_str();
  hbbp_pivot* pivot = nullptr;
  if (hbbp_pivot_create(profile, &query, &pivot, &error) != HBBP_OK) return ToStatus(error);
  return PivotHandle(pivot, hbbp_pivot_destroy);
}

StatusOr<hbbp_pivot_label> LabelAt(const hbbp_pivot* pivot, size_t row, size_t key) {
  HBBP_INIT(hbbp_error, error);
  HBBP_INIT(hbbp_pivot_label, label);
  if (hbbp_pivot_label_at(pivot, HBBP_PIVOT_ROWS, row, key, &label, &error) != HBBP_OK) {
    return ToStatus(error);
  }
  return label;
}

// The taxonomies of the library itself.
StatusOr<std::vector<std::string>> Taxonomies() {
  HBBP_INIT(hbbp_error, error);
  hbbp_taxonomy* made = nullptr;
  if (hbbp_taxonomy_create(nullptr, &made, &error) != HBBP_OK) return ToStatus(error);
  const std::unique_ptr<hbbp_taxonomy, void (*)(hbbp_taxonomy*)> taxonomy(made,
                                                                          hbbp_taxonomy_destroy);
  std::vector<std::string> names;
  for (size_t i = 0; i < hbbp_taxonomy_count(made); ++i) {
    names.emplace_back(hbbp_taxonomy_name_at(made, i));
  }
  return names;
}

}  // namespace

size_t InstructionTuples::Hash::operator()(const ReportTuple& tuple) const {
  uint64_t hash = 0;
  for (const uint32_t value : tuple) hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

StatusOr<InstructionTuples> InstructionTuples::Read(const hbbp_profile* profile, Report* report) {
  InstructionTuples tuples(report);
  HBBP_ASSIGN_OR_RETURN(std::vector<std::string> keys, Taxonomies());
  keys.insert(keys.begin(), std::begin(kKeys), std::end(kKeys));
  std::string rows = "address";
  for (std::string& key : keys) {
    rows += "," + key;
    report->properties.push_back({std::move(key), {}});
  }
  tuples.values_.resize(keys.size());
  HBBP_ASSIGN_OR_RETURN(const PivotHandle pivot, MakePivot(profile, rows));
  std::vector<std::string> values(keys.size());
  for (size_t row = 0; row < hbbp_pivot_line_count(pivot.get(), HBBP_PIVOT_ROWS); ++row) {
    HBBP_ASSIGN_OR_RETURN(const hbbp_pivot_label place, LabelAt(pivot.get(), row, 0));
    for (size_t key = 0; key < keys.size(); ++key) {
      HBBP_ASSIGN_OR_RETURN(const hbbp_pivot_label label, LabelAt(pivot.get(), row, key + 1));
      values[key] = label.text;
    }
    if (place.index == HBBP_NO_INDEX) continue;
    if (tuples.of_instruction_.size() <= place.index) {
      tuples.of_instruction_.resize(place.index + 1);
    }
    tuples.of_instruction_[place.index][place.number] = tuples.Intern(values);
  }
  return tuples;
}

uint32_t InstructionTuples::Intern(const std::vector<std::string>& values) {
  ReportTuple tuple(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    std::vector<std::string>& known = report_->properties[i].values;
    const auto [it, is_new] = values_[i].try_emplace(values[i], known.size());
    if (is_new) known.push_back(values[i]);
    tuple[i] = it->second;
  }
  const auto [it, is_new] = tuples_.try_emplace(tuple, report_->tuples.size());
  if (is_new) report_->tuples.push_back(std::move(tuple));
  return it->second;
}

uint32_t InstructionTuples::Find(uint32_t module, uint64_t address) {
  if (module < of_instruction_.size()) {
    const auto found = of_instruction_[module].find(address);
    if (found != of_instruction_[module].end()) return found->second;
  }
  return Intern(std::vector<std::string>(values_.size(), kUnknown));
}

Status ReadMixes(const hbbp_profile* profile, Report* report) {
  for (const ReportProperty& property : report->properties) {
    HBBP_ASSIGN_OR_RETURN(const PivotHandle pivot, MakePivot(profile, property.key));
    ReportMix& mix = report->mixes.emplace_back();
    mix.key = property.key;
    for (size_t row = 0; row < hbbp_pivot_line_count(pivot.get(), HBBP_PIVOT_ROWS); ++row) {
      HBBP_ASSIGN_OR_RETURN(const hbbp_pivot_label label, LabelAt(pivot.get(), row, 0));
      HBBP_INIT(hbbp_error, error);
      HBBP_INIT(hbbp_pivot_cell, cell);
      if (hbbp_pivot_cell_at(pivot.get(), row, HBBP_PIVOT_ALL, 0, &cell, &error) != HBBP_OK) {
        return ToStatus(error);
      }
      mix.values.emplace_back(label.text);
      mix.errors.push_back(cell.standard_error);
      mix.share_errors.push_back(cell.share_error);
    }
  }
  return Status();
}

Status ReadRatios(const hbbp_profile* profile, Report* report) {
  HBBP_INIT(hbbp_error, error);
  hbbp_ratios* made = nullptr;
  if (hbbp_ratios_create(profile, nullptr, nullptr, &made, &error) != HBBP_OK) {
    return ToStatus(error);
  }
  const std::unique_ptr<hbbp_ratios, void (*)(hbbp_ratios*)> ratios(made, hbbp_ratios_destroy);
  for (size_t i = 0; i < hbbp_ratios_count(made); ++i) {
    HBBP_INIT(hbbp_ratio, ratio);
    if (hbbp_ratios_at(made, i, &ratio, &error) != HBBP_OK) return ToStatus(error);
    if (ratio.is_known) {
      report->ratios.push_back({ratio.group, ratio.name, ratio.value, ratio.unit});
    }
  }
  return Status();
}

}  // namespace hbbp::tools
