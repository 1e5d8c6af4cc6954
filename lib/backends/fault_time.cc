#include "backends/fault_time.h"

#include <sys/resource.h>

#include <algorithm>

namespace hbbp {
namespace {

// So much is kept: bursts come many at a time. A phase of the program that has no page faults comes
// later.
constexpr double kMaxUnexplainedNs = 1e9;

}  // namespace

uint64_t FaultTime::CountPageFaults() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_minflt) + static_cast<uint64_t>(usage.ru_majflt);
}

void FaultTime::Begin(double max_page_fault_ns) {
  max_page_fault_ns_ = max_page_fault_ns;
  faults_ = max_page_fault_ns == 0 ? 0 : count_page_faults_();
  unexplained_ns_ = 0;
  bursts_ = 0;
}

bool FaultTime::Explains(double period_ns) {
  if (max_page_fault_ns_ == 0) return false;
  // A filter of the program can refuse to count.
  const uint64_t faults = std::max(faults_, count_page_faults_());
  unexplained_ns_ += max_page_fault_ns_ * static_cast<double>(faults - faults_);
  unexplained_ns_ = std::min(unexplained_ns_, kMaxUnexplainedNs);
  faults_ = faults;
  if (unexplained_ns_ < 0) return false;
  unexplained_ns_ -= period_ns;
  ++bursts_;
  return true;
}

}  // namespace hbbp
