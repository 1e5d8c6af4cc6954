// StartWorkerThread starts threads of the library, which the host does not know of.
#ifndef HBBP_LIB_SESSION_WORKER_THREAD_H_
#define HBBP_LIB_SESSION_WORKER_THREAD_H_

#include <pthread.h>

#include <cstddef>

#include "base/status.h"

namespace hbbp {

// What the library itself needs at most.
inline constexpr size_t kWorkerStackBytes = 256 * 1024;

// The thread gets no signal of the host, and has so much stack besides its thread-local variables.
StatusOr<pthread_t> StartWorkerThread(void* (*run)(void*), void* argument,
                                      size_t stack_bytes = kWorkerStackBytes);

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_WORKER_THREAD_H_
