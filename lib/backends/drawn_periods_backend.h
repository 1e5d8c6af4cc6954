// DrawnPeriodsBackend is PerfBackend where moments and periods are drawn more finely.
//
// With a clock, the first sample of a thread comes at a random moment of its first period
// (first_periods.h), if it was born of the first thread or of its descendants. And where periods
// are random, the worker is woken at each sample to draw the next one, unless samples are so many
// that some twenty of them have the same. Threads that are born meanwhile inherit a period that
// cannot be drawn again; so they get events of their own.
#ifndef HBBP_LIB_BACKENDS_DRAWN_PERIODS_BACKEND_H_
#define HBBP_LIB_BACKENDS_DRAWN_PERIODS_BACKEND_H_

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "backends/first_periods.h"
#include "backends/perf_backend.h"
#include "backends/ring_wait.h"

namespace hbbp {

class DrawnPeriodsBackend : public PerfBackend {
 public:
  using PerfBackend::PerfBackend;

  Status Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) override;
  void Drain(EventSink* sink) override;
  void Disable() override;
  void Close() override;
  Status SetPeriodFactor(double factor, EventSink* sink) override;
  SampleWait* sample_wait() override;
  int DrainIntervalMs() const override;
  int LongestIntervalMs() const override;

 private:
  void Prepare(const BackendConfig& config) override;
  bool Takes(int cpu, Identity* identity, const SampleHead& sample,
             std::span<const uint8_t> record) override;
  uint64_t DiscardedPeriod(const PlannedEvent& planned, const Identity& identity) const override;
  void RecordNewThread(uint32_t tid, uint64_t birth_ns) override;

  bool TakesFirst(int cpu, const Identity& identity, const SampleHead& sample,
                  std::span<const uint8_t> record);
  void FindBirths();
  void OpenFirstEvents();
  void CloseFirstEvents();
  void DrawFirstPeriods();
  bool HasBirths() const;
  Status AttachBornThreads();
  void CloseEventsOf(const std::vector<pid_t>& threads);

  FirstPeriods first_periods_;
  uint64_t first_period_ns_ = 0;     // 0: it is not divided
  std::vector<Event> first_events_;  // of the first thread, to be inherited
  uint64_t start_ns_ = 0;
  uint64_t last_birth_ns_ = 0;  // 0: no thread was born
  uint64_t next_first_draw_ns_ = 0;
  std::set<std::pair<pid_t, uint64_t>> births_;  // that FindBirths has found in the rings
  bool is_enabled_ = false;
  bool has_random_periods_ = false;
  bool wakes_at_samples_ = false;
  uint64_t next_attach_ns_ = 0;
  std::map<pid_t, uint64_t> attached_ns_;  // when threads got events of their own
  RingWait wait_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_DRAWN_PERIODS_BACKEND_H_
