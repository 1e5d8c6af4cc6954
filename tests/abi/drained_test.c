/* Tests sessions that the host drains (hbbp_session_options.drained_by_host): no thread, the same
 * counts, and the order of calls from several threads. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <hbbp/hbbp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <sys/single_threaded.h>
#endif

#include "checks.h"

static uint64_t cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Takes so long that the system call that reads the time has hardly a sample. */
__attribute__((noinline)) static void spin_a_bit(void) {
  for (int i = 0; i < 200000; ++i) __asm__ volatile("");
}

static void spin(uint64_t for_ns) {
  const uint64_t begin = cpu_ns();
  while (cpu_ns() - begin < for_ns) spin_a_bit();
}

static int thread_count(void) {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (tasks == NULL) return 0;
  while (readdir(tasks) != NULL) ++count;
  closedir(tasks);
  return count - 2;
}

static hbbp_session *new_session(hbbp_source_kind source, uint64_t period) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = source;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = period;
  options.drained_by_host = 1;
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  return session;
}

static hbbp_session_info info_of(hbbp_session *session) {
  HBBP_INIT(hbbp_session_info, info);
  CHECK_OK(hbbp_session_get_info(session, &info, &error));
  return info;
}

/* The share of a function in what was counted. */
static double share_of(hbbp_session *session, const char *name) {
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  double all = 0, own = 0;
  for (size_t i = 0; i < hbbp_analysis_block_count(analysis); ++i) {
    HBBP_INIT(hbbp_block, block);
    CHECK_ELEMENT(hbbp_analysis_copy_blocks, analysis, i, &block);
    const double instructions = block.count * block.instruction_count;
    all += instructions;
    if (block.function == HBBP_NO_INDEX) continue;
    HBBP_INIT(hbbp_function, function);
    CHECK_ELEMENT(hbbp_analysis_copy_functions, analysis, block.function, &function);
    if (strcmp(function.name, name) == 0) own += instructions;
  }
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  return all == 0 ? 0 : own / all;
}

static void test_program_keeps_one_thread(hbbp_source_kind source) {
  hbbp_session *session = new_session(source, 1000000);
  CHECK_OK(hbbp_session_start(session, &error));
  CHECK(thread_count() == 1);
  uint32_t next_ms = 0;
  while (info_of(session).samples < 200) {
    spin(20000000);
    CHECK_OK(hbbp_session_drain(session, &next_ms, &error));
    CHECK(next_ms >= 1 && next_ms <= 1000);
  }
  CHECK(thread_count() == 1);
#ifdef __GLIBC__
  CHECK(__libc_single_threaded != 0);
#endif
  CHECK_OK(hbbp_session_drain(session, NULL, &error));
  CHECK_OK(hbbp_session_stop(session, &error));
  const hbbp_session_info info = info_of(session);
  CHECK(info.running == 0 && info.samples >= 200 && info.lost == 0 && info.dropped == 0);
  CHECK(info.overhead_ns > 0 && info.cpu_ns > info.overhead_ns);
  /* This thread drains, too: what the session says of that is not in the function. */
  const double drained = (double)info.overhead_ns / (double)info.cpu_ns;
  CHECK(share_of(session, "spin_a_bit") > 0.9 - drained);
  CHECK_OK(hbbp_session_start(session, &error)); /* its counts go on */
  spin(50000000);
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK(info_of(session).samples > info.samples);
  hbbp_session_destroy(session);
}

/* What is not collected in time is lost, and counted as that. */
static void test_full_buffers(hbbp_source_kind source) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = source;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 100000;
  options.buffer_bytes = 4096;
  options.drained_by_host = 1;
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  CHECK_OK(hbbp_session_start(session, &error));
  spin(300000000);
  CHECK(info_of(session).samples > 0);
  spin(10000000); /* the kernel says with the next sample what was lost */
  CHECK(info_of(session).lost > 0);
  hbbp_session_destroy(session);
}

static void test_wrong_states(hbbp_source_kind source) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = source;
  options.drained_by_host = 2;
  hbbp_session *session = NULL;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "drained_by_host",
              hbbp_session_create(&options, &session, &error));
  options.drained_by_host = 0;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "drained_by_host",
              hbbp_session_drain(session, NULL, &error));
  hbbp_session_destroy(session);

  session = new_session(source, 0);
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session", hbbp_session_drain(NULL, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "not running", hbbp_session_drain(session, NULL, &error));
  CHECK_OK(hbbp_session_start(session, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "already running", hbbp_session_start(session, &error));
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "not running", hbbp_session_drain(session, NULL, &error));
    CHECK_OK(hbbp_session_start(session, &error));
    CHECK(thread_count() == 1);
    CHECK_OK(hbbp_session_drain(session, NULL, &error));
    hbbp_session_destroy(session);
    _exit(failures != 0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK_OK(hbbp_session_drain(session, NULL, &error));
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "not running", hbbp_session_drain(session, NULL, &error));
  hbbp_session_destroy(session);
}

typedef struct log_state {
  hbbp_session *session;
  int calls;
} log_state;

