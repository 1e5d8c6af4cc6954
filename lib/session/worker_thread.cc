#include "session/worker_thread.h"

#include <link.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace hbbp {
namespace {

// Returns the bytes of thread-local variables of all modules, which take their room from every
// thread's stack. The linker is asked once: a child of fork must not take the locks of the dynamic
// linker, and modules that come later take their room elsewhere.
size_t ThreadLocalBytes() {
  static std::atomic<size_t> known{0};
  if (known != 0) return known;
  size_t total = 1;
  const auto add = [](dl_phdr_info* info, size_t, void* sum) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info->dlpi_phdr[i];
      if (header.p_type != PT_TLS) continue;
      *static_cast<size_t*>(sum) += header.p_memsz + header.p_align;
    }
    return 0;
  };
  ::dl_iterate_phdr(add, &total);
  known = total;
  return total;
}

}  // namespace

StatusOr<pthread_t> StartWorkerThread(void* (*run)(void*), void* argument, size_t stack_bytes) {
  // No signal of the host may be delivered to a thread that it does not know of.
  sigset_t all, previous;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &previous);
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, stack_bytes + ThreadLocalBytes());
  pthread_t thread;
  const int error_number = ::pthread_create(&thread, &attributes, run, argument);
  ::pthread_attr_destroy(&attributes);
  ::pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  if (error_number == EAGAIN) {
    return MakeStatus(
        StatusCode::kBusy,
        "pthread_create: EAGAIN; no thread can be started: raise ulimit -u or pids.max "
        "of the container, or there is no memory for its stack: raise ulimit -v");
  }
  if (error_number != 0) return ErrnoStatus(error_number, "pthread_create for the worker");
  return thread;
}

}  // namespace hbbp
