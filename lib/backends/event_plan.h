// EventPlan has the perf events that PerfBackend opens, and says what becomes of their samples.
//
// It depends on options, processor and kernel: candidates are tried, best first, and the note of
// the event that was taken names those that were refused.
#ifndef HBBP_LIB_BACKENDS_EVENT_PLAN_H_
#define HBBP_LIB_BACKENDS_EVENT_PLAN_H_

#include <linux/perf_event.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "perf/cpu_events.h"
#include "perf/ibs_samples.h"
#include "perf/record_format.h"

namespace hbbp {

struct PlannedEvent {
  // This is the attr for one PMU; a hybrid processor has one for each kind of core.
  struct Variant {
    perf_event_attr attr;
    std::vector<int> cpus;  // empty: all
  };

  SourceChoice choice;
  std::vector<Variant> variants;
  IbsKind ibs_kind = IbsKind::kNone;
  uint64_t period_multiple = 1;  // periods are rounded down to it
  uint64_t random_period = 0;    // mean of the random periods; 0: periods are not random
  // Samples of the kernel are dropped, because the PMU cannot filter them.
  bool drops_kernel = false;
  uint64_t guest_samples = 0;  // that were dropped
  uint64_t sample_ns = 0;      // approximate time that a sample takes from its thread
  uint64_t switch_ns = 0;      // time that the event adds to a context switch

  bool HasStack() const { return HasStreams(choice.kind); }
  // Only user code is counted, but an interrupt may come so late that it finds the thread in the
  // kernel. Samples then have the instruction pointer at which the thread entered it.
  bool HasUserIp() const { return variants.front().attr.sample_regs_user != 0; }
  RecordFormat SampleFormat() const { return MakeRecordFormat(variants.front().attr); }
};

struct EventPlan {
  // The first event reports mappings, names and threads as well.
  std::vector<PlannedEvent> events;
};

// Returns the period that the PMU counts for `period`.
uint64_t RoundedPeriod(const PlannedEvent& event, uint64_t period);

// Multiplies the planned periods of an event by `factor`.
void ScalePeriods(double factor, PeriodMode mode, PlannedEvent* event);

// The samples of every event of a plan have these fields before any other,
inline constexpr uint64_t kCommonSampleType =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID;
// and most of them this one too, before the rest.
inline constexpr uint64_t kPlannedSampleType = kCommonSampleType | PERF_SAMPLE_PERIOD;

// Plans one event, whose samples are instruction pointers.
StatusOr<EventPlan> PlanEbs(const BackendConfig& config, const CpuEvents& cpu);

// Plans two events: instruction pointers of instructions, and branch stacks of taken branches
// (Nowak et al., "Low-Overhead Dynamic Instruction Mix Generation using Hybrid Basic Block
// Profiling", V.A).
StatusOr<EventPlan> PlanLbr(const BackendConfig& config, const CpuEvents& cpu);

// Plans one or both events of AMD's IBS, which sample one op of those that are dispatched in a
// period, or one fetch, with what happened to it. The name of the event says which
// (IbsKindsOf, not empty); without one it is ops.
StatusOr<EventPlan> PlanIbs(const BackendConfig& config, const CpuEvents& cpu);

// Plans an event that reports mappings, names and new threads, and has no samples.
StatusOr<EventPlan> PlanObservation();

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_EVENT_PLAN_H_
