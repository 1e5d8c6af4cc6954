/* Tests a source of the host as a part of a session (source.h): when its callbacks run, the results
 * of their errors and samples, and what is refused. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"

enum { PERIOD = 100, SAMPLES_OF_A_DRAIN = 10, SKIPPED = 77 };

/* A loop of two instructions and a return, which never runs. */
static const uint8_t loop_code[] = {0xff, 0xc8, 0x75, 0xfc, 0xc3};
static const uint64_t loop_address = UINT64_C(0x7e0000000000);

/* A source whose drains add some samples. Counts of calls are read in other threads. */
typedef struct host_source {
  atomic_int starts, drains, stops, destroys;
  atomic_int after_destroy;
  atomic_int now_inside;
  uint32_t index;
  uint32_t pid;           /* of its samples */
  int has_code;           /* the session knows its code */
  atomic_int drains_left; /* until it has ended; negative: never */
  atomic_int fails_to_start, fails_to_drain, fails_to_stop; /* hbbp_status, once */
  const char *message;
  int samples_at_stop;
  _Atomic(hbbp_feed *) feed;
} host_source;

static host_source new_source(void) {
  host_source source;
  memset(&source, 0, sizeof(source));
  source.pid = (uint32_t)getpid();
  source.drains_left = -1;
  return source;
}

static void enter(host_source *source) {
  if (atomic_load(&source->destroys) != 0) atomic_fetch_add(&source->after_destroy, 1);
  CHECK(atomic_fetch_add(&source->now_inside, 1) == 0); /* never two at once */
}

static hbbp_status leave(host_source *source, atomic_int *failure, hbbp_error *error) {
  const hbbp_status status = atomic_exchange(failure, HBBP_OK);
  if (status != HBBP_OK && source->message != NULL) {
    snprintf(error->message, sizeof(error->message), "%s", source->message);
  }
  atomic_fetch_sub(&source->now_inside, 1);
  return status;
}

static void add_samples(host_source *source, hbbp_feed *feed, int count) {
  HBBP_INIT(hbbp_error, error);
  const hbbp_feed_sample sample = {
      .ip = loop_address, .pid = source->pid, .tid = (uint32_t)getpid()};
  for (int i = 0; i < count; ++i) {
    if (hbbp_feed_add_samples(feed, source->index, &sample, 1, sizeof(sample), &error) != HBBP_OK) {
      report(__FILE__, __LINE__, error.message);
    }
  }
}

static hbbp_status start_source(void *context, hbbp_feed *feed, hbbp_error *error) {
  host_source *const source = (host_source *)context;
  enter(source);
  atomic_fetch_add(&source->starts, 1);
  atomic_store(&source->feed, feed);
  CHECK(feed != NULL && error != NULL && error->struct_size == sizeof(*error));
  HBBP_INIT(hbbp_feed_source, samples);
  samples.kind = HBBP_SOURCE_EBS;
  samples.event = HBBP_EVENT_INSTRUCTIONS;
  samples.event_name = "device-instructions";
  samples.period = PERIOD;
  CHECK(hbbp_feed_add_source(feed, &samples, &source->index, error) == HBBP_OK);
  if (!source->has_code) {
    source->has_code = 1;
    const hbbp_feed_event event = {.kind = HBBP_FEED_CODE,
                                   .pid = (uint32_t)getpid(),
                                   .address = loop_address,
                                   .size = sizeof(loop_code),
                                   .code = loop_code,
                                   .name = "device_loop"};
    CHECK(hbbp_feed_add_events(feed, &event, 1, sizeof(event), error) == HBBP_OK);
  }
  return leave(source, &source->fails_to_start, error);
}

