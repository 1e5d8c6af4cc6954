#include "attach/page_faults.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/clock.h"
#include "base/linux_constants.h"

namespace hbbp {

double MeasurePageFaultNs() {
  constexpr size_t kPages = 33;
  constexpr size_t kBytes = kPages * kPageBytes;
  void* const memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  (void)::madvise(memory, kBytes, MADV_NOHUGEPAGE);
  // Where the program locks its memory, the pages are there already.
  (void)::munlock(memory, kBytes);
  (void)::madvise(memory, kBytes, MADV_DONTNEED);
  const auto median_of_access = [memory] {
    std::array<uint64_t, kPages> ns;
    for (size_t i = 0; i < kPages; ++i) {
      const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
      static_cast<volatile uint8_t*>(memory)[i * kPageBytes] = 1;
      ns[i] = ClockNs(CLOCK_MONOTONIC) - begin_ns;
    }
    // An interrupt may be in any of them.
    std::nth_element(ns.begin(), ns.begin() + kPages / 2, ns.end());
    return static_cast<double>(ns[kPages / 2]);
  };
  const double first_ns = median_of_access(), second_ns = median_of_access();
  ::munmap(memory, kBytes);
  return std::max(first_ns - second_ns, 0.0);
}

}  // namespace hbbp
