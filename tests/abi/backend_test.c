/* A source that a host plugs in: when its callbacks run, what becomes of their errors, and what is
 * refused. */
#include <hbbp/experimental/backend.h>
#include <pthread.h>
#include <stddef.h>

#include "checks.h"

enum { CODE_ADDRESS = 0x7000, PID = 7, BATCHES = 4, SAMPLES_OF_A_BATCH = 10 };

typedef struct fake_source {
  int starts, drains, stops, destroys;
  int after_destroy;
  uint32_t index;
  int batches_left;
  hbbp_status fails_with; /* the next callback, once */
  const char *message;
  hbbp_experimental_backend *own; /* to call from its own callbacks; else NULL */
} fake_source;

static hbbp_status outcome(fake_source *source, hbbp_error *error) {
  const hbbp_status status = source->fails_with;
  source->fails_with = HBBP_OK;
  if (source->destroys != 0) ++source->after_destroy;
  if (status != HBBP_OK && source->message != NULL) {
    snprintf(error->message, sizeof(error->message), "%s", source->message);
  }
  return status;
}

static hbbp_status fake_start(void *context, hbbp_session *session, hbbp_error *error) {
  fake_source *const source = context;
  if (source->starts++ == 0) {
    HBBP_INIT(hbbp_feed_source, samples);
    samples.kind = HBBP_SOURCE_EBS;
    samples.event = HBBP_EVENT_INSTRUCTIONS;
    samples.period = 100;
    CHECK(hbbp_session_add_fed_source(session, &samples, &source->index, error) == HBBP_OK);
    static const uint8_t code[] = {0xff, 0xc8, 0x75, 0xfc, 0xc3}; /* a loop of two instructions */
    const hbbp_feed_event event = {.kind = HBBP_FEED_CODE,
                                   .pid = PID,
                                   .address = CODE_ADDRESS,
                                   .size = sizeof(code),
                                   .code = code,
                                   .name = "loop"};
    CHECK(hbbp_session_feed_events(session, &event, 1, sizeof(event), error) == HBBP_OK);
  }
  source->batches_left = BATCHES;
  return outcome(source, error);
}

static void stop_itself(hbbp_experimental_backend *backend) {
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "callback",
              hbbp_experimental_backend_stop(backend, &error));
}

static hbbp_status fake_drain(void *context, hbbp_session *session, uint32_t *has_ended,
                              hbbp_error *error) {
  fake_source *const source = context;
  CHECK(*has_ended == 0);
  ++source->drains;
  if (source->own != NULL) stop_itself(source->own);
  const hbbp_status status = outcome(source, error);
  if (status != HBBP_OK) {
    *has_ended = 1; /* of no meaning with an error */
    return status;
  }
  const hbbp_feed_sample sample = {.ip = CODE_ADDRESS, .pid = PID, .tid = PID};
  for (int i = 0; i < SAMPLES_OF_A_BATCH; ++i) {
    CHECK(hbbp_session_feed_samples(session, source->index, &sample, 1, sizeof(sample), error) ==
          HBBP_OK);
  }
  *has_ended = --source->batches_left == 0;
  return HBBP_OK;
}

static hbbp_status fake_stop(void *context, hbbp_session *session, hbbp_error *error) {
  fake_source *const source = context;
  CHECK(session != NULL);
  ++source->stops;
  if (source->own != NULL) stop_itself(source->own);
  return outcome(source, error);
}

static void fake_destroy(void *context) {
  fake_source *const source = context;
  if (source->own != NULL) stop_itself(source->own);
  if (source->destroys++ != 0) ++source->after_destroy;
}

static hbbp_experimental_backend_ops fake_ops(void) {
  HBBP_INIT(hbbp_experimental_backend_ops, ops);
  ops.version = HBBP_EXPERIMENTAL_BACKEND_VERSION;
  ops.name = "fake";
  ops.start = fake_start;
  ops.drain = fake_drain;
  ops.stop = fake_stop;
  ops.destroy = fake_destroy;
  return ops;
}

static hbbp_session *fed_session(void) {
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create_fed(NULL, &session, &error));
  return session;
}

static hbbp_experimental_backend *plug(hbbp_session *session, fake_source *source) {
  const hbbp_experimental_backend_ops ops = fake_ops();
  hbbp_experimental_backend *backend = NULL;
  CHECK_OK(hbbp_experimental_backend_create(session, &ops, source, &backend, &error));
  return backend;
}

