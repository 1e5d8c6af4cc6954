// A stand-in for the PMUs of IBS, into whose rings tests play samples.
#ifndef HBBP_TESTS_SUPPORT_IBS_PMU_H_
#define HBBP_TESTS_SUPPORT_IBS_PMU_H_

#include <linux/perf_event.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "perf/cpu_events.h"
#include "support/catch.h"
#include "support/perf_record_builder.h"
#include "support/perf_stand_in.h"

// Two loads and a return, in ibs_live_test.cc.
extern "C" void IbsLiveTestCode();

namespace hbbp {

constexpr uint32_t kIbsOpType = 11, kIbsFetchType = 12;

// Returns the events of a processor that has both PMUs.
inline CpuEvents CpuWithIbs(const CpuIdentity& cpu = {"AuthenticAMD", 0x19, 0x11}) {
  CpuEvents events = FindCpuEvents(cpu, "/nonexistent");
  events.ibs_op_type = kIbsOpType;
  events.ibs_fetch_type = kIbsFetchType;
  return events;
}

inline PerfStandIn::Answer AnswerOfIbs() {
  return [](const perf_event_attr& attr) -> std::optional<int> {
    if (attr.type != kIbsOpType && attr.type != kIbsFetchType) return std::nullopt;
    return attr.sample_period % 16 != 0 || attr.precise_ip != 0 ? EINVAL : 0;
  };
}

// Returns the last event of this thread that has a PMU's type; its ring may be that of another.
inline PerfStandIn::Event FindIbsEvent(const PerfStandIn& pmu, uint32_t type) {
  const auto events = pmu.events();
  const auto found = std::find_if(events.rbegin(), events.rend(), [type](const auto& event) {
    return event.ring != 0 && event.tid == ::gettid() && event.attr.type == type;
  });
  REQUIRE(found != events.rend());
  return *found;
}

// A sample of this thread, but for its time.
struct IbsPlay {
  uint32_t type = kIbsOpType;
  uint64_t ip = 0;
  std::vector<uint8_t> raw;
  uint64_t period = 0;
  uint16_t misc = PERF_RECORD_MISC_USER;

  std::vector<uint8_t> Record(uint64_t sample_type, uint64_t id, uint64_t time_ns) const {
    PerfRecordBuilder record(RecordFormat{.sample_type = sample_type});
    record.Misc(misc).Pid(static_cast<uint32_t>(::getpid())).Tid(static_cast<uint32_t>(::gettid()));
    return record.Time(time_ns).Id(id).Period(period).Ip(ip).Raw(raw).Sample();
  }
};

inline bool Play(const IbsPlay& play, PerfStandIn* pmu) {
  const PerfStandIn::Event event = FindIbsEvent(*pmu, play.type);
  return pmu->Write(event, play.Record(event.attr.sample_type, event.id, ClockNs(CLOCK_MONOTONIC)));
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_IBS_PMU_H_
