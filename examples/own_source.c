/* A program with a sampler of its own, a timer and a signal handler, which it makes a source of a
 * session: it prints where work() spends its time. */
#define _GNU_SOURCE /* for REG_RIP */
#include <hbbp/hbbp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { SLOTS = 1024, PERIOD_NS = 1000000 };

/* The handler writes slots, and drain() reads them. */
static struct slot {
  uint64_t ip, time_ns;
  uint32_t tid;
} ring[SLOTS];
static atomic_size_t written, taken, lost;
static uint32_t source_index;

static void take_sample(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  const size_t next = atomic_load(&written);
  if (next - atomic_load(&taken) == SLOTS) {
    atomic_fetch_add(&lost, 1);
    return;
  }
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  ring[next % SLOTS] =
      (struct slot){.ip = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP],
                    .time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                    .tid = (uint32_t)syscall(SYS_gettid)};
  atomic_store(&written, next + 1);
}

static void set_timer(long period_ns) {
  const struct itimerval timer = {{0, period_ns / 1000}, {0, period_ns / 1000}};
  setitimer(ITIMER_PROF, &timer, NULL);
}

static hbbp_status start(void *context, hbbp_feed *feed, hbbp_error *error) {
  (void)context;
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_CPU_CLOCK;
  source.event_name = "SIGPROF";
  source.period = PERIOD_NS;
  const hbbp_status status = hbbp_feed_add_source(feed, &source, &source_index, error);
  if (status != HBBP_OK) return status;
  struct sigaction action = {.sa_sigaction = take_sample, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigaction(SIGPROF, &action, NULL);
  set_timer(PERIOD_NS);
  return HBBP_OK;
}

static hbbp_status drain(void *context, hbbp_feed *feed, uint32_t *has_ended, hbbp_error *error) {
  (void)context, (void)has_ended;
  hbbp_status status = HBBP_OK;
  for (size_t i = atomic_load(&taken); status == HBBP_OK && i != atomic_load(&written); i++) {
    const struct slot *slot = &ring[i % SLOTS];
    const hbbp_feed_sample sample = {.ip = slot->ip, .time_ns = slot->time_ns, .tid = slot->tid};
    status = hbbp_feed_add_samples(feed, source_index, &sample, 1, sizeof(sample), error);
    atomic_store(&taken, i + 1);
  }
  const hbbp_feed_event event = {
      .kind = HBBP_FEED_LOST, .source = source_index, .count = atomic_exchange(&lost, 0)};
  if (status != HBBP_OK || event.count == 0) return status;
  return hbbp_feed_add_events(feed, &event, 1, sizeof(event), error);
}

static hbbp_status stop(void *context, hbbp_feed *feed, hbbp_error *error) {
  set_timer(0);
  signal(SIGPROF, SIG_IGN);
  uint32_t has_ended;
  return drain(context, feed, &has_ended, error);
}

__attribute__((noinline)) static unsigned work(unsigned state) {
  for (int i = 0; i < 600000000; i++) state = state * 1664525 + 1013904223;
  return state;
}

int main(int argc, char **argv) {
  (void)argv;
  const hbbp_source_ops ops = {
      .struct_size = sizeof(ops), .name = "SIGPROF", .start = start, .drain = drain, .stop = stop};
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EXTERNAL;
  hbbp_session *session = NULL;
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  HBBP_INIT(hbbp_error, error);
  if (hbbp_session_create(&options, &session, &error) ||
      hbbp_session_add_source(session, &ops, NULL, &error) || hbbp_session_start(session, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  printf("%u\n", work((unsigned)argc));
  if (hbbp_session_stop(session, &error) ||
      hbbp_session_snapshot(session, NULL, &profile, &error) ||
      hbbp_analysis_create(profile, NULL, NULL, &analysis, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  HBBP_INIT(hbbp_profile_info, info);
  hbbp_profile_get_info(profile, &info, NULL);
  hbbp_function functions[8];
  size_t count;
  hbbp_analysis_copy_functions(analysis, 0, 8, sizeof(functions[0]), functions, &count, NULL);
  for (size_t i = 0; i < count; i++) {
    printf("%5.1f %% of %llu samples in %s\n",
           100.0 * (double)functions[i].samples / (double)info.samples,
           (unsigned long long)info.samples, functions[i].name);
  }
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  hbbp_session_destroy(session);
  return 0;
}
