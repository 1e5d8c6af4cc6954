#include "perf/event_name.h"

#include <linux/perf_event.h>

#include "perf/cpu_events.h"
#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("codes of events, as perf spells them") {
  REQUIRE(FindEvent("r20c4").ok());
  CHECK(FindEvent("r20c4")->type == PERF_TYPE_RAW);
  CHECK(FindEvent("r20c4")->config == 0x20c4);
  CHECK(FindEvent("rffffffffffffffff")->config == UINT64_MAX);
}

TEST_CASE("names of the kernel's events need no libpfm4") {
  const auto code = [](const char* name) { return *FindEvent(name); };
  CHECK(code("cache-misses").type == PERF_TYPE_HARDWARE);
  CHECK(code("cache-misses").config == PERF_COUNT_HW_CACHE_MISSES);
  CHECK(code("page-faults").type == PERF_TYPE_SOFTWARE);
  CHECK(code("page-faults").config == PERF_COUNT_SW_PAGE_FAULTS);
  CHECK(code("faults").config == PERF_COUNT_SW_PAGE_FAULTS);
}

TEST_CASE("taken branches are an event of the processor") {
  const CpuEvents events = FindCpuEvents(ThisCpu());
  const StatusOr<EventCode> code = FindEvent("taken-branches");
  if (events.are_generic) {
    CHECK(code.status().code() == StatusCode::kNotFound);
    return;
  }
  REQUIRE(code.ok());
  CHECK(code->config == events.taken_branches.pmus.front().config);
  CHECK(code->type == events.taken_branches.pmus.front().type);
}

TEST_CASE("names that libpfm4 has") {
  const StatusOr<EventCode> code = FindEvent("perf::task-clock");
  if (code.status().code() == StatusCode::kUnsupported) HBBP_SKIP(code.status().message());
  REQUIRE(code.ok());
  CHECK(code->type == PERF_TYPE_SOFTWARE);
  CHECK(code->config == PERF_COUNT_SW_TASK_CLOCK);
}

TEST_CASE("names that no one has") {
  for (const char* name : {"", "r", "rxyz", "r10000000000000000", "no_such_event", "r20c4x"}) {
    INFO(name);
    const Status status = FindEvent(name).status();
    const bool is_used =
        status.code() == StatusCode::kNotFound || status.code() == StatusCode::kUnsupported;
    CHECK(is_used);
    CHECK(status.message().starts_with("event "));
  }
}

}  // namespace
}  // namespace hbbp