static hbbp_status drain_source(void *context, hbbp_feed *feed, uint32_t *has_ended,
                                hbbp_error *error) {
  host_source *const source = (host_source *)context;
  enter(source);
  CHECK(feed == atomic_load(&source->feed));
  CHECK(*has_ended == 0);
  if (atomic_load(&source->fails_to_drain) != HBBP_OK) {
    *has_ended = 1; /* it is ignored if there is an error */
    return leave(source, &source->fails_to_drain, error);
  }
  CHECK(atomic_load(&source->drains_left) != 0); /* not called after its end */
  add_samples(source, feed, SAMPLES_OF_A_DRAIN);
  atomic_fetch_add(&source->drains, 1);
  if (atomic_load(&source->drains_left) > 0) {
    *has_ended = atomic_fetch_sub(&source->drains_left, 1) == 1;
  }
  return leave(source, &source->fails_to_drain, error);
}

static hbbp_status stop_source(void *context, hbbp_feed *feed, hbbp_error *error) {
  host_source *const source = (host_source *)context;
  enter(source);
  atomic_fetch_add(&source->stops, 1);
  CHECK(feed == atomic_load(&source->feed));
  add_samples(source, feed, source->samples_at_stop);
  return leave(source, &source->fails_to_stop, error);
}

static void destroy_source(void *context) {
  host_source *const source = (host_source *)context;
  enter(source);
  atomic_fetch_add(&source->destroys, 1);
  atomic_fetch_sub(&source->now_inside, 1);
}

static hbbp_source_ops new_ops(const char *name) {
  HBBP_INIT(hbbp_source_ops, ops);
  ops.name = name;
  ops.start = start_source;
  ops.drain = drain_source;
  ops.stop = stop_source;
  ops.destroy = destroy_source;
  return ops;
}

typedef struct messages {
  pthread_mutex_t lock;
  char all[16384];
} messages;

static void keep_message(hbbp_log_level level, const char *message, void *user_data) {
  messages *const kept = (messages *)user_data;
  (void)level;
  pthread_mutex_lock(&kept->lock);
  if (strlen(kept->all) + strlen(message) + 2 < sizeof(kept->all)) {
    strcat(kept->all, message);
    strcat(kept->all, "\n");
  }
  pthread_mutex_unlock(&kept->lock);
}

static int was_logged(messages *kept, const char *word) {
  pthread_mutex_lock(&kept->lock);
  const int found = strstr(kept->all, word) != NULL;
  pthread_mutex_unlock(&kept->lock);
  return found;
}

static hbbp_session *new_session(hbbp_source_kind kind, messages *kept) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = kind;
  if (kind == HBBP_SOURCE_EBS) {
    options.event = HBBP_EVENT_TASK_CLOCK;
    options.period = 500000;
  }
  if (kept != NULL) {
    memset(kept, 0, sizeof(*kept));
    pthread_mutex_init(&kept->lock, NULL);
    options.log = keep_message;
    options.log_user_data = kept;
    options.log_level = HBBP_LOG_DEBUG;
  }
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  return session;
}

static void add(hbbp_session *session, const char *name, host_source *source) {
  char copied[64]; /* which the session must not keep */
  snprintf(copied, sizeof(copied), "%s", name);
  hbbp_source_ops ops = new_ops(copied);
  CHECK_OK(hbbp_session_add_source(session, &ops, source, &error));
  memset(copied, 'x', sizeof(copied) - 1);
  memset(&ops, 0, sizeof(ops));
  CHECK(atomic_load(&source->starts) == 0); /* calls nothing yet */
}

static hbbp_session_info info_of(hbbp_session *session) {
  HBBP_INIT(hbbp_session_info, info);
  CHECK_OK(hbbp_session_get_info(session, &info, &error));
  return info;
}

static void pause_ms(int milliseconds) {
  const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  nanosleep(&pause, NULL);
}

/* Waits until `*value` is at least that, for at most ten seconds. */
static void wait_for(const atomic_int *value, int minimum) {
  for (int i = 0; i < 1000 && atomic_load(value) < minimum; ++i) pause_ms(10);
  CHECK(atomic_load(value) >= minimum);
}

/* What is refused ---------------------------------------------------------------------------- */

