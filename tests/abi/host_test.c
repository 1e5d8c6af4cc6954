/* Tests what a host passes to a session through the C ABI: log, budgets, allocator, threads, flags
 * that cancel work; several sessions at once, and many one after the other.
 *
 * usage: host_test [--soak] [PROFILE]
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <hbbp/hbbp.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"
#include "heap.h"

static uint64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint32_t thread_id(void) { return (uint32_t)syscall(SYS_gettid); }

__attribute__((noinline)) static void spin_a_bit(void) {
  for (int i = 0; i < 20000; ++i) __asm__ volatile("");
}

/* Uses CPU time of this thread in spin_a_bit. Returns how long it really took. */
static uint64_t spin(uint64_t for_ns) {
  const uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  uint64_t spent = 0;
  while (spent < for_ns) {
    for (int i = 0; i < 20; ++i) spin_a_bit();
    spent = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
  }
  return spent;
}

/* Log ---------------------------------------------------------------------------------------- */

typedef struct messages {
  hbbp_session *session; /* that the log asks, if it is set */
  int of_level[HBBP_LOG_DEBUG + 1];
  int others;
  char all[4096];
} messages;

static void keep_message(hbbp_log_level level, const char *message, void *user_data) {
  messages *kept = (messages *)user_data;
  if (level >= HBBP_LOG_ERROR && level <= HBBP_LOG_DEBUG) {
    ++kept->of_level[level];
  } else {
    ++kept->others;
  }
  if (strchr(message, '\n') != NULL) ++kept->others;
  strncat(kept->all, message, sizeof(kept->all) - strlen(kept->all) - 2);
  strcat(kept->all, "\n");
  if (kept->session != NULL) {
    HBBP_INIT(hbbp_session_info, info);
    hbbp_session_get_info(kept->session, &info, NULL);
    CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "log", hbbp_session_start(kept->session, &error));
    CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "log", hbbp_session_stop(kept->session, &error));
  }
}

static hbbp_source_kind source_of_this_machine = HBBP_SOURCE_EBS;

static void test_log(void) {
  messages kept;
  memset(&kept, 0, sizeof(kept));
  HBBP_INIT(hbbp_session_options, options);
  options.source = source_of_this_machine;
  options.log = keep_message;
  options.log_user_data = &kept;
  CHECK_OK(hbbp_session_create(&options, &kept.session, &error));
  CHECK_OK(hbbp_session_start(kept.session, &error));
  CHECK(kept.of_level[HBBP_LOG_INFO] == 1); /* what is sampled */
  CHECK(strstr(kept.all, "samples") != NULL);
  CHECK_OK(hbbp_session_stop(kept.session, &error));
  CHECK(kept.of_level[HBBP_LOG_INFO] == 2);
  CHECK(strstr(kept.all, "stopped after") != NULL);
  CHECK(kept.others == 0);
  hbbp_session_destroy(kept.session);

  /* Less urgent messages are not logged; the log and the call report the same failure. */
  memset(&kept, 0, sizeof(kept));
  const uint32_t no_thread = 0x7ffffff0;
  options.threads = &no_thread;
  options.thread_count = 1;
  options.log_level = HBBP_LOG_ERROR;
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "no thread", hbbp_session_start(session, &error));
  CHECK(kept.of_level[HBBP_LOG_ERROR] == 1);
  CHECK(kept.of_level[HBBP_LOG_INFO] == 0);
  CHECK(strstr(kept.all, "no thread") != NULL);
  hbbp_session_destroy(session);
}

