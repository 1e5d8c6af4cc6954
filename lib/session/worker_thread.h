// StartWorkerThread starts threads of the library, which the host does not know of.
#ifndef HBBP_LIB_SESSION_WORKER_THREAD_H_
#define HBBP_LIB_SESSION_WORKER_THREAD_H_

#include <pthread.h>

#include "base/status.h"

namespace hbbp {

// The thread gets no signal of the host, and has little stack.
StatusOr<pthread_t> StartWorkerThread(void* (*run)(void*), void* argument);

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_WORKER_THREAD_H_
