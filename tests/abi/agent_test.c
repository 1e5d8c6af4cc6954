/* An agent that links libhbbp-collect alone: it records itself, has a feed, reads the profiles of
 * both, merges them, takes parts of the sum, and saves it.
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

/* Returns NULL where perf events are refused. */
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
    CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  } else {
    fprintf(stderr, "SKIPPED: %s\n", refusal.message);
  }
  hbbp_session_destroy(session);
  return profile;
}

/* Where the library has no branch tracing, sessions that leave the source open do without. */
static void check_default_source(void) {
  hbbp_session *session = NULL;
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_create(NULL, &session, &error));
  CHECK_OK(hbbp_session_start(session, &error));
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  hbbp_session_destroy(session);
  hbbp_source_info source;
  CHECK_ELEMENT(hbbp_profile_copy_sources, profile, 0, &source);
  CHECK(source.kind == HBBP_SOURCE_EBS || source.kind == HBBP_SOURCE_LBR);
  hbbp_profile_destroy(profile);
}

/* Feeds samples in three nops and a return. */
static hbbp_profile *observe(void) {
  HBBP_INIT(hbbp_feed_options, options);
  options.command = "nops";
  options.slice_ns = HBBP_MIN_SLICE_NS;
  hbbp_feed *feed = NULL;
  hbbp_profile *profile = NULL;
  uint32_t number = 0;
  CHECK_OK(hbbp_feed_create(&options, &feed, &error));
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_INSTRUCTIONS;
  source.period = PERIOD;
  CHECK_OK(hbbp_feed_add_source(feed, &source, &number, &error));
  const uint8_t code[] = {0x90, 0x90, 0x90, 0xc3};
  const hbbp_feed_event event = {.kind = HBBP_FEED_CODE,
                                 .pid = PID,
                                 .address = CODE_ADDRESS,
                                 .size = sizeof(code),
                                 .code = code,
                                 .name = "nops"};
  CHECK_OK(hbbp_feed_add_events(feed, &event, 1, sizeof(event), &error));
  hbbp_feed_sample samples[SAMPLES];
  memset(samples, 0, sizeof(samples));
  for (uint32_t i = 0; i < SAMPLES; ++i) {
    samples[i].ip = CODE_ADDRESS + i % sizeof(code);
    samples[i].pid = PID;
    samples[i].tid = PID + i % 2;
    samples[i].time_ns = 1 + i % 4 * HBBP_MIN_SLICE_NS;
  }
  CHECK_OK(hbbp_feed_add_samples(feed, number, samples, SAMPLES, sizeof(*samples), &error));
  CHECK_OK(hbbp_feed_flush(feed, HBBP_FEED_ALL, &error));
  HBBP_INIT(hbbp_feed_info, info);
  CHECK_OK(hbbp_feed_get_info(feed, &info, &error));
  CHECK(info.samples == SAMPLES && info.waiting == 0);
  CHECK_OK(hbbp_feed_snapshot(feed, NULL, &profile, &error));
  hbbp_feed_destroy(feed);
  return profile;
}