static void test_bad_options(void) {
  hbbp_session *session = NULL;
  const hbbp_allocator half = {sizeof(hbbp_allocator), 0, NULL, NULL, NULL};
  HBBP_INIT(hbbp_session_options, options);
  options.max_overhead = -0.1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "max_overhead",
              hbbp_session_create(&options, &session, &error));
  options.max_overhead = NAN;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "max_overhead",
              hbbp_session_create(&options, &session, &error));
  options.max_overhead = 0;
  options.max_memory = HBBP_MIN_MEMORY - 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "max_memory",
              hbbp_session_create(&options, &session, &error));
  options.max_memory = 0;
  options.log_level = HBBP_LOG_DEBUG + 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "log_level",
              hbbp_session_create(&options, &session, &error));
  options.log_level = 0;
  options.thread_count = 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "threads",
              hbbp_session_create(&options, &session, &error));
  options.thread_count = 0;
  options.allocator = &half;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "hbbp_allocator",
              hbbp_session_create(&options, &session, &error));
}

/* Flags that cancel work ---------------------------------------------------------------------- */

typedef struct progress_log {
  uint64_t calls;
  uint64_t last;
  uint64_t all;
  int went_back;
} progress_log;

static void keep_progress(uint64_t done, uint64_t all, void *user_data) {
  progress_log *kept = (progress_log *)user_data;
  if (done < kept->last) kept->went_back = 1;
  ++kept->calls;
  kept->last = done;
  kept->all = all;
}

static void test_cancel(const char *path) {
  hbbp_cancel *cancel = NULL;
  CHECK_OK(hbbp_cancel_create(&cancel, &error));
  CHECK(hbbp_cancel_is_set(cancel) == 0);
  hbbp_cancel_set(cancel, 1);
  CHECK(hbbp_cancel_is_set(cancel) == 1);
  hbbp_cancel_set(NULL, 1);
  CHECK(hbbp_cancel_is_set(NULL) == 0);
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "cancel", hbbp_cancel_create(NULL, &error));

  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_profile_load(path, NULL, &profile, &error));
  progress_log kept;
  memset(&kept, 0, sizeof(kept));
  HBBP_INIT(hbbp_work_options, work);
  work.progress = keep_progress;
  work.user_data = &kept;
  work.cancel = cancel;
  hbbp_analysis *analysis = NULL;
  CHECK_FAILS(HBBP_ERROR_CANCELLED, "hbbp_cancel",
              hbbp_analysis_create(profile, NULL, &work, &analysis, &error));
  CHECK(kept.calls >= 1 && analysis == NULL);
  hbbp_cancel_set(cancel, 0);
  kept.last = 0;
  CHECK_OK(hbbp_analysis_create(profile, NULL, &work, &analysis, &error));
  CHECK(kept.last == kept.all && !kept.went_back);
  const size_t blocks = hbbp_analysis_block_count(analysis);
  hbbp_analysis_destroy(analysis);
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  CHECK(hbbp_analysis_block_count(analysis) == blocks);
  hbbp_analysis_destroy(analysis);

  /* The results use an analysis whose instruction table was begun and not finished. */
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  hbbp_mix *mix = NULL;
  hbbp_cancel_set(cancel, 1);
  CHECK_FAILS(HBBP_ERROR_CANCELLED, "hbbp_cancel",
              hbbp_mix_create(analysis, 0, &work, &mix, &error));
  CHECK(mix == NULL);
  CHECK_OK(hbbp_mix_create(analysis, 0, NULL, &mix, &error));
  CHECK(hbbp_mix_total(mix) > 0);
  hbbp_mix_destroy(mix);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  hbbp_cancel_destroy(cancel);
  hbbp_cancel_destroy(NULL);
}

static void fork_once(uint64_t done, uint64_t all, void *forks) {
  (void)all;
  if (done == 0 || ++*(int *)forks > 3) return;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  CHECK(child > 0 && waitpid(child, NULL, 0) == child);
}

/* fork() waits for locks of sessions, so none is held while progress is reported. */
static void test_fork_in_progress(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = source_of_this_machine;
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  CHECK_OK(hbbp_session_start(session, &error));
  int forks = 0;
  HBBP_INIT(hbbp_work_options, work);
  work.progress = fork_once;
  work.user_data = &forks;
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, &work, &profile, &error));
  CHECK(forks >= 2);
  hbbp_profile_destroy(profile);
  hbbp_session_destroy(session);

  hbbp_feed *feed = NULL;
  CHECK_OK(hbbp_feed_create(NULL, &feed, &error));
  forks = 0;
  CHECK_OK(hbbp_feed_snapshot(feed, &work, &profile, &error));
  CHECK(forks >= 2);
  hbbp_profile_destroy(profile);
  hbbp_feed_destroy(feed);
}

