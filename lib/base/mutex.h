// Mutex is a std::mutex that is atomic in each process.
#ifndef HBBP_LIB_BASE_MUTEX_H_
#define HBBP_LIB_BASE_MUTEX_H_

#include <pthread.h>

#include <mutex>

namespace hbbp {

// The C library takes a mutex without atomic instructions while it believes that the process has
// one thread. Under `hbbp record` it is to believe that (tools/preload/libc_threads.h) although
// there is a worker, so what the worker shares with other threads needs mutexes that are shared
// between processes: those are always taken by atomic instructions.
class Mutex : public std::mutex {
 public:
  Mutex() {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    ::pthread_mutex_init(native_handle(), &attributes);
    ::pthread_mutexattr_destroy(&attributes);
  }
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_MUTEX_H_
