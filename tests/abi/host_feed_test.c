/* Tests what a host passes to feeds and to imports through the C ABI: log, memory, allocator; and
 * flags that cancel snapshots and the reading of source lines.
 *
 * usage: host_feed_test DIRECTORY
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <hbbp/hbbp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"
#include "heap.h"

enum { BASE = 0x400000, PID = 7 };

/* Log ---------------------------------------------------------------------------------------- */

typedef struct messages {
  hbbp_feed *feed; /* that the log asks, if it is set */
  int of_level[HBBP_LOG_DEBUG + 1];
  char all[8192];
} messages;

static void keep_message(hbbp_log_level level, const char *message, void *user_data) {
  messages *kept = (messages *)user_data;
  CHECK(level >= HBBP_LOG_ERROR && level <= HBBP_LOG_DEBUG);
  CHECK(strchr(message, '\n') == NULL);
  ++kept->of_level[level];
  if (strlen(kept->all) + strlen(message) + 2 < sizeof(kept->all)) {
    strcat(kept->all, message);
    strcat(kept->all, "\n");
  }
  if (kept->feed != NULL) {
    HBBP_INIT(hbbp_feed_info, info);
    CHECK_OK(hbbp_feed_get_info(kept->feed, &info, &error));
  }
}

/* Feeding ------------------------------------------------------------------------------------ */

static hbbp_feed *new_feed(const hbbp_feed_options *options) {
  hbbp_feed *feed = NULL;
  CHECK_OK(hbbp_feed_create(options, &feed, &error));
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_INSTRUCTIONS;
  source.period = 1000;
  CHECK_OK(hbbp_feed_add_source(feed, &source, NULL, &error));
  const hbbp_feed_event mapping = {.kind = HBBP_FEED_MAPPING,
                                   .pid = PID,
                                   .address = BASE,
                                   .size = 1u << 30,
                                   .name = "/no/such/program"};
  CHECK_OK(hbbp_feed_add_events(feed, &mapping, 1, sizeof(mapping), &error));
  return feed;
}

/* Adds `count` samples, each at an address of its own. */
static void add_samples(hbbp_feed *feed, uint64_t first, uint64_t count) {
  enum { BATCH = 1000 };
  hbbp_feed_sample samples[BATCH];
  memset(samples, 0, sizeof(samples));
  for (uint64_t done = 0; done < count; done += BATCH) {
    for (uint64_t i = 0; i < BATCH; ++i) {
      const uint64_t number = first + done + i;
      samples[i].ip = BASE + number * 40503 % (1u << 30);
      samples[i].pid = samples[i].tid = PID;
      samples[i].time_ns = 1 + number * 1000;
    }
    CHECK_OK(hbbp_feed_add_samples(feed, 0, samples, BATCH, sizeof(*samples), &error));
  }
}

static hbbp_profile *snapshot(hbbp_feed *feed) {
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_feed_snapshot(feed, NULL, &profile, &error));
  return profile;
}

static uint64_t samples_of(const hbbp_profile *profile) {
  HBBP_INIT(hbbp_profile_info, info);
  CHECK_OK(hbbp_profile_get_info(profile, &info, &error));
  return info.samples;
}

static int has_note(const hbbp_profile *profile, const char *words) {
  HBBP_INIT(hbbp_source_info, source);
  CHECK_ELEMENT(hbbp_profile_copy_sources, profile, 0, &source);
  return strstr(source.note, words) != NULL;
}

static uint64_t counter(const hbbp_profile *profile, const char *name) {
  for (size_t i = 0; i < hbbp_profile_counter_count(profile, 0); ++i) {
    HBBP_INIT(hbbp_counter, found);
    CHECK_ELEMENT_OF_SOURCE(hbbp_profile_copy_counters, profile, 0, i, &found);
    if (strcmp(found.name, name) == 0) return found.value;
  }
  return 0;
}