/* Reads the lists of a profile with a library without analysis. */
static void test_lists(const hbbp_profile *profile) {
  HBBP_INIT(hbbp_profile_info, info);
  CHECK_OK(hbbp_profile_get_info(profile, &info, &error));
  CHECK(info.samples == SAMPLES && info.unmapped == 0 && info.lost == 0);
  CHECK(strcmp(info.command, "nops") == 0);
  HBBP_INIT(hbbp_source_info, source);
  CHECK(hbbp_profile_source_count(profile) == 1);
  CHECK_ELEMENT(hbbp_profile_copy_sources, profile, 0, &source);
  CHECK(source.kind == HBBP_SOURCE_EBS && source.unit == HBBP_UNIT_INSTRUCTIONS);
  CHECK(source.samples == SAMPLES && source.period == PERIOD);
  HBBP_INIT(hbbp_thread, thread);
  CHECK(hbbp_profile_thread_count(profile) == 2);
  CHECK_ELEMENT(hbbp_profile_copy_threads, profile, 1, &thread);
  CHECK(thread.pid == PID && thread.tid == PID + 1 && thread.samples == SAMPLES / 2);
  HBBP_INIT(hbbp_module, module);
  int modules_with_samples = 0;
  for (size_t i = 0; i < hbbp_profile_module_count(profile); ++i) {
    CHECK_ELEMENT(hbbp_profile_copy_modules, profile, i, &module);
    if (module.samples == 0) continue; /* this machine's kernel */
    ++modules_with_samples;
    CHECK(module.kind == HBBP_MODULE_ANONYMOUS && module.samples == SAMPLES);
    CHECK(strstr(module.path, "generated code") != NULL);
  }
  CHECK(modules_with_samples == 1);
  HBBP_INIT(hbbp_slice, slice);
  CHECK(hbbp_profile_slice_count(profile) == 4);
  CHECK_ELEMENT(hbbp_profile_copy_slices, profile, 3, &slice);
  CHECK(slice.start_ns == 3 * HBBP_MIN_SLICE_NS && slice.samples == SAMPLES / 4);
  CHECK(hbbp_profile_counter_count(profile, 0) == 0);
  hbbp_counter counter;
  size_t copied = 7;
  CHECK_OK(
      hbbp_profile_copy_counters(profile, 0, 0, 1, sizeof(counter), &counter, &copied, &error));
  CHECK(copied == 0);
  CHECK_FAILS(
      HBBP_ERROR_INVALID_ARGUMENT, "source 1 of 1",
      hbbp_profile_copy_counters(profile, 1, 0, 1, sizeof(counter), &counter, &copied, &error));
  CHECK_FAILS(
      HBBP_ERROR_INVALID_ARGUMENT, "profile",
      hbbp_profile_copy_counters(NULL, 0, 0, 1, sizeof(counter), &counter, &copied, &error));
  CHECK_LIST(hbbp_source_info, hbbp_profile_source_count, hbbp_profile_copy_sources, "profile",
             "sources", profile);
  CHECK_LIST(hbbp_thread, hbbp_profile_thread_count, hbbp_profile_copy_threads, "profile",
             "threads", profile);
  CHECK_LIST(hbbp_module, hbbp_profile_module_count, hbbp_profile_copy_modules, "profile",
             "modules", profile);
  CHECK_LIST(hbbp_slice, hbbp_profile_slice_count, hbbp_profile_copy_slices, "profile", "slices",
             profile);
}

static uint64_t samples_of_part(const hbbp_profile *profile, const hbbp_selection *selection) {
  hbbp_profile *part = NULL;
  HBBP_INIT(hbbp_profile_info, info);
  CHECK_OK(hbbp_profile_select(profile, selection, NULL, &part, &error));
  CHECK_OK(hbbp_profile_get_info(part, &info, &error));
  CHECK(hbbp_profile_slice_count(part) == 4 && hbbp_profile_source_count(part) == 1);
  hbbp_profile_destroy(part);
  return info.samples;
}

/* A thread has samples in two of four slices only. */
static void test_parts(const hbbp_profile *profile) {
  HBBP_INIT(hbbp_selection, selection);
  selection.parts = HBBP_SELECT_THREAD;
  selection.tid = PID;
  CHECK(samples_of_part(profile, &selection) == SAMPLES / 2);
  selection.parts = HBBP_SELECT_SLICE;
  selection.slice = 2;
  CHECK(samples_of_part(profile, &selection) == SAMPLES / 4);
  selection.parts = HBBP_SELECT_SLICE | HBBP_SELECT_THREAD;
  CHECK(samples_of_part(profile, &selection) == SAMPLES / 4);
  selection.slice = 1;
  CHECK(samples_of_part(profile, &selection) == 0);
  selection.slice = 4;
  hbbp_profile *part = NULL;
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "index 4 of 4",
              hbbp_profile_select(profile, &selection, NULL, &part, &error));
  selection.tid = 1;
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "thread 1",
              hbbp_profile_select(profile, &selection, NULL, &part, &error));
  selection.parts = 0;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "parts",
              hbbp_profile_select(profile, &selection, NULL, &part, &error));
  CHECK(part == NULL);
  selection.parts = HBBP_SELECT_THREAD;
  selection.tid = PID;
  CHECK_WORK(part, hbbp_profile_destroy,
             hbbp_profile_select(profile, &selection, work, &part, &error));
}