/* Nothing would heed them. */
static void test_refused_options(void) {
  static const uint32_t threads[] = {1};
#define REFUSED(word, change)                                     \
  do {                                                            \
    HBBP_INIT(hbbp_session_options, options);                     \
    hbbp_session *session = NULL;                                 \
    options.source = HBBP_SOURCE_EXTERNAL;                        \
    change;                                                       \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, word,                \
                hbbp_session_create(&options, &session, &error)); \
  } while (0)
  REFUSED("event", options.event = HBBP_EVENT_CYCLES);
  REFUSED("period", options.period = 17);
  REFUSED("frequency_hz", options.frequency_hz = 17);
  REFUSED("include_kernel", options.include_kernel = 1);
  REFUSED("thread_count", options.thread_count = 1; options.threads = threads);
#undef REFUSED
}

static void test_refused(void) {
  hbbp_session *session = new_session(HBBP_SOURCE_EXTERNAL, NULL);
  host_source source = new_source();
  hbbp_source_ops ops = new_ops("device");
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session",
              hbbp_session_add_source(NULL, &ops, &source, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "ops",
              hbbp_session_add_source(session, NULL, &source, &error));
#define REFUSED(word, change)                                             \
  do {                                                                    \
    ops = new_ops("device");                                              \
    ops.change;                                                           \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, word,                        \
                hbbp_session_add_source(session, &ops, &source, &error)); \
  } while (0)
  REFUSED("name", name = NULL);
  REFUSED("start", start = NULL);
  REFUSED("stop", stop = NULL);
  REFUSED("reserved", reserved = 1);
  REFUSED("struct_size", struct_size = 0);
  REFUSED("stop", struct_size = offsetof(hbbp_source_ops, stop));
#undef REFUSED
  struct {
    hbbp_source_ops known;
    uint64_t newer;
  } larger = {new_ops("device"), 1};
  larger.known.struct_size = sizeof(larger);
  CHECK_FAILS(HBBP_ERROR_VERSION, "hbbp_source_ops",
              hbbp_session_add_source(session, &larger.known, &source, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "source", hbbp_session_start(session, &error));
  hbbp_session_destroy(session);
  CHECK(source.destroys == 0); /* the context stays the caller's */

  session = new_session(HBBP_SOURCE_EXTERNAL, NULL);
  larger.newer = 0;
  CHECK_OK(hbbp_session_add_source(session, &larger.known, &source, &error));
  ops = new_ops("device");
  ops.struct_size = offsetof(hbbp_source_ops, destroy); /* an older host */
  host_source other = new_source();
  CHECK_OK(hbbp_session_add_source(session, &ops, &other, &error));
  hbbp_session_destroy(session);
  CHECK(source.destroys == 1 && source.starts == 0 && source.stops == 0);
  CHECK(other.destroys == 0 && other.starts == 0);
}

/* A session that has its sources only ---------------------------------------------------------- */

static void check_profile(hbbp_session *session, const host_source *source) {
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  const uint64_t samples = (uint64_t)source->drains * SAMPLES_OF_A_DRAIN +
                           (uint64_t)source->stops * (uint64_t)source->samples_at_stop;
  HBBP_INIT(hbbp_profile_info, info);
  CHECK_OK(hbbp_profile_get_info(profile, &info, &error));
  CHECK(info.pid == (uint32_t)getpid());
  CHECK(info.samples == samples && info.unmapped == 0);
  CHECK(hbbp_profile_source_count(profile) == 1);
  HBBP_INIT(hbbp_source_info, found);
  CHECK_ELEMENT(hbbp_profile_copy_sources, profile, 0, &found);
  CHECK(found.kind == HBBP_SOURCE_EBS && found.event == HBBP_EVENT_INSTRUCTIONS);
  CHECK(found.period == PERIOD && found.samples == samples);
  CHECK(hbbp_analysis_block_count(analysis) == 1);
  HBBP_INIT(hbbp_block, block);
  CHECK_ELEMENT(hbbp_analysis_copy_blocks, analysis, 0, &block);
  CHECK(block.start == loop_address && block.instruction_count == 2);
  CHECK(block.samples == samples && block.count == (double)samples * PERIOD / 2);
  HBBP_INIT(hbbp_function, function);
  CHECK_ELEMENT(hbbp_analysis_copy_functions, analysis, block.function, &function);
  CHECK(strcmp(function.name, "device_loop") == 0);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
}

