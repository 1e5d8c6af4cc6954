#include "report_slices.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "format.h"
#include "pivot_view.h"
#include "report_pivots.h"

namespace hbbp::tools {
namespace {

using Row = std::vector<double>;  // by slice

class Slicer {
 public:
  Slicer(const hbbp_profile* profile, Report* report)
      : profile_(profile), report_(report), out_(&report->slices) {}

  Status ReadWidths() {
    HBBP_ASSIGN_OR_RETURN(const auto slices, Slices(profile_));
    out_->count = slices.size();
    out_->joined = (slices.size() + kReportSlices - 1) / kReportSlices;
    out_->width_ns = (slices.front().end_ns - slices.front().start_ns) * out_->joined;
    out_->samples.resize((slices.size() + out_->joined - 1) / out_->joined);
    out_->instructions.resize(out_->samples.size());
    for (size_t i = 0; i < slices.size(); ++i) out_->samples[i / out_->joined] += slices[i].samples;
    return OkStatus();
  }

  // All properties by one pivot, of which a row is a kind of instruction.
  Status ReadProperties() {
    std::vector<std::string> keys;
    for (const ReportProperty& property : report_->properties) keys.push_back(property.key);
    HBBP_ASSIGN_OR_RETURN(const PivotHandle pivot, PivotBy(keys, 0));
    const PivotReader reader(pivot.get());
    const std::vector<uint32_t> slices = SlicesOf(pivot.get(), reader);
    AddCells(reader, HBBP_PIVOT_ALL, slices, &out_->instructions);
    for (size_t i = 0; i < slices.size(); ++i) {
      if (slices[i] == kNotListed) out_->without_time += reader.CellAt(HBBP_PIVOT_ALL, i, 0).value;
    }
    std::vector<std::map<std::string, Row>> sums(keys.size());
    for (size_t row = 0; row < hbbp_pivot_line_count(pivot.get(), HBBP_PIVOT_ROWS); ++row) {
      Row cells(out_->instructions.size());
      AddCells(reader, row, slices, &cells);
      for (size_t key = 0; key < keys.size(); ++key) {
        Row& sum = sums[key][reader.LabelAt(HBBP_PIVOT_ROWS, row, key).text];
        sum.resize(cells.size());
        std::transform(cells.begin(), cells.end(), sum.begin(), sum.begin(), std::plus<>());
      }
    }
    HBBP_RETURN_IF_ERROR(reader.status());
    for (size_t key = 0; key < keys.size(); ++key) {
      std::vector<std::pair<std::string, Row>> values(sums[key].begin(), sums[key].end());
      AddTimeline(keys[key], std::move(values));
    }
    return OkStatus();
  }

  Status ReadKey(const char* key, const std::vector<std::string>& names) {
    HBBP_ASSIGN_OR_RETURN(const PivotHandle pivot, PivotBy({key}, kTimelineValues));
    const PivotReader reader(pivot.get());
    const std::vector<uint32_t> slices = SlicesOf(pivot.get(), reader);
    ReportTimeline& timeline = out_->timelines.emplace_back();
    timeline.key = key;
    for (size_t row = 0; row < hbbp_pivot_line_count(pivot.get(), HBBP_PIVOT_ROWS); ++row) {
      const uint32_t index = reader.LabelAt(HBBP_PIVOT_ROWS, row, 0).index;
      timeline.values.push_back(index < names.size() ? names[index] : "unknown");
      Row& sums = timeline.instructions.emplace_back(out_->instructions.size());
      AddCells(reader, row, slices, &sums);
    }
    timeline.other_values =
        hbbp_pivot_line_count_in_all(pivot.get(), HBBP_PIVOT_ROWS) - timeline.values.size();
    return reader.status();
  }

 private:
  StatusOr<PivotHandle> PivotBy(std::vector<std::string> keys, uint64_t top) {
    PivotRequest request;
    request.rows = std::move(keys);
    request.columns = {"slice"};
    request.values = {"instructions"};
    request.top = top;
    return MakePivot(profile_, request);
  }

