#include "perf/event_name.h"

#include <dlfcn.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/shared_library.h"
#include "perf/cpu_events.h"

#if __has_include(<perfmon/pfmlib_perf_event.h>)
#include <perfmon/pfmlib_perf_event.h>
#define HBBP_KNOWS_LIBPFM 1
#else
#define HBBP_KNOWS_LIBPFM 0
#endif

namespace hbbp {
namespace {

std::optional<EventCode> ParseRawCode(const std::string& name) {
  if (name.size() < 2 || name[0] != 'r') return std::nullopt;
  EventCode code = {PERF_TYPE_RAW, 0};
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + 1, end, code.config, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return code;
}

struct NamedEvent {
  char name[24];  // pointers would be relocated
  uint8_t type;
  uint8_t config;
};

// These are the names that the perf command has for events of the kernel, which need no libpfm4.
constexpr NamedEvent kKernelEvents[] = {
    {"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
};

std::optional<EventCode> FindKernelEvent(std::string_view name) {
  for (const NamedEvent& event : kKernelEvents) {
    if (name == event.name) return EventCode{event.type, event.config};
  }
  return std::nullopt;
}

// A hybrid processor has a code for each kind of core; the first is that of the fast ones.
StatusOr<EventCode> TakenBranchesOfThisCpu() {
  const CpuEvents events = FindCpuEvents(ThisCpu());
  if (events.are_generic) {
    return MakeStatus(StatusCode::kNotFound,
                      "event taken-branches: its code is not known for this processor; give the "
                      "code (rUUEE: unit mask, event) or the vendor's name");
  }
  const PmuEvent& pmu = events.taken_branches.pmus.front();
  return EventCode{pmu.type, pmu.config};
}

Status Unavailable(const std::string& name, const std::string& why) {
  return MakeStatus(StatusCode::kUnsupported,
                    "event %s: its name needs libpfm4, %s; install it, or give the code of the "
                    "event, such as r20c4",
                    name.c_str(), why.c_str());
}

#if HBBP_KNOWS_LIBPFM

struct Libpfm {
  decltype(&pfm_initialize) initialize = nullptr;
  decltype(&pfm_get_os_event_encoding) encode = nullptr;
  decltype(&pfm_strerror) describe = nullptr;
  std::string problem;  // empty: it can be used
};

template <typename Function>
bool FindFunction(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(library, name));
  return *function != nullptr;
}

Libpfm LoadLibpfm() {
  Libpfm pfm;
  const StatusOr<void*> library = LoadSharedLibrary("libpfm.so.4");
  if (!library.ok()) {
    pfm.problem = "which cannot be loaded (" + library.status().message() + ")";
    return pfm;
  }
  const bool has_all = FindFunction(*library, "pfm_initialize", &pfm.initialize) &&
                       FindFunction(*library, "pfm_get_os_event_encoding", &pfm.encode) &&
                       FindFunction(*library, "pfm_strerror", &pfm.describe);
  if (!has_all) {
    pfm.problem = "which lacks functions";
  } else if (const int error = pfm.initialize(); error != PFM_SUCCESS) {
    pfm.problem = "which does not start (" + std::string(pfm.describe(error)) + ")";
  }
  return pfm;
}

StatusOr<EventCode> AskLibpfm(const std::string& name) {
  static const Libpfm pfm = LoadLibpfm();
  if (!pfm.problem.empty()) return Unavailable(name, pfm.problem);
  perf_event_attr attr;
  std::memset(&attr, 0, sizeof(attr));
  pfm_perf_encode_arg_t request;
  std::memset(&request, 0, sizeof(request));
  request.size = sizeof(request);
  request.attr = &attr;
  const int error = pfm.encode(name.c_str(), PFM_PLM3, PFM_OS_PERF_EVENT, &request);
  if (error != PFM_SUCCESS) {
    return MakeStatus(StatusCode::kNotFound, "event %s: libpfm4 says \"%s\" for this processor",
                      name.c_str(), pfm.describe(error));
  }
  return EventCode{attr.type, attr.config};
}

#else

StatusOr<EventCode> AskLibpfm(const std::string& name) {
  return Unavailable(name, "and this library was built without its header");
}

#endif

}  // namespace

StatusOr<EventCode> FindEvent(const std::string& name) {
  if (const auto code = ParseRawCode(name)) return *code;
  if (const auto code = FindKernelEvent(name)) return *code;
  if (name == "taken-branches") return TakenBranchesOfThisCpu();
  return AskLibpfm(name);
}

}  // namespace hbbp
