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
  Slicer(const hbbp::analysis& analysis, Report* report)
      : analysis_(analysis), report_(report), out_(&report->slices) {}

  void ReadWidths(const std::vector<hbbp_slice>& slices) {
    out_->count = slices.size();
    out_->joined = (slices.size() + kReportSlices - 1) / kReportSlices;
    out_->width_ns = (slices.front().end_ns - slices.front().start_ns) * out_->joined;
    out_->samples.resize((slices.size() + out_->joined - 1) / out_->joined);
    out_->instructions.resize(out_->samples.size());
    for (size_t i = 0; i < slices.size(); ++i) out_->samples[i / out_->joined] += slices[i].samples;
  }

  // Reads all properties by one pivot, in which a row is a kind of instruction.
  void ReadProperties() {
    std::vector<std::string> keys;
    for (const ReportProperty& property : report_->properties) keys.push_back(property.key);
    const hbbp::pivot pivot = PivotBy(keys, 0);
    const std::vector<uint32_t> slices = SlicesOf(pivot);
    AddCells(pivot, HBBP_PIVOT_ALL, slices, &out_->instructions);
    for (size_t i = 0; i < slices.size(); ++i) {
      if (slices[i] == kNotListed) out_->without_time += pivot.cell(HBBP_PIVOT_ALL, i).value;
    }
    std::vector<std::map<std::string, Row>> sums(keys.size());
    for (size_t row = 0; row < pivot.rows(); ++row) {
      Row cells(out_->instructions.size());
      AddCells(pivot, row, slices, &cells);
      for (size_t key = 0; key < keys.size(); ++key) {
        Row& sum = sums[key][pivot.label(HBBP_PIVOT_ROWS, row, key).text];
        sum.resize(cells.size());
        std::transform(cells.begin(), cells.end(), sum.begin(), sum.begin(), std::plus<>());
      }
    }
    for (size_t key = 0; key < keys.size(); ++key) {
      std::vector<std::pair<std::string, Row>> values(sums[key].begin(), sums[key].end());
      AddTimeline(keys[key], std::move(values));
    }
  }

  void ReadKey(const char* key, const std::vector<std::string>& names) {
    const hbbp::pivot pivot = PivotBy({key}, kTimelineValues);
    const std::vector<uint32_t> slices = SlicesOf(pivot);
    ReportTimeline& timeline = out_->timelines.emplace_back();
    timeline.key = key;
    for (size_t row = 0; row < pivot.rows(); ++row) {
      const uint32_t index = pivot.label(HBBP_PIVOT_ROWS, row, 0).index;
      timeline.values.push_back(index < names.size() ? names[index] : "unknown");
      Row& sums = timeline.instructions.emplace_back(out_->instructions.size());
      AddCells(pivot, row, slices, &sums);
    }
    timeline.other_values = pivot.rows_in_all() - timeline.values.size();
  }

 private:
  hbbp::pivot PivotBy(std::vector<std::string> keys, uint64_t top) {
    PivotRequest request;
    request.rows = std::move(keys);
    request.columns = {"slice"};
    request.values = {"instructions"};
    request.top = top;
    return MakePivot(analysis_, request);
  }

  // Returns the index in the report of each column, or kNotListed where the time is unknown.
  std::vector<uint32_t> SlicesOf(const hbbp::pivot& pivot) const {
    std::vector<uint32_t> slices;
    for (size_t i = 0; i < pivot.columns(); ++i) {
      const uint32_t index = pivot.label(HBBP_PIVOT_COLUMNS, i, 0).index;
      slices.push_back(index < out_->count ? static_cast<uint32_t>(index / out_->joined)
                                           : kNotListed);
    }
    return slices;
  }

  void AddCells(const hbbp::pivot& pivot, size_t row, const std::vector<uint32_t>& slices,
                Row* sums) const {
    for (size_t i = 0; i < slices.size(); ++i) {
      if (slices[i] != kNotListed) (*sums)[slices[i]] += pivot.cell(row, i).value;
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

  const hbbp::analysis& analysis_;
  Report* const report_;
  ReportSlices* const out_;
};

// Returns names in the order of the profile's lists, all of them different.
std::vector<std::string> ModuleNames(const hbbp::profile_view& profile) {
  const std::vector<hbbp_module> modules = profile.modules();
  ShortPaths short_paths;
  for (const hbbp_module& module : modules) short_paths.Add(module.path);
  std::vector<std::string> names;
  for (const hbbp_module& module : modules) names.push_back(short_paths.Of(module.path));
  return names;
}

std::vector<std::string> FunctionNames(const std::vector<hbbp_function>& functions,
                                       const std::vector<std::string>& modules) {
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

std::vector<std::string> ThreadNames(const hbbp::profile_view& profile) {
  std::vector<std::string> names;
  for (const hbbp_thread& thread : profile.threads()) {
    names.push_back(std::to_string(thread.tid) + ' ' + thread.name);
  }
  return names;
}

}  // namespace

void ReadSlices(const hbbp::analysis& analysis, Report* report) {
  const hbbp::profile_view profile = analysis.get_profile();
  const std::vector<hbbp_slice> slices = profile.slices();
  if (slices.empty()) return;
  const std::vector<std::string> modules = ModuleNames(profile);
  const std::vector<std::string> threads = ThreadNames(profile);
  Slicer slicer(analysis, report);
  slicer.ReadWidths(slices);
  slicer.ReadProperties();
  slicer.ReadKey("function", FunctionNames(analysis.functions(), modules));
  slicer.ReadKey("module", modules);
  if (threads.size() > 1) slicer.ReadKey("thread", threads);
}

}  // namespace hbbp::tools
