#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_SINGLE_STEPPER_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_SINGLE_STEPPER_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "pmu_model/trace.h"

namespace hbbp::simulation {

// See tracer.h.
StatusOr<Trace> TraceBySingleStep(const std::vector<std::string>& command,
                                  uint64_t max_instructions);

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_SINGLE_STEPPER_H_
