#include "top/signal_queue.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

namespace hbbp::tools {
namespace {

bool IsIgnored(int number) {
  struct sigaction action = {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void SetBlocked(int how, int number) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, number);
  ::pthread_sigmask(how, &set, nullptr);
}

}  // namespace

StatusOr<SignalQueue> SignalQueue::Open() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH}) {
    if (!IsIgnored(number)) ::sigaddset(&set, number);
  }
  UniqueFd fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "signalfd");
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return SignalQueue(std::move(fd));
}

void SignalQueue::Read() {
  signalfd_siginfo signal = {};
  while (::read(fd_.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
    switch (signal.ssi_signo) {
      case SIGTSTP:
        suspends_ = true;
        break;
      case SIGCONT:
        continues_ = true;
        break;
      case SIGWINCH:
        resizes_ = true;
        break;
      default:
        quits_ = true;
    }
  }
}

// The kernel drops the signal where no shell could let the process go on.
void SignalQueue::Suspend() {
  ::raise(SIGTSTP);
  SetBlocked(SIG_UNBLOCK, SIGTSTP);
  SetBlocked(SIG_BLOCK, SIGTSTP);
}

}  // namespace hbbp::tools
