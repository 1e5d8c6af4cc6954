// Runs a program in valgrind and passes the instructions that lackey prints to a ProbedProgram. It
// is some ten times as fast as single steps, but has no values, and does not distinguish threads.
#ifndef HBBP_TOOLS_PROBE_PROBE_BY_VALGRIND_H_
#define HBBP_TOOLS_PROBE_PROBE_BY_VALGRIND_H_

#include <string>

#include "count/stepper.h"
#include "probe/probed_program.h"

namespace hbbp::tools {

struct ValgrindResult {
  int exit_status = 0;            // 128 + signal for a program that was killed
  uint64_t threads = 1;           // the largest number that was seen at a time
  bool executed_another = false;  // program, which valgrind did not run
};

// Uses `command`, `max_instructions`, `progress` and `started` of the request. Errors: kNotFound
// (there is no valgrind, or it executed nothing), kUnsupported (more than `max_instructions`; the
// program was killed).
StatusOr<ValgrindResult> ProbeByValgrind(const StepRequest& request, ProbedProgram* program);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROBE_PROBE_BY_VALGRIND_H_
