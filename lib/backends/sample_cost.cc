#include "backends/sample_cost.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "backends/threads.h"
#include "base/clock.h"
#include "base/cpuid.h"
#include "base/files.h"
#include "base/proc_path.h"

namespace hbbp {
namespace {

constexpr uint64_t kBareMetalNs = 2'000;
constexpr uint64_t kVirtualClockNs = 4'000;
constexpr uint64_t kVirtualCounterNs = 14'000;
constexpr uint64_t kSwitchNs = 600;
constexpr uint64_t kEmulatedSwitchNs = 4'600;

// Calls cpuid only once, because it is a trap to a hypervisor.
bool IsVirtual() {
  enum Answer { kNotAsked, kNo, kYes };
  static std::atomic<Answer> known{kNotAsked};
  if (known == kNotAsked) {
    constexpr unsigned kHypervisor = 1u << 31;
    known = (ReadCpuid(1).ecx & kHypervisor) != 0 ? kYes : kNo;
  }
  return known == kYes;
}

// Returns the number after `name` in a text of lines "name:\tnumber"; 0 if it is not there.
uint64_t NumberAfter(const char* name, const std::string& text) {
  const size_t at = text.find(name);
  return at == std::string::npos
             ? 0
             : std::strtoull(text.c_str() + at + std::strlen(name), nullptr, 10);
}

uint64_t SwitchesByUsage(int who) {
  rusage usage = {};
  ::getrusage(who, &usage);
  return static_cast<uint64_t>(usage.ru_nvcsw) + static_cast<uint64_t>(usage.ru_nivcsw);
}

uint64_t SwitchesOfThread(pid_t pid, pid_t tid) {
  const StatusOr<std::string> status = ReadTextFile(ProcPath(pid, tid, "status"));
  if (!status.ok()) return 0;
  return NumberAfter("\nvoluntary_ctxt_switches:", *status) +
         NumberAfter("\nnonvoluntary_ctxt_switches:", *status);
}

}  // namespace

uint64_t SwitchNs() { return CounterSwitchNs().value_or(0); }

uint64_t ClockSwitchNs(double page_fault_ns) {
  return page_fault_ns == 0 ? kSwitchNs : kEmulatedSwitchNs;
}

std::string SwitchCostNote(uint64_t switch_ns, bool is_avoided) {
  if (switch_ns <= kMaxCheapSwitchNs) return "";
  return SwitchCostText(switch_ns) +
         (is_avoided ? ", so the default is task-clock" : "; -e task-clock costs less");
}

void SwitchCost::Begin(pid_t pid, std::vector<pid_t> threads, pid_t worker, uint64_t switch_ns) {
  pid_ = pid;
  threads_ = std::move(threads);
  worker_ = worker;
  switch_ns_ = switch_ns;
  spent_ns_ = worker_switches_ = last_ = last_count_ns_ = 0;
  begin_ = switch_ns == 0 ? 0 : CountSwitches();
  last_ = begin_;
}

uint64_t SwitchCost::SpentNs() {
  if (switch_ns_ == 0) return spent_ns_;
  last_ = std::max(last_, CountSwitches());
  return (last_ - begin_) * switch_ns_;
}

void SwitchCost::End() {
  spent_ns_ = SpentNs();
  switch_ns_ = 0;
}

uint64_t SwitchCost::CountSwitches() {
  if (pid_ == 0 && threads_.empty()) {
    if (::gettid() == worker_) worker_switches_ = SwitchesByUsage(RUSAGE_THREAD);
    return SwitchesByUsage(RUSAGE_SELF) - worker_switches_;
  }
  // Reading a file of the kernel for each thread is slow, so it is done rarely.
  constexpr uint64_t kIntervalNs = 50'000'000;
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  if (last_count_ns_ != 0 && now_ns - last_count_ns_ < kIntervalNs) return last_;
  last_count_ns_ = now_ns;
  const StatusOr<std::vector<pid_t>> alive = ListThreadsAmong(threads_, pid_);
  if (!alive.ok()) return last_;
  const pid_t process = pid_ == 0 ? ::getpid() : pid_;
  uint64_t sum = 0;
  for (const pid_t tid : *alive) sum += SwitchesOfThread(process, tid);
  return sum;
}

uint64_t InterruptNs(Unit unit) {
  if (!IsVirtual()) return kBareMetalNs;
  return unit == Unit::kNanoseconds ? kVirtualClockNs : kVirtualCounterNs;
}

}  // namespace hbbp
