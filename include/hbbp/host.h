/* host.h: what a host program gives to the library: where messages go, how far long work is, a flag
 * that cancels it, and memory.
 */
#ifndef HBBP_HOST_H_
#define HBBP_HOST_H_

#include "status.h"

HBBP_EXTERN_C_BEGIN

/* Messages --------------------------------------------------------------------------------- */

typedef int32_t hbbp_log_level;
enum {
  HBBP_LOG_ERROR = 1,   /* counts are missing, or none will come */
  HBBP_LOG_WARNING = 2, /* counts are less exact than was asked for */
  HBBP_LOG_INFO = 3,    /* what was chosen, and why */
  HBBP_LOG_DEBUG = 4    /* each step */
};

/* `message` is one line, without its end, valid during the call. Called from the worker of a
 * session or from a thread that is inside a function of the library, by one thread at a time for a
 * session or an import, never from a signal handler and with no lock of the library held; it may
 * fork. What starting and stopping log arrives before they return, unless another thread is in the
 * log just then, which goes on with it. It may ask the session (hbbp_session_get_info,
 * hbbp_session_snapshot); starting and stopping it there is HBBP_ERROR_INVALID_STATE. If it
 * destroys the session, a thread of the library does so once this message, the last one, has
 * returned; the session's allocator is used until then. A feed must not be destroyed there. It
 * must not throw. */
typedef void (*hbbp_log)(hbbp_log_level level, const char *message, void *user_data);

/* Long work -------------------------------------------------------------------------------- */

/* How far work is: `all` 0 if it is not known how much there is. Called now and then in the thread
 * that called the function. It must not throw. */
typedef void (*hbbp_progress)(uint64_t done, uint64_t all, void *user_data);

/* A flag that cancels long work: the function that has it returns HBBP_ERROR_CANCELLED soon
 * after. One flag may be given to any number of functions, in any threads. */
typedef struct hbbp_cancel hbbp_cancel;

/* Makes a flag that is not set.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  cancel is NULL
 *   HBBP_ERROR_NO_MEMORY
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_cancel_create(hbbp_cancel **cancel, hbbp_error *error);

/* It must not be in use by a function. NULL is allowed. Since 0.1. */
HBBP_API void hbbp_cancel_destroy(hbbp_cancel *cancel);

/* Sets the flag (cancelled not 0) or takes it back. NULL is allowed. Any thread;
 * async-signal-safe. Since 0.1. */
HBBP_API void hbbp_cancel_set(hbbp_cancel *cancel, int32_t cancelled);

/* 1 if the flag is set, else 0, also for NULL. Any thread; async-signal-safe. Since 0.1. */
HBBP_API int32_t hbbp_cancel_is_set(const hbbp_cancel *cancel);

/* How a function that may take long does its work. Every such function has this as an argument that
 * may be NULL, and then also these errors:
 *   HBBP_ERROR_CANCELLED  `cancel` was set; what the function works on is as it was
 *   HBBP_ERROR_VERSION    a field that this library does not know is not 0
 * Fields that are 0 or NULL ask for nothing. Progress is in no particular unit unless the function
 * says so. */
typedef struct hbbp_work_options {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved;    /* 0 */
  hbbp_progress progress;
  void *user_data; /* given to progress */
  const hbbp_cancel *cancel;
} hbbp_work_options;

/* Memory ----------------------------------------------------------------------------------- */

/* The minimum of max_memory of options. */
#define HBBP_MIN_MEMORY 1048576u
/* The minimum of kept_burst_bytes of options. */
#define HBBP_MIN_KEPT_BURST_BYTES 65536u

/* Allocates the memory of counts. Both functions may be called by several threads at once, inside
 * functions of the library and from the worker of a session, never from a signal handler; they must
 * not throw, nor call the library. fork waits for those calls, and makes none itself.
 * docs/guide/embedding.md says what is allocated by them. */
typedef struct hbbp_allocator {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved;    /* 0 */
  /* Returns `size` bytes, at least 1, at a multiple of `alignment`, a power of two; NULL if there
   * are none. */
  void *(*allocate)(size_t size, size_t alignment, void *user_data);
  /* Gets the size and the alignment that the memory was asked for with. */
  void (*deallocate)(void *memory, size_t size, size_t alignment, void *user_data);
  void *user_data;
} hbbp_allocator;

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_HOST
#include "disabled.inc"
#endif

#endif /* HBBP_HOST_H_ */
