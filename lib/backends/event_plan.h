// EventPlan: which perf events a live source opens, and what becomes of their samples.
//
// Options, processor and kernel decide: candidates are tried, best first, and what was refused is
// told in the note of what was taken instead.
#ifndef HBBP_LIB_BACKENDS_EVENT_PLAN_H_
#define HBBP_LIB_BACKENDS_EVENT_PLAN_H_

#include <linux/perf_event.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "perf/cpu_events.h"
#include "perf/record_format.h"

namespace hbbp {

struct PlannedEvent {
  // Of one PMU; a hybrid processor has one for each kind of core.
  struct Variant {
    perf_event_attr attr;
    std::vector<int> cpus;  // empty: all
  };

  SourceChoice choice;
  std::vector<Variant> variants;
  uint64_t random_period = 0;  // the mean; 0: periods are not drawn
  // Samples of the kernel are dropped, because the PMU cannot leave them out.
  bool drops_kernel = false;
  uint64_t sample_ns = 0;  // what one takes from the thread that it is of, about
  uint64_t switch_ns = 0;  // what the event adds to a context switch

  bool HasStack() const { return HasStreams(choice.kind); }
  // Only user code is counted, but an interrupt may come so late that it finds the thread in the
  // kernel. Samples then have the register of where user code was left.
  bool HasUserIp() const { return variants.front().attr.sample_regs_user != 0; }
  RecordFormat SampleFormat() const { return MakeRecordFormat(variants.front().attr); }
};

struct EventPlan {
  // The first one tells of mappings, names and threads as well.
  std::vector<PlannedEvent> events;
};

// Makes the periods of an event that was planned so many times as long.
void ScalePeriods(double factor, PeriodMode mode, PlannedEvent* event);

// What records have in front of their branch stack, of every event of a plan.
inline constexpr uint64_t kPlannedSampleType =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_PERIOD;

// An instruction pointer a period.
StatusOr<EventPlan> PlanEbs(const BackendConfig& config, const CpuEvents& cpu);

// Two events at once: instruction pointers of instructions, and branch stacks of taken branches
// (Nowak et al., "Low-Overhead Dynamic Instruction Mix Generation using Hybrid Basic Block
// Profiling", V.A).
StatusOr<EventPlan> PlanLbr(const BackendConfig& config, const CpuEvents& cpu);

// One op in a period of dispatched ones, with what happened to it (AMD).
StatusOr<EventPlan> PlanIbs(const BackendConfig& config, const CpuEvents& cpu);

// Mappings, names and new threads, no samples.
StatusOr<EventPlan> PlanObservation();

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_EVENT_PLAN_H_
