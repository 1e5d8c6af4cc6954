// The worker has the user and the groups of the program. The C library changes those of all threads
// that it believes to be there (libc_threads.h), so the worker follows: at once where the program
// gives up a user for good by one of these functions, and at the next checkpoint otherwise, as
// some programs change to and fro.
#include "preload/user_ids.h"

#include <dlfcn.h>
#include <grp.h>
#include <limits.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>

#include "base/files.h"
#include "preload/image_profile.h"
#include "preload/libc_threads.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

namespace hbbp::preload {
namespace {

// Of a user or a group.
struct Ids {
  uint32_t real = 0, effective = 0, saved = 0;
  bool operator==(const Ids&) const = default;
};

struct Credentials {
  Ids user, group;
  std::string groups;
  bool operator==(const Credentials&) const = default;
};

// Returns the line of /proc/PID/status that begins with `name`, without it.
std::string_view Line(std::string_view status, std::string_view name) {
  const size_t found = status.find(name);
  if (found == std::string_view::npos) return {};
  status.remove_prefix(found + name.size());
  return status.substr(0, status.find('\n'));
}

uint32_t TakeNumber(std::string_view* text) {
  const size_t first = text->find_first_of("0123456789");
  if (first == std::string_view::npos) return UINT32_MAX;
  text->remove_prefix(first);
  uint32_t number = UINT32_MAX;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), number);
  text->remove_prefix(static_cast<size_t>(parsed.ptr - text->data()));
  return number;
}

Ids ParseIds(std::string_view line) {
  Ids ids;
  ids.real = TakeNumber(&line);
  ids.effective = TakeNumber(&line);
  ids.saved = TakeNumber(&line);
  return ids;
}

bool ReadCredentials(pid_t tid, Credentials* credentials) {
  const StatusOr<std::string> status =
      ReadTextFile("/proc/self/task/" + std::to_string(tid) + "/status", 1 << 20);
  if (!status.ok()) return false;
  credentials->user = ParseIds(Line(*status, "\nUid:"));
  credentials->group = ParseIds(Line(*status, "\nGid:"));
  credentials->groups = Line(*status, "\nGroups:");
  return credentials->user.real != UINT32_MAX && credentials->group.real != UINT32_MAX;
}

// Changes those of the calling thread alone.
void Take(const Credentials& credentials) {
  gid_t groups[NGROUPS_MAX / 64];
  size_t count = 0;
  std::string_view rest = credentials.groups;
  for (uint32_t group; count < std::size(groups) && (group = TakeNumber(&rest)) != UINT32_MAX;) {
    groups[count++] = group;
  }
  (void)::syscall(SYS_setgroups, count, groups);
  const Ids& group = credentials.group;
  (void)::syscall(SYS_setresgid, group.real, group.effective, group.saved);
  const Ids& user = credentials.user;
  (void)::syscall(SYS_setresuid, user.real, user.effective, user.saved);
}

std::atomic<uint32_t> user_of_worker{UINT32_MAX};

// Returns whether the worker has a user that the caller cannot take again.
bool MustFollowAtOnce() {
  uid_t real, effective, saved;
  if (!ScopedThreadBelief::HasOneThread()) return false;
  if (::getresuid(&real, &effective, &saved) != 0) return false;
  return real == effective && effective == saved && user_of_worker != real;
}

template <typename Function, typename... Arguments>
int ChangeUser(const char* name, Arguments... arguments) {
  const auto next = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
  const int result = next(arguments...);
  const int saved_errno = errno;
  if (result == 0 && MustFollowAtOnce()) SaveImage();
  errno = saved_errno;
  return result;
}

}  // namespace

void FollowUserOfProgram() {
  if (!ScopedThreadBelief::HasOneThread()) return;
  Credentials of_program, own;
  const bool are_known =
      ReadCredentials(::getpid(), &of_program) && ReadCredentials(::gettid(), &own);
  if (are_known && own != of_program) Take(of_program);
  if (are_known) user_of_worker = of_program.user.effective;
}

}  // namespace hbbp::preload

#define HBBP_CHANGE_USER(function, ...) \
  return hbbp::preload::ChangeUser<decltype(::function)>(#function, __VA_ARGS__)

extern "C" {

HBBP_INTERPOSE int setuid(uid_t user) noexcept { HBBP_CHANGE_USER(setuid, user); }

HBBP_INTERPOSE int seteuid(uid_t user) noexcept { HBBP_CHANGE_USER(seteuid, user); }

HBBP_INTERPOSE int setreuid(uid_t real, uid_t effective) noexcept {
  HBBP_CHANGE_USER(setreuid, real, effective);
}

HBBP_INTERPOSE int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  HBBP_CHANGE_USER(setresuid, real, effective, saved);
}

HBBP_INTERPOSE int setgid(gid_t group) noexcept { HBBP_CHANGE_USER(setgid, group); }

HBBP_INTERPOSE int setegid(gid_t group) noexcept { HBBP_CHANGE_USER(setegid, group); }

HBBP_INTERPOSE int setregid(gid_t real, gid_t effective) noexcept {
  HBBP_CHANGE_USER(setregid, real, effective);
}

HBBP_INTERPOSE int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  HBBP_CHANGE_USER(setresgid, real, effective, saved);
}

HBBP_INTERPOSE int setgroups(size_t count, const gid_t* groups) noexcept {
  HBBP_CHANGE_USER(setgroups, count, groups);
}

HBBP_INTERPOSE int initgroups(const char* user, gid_t group) {
  HBBP_CHANGE_USER(initgroups, user, group);
}

}  // extern "C"
