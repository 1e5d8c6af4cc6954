// Contract: see the header.
#include "trace/interpreter/guarded_memory.h"

#include <signal.h>
#include <sys/syscall.h>

#include <cerrno>

#include "base/linux_constants.h"
#include "base/raw_syscall.h"

// The linker defines these names for the ends of the section.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
extern const hbbp::trace::Fixup __start_hbbp_fixups[] __attribute__((visibility("hidden")));
extern const hbbp::trace::Fixup __stop_hbbp_fixups[] __attribute__((visibility("hidden")));
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace hbbp::trace {
namespace {

uint64_t Resolve(const int32_t* relative) {
  return reinterpret_cast<uint64_t>(relative) + static_cast<uint64_t>(int64_t{*relative});
}

}  // namespace

uint64_t FixUp(uint64_t ip) {
  for (const Fixup* fixup = __start_hbbp_fixups; fixup != __stop_hbbp_fixups; ++fixup) {
    if (Resolve(&fixup->at) == ip) return Resolve(&fixup->go_on);
  }
  return 0;
}

bool GuardedCopy(void* destination, const void* source, size_t size) {
  auto* to = static_cast<uint8_t*>(destination);
  auto* from = static_cast<const uint8_t*>(source);
  for (; size >= 8; size -= 8, to += 8, from += 8) {
    uint64_t word;
    if (!GuardedLoad(from, &word)) return false;
    __builtin_memcpy(to, &word, 8);
  }
  for (; size > 0; --size, ++to, ++from) {
    if (!GuardedLoad(from, to)) return false;
  }
  return true;
}

bool IsReadable(uint64_t address) {
  // The kernel reads the set before it checks `how`, and all eight bytes of it must be on the page.
  constexpr long kNoHow = -1;
  const uint64_t set = (address & 4095) > 4088 ? address - 7 : address;
  return RawSyscall(SYS_rt_sigprocmask, kNoHow, set, nullptr, 8) != -EFAULT;
}

namespace {

// Returns 1 or 0, or -errno: ENOMEM where nothing is mapped, another if a seccomp profile refuses
// the system call.
long Residency(uint64_t address) {
  uint8_t residency = 0;
  const long result = RawSyscall(SYS_mincore, address & ~(kPageBytes - 1), kPageBytes, &residency);
  return result == 0 ? residency & 1 : result;
}

}  // namespace

bool IsResident(uint64_t address) { return Residency(address) == 1; }

bool IsMissing(uint64_t address) {
  const long residency = Residency(address);
  return residency == 0 || residency == -ENOMEM;
}

}  // namespace hbbp::trace
