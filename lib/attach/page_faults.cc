#include "attach/page_faults.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/clock.h"
#include "base/files.h"
#include "base/linux_constants.h"
#include "base/proc_path.h"
#include "base/status.h"

namespace hbbp {

uint64_t CountPageFaults(pid_t pid) {
  const StatusOr<std::string> stat = ReadTextFile(ProcPath(pid, "stat"));
  if (!stat.ok()) return 0;
  // The name may have blanks and brackets.
  const size_t name_end = stat->rfind(')');
  unsigned long minor = 0, major = 0;
  constexpr char kFormat[] = ") %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu";
  if (name_end == std::string::npos ||
      std::sscanf(stat->c_str() + name_end, kFormat, &minor, &major) != 2) {
    return 0;
  }
  return minor + major;
}

double NsOfPageFault() {
  constexpr size_t kPages = 33;
  constexpr size_t kBytes = kPages * kPageBytes;
  void* const memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  (void)::madvise(memory, kBytes, MADV_NOHUGEPAGE);
  std::array<uint64_t, kPages> ns;
  for (size_t i = 0; i < kPages; ++i) {
    const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
    static_cast<volatile uint8_t*>(memory)[i * kPageBytes] = 1;
    ns[i] = ClockNs(CLOCK_MONOTONIC) - begin_ns;
  }
  ::munmap(memory, kBytes);
  // The median: an interrupt may be in any of them.
  std::nth_element(ns.begin(), ns.begin() + kPages / 2, ns.end());
  return static_cast<double>(ns[kPages / 2]);
}

}  // namespace hbbp
