// Threads of the library, of which the host does not know.
#ifndef HBBP_LIB_SESSION_HIDDEN_THREAD_H_
#define HBBP_LIB_SESSION_HIDDEN_THREAD_H_

#include <pthread.h>

#include "base/status.h"

namespace hbbp {

// Gets no signal of the host, and has little stack.
StatusOr<pthread_t> StartHiddenThread(void* (*run)(void*), void* argument);

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_HIDDEN_THREAD_H_
