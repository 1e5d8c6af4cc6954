// SIMULATION: a recording as perf record writes them, of samples that no hardware took.
//
// That it is simulated is said by the names of its events, its host and its CPU.
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

  // perf.data. `command` is what made it, word by word.
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