static void test_bad_options(const char *text) {
  hbbp_feed *feed = NULL;
  hbbp_profile *profile = NULL;
  const hbbp_allocator half = {sizeof(hbbp_allocator), 0, NULL, NULL, NULL};
  const hbbp_allocator newer = {sizeof(hbbp_allocator), 1, NULL, NULL, NULL};
#define REFUSED(word, field, value)                                                            \
  do {                                                                                         \
    HBBP_INIT(hbbp_feed_options, options);                                                     \
    options.field = value;                                                                     \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, word, hbbp_feed_create(&options, &feed, &error)); \
    HBBP_INIT(hbbp_import_options, import);                                                    \
    import.field = value;                                                                      \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, word,                                             \
                hbbp_profile_import(text, &import, NULL, &profile, &error));                   \
  } while (0)
  REFUSED("max_memory", max_memory, HBBP_MIN_MEMORY - 1);
  REFUSED("log_level", log_level, HBBP_LOG_DEBUG + 1);
  REFUSED("log_level", log_level, -1);
  REFUSED("hbbp_allocator", allocator, &half);
  REFUSED("hbbp_allocator.reserved", allocator, &newer);
  REFUSED("reserved", reserved, 1);
#undef REFUSED
  CHECK(feed == NULL && profile == NULL);
}

static void test_log_of_feeding(void) {
  messages kept;
  memset(&kept, 0, sizeof(kept));
  HBBP_INIT(hbbp_feed_options, options);
  options.order = HBBP_FEED_AS_ADDED;
  options.log = keep_message;
  options.log_user_data = &kept;
  hbbp_feed *feed = new_feed(&options);
  kept.feed = feed;
  CHECK(kept.of_level[HBBP_LOG_INFO] == 1);
  CHECK(strstr(kept.all, "each 1000") != NULL);
  const hbbp_feed_event lost = {.kind = HBBP_FEED_LOST, .count = 5};
  CHECK_OK(hbbp_feed_add_events(feed, &lost, 1, sizeof(lost), &error));
  CHECK(kept.of_level[HBBP_LOG_WARNING] == 1);
  CHECK(strstr(kept.all, "5 samples were lost") != NULL);
  CHECK(kept.of_level[HBBP_LOG_ERROR] == 0);
  hbbp_feed_destroy(feed);

  memset(&kept, 0, sizeof(kept));
  options.log_level = HBBP_LOG_ERROR;
  feed = new_feed(&options);
  CHECK_OK(hbbp_feed_add_events(feed, &lost, 1, sizeof(lost), &error));
  CHECK(kept.all[0] == '\0');
  hbbp_feed_destroy(feed);
}

static void test_memory_of_feeding(hbbp_feed_order order) {
  messages kept;
  memset(&kept, 0, sizeof(kept));
  HBBP_INIT(hbbp_feed_options, options);
  options.order = order;
  options.log = keep_message;
  options.log_user_data = &kept;
  options.max_memory = HBBP_MIN_MEMORY;
  options.slice_ns = HBBP_MIN_SLICE_NS;
  hbbp_feed *feed = new_feed(&options);
  enum { SAMPLES = 50000 };
  HBBP_INIT(hbbp_feed_info, info);
  for (uint64_t i = 0; i < SAMPLES; i += SAMPLES / 10) {
    add_samples(feed, i, SAMPLES / 10);
    CHECK_OK(hbbp_feed_end_round(feed, &error));
    CHECK_OK(hbbp_feed_get_info(feed, &info, &error));
    CHECK(info.memory_bytes <= options.max_memory);
  }
  CHECK_OK(hbbp_feed_flush(feed, HBBP_FEED_ALL, &error));
  CHECK_OK(hbbp_feed_get_info(feed, &info, &error));
  CHECK(info.peak_memory_bytes <= options.max_memory);
  CHECK(info.peak_memory_bytes > options.max_memory / 4);
  CHECK(info.dropped > 0 && info.dropped < SAMPLES);
  hbbp_profile *profile = snapshot(feed);
  CHECK(samples_of(profile) + info.dropped == SAMPLES);
  CHECK(counter(profile, "no-memory") == info.dropped);
  CHECK(has_note(profile, "counts are too low"));
  CHECK(has_note(profile, "slices were made wider"));
  CHECK(kept.of_level[HBBP_LOG_ERROR] > 0);
  CHECK(strstr(kept.all, "no memory") != NULL);
  hbbp_profile_destroy(profile);
  hbbp_feed_destroy(feed);
}

/* Allocators --------------------------------------------------------------------------------- */

