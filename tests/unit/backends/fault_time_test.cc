#include "backends/fault_time.h"

#include <sys/mman.h>

#include "base/linux_constants.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr double kMaxPageFaultNs = 8000, kPeriodNs = 1e6;

TEST_CASE("where a hypervisor has no part in page faults, no burst begins at one") {
  FaultTime time([]() -> uint64_t { return 1'000'000; });
  time.Begin(0);
  CHECK_FALSE(time.Explains(kPeriodNs));
  CHECK(time.bursts() == 0);
}

TEST_CASE("bursts begin at page faults for as long as these can have taken") {
  uint64_t faults = 1000;
  FaultTime time([&faults] { return faults; });
  time.Begin(kMaxPageFaultNs);
  CHECK(time.Explains(kPeriodNs));  // it may be one that comes
  CHECK_FALSE(time.Explains(kPeriodNs));
  // At most 8 us each: 125 of them are one period.
  faults += 124;
  CHECK_FALSE(time.Explains(kPeriodNs));
  faults += 2;
  CHECK(time.Explains(kPeriodNs));
  CHECK_FALSE(time.Explains(kPeriodNs));
  CHECK(time.bursts() == 2);
  time.Begin(kMaxPageFaultNs);
  CHECK(time.bursts() == 0);
}

TEST_CASE("many page faults do not explain all bursts that come later") {
  uint64_t faults = 0;
  FaultTime time([&faults] { return faults; });
  time.Begin(kMaxPageFaultNs);
  faults = 1'000'000;
  int explained = 0;
  while (time.Explains(kPeriodNs)) ++explained;
  CHECK(explained == 1001);  // a second, and one
}

TEST_CASE("page faults that can no longer be counted explain no bursts") {
  uint64_t faults = 1000;
  FaultTime time([&faults] { return faults; });
  time.Begin(kMaxPageFaultNs);
  faults = 0;
  CHECK(time.Explains(kPeriodNs));
  CHECK_FALSE(time.Explains(kPeriodNs));
}

TEST_CASE("the process's own page faults are counted") {
  constexpr size_t kPages = 100;
  const uint64_t before = FaultTime::CountPageFaults();
  void* memory = ::mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  (void)::madvise(memory, kPages * kPageBytes, MADV_NOHUGEPAGE);
  auto* bytes = static_cast<volatile char*>(memory);
  for (size_t page = 0; page < kPages; ++page) bytes[page * kPageBytes] = 1;
  CHECK(FaultTime::CountPageFaults() >=
        before + kPages / 2);  // fewer where the kernel makes several
  ::munmap(memory, kPages * kPageBytes);
}

}  // namespace
}  // namespace hbbp
