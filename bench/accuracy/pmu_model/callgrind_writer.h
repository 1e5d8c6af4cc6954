// Writes the exact counts of a trace like `valgrind --tool=callgrind --dump-instr=yes`.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_CALLGRIND_WRITER_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_CALLGRIND_WRITER_H_

#include <string>

#include "pmu_model/trace.h"

namespace hbbp::simulation {

std::string CallgrindText(const Trace& trace);

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_CALLGRIND_WRITER_H_
