#include "pmu_model/tracer.h"

#include "pmu_model/lackey.h"
#include "pmu_model/single_stepper.h"

namespace hbbp::simulation {

StatusOr<Trace> TraceCommand(Tracer tracer, const std::vector<std::string>& command,
                             uint64_t max_instructions) {
  if (command.empty()) return MakeStatus(StatusCode::kInvalidArgument, "no program to trace");
  return tracer == Tracer::kSingleStep ? TraceBySingleStep(command, max_instructions)
                                       : TraceByLackey(command, max_instructions);
}

}  // namespace hbbp::simulation
