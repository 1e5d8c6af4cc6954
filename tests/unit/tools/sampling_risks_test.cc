#include "sampling_risks.h"

#include "support/catch.h"

namespace hbbp::tools {
namespace {

hbbp_capability Capability(const char* name, const char* detail,
                           hbbp_capability_state state = HBBP_CAPABILITY_SUPPORTED) {
  HBBP_INIT(hbbp_capability, capability);
  capability.name = name;
  capability.state = state;
  capability.detail = detail;
  capability.advice = "";
  return capability;
}

const hbbp_capability kClock = Capability("task_clock", "time-based sampling of threads");
const hbbp_capability kCounter =
    Capability("hardware_instructions", "instructions retired can be sampled");
const hbbp_capability kTracing =
    Capability("branch_tracing", "perf events with sigtrap, and breakpoints");
const hbbp_capability kStacks = Capability("branch_stack", "last branch records of user code");

hbbp_capability Precise(const char* detail) { return Capability("precise_instructions", detail); }

// Returns the states of resonance, skid and shadow, by first letters.
std::string States(const std::vector<hbbp_capability>& capabilities) {
  const std::vector<MachineLimit> rows = FindSamplingRisks(capabilities);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].name == "against_resonance");
  CHECK(rows[1].name == "against_skid");
  CHECK(rows[2].name == "against_shadow");
  std::string states;
  for (const MachineLimit& row : rows) {
    CHECK_FALSE(row.detail.empty());
    // What is missing says what to do.
    if (row.state == "missing") CHECK_FALSE(row.advice.empty());
    states += row.state.front();
  }
  return states;
}

TEST_CASE("sampling risks: branches know neither skid nor shadow") {
  CHECK(States({kClock, kTracing}) == "sss");
  CHECK(States({kClock, kCounter, kTracing}) == "sss");
  CHECK(States({kClock, kCounter, Precise("precise_ip 2"), kTracing, kStacks}) == "sss");
}

TEST_CASE("sampling risks: timers keep step with the kernel's ticks") {
  const hbbp_capability timers = Capability(
      "branch_tracing", "timers and look-ahead alone, no breakpoints; perf_event_open: EACCES");
  CHECK(States({timers}) == "mss");
  CHECK(FindSamplingRisks({timers})[0].advice.find("perf events") != std::string::npos);
}

TEST_CASE("sampling risks: samples depend on how precise they are") {
  CHECK(States({kClock}) == "ssm");
  CHECK(States({kClock, kCounter}) == "smm");
  CHECK(States({kClock, kCounter, Precise("precise_ip 1")}) == "ssm");
  CHECK(States({kClock, kCounter, Precise("precise_ip 2")}) == "ssm");
  CHECK(States({kClock, kCounter, Precise("precise_ip 3")}) == "sss");
}

TEST_CASE("sampling risks: a counter that is too expensive leaves the clock") {
  const hbbp_capability expensive = Capability(
      "hardware_instructions",
      "instructions retired can be sampled; a counter of the PMU makes each context switch 21.3 us "
      "longer here, so the default is task-clock");
  const std::vector<hbbp_capability> machine = {kClock, expensive, Precise("precise_ip 3")};
  CHECK(States(machine) == "ssm");
  CHECK(FindSamplingRisks(machine)[1].detail.find("clock") != std::string::npos);
}

TEST_CASE("sampling risks: where nothing can be sampled nothing is known") {
  CHECK(States({}) == "uuu");
  CHECK(States({Capability("task_clock", "perf_event_open: EACCES", HBBP_CAPABILITY_DENIED),
                Capability("branch_stack", "", HBBP_CAPABILITY_MISSING)}) == "uuu");
}

}  // namespace
}  // namespace hbbp::tools