/* A snapshot of a running session is cancelled; the session continues. */
static void test_cancelled_snapshot(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = source_of_this_machine;
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  CHECK_OK(hbbp_session_start(session, &error));
  hbbp_cancel *cancel = NULL;
  CHECK_OK(hbbp_cancel_create(&cancel, &error));
  progress_log kept;
  memset(&kept, 0, sizeof(kept));
  HBBP_INIT(hbbp_work_options, work);
  work.progress = keep_progress;
  work.user_data = &kept;
  work.cancel = cancel;
  hbbp_profile *profile = NULL;
  work.reserved = 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "hbbp_work_options.reserved",
              hbbp_session_snapshot(session, &work, &profile, &error));
  work.reserved = 0;
  hbbp_cancel_set(cancel, 1);
  CHECK_FAILS(HBBP_ERROR_CANCELLED, "hbbp_cancel",
              hbbp_session_snapshot(session, &work, &profile, &error));
  CHECK(profile == NULL);
  hbbp_cancel_set(cancel, 0);
  memset(&kept, 0, sizeof(kept));
  CHECK_OK(hbbp_session_snapshot(session, &work, &profile, &error));
  CHECK(kept.calls > 1 && kept.last == kept.all && !kept.went_back);
  CHECK(hbbp_profile_source_count(profile) >= 1);
  hbbp_profile_destroy(profile);
  HBBP_INIT(hbbp_session_info, info);
  CHECK_OK(hbbp_session_get_info(session, &info, &error));
  CHECK(info.running == 1);
  hbbp_session_destroy(session);
  hbbp_cancel_destroy(cancel);
}

/* Budgets -------------------------------------------------------------------------------------- */

/* Returns the nanoseconds that samples of the first source stand for, in one thread. */
static double sampled_ns(hbbp_session *session) {
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  hbbp_profile_destroy(profile);
  double instructions = 0;
  for (size_t i = 0; i < hbbp_analysis_function_count(analysis); ++i) {
    HBBP_INIT(hbbp_function, function);
    CHECK_ELEMENT(hbbp_analysis_copy_functions, analysis, i, &function);
    instructions += function.instructions;
  }
  hbbp_analysis_destroy(analysis);
  return instructions;
}

static int has_note(hbbp_session *session, const char *words) {
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  int found = 0;
  for (size_t i = 0; i < hbbp_profile_source_count(profile); ++i) {
    HBBP_INIT(hbbp_source_info, source);
    CHECK_ELEMENT(hbbp_profile_copy_sources, profile, i, &source);
    if (strstr(source.note, words) != NULL) found = 1;
  }
  hbbp_profile_destroy(profile);
  return found;
}

/* Samples each 50 us, which costs some percent, under a budget of 0.3 %. */
static void test_max_overhead(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EBS;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 50000;
  options.max_overhead = 0.003;
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  CHECK_OK(hbbp_session_start(session, &error));
  const uint64_t begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  HBBP_INIT(hbbp_session_info, info);
  int settled = 0;
  for (int i = 0; i < 100 && settled < 3; ++i) {
    spin(100000000);
    CHECK_OK(hbbp_session_get_info(session, &info, &error));
    const int is_kept = info.period_changes > 0 && info.recent_overhead <= options.max_overhead;
    settled = is_kept ? settled + 1 : 0;
  }
  const double used = (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin);
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK(settled == 3);
  CHECK(info.period_factor > 1);
  CHECK(info.overhead_ns > 0 && info.cpu_ns > 0);
  CHECK(has_note(session, "to keep to the budget"));
  /* Kernel time and the worker's are not sampled. */
  const double share = sampled_ns(session) / used;
  printf(
      "max_overhead %g: %llu changes, factor %g, recent %g, samples stand for %.3f of the time\n",
      options.max_overhead, (unsigned long long)info.period_changes, info.period_factor,
      info.recent_overhead, share);
  CHECK(share > 0.9 && share < 1.03);
  hbbp_session_destroy(session);
}