static void test_refused(void) {
  hbbp_session *session = fed_session();
  fake_source source = {.starts = 0};
  hbbp_experimental_backend *backend = NULL;
  hbbp_experimental_backend_ops ops = fake_ops();
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session",
              hbbp_experimental_backend_create(NULL, &ops, &source, &backend, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "ops",
              hbbp_experimental_backend_create(session, NULL, &source, &backend, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "backend",
              hbbp_experimental_backend_create(session, &ops, &source, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "backend",
              hbbp_experimental_backend_start(NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "backend",
              hbbp_experimental_backend_drain(NULL, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "backend", hbbp_experimental_backend_stop(NULL, &error));
  hbbp_experimental_backend_destroy(NULL);

#define REFUSED(status, word, change)                                                        \
  do {                                                                                       \
    ops = fake_ops();                                                                        \
    change;                                                                                  \
    CHECK_FAILS(status, word,                                                                \
                hbbp_experimental_backend_create(session, &ops, &source, &backend, &error)); \
  } while (0)
  REFUSED(HBBP_ERROR_VERSION, "version", ops.version = 0);
  REFUSED(HBBP_ERROR_VERSION, "version", ops.version = HBBP_EXPERIMENTAL_BACKEND_VERSION + 1);
  REFUSED(HBBP_ERROR_INVALID_ARGUMENT, "struct_size", ops.struct_size = 0);
  REFUSED(HBBP_ERROR_INVALID_ARGUMENT, "name", ops.name = NULL);
  REFUSED(HBBP_ERROR_INVALID_ARGUMENT, "start", ops.start = NULL);
  REFUSED(HBBP_ERROR_INVALID_ARGUMENT, "drain", ops.drain = NULL);
  REFUSED(HBBP_ERROR_INVALID_ARGUMENT, "stop", ops.stop = NULL);
  REFUSED(HBBP_ERROR_INVALID_ARGUMENT, "stop",
          ops.struct_size = offsetof(hbbp_experimental_backend_ops, stop));
#undef REFUSED
  struct {
    hbbp_experimental_backend_ops known;
    uint64_t newer;
  } larger = {fake_ops(), 1};
  larger.known.struct_size = sizeof(larger);
  CHECK_FAILS(HBBP_ERROR_VERSION, "hbbp_experimental_backend_ops",
              hbbp_experimental_backend_create(session, &larger.known, &source, &backend, &error));
  hbbp_session *live = NULL;
  CHECK_OK(hbbp_session_create(NULL, &live, &error));
  ops = fake_ops();
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "hbbp_session_create_fed",
              hbbp_experimental_backend_create(live, &ops, &source, &backend, &error));
  hbbp_session_destroy(live);
  CHECK(backend == NULL);
  CHECK(source.destroys == 0); /* the context stays the caller's */

  larger.newer = 0;
  CHECK_OK(hbbp_experimental_backend_create(session, &larger.known, &source, &backend, &error));
  hbbp_experimental_backend_destroy(backend);
  CHECK(source.destroys == 1 && source.starts == 0 && source.stops == 0);
  ops.struct_size = offsetof(hbbp_experimental_backend_ops, destroy); /* an older host */
  CHECK_OK(hbbp_experimental_backend_create(session, &ops, &source, &backend, &error));
  hbbp_experimental_backend_destroy(backend);
  CHECK(source.destroys == 1);
  hbbp_session_destroy(session);
}

static uint64_t samples_of(hbbp_session *session) {
  HBBP_INIT(hbbp_session_info, info);
  CHECK_OK(hbbp_session_get_info(session, &info, &error));
  return info.samples;
}

static void test_order_of_calls(void) {
  hbbp_session *session = fed_session();
  fake_source source = {.starts = 0};
  hbbp_experimental_backend *backend = plug(session, &source);
  uint32_t has_ended = 7;
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "fake: drain",
              hbbp_experimental_backend_drain(backend, &has_ended, &error));
  CHECK(has_ended == 0);
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "fake: stop",
              hbbp_experimental_backend_stop(backend, &error));
  CHECK_OK(hbbp_experimental_backend_start(backend, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "fake: start",
              hbbp_experimental_backend_start(backend, &error));
  CHECK(source.starts == 1 && source.drains == 0 && source.stops == 0);
  for (int batch = 1; batch <= BATCHES; ++batch) {
    CHECK_OK(hbbp_experimental_backend_drain(backend, &has_ended, &error));
    CHECK(has_ended == (batch == BATCHES));
    CHECK(samples_of(session) == (uint64_t)(batch * SAMPLES_OF_A_BATCH));
  }
  CHECK_OK(hbbp_experimental_backend_drain(backend, &has_ended, &error));
  CHECK(has_ended == 1 && source.drains == BATCHES);
  CHECK_OK(hbbp_experimental_backend_stop(backend, &error));
  CHECK_OK(hbbp_experimental_backend_start(backend, &error));
  CHECK_OK(hbbp_experimental_backend_drain(backend, NULL, &error));
  CHECK(source.starts == 2 && source.drains == BATCHES + 1 && source.stops == 1);
  hbbp_experimental_backend_destroy(backend); /* which stops it */
  CHECK(source.stops == 2 && source.destroys == 1 && source.after_destroy == 0);

  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, &profile, &error));
  CHECK(hbbp_profile_block_count(profile) == 1);
  HBBP_INIT(hbbp_block, block);
  CHECK_OK(hbbp_profile_block_at(profile, 0, &block, &error));
  CHECK(block.start == CODE_ADDRESS && block.instruction_count == 2);
  CHECK(block.count == (BATCHES + 1) * SAMPLES_OF_A_BATCH * 100 / 2.0);
  hbbp_profile_destroy(profile);
  hbbp_session_destroy(session);
}

