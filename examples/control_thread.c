/* A service profiles one of its threads while it works: from a control thread, with budgets, and
 * with the library's messages in the log of the service. */
#define _GNU_SOURCE /* for syscall */
#include <hbbp/hbbp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int should_end;
static atomic_uint counting_thread;
static volatile unsigned counted, others;

__attribute__((noinline)) static void count_up(void) {
  while (!atomic_load_explicit(&should_end, memory_order_relaxed)) counted = counted + 1;
}

static void *run_counting(void *unused) {
  atomic_store(&counting_thread, (unsigned)syscall(SYS_gettid));
  count_up();
  return unused;
}

static void *run_others(void *unused) {
  while (!atomic_load_explicit(&should_end, memory_order_relaxed)) others = others * 3 + 1;
  return unused;
}

static void write_log(hbbp_log_level level, const char *message, void *user_data) {
  fprintf((FILE *)user_data, "hbbp %d: %s\n", level, message);
}

static int profile_thread(uint32_t thread) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EBS;
  options.period = 1000000; /* ns */
  options.threads = &thread;
  options.thread_count = 1;
  options.max_overhead = 0.01;
  options.max_memory = 16 << 20;
  options.log = write_log;
  options.log_user_data = stdout;
  hbbp_session *session = NULL;
  HBBP_INIT(hbbp_error, error);
  if (hbbp_session_create(&options, &session, &error) || hbbp_session_start(session, &error)) {
    fprintf(stderr, "%s\n", error.message);
    hbbp_session_destroy(session);
    return 1;
  }
  HBBP_INIT(hbbp_session_info, info);
  while (info.samples < 100) {
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    hbbp_session_get_info(session, &info, NULL);
  }
  hbbp_session_stop(session, NULL);
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  if (hbbp_session_snapshot(session, NULL, &profile, &error) ||
      hbbp_analysis_create(profile, NULL, NULL, &analysis, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  HBBP_INIT(hbbp_profile_info, all);
  hbbp_profile_get_info(profile, &all, NULL);
  for (size_t i = 0; i < hbbp_analysis_function_count(analysis); i++) {
    hbbp_function function;
    size_t copied;
    hbbp_analysis_copy_functions(analysis, i, 1, sizeof(function), &function, &copied, NULL);
    printf("%.1f %% in %s\n", 100.0 * (double)function.samples / (double)all.samples,
           function.name);
  }
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  hbbp_session_destroy(session);
  return 0;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, run_counting, NULL);
  pthread_create(&threads[1], NULL, run_others, NULL);
  while (atomic_load(&counting_thread) == 0) nanosleep(&(struct timespec){0, 1000000}, NULL);
  const int failed = profile_thread(atomic_load(&counting_thread));
  atomic_store(&should_end, 1);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return failed;
}