/* Runs code with some ten thousand addresses. */
__attribute__((noinline)) static void run_long_code(void) {
  for (int i = 0; i < 200; ++i) {
    __asm__ volatile(".rept 8192\n inc %%eax\n rol $3, %%edx\n .endr" ::: "eax", "edx");
  }
}

static void test_max_memory(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EBS;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 20000;
  options.slice_ns = HBBP_MIN_SLICE_NS; /* each address once in each millisecond */
  options.max_memory = HBBP_MIN_MEMORY;
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  CHECK_OK(hbbp_session_start(session, &error));
  HBBP_INIT(hbbp_session_info, info);
  for (int i = 0; i < 200; ++i) {
    for (int k = 0; k < 10; ++k) run_long_code();
    CHECK_OK(hbbp_session_get_info(session, &info, &error));
    CHECK(info.memory_bytes <= options.max_memory);
    if (info.period_changes > 0) break;
  }
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK_OK(hbbp_session_get_info(session, &info, &error));
  printf("max_memory %llu: peak %llu, factor %g, dropped %llu of %llu\n",
         (unsigned long long)options.max_memory, (unsigned long long)info.peak_memory_bytes,
         info.period_factor, (unsigned long long)info.dropped, (unsigned long long)info.samples);
  CHECK(info.peak_memory_bytes <= options.max_memory);
  CHECK(info.peak_memory_bytes > options.max_memory / 4);
  CHECK(has_note(session, "slices were made wider"));
  hbbp_session_destroy(session);
}

/* Allocators ----------------------------------------------------------------------------------- */

static void run_with(heap *own, hbbp_source_kind source, uint64_t slice_ns) {
  const hbbp_allocator allocator = {sizeof(hbbp_allocator), 0, heap_allocate, heap_deallocate, own};
  HBBP_INIT(hbbp_session_options, options);
  options.source = source;
  options.period = 100000;
  options.slice_ns = slice_ns;
  options.allocator = &allocator;
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  for (int run = 0; run < 2; ++run) {
    HBBP_INIT(hbbp_error, failure);
    if (hbbp_session_start(session, &failure) != HBBP_OK) {
      CHECK(own->fail_every != 0 && failure.status == HBBP_ERROR_NO_MEMORY);
      continue;
    }
    spin(100000000);
    run_long_code();
    hbbp_profile *profile = NULL;
    const hbbp_status status = hbbp_session_snapshot(session, NULL, &profile, &failure);
    CHECK(status == HBBP_OK || (own->fail_every != 0 && status == HBBP_ERROR_NO_MEMORY));
    CHECK_OK(hbbp_session_stop(session, &error));
    hbbp_profile_destroy(profile);
  }
  HBBP_INIT(hbbp_session_info, info);
  CHECK_OK(hbbp_session_get_info(session, &info, &error));
  CHECK(info.samples + info.dropped > 0);
  if (own->fail_every == 0) {
    CHECK(info.dropped == 0);
    CHECK(info.memory_bytes >= (uint64_t)atomic_load(&own->live_bytes));
  }
  if (own->fail_every == 1) CHECK(info.dropped > 0 || info.samples == 0);
  hbbp_session_destroy(session);
  check_heap(own);
}

static void test_allocators(hbbp_source_kind source) {
  static const int fail_every[] = {0, 1, 2, 3, 7};
  for (size_t i = 0; i < sizeof(fail_every) / sizeof(fail_every[0]); ++i) {
    heap own;
    memset(&own, 0, sizeof(own));
    own.fail_every = fail_every[i];
    run_with(&own, source, i % 2 == 0 ? 0 : 10000000);
    CHECK(atomic_load(&own.wrong) == 0);
  }
}

