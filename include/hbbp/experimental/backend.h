/* backend.h: a source of samples that the host plugs in.
 *
 * Experimental: not part of the stable ABI. Anything here may change or go with any release; a
 * program that uses it is compiled for the release that it runs with. hbbp.h does not include it.
 *
 * A backend is a table of functions that the host has written: a reader of a device's trace, of
 * another profiler's output, of an emulator. It is plugged into a fed session (feed.h), whose
 * functions it calls with what it finds; several may be plugged into one.
 *
 *   static const hbbp_experimental_backend_ops ops = {
 *       .struct_size = sizeof(ops), .version = HBBP_EXPERIMENTAL_BACKEND_VERSION,
 *       .name = "device", .start = open_it, .drain = read_it, .stop = close_it, .destroy = free};
 *   hbbp_session_create_fed(NULL, &session, NULL);
 *   hbbp_experimental_backend_create(session, &ops, context, &backend, NULL);
 *   hbbp_experimental_backend_start(backend, NULL);
 *   do hbbp_experimental_backend_drain(backend, &has_ended, NULL); while (!has_ended);
 *   hbbp_experimental_backend_stop(backend, NULL);
 *   hbbp_session_snapshot(session, &profile, NULL);
 *
 * Threads. The library has none here: a callback runs during the call that asks for it, on the
 * caller's thread, and any thread may ask. Callbacks of one backend never run at the same time: a
 * call waits for the one before. The session may be fed and asked by other threads meanwhile.
 */
#ifndef HBBP_EXPERIMENTAL_BACKEND_H_
#define HBBP_EXPERIMENTAL_BACKEND_H_

#include "../feed.h"

HBBP_EXTERN_C_BEGIN

/* Of what the callbacks promise and are promised. */
#define HBBP_EXPERIMENTAL_BACKEND_VERSION 1

/* `session` is the one that the backend was plugged into, as a handle that belongs to the library:
 * good during the call, not to be destroyed. A callback must not call the functions below for its
 * own backend (which fails with HBBP_ERROR_INVALID_STATE), nor throw.
 * A callback that fails returns a hbbp_status and should write a line into error->message, which
 * is never NULL here; whoever asked gets both, with the backend's name in front. */
typedef struct hbbp_experimental_backend_ops {
  uint32_t struct_size; /* set by the caller */
  uint32_t version;     /* HBBP_EXPERIMENTAL_BACKEND_VERSION */
  const char *name;     /* for messages; copied */
  /* Adds its sources to the session (hbbp_session_add_fed_source) if it has not yet, and starts to
   * collect. If it fails, nothing was started: `stop` is not called. */
  hbbp_status (*start)(void *context, hbbp_session *session, hbbp_error *error);
  /* Feeds what was collected since the last call, and sets *has_ended, which is 0, to 1 if nothing
   * more can come; it is then not called again before the next start. May wait for more, but
   * should come back now and then. A failure ends nothing: the next call tries again. */
  hbbp_status (*drain)(void *context, hbbp_session *session, uint32_t *has_ended,
                       hbbp_error *error);
  /* Stops collecting; may feed what is left. Called once for each start that succeeded, and the
   * backend is then stopped even if this fails. */
  hbbp_status (*stop)(void *context, hbbp_session *session, hbbp_error *error);
  /* Frees the context. Called once; nothing is called afterwards. May be NULL. */
  void (*destroy)(void *context);
} hbbp_experimental_backend_ops;

typedef struct hbbp_experimental_backend hbbp_experimental_backend;

/* Plugs a backend into a fed session; calls nothing yet. `ops` is copied, `context` handed to every
 * callback. On success the context belongs to the backend; on failure it stays the caller's. The
 * backend and its session may be destroyed in any order: what is fed without a session is lost.
 * Errors: HBBP_ERROR_INVALID_ARGUMENT (an argument but `context` is NULL; ops has no name, start,
 * drain or stop), HBBP_ERROR_VERSION (another version; a field that this library does not know),
 * HBBP_ERROR_INVALID_STATE (the session is not a fed one), HBBP_ERROR_NO_MEMORY.
 * Any thread. Since 0.1, experimental. */
HBBP_API hbbp_status hbbp_experimental_backend_create(hbbp_session *session,
                                                      const hbbp_experimental_backend_ops *ops,
                                                      void *context,
                                                      hbbp_experimental_backend **backend,
                                                      hbbp_error *error);

/* Stops it if needed, whatever comes of that, and frees the context. Not while another thread
 * calls a function of this backend, nor in its callbacks. NULL is allowed.
 * Since 0.1, experimental. */
HBBP_API void hbbp_experimental_backend_destroy(hbbp_experimental_backend *backend);

/* Errors: what the callback returns; HBBP_ERROR_INVALID_STATE (started already; called by one of
 * its callbacks; so below), HBBP_ERROR_INVALID_ARGUMENT (NULL; the callback returned no
 * hbbp_status; so below). Any thread. Since 0.1, experimental. */
HBBP_API hbbp_status hbbp_experimental_backend_start(hbbp_experimental_backend *backend,
                                                     hbbp_error *error);

/* `has_ended`, which may be NULL, gets 1 if nothing more will come, also from the calls that
 * follow, which then do nothing. Errors: as above; HBBP_ERROR_INVALID_STATE (not started). Any
 * thread. Since 0.1, experimental. */
HBBP_API hbbp_status hbbp_experimental_backend_drain(hbbp_experimental_backend *backend,
                                                     uint32_t *has_ended, hbbp_error *error);

/* It may be started again. Errors: as above; HBBP_ERROR_INVALID_STATE (not started). Any thread.
 * Since 0.1, experimental. */
HBBP_API hbbp_status hbbp_experimental_backend_stop(hbbp_experimental_backend *backend,
                                                    hbbp_error *error);

HBBP_EXTERN_C_END

#endif /* HBBP_EXPERIMENTAL_BACKEND_H_ */