static void test_order_of_calls(void) {
  hbbp_session *session = new_session(HBBP_SOURCE_EXTERNAL, NULL);
  host_source source = new_source();
  source.samples_at_stop = 3;
  add(session, "device", &source);
  CHECK_OK(hbbp_session_start(session, &error));
  CHECK(source.starts == 1 && source.stops == 0);
  CHECK(info_of(session).running == 1);
  wait_for(&source.drains, 3);
  host_source late = new_source();
  const hbbp_source_ops ops = new_ops("late");
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "", hbbp_session_add_source(session, &ops, &late, &error));
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK(source.starts == 1 && source.stops == 1 && source.destroys == 0);
  const int drains = source.drains;
  pause_ms(100);
  CHECK(source.drains == drains); /* none after stop */
  check_profile(session, &source);
  CHECK(info_of(session).samples == (uint64_t)drains * SAMPLES_OF_A_DRAIN + 3);

  /* A stopped session may be started again: its feed is a new one, its counts continue. */
  CHECK_OK(hbbp_session_start(session, &error));
  CHECK(source.starts == 2);
  wait_for(&source.drains, drains + 1);
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK(source.stops == 2);
  check_profile(session, &source);

  /* destroy stops what runs. */
  CHECK_OK(hbbp_session_start(session, &error));
  hbbp_session_destroy(session);
  CHECK(source.starts == 3 && source.stops == 3 && source.destroys == 1);
  CHECK(source.after_destroy == 0 && late.destroys == 0);
}

static void test_source_that_ends(void) {
  hbbp_session *session = new_session(HBBP_SOURCE_EXTERNAL, NULL);
  host_source source = new_source();
  source.drains_left = 2;
  add(session, "short", &source);
  CHECK_OK(hbbp_session_start(session, &error));
  wait_for(&source.drains, 2);
  pause_ms(200);
  CHECK(source.drains == 2);
  CHECK(info_of(session).running == 1);
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK(source.drains == 2 && source.stops == 1);
  source.drains_left = 1;
  CHECK_OK(hbbp_session_start(session, &error)); /* which makes it begin again */
  wait_for(&source.drains, 3);
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK(source.drains == 3);
  check_profile(session, &source);
  hbbp_session_destroy(session);
}

/* Errors -------------------------------------------------------------------------------------- */

static void test_failing_start(void) {
  messages kept;
  hbbp_session *session = new_session(HBBP_SOURCE_EXTERNAL, &kept);
  host_source first = new_source();
  host_source second = new_source();
  add(session, "first", &first);
  add(session, "second", &second);
  second.fails_to_start = HBBP_ERROR_PERMISSION;
  second.message = "no device\nhere";
  CHECK_FAILS(HBBP_ERROR_PERMISSION, "second", hbbp_session_start(session, &error));
  CHECK(was_logged(&kept, "second") && was_logged(&kept, "no device here"));
  CHECK(info_of(session).running == 0);
  CHECK(second.starts == 1 && second.stops == 0); /* nothing was started */
  CHECK(first.starts == first.stops);             /* what was started is stopped */
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "not running", hbbp_session_stop(session, &error));

  second.message = NULL;
  second.fails_to_start = HBBP_ERROR_BUSY;
  CHECK_FAILS(HBBP_ERROR_BUSY, "HBBP_ERROR_BUSY", hbbp_session_start(session, &error));
  second.fails_to_start = 5; /* not a status */
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "5", hbbp_session_start(session, &error));
  second.fails_to_start = -1000;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "-1000", hbbp_session_start(session, &error));
  CHECK_OK(hbbp_session_start(session, &error)); /* nothing is left of that */
  wait_for(&first.drains, 1);
  wait_for(&second.drains, 1);
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK(first.starts == first.stops && second.stops == 1);
  hbbp_session_destroy(session);
  CHECK(first.destroys == 1 && second.destroys == 1);
}

