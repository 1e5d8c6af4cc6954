// Stores a trace in a file, so that many processes can sample one run.
//
// The file is for the same build on the same machine: integers are in its byte order, and code is
// not included.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_TRACE_FILE_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_TRACE_FILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "pmu_model/trace.h"

namespace hbbp::simulation {

std::vector<uint8_t> EncodeTrace(const Trace& trace);

// Returns kBadFormat, with the problem and its byte. `name` is for messages.
StatusOr<Trace> DecodeTrace(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_TRACE_FILE_H_