/* A session that its log destroys -------------------------------------------------------------- */

typedef struct destroyer {
  heap memory;
  _Atomic(hbbp_session *) session;
  pthread_t control;
  int in_worker; /* destroy it there; else in the thread that stops it */
  atomic_int is_destroyed;
  atomic_int logged_afterwards;
} destroyer;

static void destroy_own_session(hbbp_log_level level, const char *message, void *user_data) {
  destroyer *own = (destroyer *)user_data;
  (void)level;
  const int is_worker = !pthread_equal(pthread_self(), own->control);
  if (atomic_load(&own->is_destroyed)) atomic_fetch_add(&own->logged_afterwards, 1);
  if (is_worker != own->in_worker) return;
  if (!is_worker && strstr(message, "stopped after") == NULL) return;
  hbbp_session *session = atomic_exchange(&own->session, NULL);
  if (session == NULL) return;
  hbbp_session_destroy(session);
  atomic_store(&own->is_destroyed, 1);
}

static void test_destroyed_in_log(int in_worker) {
  destroyer own;
  memset(&own, 0, sizeof(own));
  own.in_worker = in_worker;
  own.control = pthread_self();
  const hbbp_allocator allocator = {sizeof(hbbp_allocator), 0, heap_allocate, heap_deallocate,
                                    &own.memory};
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EBS;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 50000;
  options.max_overhead = 0.0001; /* makes the worker log longer periods */
  options.log_level = HBBP_LOG_DEBUG;
  options.log = destroy_own_session;
  options.log_user_data = &own;
  options.allocator = &allocator;
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  CHECK_OK(hbbp_session_start(session, &error));
  atomic_store(&own.session, session);
  if (in_worker) {
    for (int i = 0; i < 200 && !atomic_load(&own.is_destroyed); ++i) spin(50000000);
  } else {
    spin(50000000);
    CHECK_OK(hbbp_session_stop(session, &error));
  }
  CHECK(atomic_load(&own.is_destroyed));
  for (int i = 0; i < 1000 && atomic_load(&own.memory.live_blocks) != 0; ++i) {
    const struct timespec pause = {0, 10000000};
    nanosleep(&pause, NULL);
  }
  CHECK(atomic_load(&own.memory.calls) > 0);
  CHECK(atomic_load(&own.memory.live_blocks) == 0);
  CHECK(atomic_load(&own.memory.wrong) == 0);
  CHECK(atomic_load(&own.logged_afterwards) == 0);
}

/* Several sessions ----------------------------------------------------------------------------- */

static atomic_int workers_should_end;
static atomic_uint worker_ids[2];
static atomic_int workers_ready;

static void *work_until_asked(void *number) {
  atomic_store(&worker_ids[*(const int *)number], thread_id());
  atomic_fetch_add(&workers_ready, 1);
  while (!atomic_load(&workers_should_end)) spin_a_bit();
  return NULL;
}

static size_t threads_with_samples(hbbp_session *session, uint32_t *tid) {
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  size_t found = 0;
  for (size_t i = 0; i < hbbp_profile_thread_count(profile); ++i) {
    HBBP_INIT(hbbp_thread, thread);
    CHECK_ELEMENT(hbbp_profile_copy_threads, profile, i, &thread);
    if (thread.samples == 0) continue;
    ++found;
    *tid = thread.tid;
  }
  hbbp_profile_destroy(profile);
  return found;
}

static void wait_for_samples(hbbp_session *session, uint64_t samples) {
  HBBP_INIT(hbbp_session_info, info);
  for (int i = 0; i < 2000 && info.samples < samples; ++i) {
    const struct timespec pause = {0, 10000000};
    nanosleep(&pause, NULL);
    CHECK_OK(hbbp_session_get_info(session, &info, &error));
  }
  CHECK(info.samples >= samples);
}