static void test_failing_drain_and_stop(void) {
  messages kept;
  hbbp_session *session = new_session(HBBP_SOURCE_EXTERNAL, &kept);
  host_source source = new_source();
  add(session, "flaky", &source);
  source.fails_to_drain = HBBP_ERROR_IO;
  source.message = "the wire was cut";
  CHECK_OK(hbbp_session_start(session, &error));
  wait_for(&source.drains, 2); /* the next call tries again */
  CHECK(was_logged(&kept, "flaky") && was_logged(&kept, "the wire was cut"));
  CHECK(info_of(session).running == 1);
  static char endless[4096];
  memset(endless, 'a', sizeof(endless) - 1);
  source.message = endless;
  source.fails_to_stop = HBBP_ERROR_IO;
  CHECK_FAILS(HBBP_ERROR_IO, "aaaa", hbbp_session_stop(session, &error));
  CHECK(info_of(session).running == 0); /* it is stopped nevertheless */
  CHECK(source.stops == 1);
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "not running", hbbp_session_stop(session, &error));
  check_profile(session, &source);
  CHECK_OK(hbbp_session_start(session, &error));
  source.fails_to_stop = HBBP_ERROR_IO;
  hbbp_session_destroy(session);
  CHECK(source.stops == 2 && source.destroys == 1 && source.after_destroy == 0);
}

/* The feed of a session ------------------------------------------------------------------------ */

/* A source without `drain`: a thread of the host adds its samples. */
static void test_feed_of_session(void) {
  hbbp_session *session = new_session(HBBP_SOURCE_EXTERNAL, NULL);
  host_source source = new_source();
  hbbp_source_ops ops = new_ops("pushed");
  ops.drain = NULL;
  CHECK_OK(hbbp_session_add_source(session, &ops, &source, &error));
  CHECK_OK(hbbp_session_start(session, &error));
  hbbp_feed *const feed = atomic_load(&source.feed);
  add_samples(&source, feed, 50);
  hbbp_profile *profile = NULL;
  HBBP_INIT(hbbp_feed_info, info);
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "session",
              hbbp_feed_snapshot(feed, NULL, &profile, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "session", hbbp_feed_get_info(feed, &info, &error));
  CHECK(profile == NULL);
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK(source.starts == 1 && source.drains == 0 && source.stops == 1);
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  HBBP_INIT(hbbp_source_info, found);
  CHECK_ELEMENT(hbbp_profile_copy_sources, profile, 0, &found);
  CHECK(found.samples == 50);
  hbbp_profile_destroy(profile);
  hbbp_session_destroy(session);
  CHECK(source.destroys == 1);
}

/* Adds samples and code of another process. With pid 0 they belong to this one. */
static void test_other_processes(void) {
  hbbp_session *session = new_session(HBBP_SOURCE_EXTERNAL, NULL);
  host_source source = new_source();
  hbbp_source_ops ops = new_ops("system");
  ops.drain = NULL;
  CHECK_OK(hbbp_session_add_source(session, &ops, &source, &error));
  CHECK_OK(hbbp_session_start(session, &error));
  hbbp_feed *const feed = atomic_load(&source.feed);
  add_samples(&source, feed, 5);
  const uint64_t dropped_before = info_of(session).dropped;
  source.pid = 1;
  add_samples(&source, feed, 7);
  source.pid = 0;
  add_samples(&source, feed, 2);
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK(info_of(session).dropped == dropped_before + 7);
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  HBBP_INIT(hbbp_profile_info, info);
  CHECK_OK(hbbp_profile_get_info(profile, &info, &error));
  CHECK(info.samples == 7 && info.pid == (uint32_t)getpid());
  for (size_t i = 0; i < hbbp_profile_thread_count(profile); ++i) {
    HBBP_INIT(hbbp_thread, thread);
    CHECK_ELEMENT(hbbp_profile_copy_threads, profile, i, &thread);
    CHECK(thread.pid == (uint32_t)getpid());
  }
  hbbp_profile_destroy(profile);
  hbbp_session_destroy(session);
}

/* Next to a built-in source -------------------------------------------------------------------- */

__attribute__((noinline)) static void spin(void) {
  struct timespec now;
  uint64_t begin = 0, end = 0;
  do {
    for (int i = 0; i < 100000; ++i) __asm__ volatile("");
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    end = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (begin == 0) begin = end;
  } while (end - begin < 100000000);
}

