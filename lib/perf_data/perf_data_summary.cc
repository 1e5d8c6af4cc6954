#include "perf_data/perf_data_summary.h"

#include <iterator>
#include <utility>

#include "perf/perf_abi.h"

namespace hbbp {
namespace {

// Arrays of characters, unlike pointers, need no relocations.
constexpr char kKernelNames[][20] = {"",
                                     "MMAP",
                                     "LOST",
                                     "COMM",
                                     "EXIT",
                                     "THROTTLE",
                                     "UNTHROTTLE",
                                     "FORK",
                                     "READ",
                                     "SAMPLE",
                                     "MMAP2",
                                     "AUX",
                                     "ITRACE_START",
                                     "LOST_SAMPLES",
                                     "SWITCH",
                                     "SWITCH_CPU_WIDE",
                                     "NAMESPACES",
                                     "KSYMBOL",
                                     "BPF_EVENT",
                                     "CGROUP",
                                     "TEXT_POKE",
                                     "AUX_OUTPUT_HW_ID",
                                     "CALLCHAIN_DEFERRED"};
constexpr char kUserNames[][20] = {"HEADER_ATTR",
                                   "HEADER_EVENT_TYPE",
                                   "HEADER_TRACING_DATA",
                                   "HEADER_BUILD_ID",
                                   "FINISHED_ROUND",
                                   "ID_INDEX",
                                   "AUXTRACE_INFO",
                                   "AUXTRACE",
                                   "AUXTRACE_ERROR",
                                   "THREAD_MAP",
                                   "CPU_MAP",
                                   "STAT_CONFIG",
                                   "STAT",
                                   "STAT_ROUND",
                                   "EVENT_UPDATE",
                                   "TIME_CONV",
                                   "HEADER_FEATURE",
                                   "COMPRESSED",
                                   "FINISHED_INIT",
                                   "COMPRESSED2",
                                   "BPF_METADATA",
                                   "SCHEDSTAT_CPU",
                                   "SCHEDSTAT_DOMAIN"};

}  // namespace

void PerfDataSummary::AddProblem(uint64_t offset, uint64_t dropped, std::string what) {
  dropped_bytes += dropped;
  ++problem_count;
  if (problems.size() < kMaxProblems) problems.push_back({offset, dropped, std::move(what)});
}

std::string PerfRecordName(uint32_t type) {
  if (type > 0 && type < std::size(kKernelNames)) return kKernelNames[type];
  if (type >= kPerfFirstUserRecord && type - kPerfFirstUserRecord < std::size(kUserNames)) {
    return kUserNames[type - kPerfFirstUserRecord];
  }
  return "type " + std::to_string(type);
}

}  // namespace hbbp