/* Each session has a worker thread of the program; this thread controls them and is in neither. */
static void test_thread_sets(hbbp_source_kind first, hbbp_source_kind second) {
  static const int numbers[2] = {0, 1};
  pthread_t workers[2];
  atomic_store(&workers_should_end, 0);
  atomic_store(&workers_ready, 0);
  for (int i = 0; i < 2; ++i) {
    pthread_create(&workers[i], NULL, work_until_asked, (void *)(uintptr_t)&numbers[i]);
  }
  while (atomic_load(&workers_ready) < 2) spin_a_bit();
  hbbp_session *sessions[2] = {NULL, NULL};
  uint32_t tids[2];
  for (int i = 0; i < 2; ++i) {
    tids[i] = atomic_load(&worker_ids[i]);
    HBBP_INIT(hbbp_session_options, options);
    options.source = i == 0 ? first : second;
    options.period = 1000000;
    options.threads = &tids[i];
    options.thread_count = 1;
    CHECK_OK(hbbp_session_create(&options, &sessions[i], &error));
    CHECK_OK(hbbp_session_start(sessions[i], &error));
  }
  spin(50000000);
  for (int i = 0; i < 2; ++i) wait_for_samples(sessions[i], 20);
  for (int i = 0; i < 2; ++i) CHECK_OK(hbbp_session_stop(sessions[i], &error));
  for (int i = 0; i < 2; ++i) {
    uint32_t tid = 0;
    CHECK(threads_with_samples(sessions[i], &tid) == 1);
    CHECK(tid == tids[i]);
    hbbp_session_destroy(sessions[i]);
  }
  atomic_store(&workers_should_end, 1);
  for (int i = 0; i < 2; ++i) pthread_join(workers[i], NULL);
}

/* Both see the same thread, and neither the worker of the other. */
static void test_overlap(hbbp_source_kind first, hbbp_source_kind second) {
  const hbbp_source_kind sources[2] = {first, second};
  hbbp_session *sessions[2] = {NULL, NULL};
  for (int i = 0; i < 2; ++i) {
    HBBP_INIT(hbbp_session_options, options);
    options.source = sources[i];
    options.period = 1000000;
    CHECK_OK(hbbp_session_create(&options, &sessions[i], &error));
    CHECK_OK(hbbp_session_start(sessions[i], &error));
  }
  spin(200000000);
  for (int i = 0; i < 2; ++i) CHECK_OK(hbbp_session_stop(sessions[i], &error));
  for (int i = 0; i < 2; ++i) {
    uint32_t tid = 0;
    CHECK(threads_with_samples(sessions[i], &tid) == 1);
    CHECK(tid == thread_id());
    hbbp_session_destroy(sessions[i]);
  }
}

static void test_one_tracer(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_SWBT;
  hbbp_session *first = NULL, *second = NULL;
  CHECK_OK(hbbp_session_create(&options, &first, &error));
  CHECK_OK(hbbp_session_create(&options, &second, &error));
  CHECK_OK(hbbp_session_start(first, &error));
  CHECK_FAILS(HBBP_ERROR_BUSY, "only one", hbbp_session_start(second, &error));
  CHECK_OK(hbbp_session_stop(first, &error));
  CHECK_OK(hbbp_session_start(second, &error)); /* now it may */
  CHECK_OK(hbbp_session_stop(second, &error));
  hbbp_session_destroy(first);
  hbbp_session_destroy(second);
}

/* Thousands of sessions ------------------------------------------------------------------------ */

static size_t count_entries(const char *path) {
  DIR *directory = opendir(path);
  size_t count = 0;
  for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
    count += entry->d_name[0] != '.';
  if (directory != NULL) closedir(directory);
  return count;
}

static size_t count_lines(const char *path) {
  FILE *file = fopen(path, "r");
  size_t lines = 0;
  for (int c; file != NULL && (c = fgetc(file)) != EOF;) lines += c == '\n';
  if (file != NULL) fclose(file);
  return lines;
}

static size_t resident_bytes(void) {
  unsigned long size = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file != NULL && fscanf(file, "%lu %lu", &size, &resident) != 2) resident = 0;
  if (file != NULL) fclose(file);
  return resident * (size_t)sysconf(_SC_PAGESIZE);
}