static void test_allocator_of_feeding(hbbp_feed_order order, int fail_every) {
  heap own;
  memset(&own, 0, sizeof(own));
  own.fail_every = fail_every;
  const hbbp_allocator allocator = {sizeof(allocator), 0, heap_allocate, heap_deallocate, &own};
  HBBP_INIT(hbbp_feed_options, options);
  options.order = order;
  options.allocator = &allocator;
  hbbp_feed *feed = new_feed(&options);
  enum { SAMPLES = 20000 };
  add_samples(feed, 0, SAMPLES);
  HBBP_INIT(hbbp_feed_info, info);
  CHECK_OK(hbbp_feed_get_info(feed, &info, &error));
  if (fail_every == 0) {
    CHECK(info.dropped == 0);
    CHECK(atomic_load(&own.live_bytes) > 0 &&
          info.memory_bytes >= (uint64_t)atomic_load(&own.live_bytes));
  }
  CHECK_OK(hbbp_feed_flush(feed, HBBP_FEED_ALL, &error));
  CHECK_OK(hbbp_feed_get_info(feed, &info, &error));
  CHECK(fail_every != 0 || info.dropped == 0);
  CHECK(fail_every != 1 || info.dropped == SAMPLES);
  hbbp_profile *profile = snapshot(feed);
  hbbp_feed_destroy(feed);
  check_heap(&own);
  /* A profile does not use that memory. */
  CHECK(samples_of(profile) + info.dropped == SAMPLES);
  hbbp_profile_destroy(profile);
  CHECK(atomic_load(&own.wrong) == 0);
}

/* Imports ------------------------------------------------------------------------------------ */

enum { STACKS = 20000 };

/* Writes text of perf script with branches that are all different. */
static void write_text(const char *path) {
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  if (file == NULL) return;
  fprintf(file, "PERF_RECORD_MMAP2 7/7: [0x400000(0x40000000) @ 0 08:01 42 1]: r-xp /no/such\n");
  for (unsigned i = 0; i < STACKS; ++i) {
    const unsigned at = BASE + i * 256;
    fprintf(file, " %x 0x%x/0x%x/P/-/-/0  0x%x/0x%x/P/-/-/0\n", at, at + 64, at, at + 16, at + 32);
  }
  fclose(file);
}

static void test_import(const char *text) {
  hbbp_profile *whole = NULL;
  CHECK_OK(hbbp_profile_import(text, NULL, NULL, &whole, &error));
  CHECK(samples_of(whole) == STACKS);
  CHECK(counter(whole, "no-memory") == 0);
  hbbp_profile_destroy(whole);

  messages kept;
  memset(&kept, 0, sizeof(kept));
  heap own;
  memset(&own, 0, sizeof(own));
  const hbbp_allocator allocator = {sizeof(allocator), 0, heap_allocate, heap_deallocate, &own};
  HBBP_INIT(hbbp_import_options, options);
  options.max_memory = HBBP_MIN_MEMORY;
  options.log = keep_message;
  options.log_user_data = &kept;
  options.allocator = &allocator;
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_profile_import(text, &options, NULL, &profile, &error));
  check_heap(&own);
  const uint64_t dropped = counter(profile, "no-memory");
  CHECK(dropped > 0 && dropped < STACKS);
  CHECK(samples_of(profile) + dropped == STACKS);
  CHECK(has_note(profile, "counts are too low"));
  CHECK(kept.of_level[HBBP_LOG_ERROR] == 1);
  CHECK(kept.of_level[HBBP_LOG_INFO] == 1);
  CHECK(strstr(kept.all, "no memory") != NULL);
  hbbp_profile_destroy(profile);

  /* If there is no memory for any count, there is no profile. */
  memset(&own, 0, sizeof(own));
  own.fail_every = 1;
  profile = NULL;
  CHECK_FAILS(HBBP_ERROR_NO_MEMORY, "max_memory",
              hbbp_profile_import(text, &options, NULL, &profile, &error));
  CHECK(profile == NULL);
  CHECK(atomic_load(&own.live_blocks) == 0);
}

/* Snapshots ---------------------------------------------------------------------------------- */

typedef struct snapshot_run {
  hbbp_cancel *cancel;
  atomic_int has_begun;
  struct timespec set_at;
  uint64_t last;
} snapshot_run;

