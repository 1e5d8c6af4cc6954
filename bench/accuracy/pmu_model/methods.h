// SIMULATION: sampling methods by name, and the events that each opens.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_METHODS_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_METHODS_H_

#include <linux/perf_event.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmu_model/pmu.h"

namespace hbbp::simulation {

struct MethodEvent {
  std::string name;  // begins with "simulated"
  perf_event_attr attr;
  EventParameters parameters;
};

struct MethodOptions {
  uint64_t period = 10'000;         // in instructions
  uint64_t branch_period = 10'000;  // in taken branches
  // The method of the first event of `hybrid`.
  std::string hybrid_ebs = "prec_dist";
  // Replaces that of the method.
  std::optional<PeriodMode> period_mode;
  uint64_t samples_by_draw = 1;  // of random periods
  // Determines the phase of the counters; the same seed gives the same phase.
  uint64_t seed = 1;
  // The phase itself, if it is not random.
  std::optional<uint64_t> phase;
};

// default    instructions, imprecise, fixed period
// precise    instructions, PEBS, fixed period; the IP is of the next instruction
// prime      as precise, prime period
// random     as precise, a random period each time
// ip+1       as prime, with a branch stack by which an importer can correct the IP
// prec_dist  INST_RETIRED.PREC_DIST, prime period, the IP itself
// lbr        taken branches with stacks, prime period
// hybrid     MethodOptions::hybrid_ebs and lbr in one recording
const std::vector<std::string>& MethodNames();
// Returns the methods that sample instruction pointers alone.
const std::vector<std::string>& EbsMethodNames();

// `name` must be one of MethodNames(), and hybrid_ebs one with a single event.
std::vector<MethodEvent> MakeEvents(std::string_view name, const MethodOptions& options);

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_METHODS_H_