typedef struct resources {
  size_t descriptors;
  size_t threads;
  size_t mappings;
  size_t resident;
} resources;

static resources resources_now(void) {
  const struct timespec moment = {0, 100000000}; /* for which a joined thread is still listed */
  nanosleep(&moment, NULL);
#ifdef __GLIBC__
  malloc_trim(0); /* what is freed stays resident, or not, by the history of the heap */
#endif
  const resources now = {count_entries("/proc/self/fd"), count_entries("/proc/self/task"),
                         count_lines("/proc/self/maps"), resident_bytes()};
  return now;
}

/* Returns samples per millisecond of CPU time. */
static double run_sessions(hbbp_source_kind source, int count, uint64_t length_ns) {
  double samples = 0, milliseconds = 0;
  for (int i = 0; i < count; ++i) {
    HBBP_INIT(hbbp_session_options, options);
    options.source = source;
    options.event = HBBP_EVENT_TASK_CLOCK; /* of which there is as much in each millisecond */
    options.period = 100000;
    hbbp_session *session = NULL;
    hbbp_profile *profile = NULL;
    CHECK_OK(hbbp_session_create(&options, &session, &error));
    CHECK_OK(hbbp_session_start(session, &error));
    milliseconds += (double)spin(length_ns) / 1e6;
    CHECK_OK(hbbp_session_stop(session, &error));
    CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
    HBBP_INIT(hbbp_profile_info, info);
    CHECK_OK(hbbp_profile_get_info(profile, &info, &error));
    samples += (double)info.samples;
    hbbp_profile_destroy(profile);
    hbbp_session_destroy(session);
    if (failures > 20) break;
  }
  return samples / milliseconds;
}

typedef struct dispositions {
  struct sigaction of_signal[65];
} dispositions;

static void get_dispositions(dispositions *all) {
  memset(all, 0, sizeof(*all));
  /* libc does not allow to query its own signals. */
  for (int i = 1; i < 65; ++i) (void)sigaction(i, NULL, &all->of_signal[i]);
}

static void check_dispositions(const dispositions *before) {
  dispositions now;
  get_dispositions(&now);
  for (int i = 1; i < 65; ++i) {
    CHECK(now.of_signal[i].sa_handler == before->of_signal[i].sa_handler);
    CHECK(now.of_signal[i].sa_flags == before->of_signal[i].sa_flags);
  }
}

/* Rates of a busy machine are lower, and change: the larger of several is compared. */
enum { GROUP = 100, MEASURED_NS = 2000000, OTHERS_NS = 200000, RATES = 3 };

static double rate_now(hbbp_source_kind source) { return run_sessions(source, GROUP, MEASURED_NS); }

/* A process that has had few sessions measures a rate whenever it gets a byte. */
typedef struct fresh_process {
  pid_t pid;
  int requests;
  int rates;
} fresh_process;

static fresh_process start_fresh_process(hbbp_source_kind source) {
  int requests[2], rates[2];
  CHECK(pipe(requests) == 0 && pipe(rates) == 0);
  fflush(NULL);
  const fresh_process process = {fork(), requests[1], rates[0]};
  if (process.pid != 0) {
    close(requests[0]);
    close(rates[1]);
    return process;
  }
  close(requests[1]);
  close(rates[0]);
  (void)rate_now(source); /* as in the other process, what is kept for ever is there now */
  for (char byte; read(requests[0], &byte, 1) == 1;) {
    const double rate = rate_now(source);
    if (write(rates[1], &rate, sizeof(rate)) != sizeof(rate)) break;
  }
  fflush(NULL);
  _exit(failures == 0 ? 0 : 1);
}

static double rate_of(const fresh_process *process) {
  double rate = 0;
  CHECK(write(process->requests, "", 1) == 1);
  CHECK(read(process->rates, &rate, sizeof(rate)) == sizeof(rate));
  return rate;
}

