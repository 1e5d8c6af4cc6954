// PerfRecordImport turns the records of perf, and samples that a host has decoded, into events.
//
// An event whose samples have branch stacks is a source of streams (LBR). Its instruction pointers
// make a source of their own (EBS), unless it counts taken branches: where those retire does not
// show where instructions do (Nowak et al., "Hybrid Basic Block Profiling", section V.A, which
// samples two events at once for that). Whether the cycles of a stack weigh it is known when the
// first one has come (perf/branch_stack_bursts.h), and reported with the statistics.
#ifndef HBBP_LIB_COLLECT_PERF_RECORD_IMPORT_H_
#define HBBP_LIB_COLLECT_PERF_RECORD_IMPORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collect/counter_deltas.h"
#include "collect/jit_playback.h"
#include "collect/recorded_locator.h"
#include "collect/recorded_periods.h"
#include "collect/running_share.h"
#include "events/event_sink.h"
#include "perf/branch_stack.h"
#include "perf/branch_stack_bursts.h"
#include "perf/ibs_samples.h"
#include "perf/ip_correction.h"
#include "perf/sampling_gaps.h"
#include "perf_data/perf_data_event.h"
#include "perf_data/perf_data_header.h"
#include "perf_data/perf_data_summary.h"
#include "perf_data/perf_data_visitor.h"
#include "profile/profile_data.h"

namespace hbbp {

// RecordImportTarget has the sink that the events go to, and what belongs to it.
struct RecordImportTarget {
  EventSink* sink;
  // Adds a source to the sink, and returns its number there.
  std::function<uint32_t(SourceRecord)> add_source;
  // Finds the files of the recorded machine on this one; NULL for a running process.
  const RecordedLocator* files = nullptr;
};

class PerfRecordImport : public PerfDataVisitor {
 public:
  // State of an event. IBS samples have instruction pointers like those of EBS.
  struct EventImport {
    std::optional<uint32_t> ebs;  // source of instruction pointers
    std::optional<uint32_t> lbr;  // source of branch stacks, or of bursts of another tracer
    EbsMethod ebs_method = EbsMethod::kPlain;
    IpCorrection correction;
    IbsSamples ibs;
    BranchStackBursts bursts;
    RecordedPeriods periods;
    SamplingGaps gaps;
    RunningShare running;
    uint64_t lost = 0;
    uint64_t lost_in_all = 0;          // the sum that perf writes at its end
    uint64_t lost_by_counter = 0;      // the sum in the values of the counter
    std::optional<size_t> sampled_by;  // index of the event that samples the group, if not this
    uint64_t reported_lost = 0;
    uint64_t reported_throttled = 0;
    uint64_t throttled = 0;
    uint64_t guest_samples = 0;
    uint64_t traced_bursts = 0;  // of another tracer
    uint64_t traced_branches = 0;
    uint64_t traced_extents = 0;  // traced bursts that have an extent
    uint64_t filtered_stacks = 0;
    uint64_t assumed_period = 0;       // of samples that have none
    bool has_unknown_periods = false;  // so that counts are shares
    bool has_counter_deltas = false;

    bool HasSources() const { return ebs || lbr; }
    uint64_t LostInAll() const { return std::max({lost, lost_in_all, lost_by_counter}); }
  };

  // All pointers must outlive the import; `header` describes the machine that made the records.
  PerfRecordImport(const EventTable* events, const PerfDataHeader* header,
                   RecordImportTarget target, EbsMethod ebs_method);

  void OnSample(const PerfEvent& event, const SampleRecord& sample) override;
  void OnMmap(const MmapRecord& mmap) override;
  void OnComm(const CommRecord& comm) override;
  void OnFork(const TaskRecord& fork) override;
  void OnKsymbol(const KsymbolRecord& symbol) override;
  void OnLost(const LostRecord& lost) override;
  void OnThrottle(const ThrottleRecord& throttle) override;

  // Returns the sink for events that do not come from records; code of JITs is merged with them.
  EventSink* sink() { return &jit_; }

  // Adds the sources of an event even if it never has samples.
  void AddSourcesOf(const PerfEvent& event) { WithSources(event); }
  // Adds the one source of an event without records. The index of the event must be unique.
  void AddSource(const PerfEvent& event, const SourceRecord& source, IbsKind ibs);
  // `raw` has the registers of IBS, as in a record; `branches` are newest first, as perf has them.
  void AddSample(const PerfEvent& event, const IpSample& sample, const BranchStack& branches,
                 std::span<const uint8_t> raw);
  // Adds a burst of a source of kSwbt.
  void AddBurst(const PerfEvent& event, BurstSample burst);
  void AddLost(const PerfEvent& event, uint64_t samples);
  void AddThrottled(const PerfEvent& event);

  // Sums over all sources.
  struct Totals {
    uint64_t lost = 0;
    uint64_t throttled = 0;
    uint64_t first_time_ns = 0;
    uint64_t last_time_ns = 0;
  };
  Totals totals() const;
  // Returns the problems with the dumps of JITs.
  const std::vector<std::string>& jit_problems() const { return jit_.problems(); }

  // Returns what is known of each event, by PerfEvent::index.
  const std::map<size_t, EventImport>& imports() const { return imports_; }

  // Reports counters to the sink: parts of samples that were dropped, and kinds of samples.
  void ReportStatistics();
  // Completes the sources of a snapshot: their periods, and a note of what was dropped according to
  // `summary`.
  void CompleteSources(const PerfDataSummary& summary, std::span<SourceRecord> sources) const;

 private:
  EventImport& WithSources(const PerfEvent& event);
  static void AssumePeriods(const PerfEvent& event, EventKind kind, EventImport* state);
  size_t IndexOfId(uint64_t id) const { return events_.IndexOfId(id).value_or(0); }
  void AddRecord(const PerfEvent& event, const SampleRecord& sample, std::optional<uint64_t> period,
                 double factor);
  void AddSample(const IpSample& sample, bool is_exact, const BranchStack& branches,
                 std::span<const uint8_t> raw, EventImport* state);
  void AddIp(IpSample sample, bool is_exact, const BranchStack& branches,
             std::span<const uint8_t> raw, EventImport* state);
  void AddStack(const IpSample& sample, const BranchStack& branches, EventImport* state);
  uint64_t LostOf(const EventImport& state) const;
  void ReportLosses(size_t event);
  void ReportLosses(EventImport* state);
  void RecordTime(uint64_t time_ns);
  std::string DescribeProblems(const PerfDataSummary& summary) const;

  const EventTable& events_;
  const PerfDataHeader& header_;
  const RecordImportTarget target_;
  JitPlayback jit_;
  const EbsMethod ebs_method_;
  CounterDeltas counters_;
  std::map<size_t, EventImport> imports_;
  uint64_t first_time_ns_ = 0;
  uint64_t last_time_ns_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_PERF_RECORD_IMPORT_H_
