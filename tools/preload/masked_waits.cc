// The functions by which a thread waits with another signal mask. SIGTRAP is really blocked where
// the program blocks it and somebody has sent one (trace/signal_chain.h, Defer). If the mask of
// the wait lets it come, it is the program's then: deferred again, it would come again at once, and
// a program that waits in a loop until its handler was called, as zsh does, would never do
// anything else.

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include <cerrno>

#include "preload/next_function.h"
#include "preload/signals.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

namespace {

struct NextFunctions {
  int (*sigsuspend)(const sigset_t*);
  int (*ppoll)(pollfd*, nfds_t, const timespec*, const sigset_t*);
  int (*ppoll_chk)(pollfd*, nfds_t, const timespec*, const sigset_t*, size_t);
  int (*pselect)(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*);
  int (*epoll_pwait)(int, epoll_event*, int, int, const sigset_t*);
  int (*epoll_pwait2)(int, epoll_event*, int, const timespec*, const sigset_t*);
};

NextFunctions next;

__attribute__((constructor(101))) void LookUpAll() {
  using hbbp::preload::LookUp;
  if (next.sigsuspend != nullptr) return;
  LookUp("ppoll", &next.ppoll);
  LookUp("__ppoll_chk", &next.ppoll_chk);
  LookUp("pselect", &next.pselect);
  LookUp("epoll_pwait", &next.epoll_pwait);
  LookUp("epoll_pwait2", &next.epoll_pwait2);
  LookUp("sigsuspend", &next.sigsuspend);
}

// If constructors of other libraries call the functions, they may run before LookUpAll.
const NextFunctions& Next() {
  LookUpAll();
  return next;
}

// For its lifetime SIGTRAP is unblocked, as far as the program knows, if `mask` lets it come. It
// may end by the cancellation of the thread.
class MaskedWait {
 public:
  explicit MaskedWait(const sigset_t* mask)
      : changes_(mask != nullptr && sigismember(mask, SIGTRAP) == 0 &&
                 hbbp::preload::PrepareForTrapInWait()) {}
  ~MaskedWait() {
    if (changes_) hbbp::preload::BlockTrapAfterWait();
  }
  MaskedWait(const MaskedWait&) = delete;
  MaskedWait& operator=(const MaskedWait&) = delete;

 private:
  bool changes_;
};

}  // namespace

extern "C" {

HBBP_INTERPOSE int sigsuspend(const sigset_t* mask) {
  const MaskedWait wait(mask);
  return Next().sigsuspend(mask);
}

HBBP_INTERPOSE int ppoll(pollfd* files, nfds_t count, const timespec* timeout,
                         const sigset_t* mask) {
  const MaskedWait wait(mask);
  return Next().ppoll(files, count, timeout, mask);
}

HBBP_INTERPOSE int __ppoll_chk(pollfd* files, nfds_t count, const timespec* timeout,
                               const sigset_t* mask, size_t bytes) {
  const MaskedWait wait(mask);
  return Next().ppoll_chk(files, count, timeout, mask, bytes);
}

HBBP_INTERPOSE int pselect(int count, fd_set* reads, fd_set* writes, fd_set* others,
                           const timespec* timeout, const sigset_t* mask) {
  const MaskedWait wait(mask);
  return Next().pselect(count, reads, writes, others, timeout, mask);
}

HBBP_INTERPOSE int epoll_pwait(int epoll, epoll_event* events, int count, int timeout,
                               const sigset_t* mask) {
  const MaskedWait wait(mask);
  return Next().epoll_pwait(epoll, events, count, timeout, mask);
}

HBBP_INTERPOSE int epoll_pwait2(int epoll, epoll_event* events, int count, const timespec* timeout,
                                const sigset_t* mask) {
  if (Next().epoll_pwait2 == nullptr) {  // before glibc 2.35
    errno = ENOSYS;
    return -1;
  }
  const MaskedWait wait(mask);
  return Next().epoll_pwait2(epoll, events, count, timeout, mask);
}

}  // extern "C"