static void end(const fresh_process *process) {
  int status = 0;
  close(process->requests);
  close(process->rates);
  CHECK(waitpid(process->pid, &status, 0) == process->pid && status == 0);
}

/* After many sessions there are as many samples as in a process that had few. */
static void test_many(hbbp_source_kind source, int count) {
  dispositions before;
  /* What is kept for ever is there then. */
  for (int i = 0; i < RATES; ++i) (void)rate_now(source);
  const fresh_process fresh = start_fresh_process(source);
  get_dispositions(&before);
  const uint64_t begin = clock_ns(CLOCK_MONOTONIC);
  const resources first = resources_now();
  (void)run_sessions(source, count - 2 * RATES * GROUP, OTHERS_NS);
  double rate = 0, fresh_rate = 0;
  for (int i = 0; i < RATES; ++i) {
    fresh_rate = fmax(fresh_rate, rate_of(&fresh));
    rate = fmax(rate, rate_now(source));
  }
  const resources last = resources_now();
  end(&fresh);
  printf(
      "%d sessions of source %d, %.1f s: %.2f samples a ms, and %.2f after few; %zu KiB resident, "
      "then %zu; %zu descriptors, then %zu; %zu threads, then %zu; %zu mappings, then %zu\n",
      count, source, (double)(clock_ns(CLOCK_MONOTONIC) - begin) / 1e9, rate, fresh_rate,
      first.resident / 1024, last.resident / 1024, first.descriptors, last.descriptors,
      first.threads, last.threads, first.mappings, last.mappings);
  CHECK(last.descriptors == first.descriptors);
  CHECK(last.threads == first.threads);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which keep memory */
  CHECK(last.mappings <= first.mappings + 4);
  CHECK(last.resident <= first.resident + (2u << 20));
#endif
  CHECK(rate > 0 && fabs(rate / fresh_rate - 1) < 0.25);
  check_dispositions(&before);
}

static int has_source(hbbp_source_kind source) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = source;
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  HBBP_INIT(hbbp_error, failure);
  const int works = hbbp_session_start(session, &failure) == HBBP_OK;
  if (!works) printf("no source %d: %s\n", source, failure.message);
  hbbp_session_destroy(session);
  return works;
}

int main(int argc, char **argv) {
  int is_soak = 0;
  const char *path = NULL;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--soak") == 0) {
      is_soak = 1;
    } else {
      path = argv[i];
    }
  }
  const int count = is_soak ? 10000 : 1000;
  test_bad_options();
  if (path != NULL) test_cancel(path);
  const int has_ebs = has_source(HBBP_SOURCE_EBS), has_swbt = has_source(HBBP_SOURCE_SWBT);
  if (!has_ebs) source_of_this_machine = HBBP_SOURCE_SWBT;
  if (has_ebs || has_swbt) {
    test_log();
    test_cancelled_snapshot();
    test_fork_in_progress();
  }
  if (has_ebs) {
    test_max_overhead();
    test_max_memory();
    test_allocators(HBBP_SOURCE_EBS);
    test_destroyed_in_log(0);
    test_destroyed_in_log(1);
    test_thread_sets(HBBP_SOURCE_EBS, HBBP_SOURCE_EBS);
    test_overlap(HBBP_SOURCE_EBS, HBBP_SOURCE_EBS);
    test_many(HBBP_SOURCE_EBS, count);
  }
  if (has_swbt) {
    test_allocators(HBBP_SOURCE_SWBT);
    test_one_tracer();
    test_many(HBBP_SOURCE_SWBT, count);
  }
  if (has_ebs && has_swbt) {
    test_thread_sets(HBBP_SOURCE_EBS, HBBP_SOURCE_SWBT);
    test_overlap(HBBP_SOURCE_EBS, HBBP_SOURCE_SWBT);
    test_overlap(HBBP_SOURCE_SWBT, HBBP_SOURCE_EBS);
  }
  return failures != 0 || has_ebs || has_swbt ? end_of_checks() : 77;
}
