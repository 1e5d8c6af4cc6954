#include "collect/perf_event_kind.h"

#include "support/catch.h"

namespace hbbp {
namespace {

EventKind FindKind(uint32_t type, uint64_t config, const char* name = "", const char* cpu = "") {
  perf_event_attr attr = {};
  attr.type = type;
  attr.config = config;
  return KindOfPerfEvent(attr, name, cpu);
}

TEST_CASE("generic events are known by their numbers, on hybrid processors too") {
  CHECK(FindKind(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS) == EventKind::kInstructions);
  CHECK(FindKind(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) == EventKind::kCycles);
  CHECK(FindKind(PERF_TYPE_HARDWARE, uint64_t{4} << 32 | PERF_COUNT_HW_CPU_CYCLES) ==
        EventKind::kCycles);
  CHECK(FindKind(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK) == EventKind::kTaskClock);
  CHECK(FindKind(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK) == EventKind::kCpuClock);
  CHECK(FindKind(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS) == EventKind::kOther);
}

TEST_CASE("IBS counts cycles or dispatched ops") {
  CHECK(FindKind(11, 0, "ibs_op//") == EventKind::kCycles);
  CHECK(FindKind(11, uint64_t{1} << 19, "ibs_op/cnt_ctl=1/") == EventKind::kUops);
  CHECK(FindKind(10, uint64_t{1} << 19, "ibs_fetch//") == EventKind::kOther);
}

TEST_CASE("all branches are not the taken ones") {
  CHECK(FindKind(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branches") ==
        EventKind::kOther);
  CHECK(FindKind(PERF_TYPE_RAW, 0x4c4, "br_inst_retired.all_branches") == EventKind::kOther);
  CHECK(FindKind(PERF_TYPE_RAW, 0x10c4, "br_inst_retired.not_taken") == EventKind::kOther);
  CHECK(FindKind(PERF_TYPE_RAW, 0x20c4, "BR_INST_RETIRED.NEAR_TAKEN:pp") ==
        EventKind::kTakenBranches);
  CHECK(FindKind(PERF_TYPE_RAW, 0xc4, "ex_ret_brn_tkn") == EventKind::kTakenBranches);
}

TEST_CASE("codes without a name mean what the processor's maker says") {
  constexpr char kIntel[] = "GenuineIntel,6,85,4", kAmd[] = "AuthenticAMD,25,17,1";
  CHECK(FindKind(PERF_TYPE_RAW, 0x20c4, "r20c4", kIntel) == EventKind::kTakenBranches);
  CHECK(FindKind(PERF_TYPE_RAW, 0x00c4, "rc4", kAmd) == EventKind::kTakenBranches);
  CHECK(FindKind(PERF_TYPE_RAW, 0x00c4, "rc4", kIntel) == EventKind::kOther);
  CHECK(FindKind(PERF_TYPE_RAW, 0x01c0, "r1c0", kIntel) == EventKind::kInstructions);
  CHECK(FindKind(PERF_TYPE_RAW, 0x00c0, "rc0", kAmd) == EventKind::kInstructions);
}

TEST_CASE("events of other PMUs are known by their names") {
  CHECK(FindKind(10, 0, "cpu_atom/instructions/") == EventKind::kInstructions);
  CHECK(FindKind(10, 0, "cpu_core/cycles:ppp/") == EventKind::kCycles);
}

TEST_CASE("cycles are those of the core, and all of them") {
  for (const char* name :
       {"cycles", "cycles:u", "CPU_CLK_UNHALTED.THREAD", "cpu_clk_unhalted.thread_p:pp",
        "cpu/cpu-cycles/u", "cpu/cycles,period=1000/", "cpu_atom/cycles/", "ls_not_halted_cyc"}) {
    CAPTURE(name);
    CHECK(FindKind(PERF_TYPE_RAW, 0, name) == EventKind::kCycles);
  }
  for (const char* name :
       {"ref-cycles", "cpu/ref-cycles/u", "cpu_clk_unhalted.ref_tsc", "cpu_clk_unhalted.ref_p",
        "cpu_clk_unhalted.one_thread_active", "cycles-t", "cpu/cycles-ct/", "bus-cycles",
        "cycle_activity.cycles_l1d_miss"}) {
    CAPTURE(name);
    CHECK(FindKind(PERF_TYPE_RAW, 0, name) == EventKind::kOther);
  }
  CHECK(FindKind(PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES) == EventKind::kOther);
  CHECK(FindKind(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES) == EventKind::kOther);
}

}  // namespace
}  // namespace hbbp