static void test_errors_of_callbacks(void) {
  hbbp_session *session = fed_session();
  fake_source source = {.fails_with = HBBP_ERROR_PERMISSION, .message = "no device\nhere"};
  hbbp_experimental_backend *backend = plug(session, &source);
  CHECK_FAILS(HBBP_ERROR_PERMISSION, "fake: start: no device here",
              hbbp_experimental_backend_start(backend, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "fake", hbbp_experimental_backend_stop(backend, &error));
  CHECK(source.stops == 0); /* nothing was started */
  CHECK_OK(hbbp_experimental_backend_start(backend, &error));

  source.fails_with = HBBP_ERROR_BAD_FORMAT;
  source.message = NULL;
  uint32_t has_ended = 7;
  CHECK_FAILS(HBBP_ERROR_BAD_FORMAT, "fake: drain: HBBP_ERROR_BAD_FORMAT",
              hbbp_experimental_backend_drain(backend, &has_ended, &error));
  CHECK(has_ended == 0);
  CHECK_OK(hbbp_experimental_backend_drain(backend, &has_ended, &error));
  for (hbbp_status status = -1; strcmp(hbbp_status_name(status), "unknown status") != 0; --status) {
    source.fails_with = status;
    CHECK_FAILS(status, hbbp_status_name(status),
                hbbp_experimental_backend_drain(backend, NULL, &error));
  }
  source.fails_with = 5;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "returned 5",
              hbbp_experimental_backend_drain(backend, &has_ended, &error));
  source.fails_with = -1000;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "returned -1000",
              hbbp_experimental_backend_drain(backend, NULL, &error));
  CHECK(hbbp_experimental_backend_drain(backend, NULL, NULL) == HBBP_OK);

  static char endless[4096];
  memset(endless, 'a', sizeof(endless) - 1);
  source.fails_with = HBBP_ERROR_IO;
  source.message = endless;
  CHECK_FAILS(HBBP_ERROR_IO, "fake: stop: aaaa", hbbp_experimental_backend_stop(backend, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "fake", hbbp_experimental_backend_stop(backend, &error));
  CHECK(source.stops == 1); /* it is stopped all the same */

  source.own = backend;
  CHECK_OK(hbbp_experimental_backend_start(backend, &error));
  CHECK_OK(hbbp_experimental_backend_drain(backend, NULL, &error));
  source.fails_with = HBBP_ERROR_IO;
  hbbp_experimental_backend_destroy(backend);
  CHECK(source.stops == 2 && source.destroys == 1 && source.after_destroy == 0);
  hbbp_session_destroy(session);
}

static void test_session_that_goes_first(void) {
  hbbp_session *session = fed_session();
  fake_source sources[2] = {{.starts = 0}, {.starts = 0}};
  hbbp_experimental_backend *const first = plug(session, &sources[0]);
  hbbp_experimental_backend *const second = plug(session, &sources[1]);
  CHECK_OK(hbbp_experimental_backend_start(first, &error));
  CHECK_OK(hbbp_experimental_backend_start(second, &error));
  CHECK(sources[0].index == 0 && sources[1].index == 1);
  hbbp_session_destroy(session);
  CHECK_OK(hbbp_experimental_backend_drain(first, NULL, &error));
  hbbp_experimental_backend_destroy(first);
  CHECK(sources[0].destroys == 1 && sources[1].destroys == 0);
  CHECK_OK(hbbp_experimental_backend_drain(second, NULL, &error));
  hbbp_experimental_backend_destroy(second);
  CHECK(sources[1].destroys == 1);
}

static void *drain_to_the_end(void *backend) {
  uint32_t has_ended = 0;
  while (!has_ended) CHECK_OK(hbbp_experimental_backend_drain(backend, &has_ended, &error));
  return NULL;
}

static void test_threads(void) {
  enum { THREADS = 4, ROUNDS = 50 };
  hbbp_session *session = fed_session();
  fake_source source = {.starts = 0};
  hbbp_experimental_backend *backend = plug(session, &source);
  for (int round = 1; round <= ROUNDS; ++round) {
    CHECK_OK(hbbp_experimental_backend_start(backend, &error));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i) {
      CHECK(pthread_create(&threads[i], NULL, drain_to_the_end, backend) == 0);
    }
    hbbp_profile *profile = NULL;
    CHECK_OK(hbbp_session_snapshot(session, &profile, &error));
    hbbp_profile_destroy(profile);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    CHECK_OK(hbbp_experimental_backend_stop(backend, &error));
    CHECK(source.drains == round * BATCHES); /* one at a time, and none after the end */
  }
  CHECK(samples_of(session) == (uint64_t)ROUNDS * BATCHES * SAMPLES_OF_A_BATCH);
  hbbp_experimental_backend_destroy(backend);
  hbbp_session_destroy(session);
}

int main(void) {
  test_refused();
  test_order_of_calls();
  test_errors_of_callbacks();
  test_session_that_goes_first();
  test_threads();
  return end_of_checks();
}
