// Runs a program and records the address of every instruction that it executes, in one of two ways:
//
//   kSingleStep  ptrace; exact, and slow: where debug exceptions trap to a hypervisor some 100,000
//                instructions a second
//   kLackey      valgrind --tool=lackey; millions a second. Valgrind hides AVX-512 from the
//                program, and its own libraries run in it unless it is linked statically.
//
// Of programs with several threads or processes the first one is traced (kSingleStep) or all
// threads in turns (kLackey), where each turn looks like a jump: it is meant for programs with one
// thread.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_TRACER_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_TRACER_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "pmu_model/trace.h"

namespace hbbp::simulation {

enum class Tracer { kSingleStep, kLackey };

// Runs `command` to its end, or until it has executed `max_instructions`; then it is killed. Its
// output goes where the caller's goes. Returns kNotFound if a program does not start, kUnsupported
// if it executes another one, and the errors of tracing.
StatusOr<Trace> TraceCommand(Tracer tracer, const std::vector<std::string>& command,
                             uint64_t max_instructions);

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_TRACER_H_