static void keep_begin(uint64_t done, uint64_t all, void *user_data) {
  snapshot_run *run = (snapshot_run *)user_data;
  CHECK(done >= run->last && done <= all);
  run->last = done;
  atomic_store(&run->has_begun, 1);
}

static void *cancel_when_begun(void *user_data) {
  snapshot_run *run = (snapshot_run *)user_data;
  while (!atomic_load(&run->has_begun)) sched_yield();
  clock_gettime(CLOCK_MONOTONIC, &run->set_at);
  hbbp_cancel_set(run->cancel, 1);
  return NULL;
}

static void test_cancelled_snapshot(void) {
  enum { SAMPLES = 1000000 };
  HBBP_INIT(hbbp_feed_options, options);
  options.order = HBBP_FEED_AS_ADDED;
  hbbp_feed *feed = new_feed(&options);
  add_samples(feed, 0, SAMPLES);
  snapshot_run run;
  memset(&run, 0, sizeof(run));
  CHECK_OK(hbbp_cancel_create(&run.cancel, &error));
  HBBP_INIT(hbbp_work_options, work);
  work.progress = keep_begin;
  work.user_data = &run;
  work.cancel = run.cancel;
  pthread_t canceller;
  pthread_create(&canceller, NULL, cancel_when_begun, &run);
  hbbp_profile *profile = NULL;
  CHECK_FAILS(HBBP_ERROR_CANCELLED, "hbbp_cancel",
              hbbp_feed_snapshot(feed, &work, &profile, &error));
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  pthread_join(canceller, NULL);
  CHECK(profile == NULL);
  printf("a snapshot of %d counts ended %.1f ms after it was cancelled\n", SAMPLES,
         (double)(now.tv_sec - run.set_at.tv_sec) * 1e3 +
             (double)(now.tv_nsec - run.set_at.tv_nsec) / 1e6);
  CHECK_FAILS(HBBP_ERROR_CANCELLED, "hbbp_cancel",
              hbbp_feed_snapshot(feed, &work, &profile, &error));
  hbbp_cancel_set(run.cancel, 0);
  run.last = 0;
  CHECK_OK(hbbp_feed_snapshot(feed, &work, &profile, &error));
  CHECK(samples_of(profile) == SAMPLES);
  hbbp_profile_destroy(profile);
  CHECK_OK(hbbp_feed_snapshot(feed, NULL, &profile, &error));
  hbbp_profile_destroy(profile);
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "feed",
              hbbp_feed_snapshot(NULL, &work, &profile, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "profile",
              hbbp_feed_snapshot(feed, &work, NULL, &error));
  hbbp_cancel_destroy(run.cancel);
  hbbp_feed_destroy(feed);
}

/* Source lines of this program --------------------------------------------------------------- */

static void count_calls(const char *module, uint64_t done, uint64_t all, void *user) {
  CHECK(module[0] == '/' && done <= all);
  ++*(int *)user;
}

static uint64_t start_of_this_program(char *path, size_t size) {
  const ssize_t length = readlink("/proc/self/exe", path, size - 1);
  CHECK(length > 0);
  path[length > 0 ? length : 0] = '\0';
  uint64_t start = 0, offset = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[4096];
  while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
    unsigned long long from, at;
    char access[8] = "";
    if (strstr(line, path) == NULL) continue;
    if (sscanf(line, "%llx-%*x %7s %llx", &from, access, &at) != 3) continue;
    if (access[2] == 'x') start = from, offset = at;
  }
  if (maps != NULL) fclose(maps);
  CHECK(start != 0);
  return (uint64_t)(uintptr_t)&start_of_this_program - start + offset;
}

