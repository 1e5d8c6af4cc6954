// The functions that limit resources of a program. It knows how much address space it needs itself
// (RLIMIT_AS), and not of our tables, which are reserved for many threads and much code. So before
// the limit is set, all that is not in use is given back. Where there was a limit from the start,
// less is reserved. And a limit of the size of files (RLIMIT_FSIZE) is one of the profile, too,
// which is saved before.
#include "preload/resource_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "preload/image_profile.h"
#include "preload/next_function.h"
#include "preload/own_memory.h"
#include "preload/seccomp_filter.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

namespace hbbp::preload {

void (*release_unused_tables)(uint64_t) = nullptr;

}  // namespace hbbp::preload

namespace {

struct NextFunctions {
  int (*setrlimit)(int, const rlimit*);
  int (*prlimit)(pid_t, int, const rlimit*, rlimit*);
};

NextFunctions next;

__attribute__((constructor(101))) void LookUpAll() {
  using hbbp::preload::LookUp;
  if (next.prlimit != nullptr) return;
  LookUp("setrlimit", &next.setrlimit);
  LookUp("prlimit", &next.prlimit);
}

bool IsLimited(int resource) { return resource == RLIMIT_AS || resource == RLIMIT_FSIZE; }

void ReleaseMemory(rlim_t limit) {
  if (hbbp::preload::release_unused_tables != nullptr) {
    hbbp::preload::release_unused_tables(limit);
  }
  hbbp::preload::ReleaseUnusedMemory();
}

void SaveBeforeLimit(rlim_t limit) {
  constexpr rlim_t kLargeProfile = 4 << 20;
  if (limit >= kLargeProfile) return;
  hbbp::preload::EndImage(
      "sampling ended early: the program limited the size of the files that it writes "
      "(RLIMIT_FSIZE), and with them that of the profile");
}

void PrepareForLimit(int resource, const rlimit* limit) {
  if (hbbp::preload::HasFilter() || !IsLimited(resource) || limit == nullptr) return;
  if (limit->rlim_cur == RLIM_INFINITY) return;
  // A child of vfork shares the memory of its parent, which has no limit.
  if (!hbbp::preload::IsImageHere()) return;
  const int saved_errno = errno;
  if (resource == RLIMIT_AS) {
    ReleaseMemory(limit->rlim_cur);
  } else {
    SaveBeforeLimit(limit->rlim_cur);
  }
  errno = saved_errno;
}

int Set(int resource, const rlimit* limit) {
  LookUpAll();
  PrepareForLimit(resource, limit);
  return next.setrlimit(resource, limit);
}

int SetForProcess(pid_t pid, int resource, const rlimit* limit, rlimit* before) {
  LookUpAll();
  const bool is_own =
      pid == 0 || (IsLimited(resource) && !hbbp::preload::HasFilter() && pid == ::getpid());
  if (is_own) PrepareForLimit(resource, limit);
  return next.prlimit(pid, resource, limit, before);
}

}  // namespace

// Those with 64 in their names are the same functions here. These are not defined under the names
// of <sys/resource.h>, whose types of arguments depend on the language.
extern "C" {

HBBP_INTERPOSE int HbbpSetLimit(int resource, const rlimit* limit) __asm__("setrlimit");
HBBP_INTERPOSE int HbbpSetLimit64(int resource, const rlimit* limit) __asm__("setrlimit64");
HBBP_INTERPOSE int HbbpSetLimitForProcess(pid_t pid, int resource, const rlimit* limit,
                                          rlimit* before) __asm__("prlimit");
HBBP_INTERPOSE int HbbpSetLimitForProcess64(pid_t pid, int resource, const rlimit* limit,
                                            rlimit* before) __asm__("prlimit64");

int HbbpSetLimit(int resource, const rlimit* limit) { return Set(resource, limit); }
int HbbpSetLimit64(int resource, const rlimit* limit) { return Set(resource, limit); }
int HbbpSetLimitForProcess(pid_t pid, int resource, const rlimit* limit, rlimit* before) {
  return SetForProcess(pid, resource, limit, before);
}
int HbbpSetLimitForProcess64(pid_t pid, int resource, const rlimit* limit, rlimit* before) {
  return SetForProcess(pid, resource, limit, before);
}

}  // extern "C"
