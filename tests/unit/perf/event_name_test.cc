#include "perf/event_name.h"

#include <linux/perf_event.h>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("codes of events, as perf spells them") {
  REQUIRE(FindEvent("r20c4").ok());
  CHECK(FindEvent("r20c4")->type == PERF_TYPE_RAW);
  CHECK(FindEvent("r20c4")->config == 0x20c4);
  CHECK(FindEvent("rffffffffffffffff")->config == UINT64_MAX);
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