  // Index in the report, or kNotListed where the time is not known, of each column.
  std::vector<uint32_t> SlicesOf(const hbbp_pivot* pivot, const PivotReader& reader) const {
    std::vector<uint32_t> slices;
    for (size_t i = 0; i < hbbp_pivot_line_count(pivot, HBBP_PIVOT_COLUMNS); ++i) {
      const uint32_t index = reader.LabelAt(HBBP_PIVOT_COLUMNS, i, 0).index;
      slices.push_back(index < out_->count ? static_cast<uint32_t>(index / out_->joined)
                                           : kNotListed);
    }
    return slices;
  }

  void AddCells(const PivotReader& reader, size_t row, const std::vector<uint32_t>& slices,
                Row* sums) const {
    for (size_t i = 0; i < slices.size(); ++i) {
      if (slices[i] != kNotListed) (*sums)[slices[i]] += reader.CellAt(row, i, 0).value;
    }
  }

  void AddTimeline(const std::string& key, std::vector<std::pair<std::string, Row>> values) {
    const auto total = [](const Row& row) { return std::accumulate(row.begin(), row.end(), 0.0); };
    std::stable_sort(values.begin(), values.end(), [&](const auto& a, const auto& b) {
      return total(a.second) > total(b.second);
    });
    ReportTimeline& timeline = out_->timelines.emplace_back();
    timeline.key = key;
    timeline.other_values = values.size() - std::min(values.size(), kTimelineValues);
    values.resize(values.size() - timeline.other_values);
    for (auto& [value, row] : values) {
      timeline.values.push_back(value);
      timeline.instructions.push_back(std::move(row));
    }
  }

  const hbbp_profile* const profile_;
  Report* const report_;
  ReportSlices* const out_;
};

// Names in the order of the profile's lists, all of them different.
StatusOr<std::vector<std::string>> ModuleNames(const hbbp_profile* profile) {
  HBBP_ASSIGN_OR_RETURN(const auto modules, Modules(profile));
  ShortNames short_names;
  for (const hbbp_module& module : modules) short_names.Add(module.path);
  std::vector<std::string> names;
  for (const hbbp_module& module : modules) names.push_back(short_names.Of(module.path));
  return names;
}

StatusOr<std::vector<std::string>> FunctionNames(const hbbp_profile* profile,
                                                 const std::vector<std::string>& modules) {
  HBBP_ASSIGN_OR_RETURN(const auto functions, Functions(profile));
  std::vector<std::string> names;
  std::map<std::string, size_t> times;
  for (const hbbp_function& function : functions) {
    names.push_back(Demangle(function.name));
    ++times[names.back()];
  }
  for (size_t i = 0; i < functions.size(); ++i) {
    if (times[names[i]] < 2) continue;
    names[i] += " (" + modules[functions[i].module] + ' ' + FormatAddress(functions[i].start) + ')';
  }
  return names;
}

StatusOr<std::vector<std::string>> ThreadNames(const hbbp_profile* profile) {
  HBBP_ASSIGN_OR_RETURN(const auto threads, Threads(profile));
  std::vector<std::string> names;
  for (const hbbp_thread& thread : threads) {
    names.push_back(std::to_string(thread.tid) + ' ' + thread.name);
  }
  return names;
}

}  // namespace

Status ReadSlices(const hbbp_profile* profile, Report* report) {
  if (hbbp_profile_slice_count(profile) == 0) return OkStatus();
  HBBP_ASSIGN_OR_RETURN(const auto modules, ModuleNames(profile));
  HBBP_ASSIGN_OR_RETURN(const auto functions, FunctionNames(profile, modules));
  HBBP_ASSIGN_OR_RETURN(const auto threads, ThreadNames(profile));
  Slicer slicer(profile, report);
  HBBP_RETURN_IF_ERROR(slicer.ReadWidths());
  HBBP_RETURN_IF_ERROR(slicer.ReadProperties());
  HBBP_RETURN_IF_ERROR(slicer.ReadKey("function", functions));
  HBBP_RETURN_IF_ERROR(slicer.ReadKey("module", modules));
  return threads.size() > 1 ? slicer.ReadKey("thread", threads) : OkStatus();
}

}  // namespace hbbp::tools
