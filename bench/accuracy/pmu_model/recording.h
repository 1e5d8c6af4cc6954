// SIMULATION: a recording in the format of perf record, of samples that no hardware took.
//
// The names of its events, its host and its CPU say that it is simulated.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_RECORDING_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_RECORDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "pmu_model/methods.h"
#include "pmu_model/trace.h"
#include "support/perf_data_builder.h"

namespace hbbp::simulation {

class Recording {
 public:
  // `trace` must outlive it.
  Recording(const Trace& trace, const std::vector<MethodEvent>& events);

  void Add(const SimulatedSample& sample);

  // Returns perf.data. `command` is the command line that made it.
  std::vector<uint8_t> File(const std::vector<std::string>& command);

 private:
  static constexpr uint32_t kPid = 1000;

  void AddProcess(const RecordFormat& format);
  void AddDescriptions(const std::vector<std::string>& command);

  const Trace& trace_;
  std::vector<MethodEvent> events_;
  std::vector<RecordFormat> formats_;
  PerfDataBuilder data_;
};

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_RECORDING_H_
