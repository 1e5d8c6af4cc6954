/* An agent that links libhbbp-collect alone: it records itself, is fed, merges both, and saves
 * that.
 *
 * usage: agent_test PROFILE_TO_WRITE */
#define _GNU_SOURCE
#include <stdint.h>
#include <time.h>

#include "checks.h"

enum { PID = 7, CODE_ADDRESS = 0x7000, PERIOD = 100, SAMPLES = 64, SKIPPED = 77 };

static uint64_t cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static void work(void) {
  volatile uint64_t work_done = 0;
  const uint64_t begin = cpu_ns();
  while (cpu_ns() - begin < 300000000) {
    for (int i = 0; i < 100000; ++i) work_done = work_done + 1;
  }
}

/* NULL: perf events are refused here. */
static hbbp_profile *record(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EBS;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 1000000;
  hbbp_session *session = NULL;
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  HBBP_INIT(hbbp_error, refusal);
  if (hbbp_session_start(session, &refusal) == HBBP_OK) {
    work();
    CHECK_OK(hbbp_session_stop(session, &error));
    CHECK_OK(hbbp_session_snapshot(session, &profile, &error));
  } else {
    fprintf(stderr, "SKIPPED: %s\n", refusal.message);
  }
  hbbp_session_destroy(session);
  return profile;
}

/* Samples in three nops and a return that the host handed over. */
static hbbp_profile *feed(void) {
  hbbp_session *session = NULL;
  hbbp_profile *profile = NULL;
  uint32_t number = 0;
  CHECK_OK(hbbp_session_create_fed(NULL, &session, &error));
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_INSTRUCTIONS;
  source.period = PERIOD;
  CHECK_OK(hbbp_session_add_fed_source(session, &source, &number, &error));
  const uint8_t code[] = {0x90, 0x90, 0x90, 0xc3};
  const hbbp_feed_event event = {.kind = HBBP_FEED_CODE,
                                 .pid = PID,
                                 .address = CODE_ADDRESS,
                                 .size = sizeof(code),
                                 .code = code,
                                 .name = "nops"};
  CHECK_OK(hbbp_session_feed_events(session, &event, 1, sizeof(event), &error));
  hbbp_feed_sample samples[SAMPLES];
  memset(samples, 0, sizeof(samples));
  for (uint32_t i = 0; i < SAMPLES; ++i) {
    samples[i].ip = CODE_ADDRESS + i % sizeof(code);
    samples[i].pid = PID;
    samples[i].tid = PID;
  }
  CHECK_OK(hbbp_session_feed_samples(session, number, samples, SAMPLES, sizeof(*samples), &error));
  CHECK_OK(hbbp_session_snapshot(session, &profile, &error));
  hbbp_session_destroy(session);
  return profile;
}

static void test_branch_tracing_is_refused(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_SWBT;
  hbbp_session *session = NULL;
  CHECK_FAILS(HBBP_ERROR_UNSUPPORTED, "libhbbp", hbbp_session_create(&options, &session, &error));
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  remove(argv[1]);
  CHECK(strcmp(hbbp_version_string(), HBBP_VERSION_STRING) == 0);
  CHECK(strcmp(hbbp_status_name(HBBP_ERROR_UNSUPPORTED), "HBBP_ERROR_UNSUPPORTED") == 0);
  test_branch_tracing_is_refused();
  hbbp_profile *const parts[] = {record(), feed()};
  const int is_skipped = parts[0] == NULL;
  if (!is_skipped) {
    hbbp_profile *merged = NULL;
    hbbp_profile *loaded = NULL;
    const hbbp_profile *const both[] = {parts[0], parts[1]};
    CHECK_OK(hbbp_profile_merge(both, 2, &merged, &error));
    CHECK_OK(hbbp_profile_save(merged, argv[1], &error));
    CHECK_OK(hbbp_profile_load(argv[1], &loaded, &error));
    hbbp_profile_destroy(loaded);
    hbbp_profile_destroy(merged);
  }
  hbbp_profile_destroy(parts[0]);
  hbbp_profile_destroy(parts[1]);
  if (is_skipped && failures == 0) return SKIPPED;
  return end_of_checks();
}