static void drain_in_log(hbbp_log_level level, const char *message, void *user_data) {
  log_state *const state = (log_state *)user_data;
  (void)level;
  (void)message;
  ++state->calls;
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "log", hbbp_session_drain(state->session, NULL, &error));
}

static void test_drain_in_log(hbbp_source_kind source) {
  log_state state = {NULL, 0};
  HBBP_INIT(hbbp_session_options, options);
  options.source = source;
  options.drained_by_host = 1;
  options.log = drain_in_log;
  options.log_user_data = &state;
  CHECK_OK(hbbp_session_create(&options, &state.session, &error));
  CHECK_OK(hbbp_session_start(state.session, &error));
  CHECK_OK(hbbp_session_stop(state.session, &error));
  CHECK(state.calls >= 2);
  hbbp_session_destroy(state.session);
}

/* A source of the host is drained where the session is, and never by two threads at once. */
typedef struct host_source {
  atomic_int drains, now_inside;
} host_source;

static hbbp_status start_source(void *context, hbbp_feed *feed, hbbp_error *error) {
  (void)context, (void)feed, (void)error;
  return HBBP_OK;
}

static hbbp_status drain_source(void *context, hbbp_feed *feed, uint32_t *has_ended,
                                hbbp_error *error) {
  host_source *const source = (host_source *)context;
  (void)feed, (void)has_ended, (void)error;
  CHECK(atomic_fetch_add(&source->now_inside, 1) == 0);
  atomic_fetch_add(&source->drains, 1);
  atomic_fetch_sub(&source->now_inside, 1);
  return HBBP_OK;
}

static hbbp_status stop_source(void *context, hbbp_feed *feed, hbbp_error *error) {
  (void)context, (void)feed, (void)error;
  return HBBP_OK;
}

static hbbp_session *new_external_session(host_source *source) {
  hbbp_session *session = NULL;
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EXTERNAL;
  options.drained_by_host = 1;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  HBBP_INIT(hbbp_source_ops, ops);
  ops.name = "device";
  ops.start = start_source;
  ops.drain = drain_source;
  ops.stop = stop_source;
  CHECK_OK(hbbp_session_add_source(session, &ops, source, &error));
  return session;
}

static void test_external_source(void) {
  host_source source = {0, 0};
  hbbp_session *session = new_external_session(&source);
  CHECK_OK(hbbp_session_start(session, &error));
  CHECK(thread_count() == 1);
  CHECK(source.drains == 0);
  CHECK_OK(hbbp_session_drain(session, NULL, &error));
  CHECK_OK(hbbp_session_drain(session, NULL, &error));
  CHECK(source.drains == 2);
  hbbp_session_destroy(session);
  CHECK(source.drains == 2);
}

typedef struct draining {
  hbbp_session *session;
  atomic_int should_end;
  atomic_int done;
} draining;

static void *drain_until_end(void *argument) {
  draining *const shared = (draining *)argument;
  while (!atomic_load(&shared->should_end)) {
    const hbbp_status status = hbbp_session_drain(shared->session, NULL, NULL);
    CHECK(status == HBBP_OK || status == HBBP_ERROR_INVALID_STATE);
    if (status == HBBP_OK) atomic_fetch_add(&shared->done, 1);
  }
  return NULL;
}

static void test_threads_that_drain(hbbp_session *session, int rounds) {
  enum { kThreads = 3 };
  draining shared;
  memset(&shared, 0, sizeof(shared));
  shared.session = session;
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_create(&threads[i], NULL, drain_until_end, &shared) == 0);
  }
  for (int i = 0; i < rounds; ++i) {
    CHECK_OK(hbbp_session_start(session, &error));
    const int before = atomic_load(&shared.done);
    while (atomic_load(&shared.done) < before + kThreads) sched_yield();
    CHECK_OK(hbbp_session_stop(session, &error));
  }
  atomic_store(&shared.should_end, 1);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  CHECK(info_of(session).running == 0);
  hbbp_session_destroy(session);
}

static int has_source(hbbp_source_kind source) {
  hbbp_session *session = new_session(source, 0);
  HBBP_INIT(hbbp_error, failure);
  const int works = hbbp_session_start(session, &failure) == HBBP_OK;
  if (!works) printf("no source %d: %s\n", source, failure.message);
  hbbp_session_destroy(session);
  return works;
}

int main(void) {
  const hbbp_source_kind sources[] = {HBBP_SOURCE_EBS, HBBP_SOURCE_SWBT};
  int has[2];
  for (int i = 0; i < 2; ++i) has[i] = has_source(sources[i]);
  for (int i = 0; i < 2; ++i) {
    if (!has[i]) continue;
    test_program_keeps_one_thread(sources[i]);
    test_wrong_states(sources[i]);
    test_drain_in_log(sources[i]);
  }
  if (has[0]) test_full_buffers(HBBP_SOURCE_EBS);
  test_external_source();
  for (int i = 0; i < 2; ++i) {
    if (has[i]) test_threads_that_drain(new_session(sources[i], 1000000), 20);
  }
  host_source source = {0, 0};
  test_threads_that_drain(new_external_session(&source), 200);
  return end_of_checks();
}
