#include "top/interval_view.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "format.h"
#include "pivot_view.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

// Of fewer samples, even the share of what ran half of the time would have an error of a sixth.
constexpr uint64_t kMinSamples = 10;
// No terminal has more lines.
constexpr uint64_t kMaxRows = 500;

std::string TimeOfDay() {
  const time_t now = ::time(nullptr);
  tm local = {};
  char text[32];
  if (::localtime_r(&now, &local) == nullptr) return "";
  return std::string(text, ::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local));
}

std::string DescribeProcess(const ObservedProcess& process, const Interval& interval) {
  const ProcessStatus& status = process.status;
  std::string text = TitleOf(process) + ", " + TimeOfDay() + ", " +
                     FormatDuration(interval.duration_ns) + ", " + FormatCount(status.threads) +
                     (status.threads == 1 ? " thread" : " threads");
  if (process.cpu_share) text += ", " + FormatShare(*process.cpu_share) + " of a CPU";
  if (interval.skipped != 0) {
    text += ", after " + FormatCount(interval.skipped) + " intervals that are not shown";
  }
  return text;
}

const char* NameOfSamples(hbbp_source_kind source) {
  if (source == HBBP_SOURCE_SWBT) return "bursts";
  return HasStreams(source) ? "branch stacks" : "samples";
}

std::string DescribeSource(const SourceView& source) {
  std::string text = std::string(SourceName(source.kind)) + ": " + FormatCount(source.samples) +
                     " " + NameOfSamples(source.kind) + " of " + EventNameOf(source);
  if (source.frequency_hz != 0) {
    text += " at " + FormatCount(source.frequency_hz) + " Hz";
  } else if (source.unit == HBBP_UNIT_NANOSECONDS) {
    text += ", one each " + FormatDuration(source.period);
  } else {
    text += ", one each " + FormatCount(source.period);
  }
  if (source.lost != 0) text += ", " + FormatCount(source.lost) + " lost";
  if (*source.note != '\0') text += std::string("; ") + source.note;
  return text;
}

uint64_t CountSamples(const std::vector<SourceView>& sources) {
  uint64_t samples = 0;
  for (const SourceView& source : sources) samples += source.samples;
  return samples;
}

// Returns why there are no lists; empty if there are enough samples.
std::string DescribeFewSamples(const std::vector<SourceView>& sources) {
  const uint64_t samples = CountSamples(sources);
  if (samples >= kMinSamples) return "";
  if (samples == 0) return "no samples: it slept, waited, or ran in the kernel";
  const bool has_bursts = !sources.empty() && sources.front().kind == HBBP_SOURCE_SWBT;
  return FormatCount(samples) + (has_bursts ? " bursts" : " samples") +
         ": too few for shares; a shorter period (-c) or a longer interval (-d) has more";
}

// What is lost between the snapshots is known of the interval, the rest of the analysis.
std::vector<SourceView> FindSources(const hbbp::analysis& analysis, const Interval& interval) {
  std::vector<SourceView> sources = Sources(analysis);
  for (size_t i = 0; i < std::min(sources.size(), interval.sources.size()); ++i) {
    sources[i].lost = interval.sources[i].lost;
    sources[i].throttled = interval.sources[i].throttled;
    sources[i].unmapped = interval.sources[i].unmapped;
  }
  return sources;
}

Measured ShareOf(const hbbp_pivot_cell& cell) { return {cell.share, cell.share_error}; }

Measured ValueOf(const hbbp_pivot_cell& cell) { return {cell.value, cell.standard_error}; }

hbbp::pivot SumBy(const hbbp::analysis& analysis, std::vector<std::string> keys) {
  PivotRequest request;
  request.rows = std::move(keys);
  request.values = {"instructions"};
  request.top = kMaxRows;
  return MakePivot(analysis, request);
}

void AddFunctions(const hbbp::analysis& analysis, View* view) {
  const hbbp::pivot pivot = SumBy(analysis, {"module", "function"});
  for (size_t row = 0; row < pivot.rows(); ++row) {
    const hbbp_pivot_cell cell = pivot.cell(row);
    view->functions.push_back({ShareOf(cell), ValueOf(cell),
                               pivot.label(HBBP_PIVOT_ROWS, row, 0).text,
                               Demangle(pivot.label(HBBP_PIVOT_ROWS, row, 1).text)});
  }
}

void AddExtensions(const hbbp::analysis& analysis, View* view) {
  const hbbp::pivot pivot = SumBy(analysis, {"extension"});
  for (size_t row = 0; row < pivot.rows(); ++row) {
    const hbbp_pivot_cell cell = pivot.cell(row);
    view->extensions.push_back(
        {ShareOf(cell), ValueOf(cell), pivot.label(HBBP_PIVOT_ROWS, row, 0).text});
  }
}

const char* BasisName(hbbp_trip_basis basis) {
  if (basis == HBBP_TRIPS_BY_BRANCHES) return "branches";
  return basis == HBBP_TRIPS_BY_COUNTS ? "counts" : "";
}

// Returns the standard error of the share a / (a + b), where only that of `a` is known. If b has as
// much variance for each count, it is (1 - share) * var(a) / (a + b)^2.
Measured ShareOfLoop(const hbbp_loop& loop, double total) {
  const double share = std::clamp(loop.instructions / total, 0.0, 1.0);
  return {share, loop.instructions_error / total * std::sqrt(1 - share)};
}

void AddLoops(const hbbp::analysis& analysis, View* view) {
  const std::vector<hbbp_function> functions = analysis.functions();
  const std::vector<ModuleView> modules = Modules(analysis);
  const double total = TotalInstructions(functions);
  if (!(total > 0)) return;
  std::vector<hbbp_loop> loops = analysis.find_loops().list();
  std::stable_sort(loops.begin(), loops.end(), [](const hbbp_loop& a, const hbbp_loop& b) {
    return a.instructions > b.instructions;
  });
  loops.resize(std::min<size_t>(loops.size(), kMaxRows));
  for (const hbbp_loop& loop : loops) {
    view->loops.push_back(
        {ShareOfLoop(loop, total),
         {loop.trip_count, loop.trip_count_error},
         BasisName(loop.trip_basis),
         loop.module < modules.size() ? modules[loop.module].path : "",
         loop.header,
         loop.function < functions.size() ? Demangle(functions[loop.function].name) : ""});
  }
}

}  // namespace

std::string TitleOf(const ObservedProcess& process) {
  return std::to_string(process.pid) + " (" + process.status.name + ")";
}

View MakeView(const ObservedProcess& process, const Interval& interval) {
  View view;
  view.header.push_back(DescribeProcess(process, interval));
  for (const SourceView& source : interval.sources) view.header.push_back(DescribeSource(source));
  const std::string few = DescribeFewSamples(interval.sources);
  if (!few.empty()) view.header.push_back(few);
  if (!few.empty() || !interval.profile) return view;
  const hbbp::analysis analysis(*interval.profile);
  const std::vector<SourceView> sources = FindSources(analysis, interval);
  view.has_counts = !IsUpToFactor(sources);
  AddFunctions(analysis, &view);
  AddLoops(analysis, &view);
  AddExtensions(analysis, &view);
  view.notes = CollectNotes(analysis, sources);
  return view;
}

}  // namespace hbbp::tools