/* Returns 77 if this machine does not allow sampling. */
static int test_next_to_built_in(void) {
  hbbp_session *session = new_session(HBBP_SOURCE_EBS, NULL);
  host_source source = new_source();
  add(session, "device", &source);
  HBBP_INIT(hbbp_error, refusal);
  if (hbbp_session_start(session, &refusal) != HBBP_OK) {
    printf("SKIPPED: %s\n", refusal.message);
    CHECK(source.starts == source.stops);
    hbbp_session_destroy(session);
    CHECK(source.destroys == 1);
    return SKIPPED;
  }
  spin();
  wait_for(&source.drains, 2);
  CHECK_OK(hbbp_session_stop(session, &error));
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  CHECK(hbbp_profile_source_count(profile) == 2);
  uint64_t samples = 0, own = 0;
  for (size_t i = 0; i < hbbp_profile_source_count(profile); ++i) {
    HBBP_INIT(hbbp_source_info, found);
    CHECK_ELEMENT(hbbp_profile_copy_sources, profile, i, &found);
    samples += found.samples;
    if (found.event == HBBP_EVENT_INSTRUCTIONS) own += found.samples;
  }
  CHECK(own == (uint64_t)source.drains * SAMPLES_OF_A_DRAIN);
  CHECK(samples > own + 20);
  CHECK(info_of(session).samples == samples);
  hbbp_profile_destroy(profile);

  /* If it cannot start, neither does the built-in source. */
  source.fails_to_start = HBBP_ERROR_BUSY;
  CHECK_FAILS(HBBP_ERROR_BUSY, "device", hbbp_session_start(session, &error));
  spin();
  CHECK(info_of(session).running == 0 && info_of(session).samples == samples);
  hbbp_session_destroy(session);
  CHECK(source.destroys == 1 && source.starts == source.stops + 1);
  return 0;
}

/* Threads and processes ------------------------------------------------------------------------ */

static atomic_int should_end;

static void *ask_often(void *session) {
  while (!atomic_load(&should_end)) {
    hbbp_profile *profile = NULL;
    HBBP_INIT(hbbp_session_info, info);
    if (hbbp_session_snapshot((hbbp_session *)session, NULL, &profile, NULL) != HBBP_OK ||
        hbbp_session_get_info((hbbp_session *)session, &info, NULL) != HBBP_OK) {
      abort();
    }
    hbbp_profile_destroy(profile);
  }
  return NULL;
}

/* Other threads query the session, which is started and stopped often; `enter` checks that
 * callbacks of one source never run concurrently. */
static void test_threads(void) {
  enum { THREADS = 3, RUNS = 20 };
  hbbp_session *session = new_session(HBBP_SOURCE_EXTERNAL, NULL);
  host_source source = new_source();
  add(session, "device", &source);
  pthread_t threads[THREADS];
  atomic_store(&should_end, 0);
  for (int i = 0; i < THREADS; ++i) {
    CHECK(pthread_create(&threads[i], NULL, ask_often, session) == 0);
  }
  for (int run = 1; run <= RUNS; ++run) {
    CHECK_OK(hbbp_session_start(session, &error));
    pause_ms(5);
    CHECK_OK(hbbp_session_stop(session, &error));
    CHECK(source.starts == run && source.stops == run);
  }
  atomic_store(&should_end, 1);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  CHECK(info_of(session).samples == (uint64_t)source.drains * SAMPLES_OF_A_DRAIN);
  hbbp_session_destroy(session);
  CHECK(source.destroys == 1 && source.after_destroy == 0);
}

static hbbp_status start_slowly(void *context, hbbp_feed *feed, hbbp_error *failure) {
  const hbbp_status status = start_source(context, feed, failure);
  pause_ms(200);
  return status;
}

static void *stop_soon(void *session) {
  pause_ms(50);
  HBBP_INIT(hbbp_error, failure);
  CHECK(hbbp_session_stop((hbbp_session *)session, &failure) == HBBP_OK);
  return NULL;
}

