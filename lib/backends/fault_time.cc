#include "backends/fault_time.h"

#include <sys/resource.h>

namespace hbbp {
namespace {

// What a page fault takes is not known better.
constexpr double kMaxTimesPageFault = 2;

}  // namespace

uint64_t FaultTime::CountPageFaults() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_minflt) + static_cast<uint64_t>(usage.ru_majflt);
}

void FaultTime::Begin(double page_fault_ns) {
  page_fault_ns_ = page_fault_ns;
  faults_before_ = page_fault_ns == 0 ? 0 : count_page_faults_();
  max_ns_ = explained_ns_ = 0;
  bursts_ = 0;
}

bool FaultTime::Explains(double period_ns) {
  if (page_fault_ns_ == 0) return false;
  if (explained_ns_ > max_ns_) {
    const auto faults = static_cast<double>(count_page_faults_() - faults_before_);
    max_ns_ = kMaxTimesPageFault * page_fault_ns_ * faults;
    if (explained_ns_ > max_ns_) return false;
  }
  explained_ns_ += period_ns;
  ++bursts_;
  return true;
}

}  // namespace hbbp
