/* Tests hbbp_feed_process: samples of a process that runs already are found in its modules, by the
 * names of its threads.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checks.h"

enum { PERIOD = 1000 };

/* A function whose address is the same in a child. */
__attribute__((noinline)) static int sampled_function(int number) { return 3 * number + 1; }

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_mutex(void *tid) {
  __atomic_store_n((uint32_t *)tid, (uint32_t)gettid(), __ATOMIC_RELEASE);
  pthread_setname_np(pthread_self(), "waits"); /* after the number, for whom the name is awaited */
  pthread_mutex_lock(&held);
  pthread_mutex_unlock(&held);
  return NULL;
}

static hbbp_feed *make_feed(void) {
  hbbp_feed *feed = NULL;
  CHECK_OK(hbbp_feed_create(NULL, &feed, &error));
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_INSTRUCTIONS;
  source.period = PERIOD;
  CHECK_OK(hbbp_feed_add_source(feed, &source, NULL, &error));
  return feed;
}

/* Feeds a sample of that thread in sampled_function, and checks what becomes of it. */
static void check_sample(hbbp_feed *feed, uint32_t pid, uint32_t tid, const char *thread_name) {
  const hbbp_feed_sample sample = {
      .time_ns = 1, .ip = (uint64_t)(uintptr_t)&sampled_function, .pid = pid, .tid = tid};
  CHECK_OK(hbbp_feed_add_samples(feed, 0, &sample, 1, sizeof(sample), &error));
  CHECK_OK(hbbp_feed_flush(feed, HBBP_FEED_ALL, &error));
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_feed_snapshot(feed, NULL, &profile, &error));
  HBBP_INIT(hbbp_profile_info, info);
  CHECK_OK(hbbp_profile_get_info(profile, &info, &error));
  CHECK(info.samples == 1 && info.unmapped == 0);
  hbbp_thread thread = {0};
  for (size_t i = 0; i < hbbp_profile_thread_count(profile); ++i) {
    CHECK_ELEMENT(hbbp_profile_copy_threads, profile, i, &thread);
    if (thread.tid == tid) break;
  }
  CHECK(thread.pid == pid && thread.tid == tid && strcmp(thread.name, thread_name) == 0);
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  hbbp_function function = {.name = ""};
  CHECK_ELEMENT(hbbp_analysis_copy_functions, analysis, 0, &function);
  CHECK(strncmp(function.name, "sampled_function", 16) == 0 || function.name[0] == '0');
  CHECK(function.samples == 1);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
}

static void test_own_process(void) {
  pthread_t thread;
  uint32_t tid = 0;
  pthread_mutex_lock(&held);
  CHECK(pthread_create(&thread, NULL, wait_for_mutex, &tid) == 0);
  char name[16] = "";
  while (strcmp(name, "waits") != 0) {
    pthread_getname_np(thread, name, sizeof(name));
    usleep(1000);
  }
  hbbp_feed *const feed = make_feed();
  CHECK_OK(hbbp_feed_process(feed, 0, &error));
  check_sample(feed, (uint32_t)getpid(), __atomic_load_n(&tid, __ATOMIC_ACQUIRE), "waits");
  hbbp_feed_destroy(feed);
  pthread_mutex_unlock(&held);
  pthread_join(thread, NULL);
}

static void test_child(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    char unused;
    close(ends[1]);
    _exit(read(ends[0], &unused, 1) < 0);
  }
  close(ends[0]);
  const uint32_t pid = (uint32_t)child;
  hbbp_feed *const feed = make_feed();
  CHECK_OK(hbbp_feed_process(feed, pid, &error));
  char name[16];
  pthread_getname_np(pthread_self(), name, sizeof(name));
  check_sample(feed, pid, pid, name);
  close(ends[1]);
  siginfo_t ended;
  CHECK(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) == 0);
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "has ended", hbbp_feed_process(feed, pid, &error));
  CHECK(waitpid(child, NULL, 0) == child);
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "there is no process", hbbp_feed_process(feed, pid, &error));
  hbbp_feed_destroy(feed);
}

int main(void) {
  CHECK(sampled_function(1) == 4);
  hbbp_feed *const feed = make_feed();
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "feed", hbbp_feed_process(NULL, 0, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "is not a process id",
              hbbp_feed_process(feed, UINT32_MAX, &error));
  hbbp_feed_destroy(feed);
  test_own_process();
  test_child();
  return end_of_checks();
}
