// Runs a program by single steps and passes its instructions to a ProbedProgram.
#ifndef HBBP_TOOLS_PROBE_PROBE_BY_STEPS_H_
#define HBBP_TOOLS_PROBE_PROBE_BY_STEPS_H_

#include "count/stepper.h"
#include "probe/probed_program.h"

namespace hbbp::tools {

// Fills in `start_process` of the request. Processes that the program starts run freely. Returns
// the errors of StepThrough.
StatusOr<StepResult> ProbeBySteps(StepRequest request, ProbedProgram* program);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROBE_PROBE_BY_STEPS_H_