/* A source whose start has not returned when the session is stopped is stopped, too. */
static void test_stop_while_starting(void) {
  hbbp_session *session = new_session(HBBP_SOURCE_EXTERNAL, NULL);
  host_source source = new_source();
  hbbp_source_ops ops = new_ops("slow");
  ops.start = start_slowly;
  CHECK_OK(hbbp_session_add_source(session, &ops, &source, &error));
  for (int run = 1; run <= 2; ++run) {
    pthread_t stopper;
    CHECK(pthread_create(&stopper, NULL, stop_soon, session) == 0);
    CHECK_OK(hbbp_session_start(session, &error));
    pthread_join(stopper, NULL);
    CHECK(source.starts == run && source.stops == run);
    CHECK(info_of(session).running == 0);
  }
  hbbp_session_destroy(session);
  CHECK(source.destroys == 1 && source.after_destroy == 0);
}

static hbbp_session *to_destroy;

static hbbp_status destroy_in_drain(void *context, hbbp_feed *feed, uint32_t *has_ended,
                                    hbbp_error *failure) {
  const hbbp_status status = drain_source(context, feed, has_ended, failure);
  hbbp_session *const session = to_destroy;
  to_destroy = NULL;
  hbbp_session_destroy(session);
  return status;
}

/* A collector of garbage may do so. The session ends in another thread, when the call has ended. */
static void test_destroyed_by_source(void) {
  to_destroy = new_session(HBBP_SOURCE_EXTERNAL, NULL);
  host_source source = new_source();
  hbbp_source_ops ops = new_ops("device");
  ops.drain = destroy_in_drain;
  CHECK_OK(hbbp_session_add_source(to_destroy, &ops, &source, &error));
  CHECK_OK(hbbp_session_start(to_destroy, &error));
  wait_for(&source.destroys, 1);
  CHECK(source.stops == 1 && source.destroys == 1 && source.after_destroy == 0);
}

/* A child has a stopped session without samples, which it may start for itself. */
static void test_fork(void) {
  hbbp_session *session = new_session(HBBP_SOURCE_EXTERNAL, NULL);
  host_source source = new_source();
  add(session, "device", &source);
  CHECK_OK(hbbp_session_start(session, &error));
  wait_for(&source.drains, 1);
  fflush(NULL);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    failures = 0;
    source.now_inside = 0; /* the parent's worker may have been in a callback */
    const int starts = source.starts;
    const int drains = source.drains;
    const hbbp_session_info info = info_of(session);
    CHECK(info.running == 0 && info.samples == 0);
    CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "not running", hbbp_session_stop(session, &error));
    source.pid = (uint32_t)getpid();
    source.has_code = 0; /* a child has to report its code anew */
    CHECK_OK(hbbp_session_start(session, &error));
    CHECK(source.starts == starts + 1);
    wait_for(&source.drains, drains + 1);
    CHECK_OK(hbbp_session_stop(session, &error));
    CHECK(info_of(session).samples == (uint64_t)(source.drains - drains) * SAMPLES_OF_A_DRAIN);
    hbbp_profile *profile = NULL;
    CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
    HBBP_INIT(hbbp_profile_info, own);
    CHECK_OK(hbbp_profile_get_info(profile, &own, &error));
    CHECK(own.pid == (uint32_t)getpid());
    hbbp_profile_destroy(profile);
    hbbp_session_destroy(session);
    CHECK(source.destroys == 1);
    fflush(NULL);
    _exit(end_of_checks());
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  const int drains = source.drains;
  wait_for(&source.drains, drains + 1); /* the parent's goes on */
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK(source.starts == 1 && source.stops == 1);
  check_profile(session, &source);
  hbbp_session_destroy(session);
  CHECK(source.destroys == 1);
}

int main(void) {
  test_refused_options();
  test_refused();
  test_order_of_calls();
  test_source_that_ends();
  test_failing_start();
  test_failing_drain_and_stop();
  test_feed_of_session();
  test_other_processes();
  test_threads();
  test_stop_while_starting();
  test_destroyed_by_source();
  test_fork();
  const int skipped = test_next_to_built_in();
  return failures == 0 ? skipped : end_of_checks();
}