static void test_features(void) {
  CHECK(hbbp_feature("ebs") == 1 && hbbp_feature("lbr") == 1 && hbbp_feature("ibs") == 1);
  CHECK(hbbp_feature("swbt") == 0 && hbbp_feature("import") == 0);
  CHECK(hbbp_feature("analysis") == 0 && hbbp_feature("debug-information") == 0);
  CHECK(hbbp_feature("probes") == 0);
  CHECK(hbbp_feature(NULL) == 0);
}

static hbbp_status start_pushed(void *context, hbbp_feed *feed, hbbp_error *error) {
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_INSTRUCTIONS;
  source.period = PERIOD;
  const hbbp_feed_sample sample = {.ip = CODE_ADDRESS};
  const hbbp_status status = hbbp_feed_add_source(feed, &source, (uint32_t *)context, error);
  if (status != HBBP_OK) return status;
  return hbbp_feed_add_samples(feed, *(uint32_t *)context, &sample, 1, sizeof(sample), error);
}

static hbbp_status stop_pushed(void *context, hbbp_feed *feed, hbbp_error *error) {
  (void)context;
  (void)feed;
  (void)error;
  return HBBP_OK;
}

/* Whole bursts are kept by libhbbp alone. */
static void test_kept_bursts(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EBS;
  options.kept_burst_bytes = HBBP_MIN_KEPT_BURST_BYTES;
  hbbp_session *session = NULL;
  HBBP_INIT(hbbp_error, error);
  CHECK(hbbp_session_create(&options, &session, &error) == HBBP_ERROR_UNSUPPORTED);
  CHECK(strstr(error.message, "kept_burst_bytes") != NULL);
  CHECK(session == NULL);
}

/* The agent's own source is the only one of a session. */
static void test_own_source(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EXTERNAL;
  HBBP_INIT(hbbp_source_ops, ops);
  ops.name = "pushed";
  ops.start = start_pushed;
  ops.stop = stop_pushed;
  uint32_t index = 7;
  hbbp_session *session = NULL;
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  CHECK_OK(hbbp_session_add_source(session, &ops, &index, &error));
  CHECK_OK(hbbp_session_start(session, &error));
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  hbbp_session_destroy(session);
  HBBP_INIT(hbbp_profile_info, info);
  CHECK_OK(hbbp_profile_get_info(profile, &info, &error));
  CHECK(index == 0 && info.samples == 1);
  hbbp_profile_destroy(profile);
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
  test_features();
  test_branch_tracing_is_refused();
  test_own_source();
  test_kept_bursts();
  hbbp_profile *const parts[] = {record(), observe()};
  const int is_skipped = parts[0] == NULL;
  if (!is_skipped) check_default_source();
  test_lists(parts[1]);
  test_parts(parts[1]);
  if (!is_skipped) {
    hbbp_profile *merged = NULL;
    hbbp_profile *loaded = NULL;
    const hbbp_profile *const both[] = {parts[0], parts[1]};
    CHECK_OK(hbbp_profile_merge(both, 2, NULL, &merged, &error));
    CHECK_OK(hbbp_profile_save(merged, argv[1], NULL, &error));
    CHECK_OK(hbbp_profile_load(argv[1], NULL, &loaded, &error));
    hbbp_profile_destroy(loaded);
    hbbp_profile_destroy(merged);
  }
  hbbp_profile_destroy(parts[0]);
  hbbp_profile_destroy(parts[1]);
  if (is_skipped && failures == 0) return SKIPPED;
  return end_of_checks();
}
