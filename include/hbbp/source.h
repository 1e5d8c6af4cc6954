/* source.h: a source of samples that the host has written, as a part of a session.
 *
 * It is a table of functions: a reader of a device's trace, of another profiler's output, of an
 * emulator, a tracer. hbbp_session_start starts it next to the built-in sources, the session's
 * worker drains it, hbbp_session_stop stops it. Its sources stand in the profile next to the
 * others; with HBBP_SOURCE_EXTERNAL they are the only ones.
 *
 *   static const hbbp_source_ops ops = {
 *       .struct_size = sizeof(ops), .name = "device",
 *       .start = open_it, .drain = read_it, .stop = close_it, .destroy = free};
 *   hbbp_session_create(NULL, &session, NULL);
 *   hbbp_session_add_source(session, &ops, context, NULL);
 *   hbbp_session_start(session, NULL);
 *
 * Where the host wants to pump its observations itself, or they are of several processes, it makes
 * a feed (feed.h) instead.
 */
#ifndef HBBP_SOURCE_H_
#define HBBP_SOURCE_H_

#include "feed.h"
#include "session.h"

HBBP_EXTERN_C_BEGIN

/* `feed` belongs to the session: good in any thread from `start` until `stop` has returned, not to
 * be destroyed by the host; hbbp_feed_snapshot and hbbp_feed_get_info of it give
 * HBBP_ERROR_INVALID_STATE. What is added is of the session's process, also with pid 0; of other
 * processes it is dropped and counted (hbbp_session_info.dropped). Callbacks of one source never
 * run at the same time. `start` and `stop` are called by the worker or by the thread that starts or
 * stops the session, `drain` by the worker, or by a thread that asks the session. They must not use
 * the session, nor throw. A callback that fails returns a hbbp_status and should write a line into
 * error->message, which is never NULL here. */
typedef struct hbbp_source_ops {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved;    /* 0 */
  const char *name;     /* for messages; copied */
  /* Adds its sources to the feed (hbbp_feed_add_source), which is a new one at each start, and
   * starts to collect. The same sources again, in the same order, go on with their counts. If it
   * fails, nothing was started, `stop` is not called, and the session does not start. */
  hbbp_status (*start)(void *context, hbbp_feed *feed, hbbp_error *error);
  /* Adds what was collected since the last call, and sets *has_ended, which is 0, to 1 if nothing
   * more can come; it is then not called again before the next start. Must not wait. A failure ends
   * nothing: it is logged, and the next call tries again. May be NULL: then threads of the host add
   * what they have whenever they have it. */
  hbbp_status (*drain)(void *context, hbbp_feed *feed, uint32_t *has_ended, hbbp_error *error);
  /* Stops collecting, and adds what is left: there may have been no `drain` at all. Called once for
   * each start that succeeded, and the source is then stopped even if this fails. */
  hbbp_status (*stop)(void *context, hbbp_feed *feed, hbbp_error *error);
  /* Frees the context. Called once, with the end of the session; nothing is called afterwards. May
   * be NULL. */
  void (*destroy)(void *context);
} hbbp_source_ops;

/* Adds a source to a session that does not run; calls nothing yet. `ops` is copied, `context`
 * handed to every callback. On success the context belongs to the session; on failure it stays the
 * caller's.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  an argument but `context` is NULL; ops has no name, start or stop
 *   HBBP_ERROR_VERSION           a callback that this library does not know
 *   HBBP_ERROR_INVALID_STATE     the session runs
 *   HBBP_ERROR_NO_MEMORY
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_session_add_source(hbbp_session *session, const hbbp_source_ops *ops,
                                             void *context, hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_SOURCE
#include "disabled.inc"
#endif

#endif /* HBBP_SOURCE_H_ */
