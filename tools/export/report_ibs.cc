#include "report_ibs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "annotate/event_samples.h"
#include "annotate/ibs_ops.h"
#include "format.h"
#include "ibs_accesses.h"
#include "ibs_events.h"

namespace hbbp::tools {
namespace {

std::vector<std::string> EventsOf(const std::vector<hbbp_ibs_sum>& sums) {
  std::set<std::string> occurred;
  for (const hbbp_ibs_sum& sum : sums) occurred.insert(sum.event);
  std::vector<std::string> events;
  for (const char* event : kCommonIbsEvents) {
    if (occurred.contains(event)) events.emplace_back(event);
  }
  return events;
}

// Returns how many ops and fetches were sampled.
uint64_t CountSamples(const ReportIbsRow& row, const std::vector<std::string>& events) {
  uint64_t samples = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i] == "op-samples" || events[i] == "fetch-samples") samples += row.values[i];
  }
  return samples;
}

std::vector<ReportIbsLatency> LatenciesOf(const std::vector<hbbp_ibs_bucket>& buckets) {
  std::vector<ReportIbsLatency> latencies;
  for (const hbbp_ibs_bucket& bucket : buckets) {
    if (latencies.empty() || latencies.back().name != bucket.latency) {
      latencies.push_back({bucket.latency, {}});
    }
    latencies.back().buckets.push_back({bucket.first_cycles, bucket.end_cycles, bucket.samples});
  }
  return latencies;
}

// Adds what annotate shows of instructions.
void AddToCode(const hbbp::analysis& analysis, Report* report) {
  const IbsOpsByAddress ops = CollectIbsOps(analysis);
  if (ops.empty()) return;
  EventSamples samples = CollectEventSamples(analysis);
  for (ReportBlock& block : report->blocks) {
    for (ReportInstruction& instruction : block.instructions) {
      const std::pair location(block.module, instruction.address);
      const auto of_ops = ops.find(location);
      if (of_ops != ops.end()) instruction.ops = of_ops->second;
      const auto sampled = samples.by_address.find(location);
      if (sampled != samples.by_address.end()) instruction.samples = sampled->second;
    }
  }
  report->ibs.sampled_events = std::move(samples.events);
}

uint64_t CountLoads(const ReportIbsLoads& loads) {
  uint64_t samples = 0;
  for (const ReportIbsLevel& level : loads.levels) {
    for (const ReportIbsBucket& bucket : level.buckets) samples += bucket.samples;
  }
  return samples;
}

// Latencies come by instruction, level and bucket.
std::vector<ReportIbsLoads> LoadsOf(const std::vector<hbbp_ibs_latency>& latencies) {
  std::vector<ReportIbsLoads> all;
  for (const hbbp_ibs_latency& latency : latencies) {
    const bool is_new =
        all.empty() || all.back().module != latency.module || all.back().address != latency.address;
    if (is_new) all.push_back({latency.module, latency.function, latency.address, {}, {}, {}});
    std::vector<ReportIbsLevel>& levels = all.back().levels;
    if (levels.empty() || levels.back().name != latency.level) {
      levels.push_back({latency.level, {}});
    }
    levels.back().buckets.push_back({latency.first_cycles, latency.end_cycles, latency.samples});
  }
  std::ranges::stable_sort(all, std::greater(), CountLoads);
  return all;
}

void ReadLoads(const hbbp::analysis& analysis, const std::vector<uint32_t>& listed,
               ReportIbs* ibs) {
  const std::vector<hbbp_function> functions = analysis.functions();
  ibs->loads = LoadsOf(analysis.ibs_latencies());
  ibs->load_count = ibs->loads.size();
  ibs->loads.resize(std::min(ibs->loads.size(), kReportIbsLoads));
  for (ReportIbsLoads& loads : ibs->loads) {
    const uint32_t function = std::exchange(loads.function, kNotListed);
    if (function < functions.size()) {
      loads.function = listed[function];
      loads.name = Demangle(functions[function].name);
    }
    const auto code = analysis.try_disassemble(loads.module, loads.address);
    if (code) loads.text = code->text;
  }
}

ReportIbsAccesses MostAccessed(std::vector<IbsAccessRow> rows) {
  ReportIbsAccesses accesses;
  accesses.row_count = rows.size();
  rows.resize(std::min(rows.size(), kReportIbsLoads));
  accesses.rows = std::move(rows);
  return accesses;
}

}  // namespace

void ReadIbs(const hbbp::analysis& analysis, const std::vector<uint32_t>& listed, Report* report) {
  const std::vector<hbbp_ibs_sum> sums = analysis.ibs_sums();
  const std::vector<hbbp_function> functions = analysis.functions();
  ReportIbs& ibs = report->ibs;
  ibs.events = EventsOf(sums);
  ibs.totals.resize(ibs.events.size());
  using Key = std::tuple<uint32_t, uint64_t>;  // module, address
  std::map<Key, ReportIbsRow> rows;
  for (const hbbp_ibs_sum& sum : sums) {
    const auto event = std::find(ibs.events.begin(), ibs.events.end(), sum.event);
    if (event == ibs.events.end()) continue;
    ReportIbsRow& row = rows[{sum.module, sum.address}];
    if (row.values.empty()) {
      row.module = sum.module;
      row.address = sum.address;
      if (sum.function < functions.size()) {
        row.function = listed[sum.function];
        row.name = Demangle(functions[sum.function].name);
      }
      row.values.resize(ibs.events.size());
    }
    const auto column = static_cast<size_t>(event - ibs.events.begin());
    row.values[column] += sum.sum;
    ibs.totals[column] += sum.sum;
  }
  ibs.row_count = rows.size();
  for (auto& [key, row] : rows) ibs.rows.push_back(std::move(row));
  std::ranges::stable_sort(ibs.rows, [&](const ReportIbsRow& a, const ReportIbsRow& b) {
    const uint64_t of_a = CountSamples(a, ibs.events), of_b = CountSamples(b, ibs.events);
    return of_a != of_b ? of_a > of_b : a.values > b.values;
  });
  ibs.rows.resize(std::min(ibs.rows.size(), kReportIbsRows));
  for (ReportIbsRow& row : ibs.rows) {
    const auto code = analysis.try_disassemble(row.module, row.address);
    if (code) row.text = code->text;
  }
  const hbbp::profile_view profile = analysis.get_profile();
  ibs.latencies = LatenciesOf(profile.ibs_buckets());
  ReadLoads(analysis, listed, &ibs);
  ibs.lines = MostAccessed(CollectIbsLines(profile, false));
  ibs.pages = MostAccessed(CollectIbsLines(profile, true));
  ibs.objects = MostAccessed(CollectIbsObjects(analysis));
  AddToCode(analysis, report);
}

}  // namespace hbbp::tools
