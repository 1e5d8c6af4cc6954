#include "collect/perf_event_kind.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <string>

namespace hbbp {
namespace {

// The event is in bits 0 to 7 of the code, the unit mask in bits 8 to 15. If other bits are set, it
// is another event.
struct RawEvent {
  uint64_t code;
  EventKind kind;
};

constexpr RawEvent kIntelEvents[] = {
    {0x00c0, EventKind::kInstructions},   // INST_RETIRED.ANY_P
    {0x01c0, EventKind::kInstructions},   // INST_RETIRED.PREC_DIST
    {0x003c, EventKind::kCycles},         // CPU_CLK_UNHALTED.THREAD_P
    {0x20c4, EventKind::kTakenBranches},  // BR_INST_RETIRED.NEAR_TAKEN
    {0x8088, EventKind::kTakenBranches},  // BR_INST_EXEC.TAKEN and its kinds
    {0x8188, EventKind::kTakenBranches}, {0xff88, EventKind::kTakenBranches},
};

constexpr RawEvent kAmdEvents[] = {
    {0x00c0, EventKind::kInstructions},   // EX_RET_INSTR
    {0x0076, EventKind::kCycles},         // LS_NOT_HALTED_CYC
    {0x00c4, EventKind::kTakenBranches},  // EX_RET_BRN_TKN
};

template <size_t size>
EventKind KindOfCode(const RawEvent (&events)[size], uint64_t config) {
  for (const RawEvent& event : events) {
    if (event.code == config) return event.kind;
  }
  return EventKind::kOther;
}

// Takes "cycles:u" and "cpu_core/cycles:ppp/", but not "ref-cycles", whose cycles are not the
// core's, nor "cycles-t", which counts some of them.
bool CountsCoreCycles(std::string_view name) {
  constexpr std::string_view kNames[] = {"cycles",
                                         "cpu-cycles",
                                         "cpu_cycles",
                                         "cpu_clk_unhalted.core",
                                         "cpu_clk_unhalted.core_p",
                                         "cpu_clk_unhalted.thread",
                                         "cpu_clk_unhalted.thread_p",
                                         "ls_not_halted_cyc"};
  for (size_t start = 0; start < name.size();) {
    const size_t end = std::min(name.find_first_of("/:,", start), name.size());
    if (std::ranges::find(kNames, name.substr(start, end - start)) != std::end(kNames)) return true;
    start = end + 1;
  }
  return false;
}

EventKind KindOfName(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto has = [&lower](std::string_view part) {
    return lower.find(part) != std::string::npos;
  };
  const bool is_variant = has("misp") || has("cond_") || has("total_cycles") || has("stall");
  if (is_variant) return EventKind::kOther;
  const bool is_branch = has("br_inst") || has("brn") || has("branch");
  if (is_branch && (has("taken") || has("tkn")) && !has("not_taken")) {
    return EventKind::kTakenBranches;
  }
  if (is_branch) return EventKind::kOther;
  if (has("inst_retired") || has("ex_ret_instr") || has("instructions")) {
    return EventKind::kInstructions;
  }
  if (has("task-clock")) return EventKind::kTaskClock;
  if (has("cpu-clock")) return EventKind::kCpuClock;
  return CountsCoreCycles(lower) ? EventKind::kCycles : EventKind::kOther;
}

}  // namespace

EventKind KindOfPerfEvent(const perf_event_attr& attr, std::string_view name,
                          std::string_view cpu_id) {
  switch (attr.type) {
    case PERF_TYPE_SOFTWARE:
      if (attr.config == PERF_COUNT_SW_TASK_CLOCK) return EventKind::kTaskClock;
      if (attr.config == PERF_COUNT_SW_CPU_CLOCK) return EventKind::kCpuClock;
      return EventKind::kOther;
    case PERF_TYPE_HARDWARE: {
      // On hybrid processors the upper half of the config selects the kind of core.
      const uint64_t id = attr.config & UINT32_MAX;
      if (id == PERF_COUNT_HW_INSTRUCTIONS) return EventKind::kInstructions;
      if (id == PERF_COUNT_HW_CPU_CYCLES) return EventKind::kCycles;
      return EventKind::kOther;
    }
    case PERF_TYPE_RAW: {
      const EventKind by_name = KindOfName(name);
      if (by_name != EventKind::kOther) return by_name;
      const bool is_amd = cpu_id.starts_with("AuthenticAMD") || cpu_id.starts_with("HygonGenuine");
      return is_amd ? KindOfCode(kAmdEvents, attr.config) : KindOfCode(kIntelEvents, attr.config);
    }
    default:
      if (name.starts_with("ibs_op")) {
        constexpr uint64_t kCountsUops = uint64_t{1} << 19;  // cnt_ctl
        return (attr.config & kCountsUops) != 0 ? EventKind::kUops : EventKind::kCycles;
      }
      return KindOfName(name);
  }
}

}  // namespace hbbp
