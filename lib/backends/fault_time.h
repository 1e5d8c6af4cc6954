// FaultTime says which bursts of a clock begin at a page fault that was just handled, by a
// hypervisor or, where the clock does not stand still in the kernel (from outside), by either.
//
// A hypervisor that keeps page tables of its own, such as PVM, takes some microseconds for the
// first access to each page, besides what the kernel does. To the clock, that is time of the
// program, at the instruction that faulted: it has as many samples as ten thousand others.
// BurstTime adds the time of page faults to that of a burst. Those within the burst are known; the
// one that a sample has interrupted is over when the burst begins. It is known by its page, which
// has nothing but zeros: the kernel has just made it.
//
//   while (more) { page += 4096; *page = 1; Compute(); } - 85 % of the samples are at the store. By
//   the time of Compute alone, it would seem to run ten times as often as it does.
//
// Assumption: a page of zeros is new. Of a page of a file, or a copy after a fork, it is not known
// that it is new: code around such faults gets too much. A program that reads zeros again and again
// breaks it the other way, and its code would get too little: so no more bursts begin at page
// faults than those that the process has had can explain.
#ifndef HBBP_LIB_BACKENDS_FAULT_TIME_H_
#define HBBP_LIB_BACKENDS_FAULT_TIME_H_

#include <cstdint>
#include <functional>
#include <utility>

namespace hbbp {

class FaultTime {
 public:
  // Returns how many page faults the calling process has had.
  static uint64_t CountPageFaults();

  explicit FaultTime(std::function<uint64_t()> count_page_faults = &CountPageFaults)
      : count_page_faults_(std::move(count_page_faults)) {}

  // Of how much time a page fault can be the reason; 0: of none.
  void Begin(double max_page_fault_ns);

  // Returns whether a burst whose first instruction accesses a page of zeros, and that stands for
  // so many ns, begins at a page fault.
  bool Explains(double period_ns);

  // Returns how many did.
  uint64_t bursts() const { return bursts_; }

 private:
  std::function<uint64_t()> count_page_faults_;
  double max_page_fault_ns_ = 0;
  uint64_t faults_ = 0;        // by the last count
  double unexplained_ns_ = 0;  // of page faults; below 0 if the last burst stood for more
  uint64_t bursts_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_FAULT_TIME_H_