static void test_source_lines(void) {
  char path[4096];
  const uint64_t offset = start_of_this_program(path, sizeof(path));
  HBBP_INIT(hbbp_feed_options, options);
  options.order = HBBP_FEED_AS_ADDED;
  hbbp_feed *feed = new_feed(&options);
  const uint64_t base = UINT64_C(0x100000000);
  const hbbp_feed_event mapping = {
      .kind = HBBP_FEED_MAPPING, .pid = PID + 1, .address = base, .size = 0x10000000, .name = path};
  CHECK_OK(hbbp_feed_add_events(feed, &mapping, 1, sizeof(mapping), &error));
  const hbbp_feed_sample sample = {.ip = base + offset, .pid = PID + 1, .tid = PID + 1};
  CHECK_OK(hbbp_feed_add_samples(feed, 0, &sample, 1, sizeof(sample), &error));
  hbbp_profile *profile = snapshot(feed);
  hbbp_feed_destroy(feed);

  hbbp_cancel *cancel = NULL;
  CHECK_OK(hbbp_cancel_create(&cancel, &error));
  int calls = 0;
  HBBP_INIT(hbbp_debug_options, debug);
  debug.progress = count_calls;
  debug.user_data = &calls;
  debug.cancel = cancel;
  HBBP_INIT(hbbp_analysis_options, analysis_options);
  analysis_options.debug = &debug;
  hbbp_analysis *analysis = NULL;
  hbbp_analysis *other = NULL;
  hbbp_cancel_set(cancel, 1); /* the analysis itself does not use this flag */
  CHECK_OK(hbbp_analysis_create(profile, &analysis_options, NULL, &analysis, &error));
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &other, &error));
  hbbp_profile_destroy(profile);
  HBBP_INIT(hbbp_function, function);
  CHECK_ELEMENT(hbbp_analysis_copy_functions, analysis, 0, &function);

  hbbp_line_frame frame;
  HBBP_INIT(hbbp_line_range, found);
  HBBP_INIT(hbbp_pivot_query, query);
  query.rows = "file";
  hbbp_pivot *pivot = NULL;
  hbbp_ratios *ratios = NULL;
  char problem[64];
  for (int i = 0; i < 2; ++i) {
    CHECK_FAILS(HBBP_ERROR_CANCELLED, "hbbp_cancel",
                hbbp_analysis_find_lines(analysis, function.module, function.start, 1,
                                         sizeof(frame), &frame, &found, &error));
    CHECK_FAILS(
        HBBP_ERROR_CANCELLED, "hbbp_cancel",
        hbbp_analysis_debug_problem(analysis, function.module, problem, sizeof(problem), &error));
    CHECK_FAILS(HBBP_ERROR_CANCELLED, "hbbp_cancel",
                hbbp_pivot_create(analysis, &query, NULL, &pivot, &error));
    CHECK_FAILS(HBBP_ERROR_CANCELLED, "hbbp_cancel",
                hbbp_ratios_create(analysis, "file = x", NULL, NULL, &ratios, &error));
  }
  CHECK(pivot == NULL && ratios == NULL);
  /* Another analysis of the same profile has neither the flag nor the progress. */
  calls = 0;
  CHECK_OK(hbbp_analysis_find_lines(other, function.module, function.start, 1, sizeof(frame),
                                    &frame, &found, &error));
  CHECK(found.frame_count == 1 && frame.line != 0);
  CHECK(calls == 0);

  hbbp_cancel_set(cancel, 0);
  CHECK_OK(hbbp_analysis_find_lines(analysis, function.module, function.start, 1, sizeof(frame),
                                    &frame, &found, &error));
  CHECK(found.frame_count == 1 && frame.line != 0);
  CHECK(calls > 0);
  hbbp_cancel_set(cancel, 1);
  CHECK_OK(hbbp_analysis_find_lines(analysis, function.module, function.start, 1, sizeof(frame),
                                    &frame, &found, &error)); /* it is known by now */
  hbbp_analysis_destroy(analysis);
  hbbp_cancel_destroy(cancel);
  CHECK_OK(hbbp_analysis_find_lines(other, function.module, function.start + 1, 1, sizeof(frame),
                                    &frame, &found, &error));
  hbbp_analysis_destroy(other);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  char text[4096];
  snprintf(text, sizeof(text), "%s/host_feed_test.txt", argv[1]);
  write_text(text);
  test_bad_options(text);
  test_log_of_feeding();
  static const hbbp_feed_order orders[] = {HBBP_FEED_BY_TIME, HBBP_FEED_AS_ADDED};
  static const int fail_every[] = {0, 1, 2, 3, 7};
  for (size_t i = 0; i < 2; ++i) {
    test_memory_of_feeding(orders[i]);
    for (size_t k = 0; k < sizeof(fail_every) / sizeof(*fail_every); ++k) {
      test_allocator_of_feeding(orders[i], fail_every[k]);
    }
  }
  test_import(text);
  test_cancelled_snapshot();
  test_source_lines();
  return end_of_checks();
}
