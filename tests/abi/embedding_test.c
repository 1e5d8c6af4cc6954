/* Tests promises to a host that profiles others: feeds on many threads share nothing, a feed can be
 * queried while samples are added to it, and nothing of the process is changed.
 *
 * usage: embedding_test CORPUS/profile_file/FILE */
#define _GNU_SOURCE /* for sigaction */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "checks.h"

enum { PID = 7, CODE_ADDRESS = 0x7000, PERIOD = 100, FEEDS = 8, ROUNDS = 40, BATCH = 64 };

/* A feed of generated code that is `nops` nops, a jump to the first of them, and a return. */
typedef struct code_feed {
  hbbp_feed *feed;
  uint32_t source;
  uint32_t nops;
} code_feed;

static code_feed feed_of(uint32_t nops) {
  code_feed made = {.nops = nops};
  CHECK_OK(hbbp_feed_create(NULL, &made.feed, &error));
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_INSTRUCTIONS;
  source.period = PERIOD;
  CHECK_OK(hbbp_feed_add_source(made.feed, &source, &made.source, &error));
  uint8_t code[64];
  memset(code, 0x90, sizeof(code));
  code[nops] = 0xeb;
  code[nops + 1] = (uint8_t) - (int)(nops + 2);
  code[nops + 2] = 0xc3;
  const hbbp_feed_event event = {.kind = HBBP_FEED_CODE,
                                 .pid = PID,
                                 .address = CODE_ADDRESS,
                                 .size = nops + 3,
                                 .code = code,
                                 .name = "nops"};
  CHECK_OK(hbbp_feed_add_events(made.feed, &event, 1, sizeof(event), &error));
  return made;
}

static void add_samples(const code_feed *of) {
  hbbp_feed_sample samples[BATCH];
  memset(samples, 0, sizeof(samples));
  for (uint32_t i = 0; i < BATCH; ++i) {
    samples[i].ip = CODE_ADDRESS + i % of->nops;
    samples[i].pid = PID;
    samples[i].tid = PID + i % 3;
  }
  CHECK_OK(hbbp_feed_add_samples(of->feed, of->source, samples, BATCH, sizeof(*samples), &error));
}

/* Adds samples in the only block that the feed can have, and checks everything that is known of it.
 */
static uint64_t samples_in_block(const code_feed *of) {
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_feed_snapshot(of->feed, NULL, &profile, &error));
  HBBP_INIT(hbbp_profile_info, info);
  CHECK_OK(hbbp_profile_get_info(profile, &info, &error));
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  CHECK(hbbp_analysis_block_count(analysis) == (info.samples != 0));
  HBBP_INIT(hbbp_block, block);
  if (info.samples != 0) {
    const uint32_t length = of->nops + 1;
    CHECK_ELEMENT(hbbp_analysis_copy_blocks, analysis, 0, &block);
    CHECK(block.start == CODE_ADDRESS && block.end == CODE_ADDRESS + of->nops + 2);
    CHECK(block.instruction_count == length && block.samples == info.samples);
    const double expected = (double)info.samples * PERIOD / length;
    CHECK(block.count > expected * 0.999999 && block.count < expected * 1.000001);
  }
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  return info.samples;
}

/* Every worker has feeds of its own code at the same address of the same process. */
static void *work(void *number) {
  const uint32_t nops = 3 + *(const uint32_t *)number;
  for (int round = 0; round < ROUNDS; ++round) {
    const code_feed one = feed_of(nops), other = feed_of(nops + FEEDS);
    for (int batch = 1; batch <= 3; ++batch) {
      add_samples(&one);
      CHECK(samples_in_block(&one) == (uint64_t)batch * BATCH);
    }
    add_samples(&other);
    CHECK(samples_in_block(&other) == BATCH);
    hbbp_feed_destroy(one.feed);
    CHECK(samples_in_block(&other) == BATCH);
    hbbp_feed_destroy(other.feed);
  }
  return NULL;
}

static void test_feeds_in_parallel(void) {
  pthread_t workers[FEEDS];
  uint32_t numbers[FEEDS];
  for (uint32_t i = 0; i < FEEDS; ++i) {
    numbers[i] = i;
    CHECK(pthread_create(&workers[i], NULL, work, &numbers[i]) == 0);
  }
  for (int i = 0; i < FEEDS; ++i) pthread_join(workers[i], NULL);
}

enum { FEEDERS = 3, BATCHES = 300 };

static void *feed_often(void *feed) {
  for (int i = 0; i < BATCHES; ++i) add_samples(feed);
  return NULL;
}

/* A snapshot has whole batches, and never fewer of them than the one before. */
static void test_asked_while_fed(void) {
  code_feed one = feed_of(5);
  pthread_t feeders[FEEDERS];
  for (int i = 0; i < FEEDERS; ++i) {
    CHECK(pthread_create(&feeders[i], NULL, feed_often, &one) == 0);
  }
  const uint64_t all = (uint64_t)FEEDERS * BATCHES * BATCH;
  uint64_t before = 0;
  while (before < all && failures == 0) {
    const uint64_t now = samples_in_block(&one);
    CHECK(now >= before && now % BATCH == 0);
    before = now;
  }
  for (int i = 0; i < FEEDERS; ++i) pthread_join(feeders[i], NULL);
  CHECK(samples_in_block(&one) == all);
  hbbp_feed_destroy(one.feed);
}

/* Properties of the process that a library could change unnoticed. */
typedef struct process_state {
  struct sigaction actions[NSIG];
  sigset_t mask;
  stack_t alternate_stack;
  struct itimerval timers[3];
  int threads;
  int descriptors;
} process_state;

static int entries_of(const char *directory) {
  DIR *const opened = opendir(directory);
  int entries = 0;
  while (opened != NULL && readdir(opened) != NULL) ++entries;
  if (opened != NULL) closedir(opened);
  return entries;
}

static process_state state_now(void) {
  process_state state;
  memset(&state, 0, sizeof(state));
  for (int i = 1; i < NSIG; ++i) sigaction(i, NULL, &state.actions[i]);
  pthread_sigmask(SIG_SETMASK, NULL, &state.mask);
  sigaltstack(NULL, &state.alternate_stack);
  for (int i = 0; i < 3; ++i) getitimer(i, &state.timers[i]);
  state.threads = entries_of("/proc/self/task");
  state.descriptors = entries_of("/proc/self/fd");
  return state;
}

static void check_untouched(const process_state *before) {
  const process_state now = state_now();
  for (int i = 1; i < NSIG; ++i) {
    CHECK(now.actions[i].sa_handler == before->actions[i].sa_handler);
    CHECK(now.actions[i].sa_flags == before->actions[i].sa_flags);
  }
  CHECK(memcmp(&now.mask, &before->mask, sizeof(now.mask)) == 0);
  CHECK(now.alternate_stack.ss_sp == before->alternate_stack.ss_sp);
  CHECK(memcmp(now.timers, before->timers, sizeof(now.timers)) == 0);
  CHECK(now.threads == before->threads);
}

static void test_process_is_untouched(const char *profile_file) {
  const process_state before = state_now();
  const code_feed one = feed_of(4);
  check_untouched(&before);
  add_samples(&one);
  check_untouched(&before);
  CHECK(samples_in_block(&one) == BATCH);
  check_untouched(&before);

  hbbp_profile *loaded = NULL;
  CHECK_OK(hbbp_profile_load(profile_file, NULL, &loaded, &error));
  CHECK(hbbp_profile_module_count(loaded) > 0);
  hbbp_analysis *of_loaded = NULL;
  CHECK_OK(hbbp_analysis_create(loaded, NULL, NULL, &of_loaded, &error));
  hbbp_analysis_destroy(of_loaded);
  check_untouched(&before);
  hbbp_profile_destroy(loaded);

  char recording[4096];
  const size_t directories = strlen(profile_file) - strlen(strstr(profile_file, "/profile_file/"));
  snprintf(recording, sizeof(recording), "%.*s/perf_data/file", (int)directories, profile_file);
  hbbp_profile *imported = NULL;
  CHECK_OK(hbbp_profile_import(recording, NULL, NULL, &imported, &error));
  CHECK(hbbp_profile_source_count(imported) > 0);
  hbbp_analysis *of_imported = NULL;
  CHECK_OK(hbbp_analysis_create(imported, NULL, NULL, &of_imported, &error));
  hbbp_analysis_destroy(of_imported);
  check_untouched(&before);
  hbbp_profile_destroy(imported);
  hbbp_feed_destroy(one.feed);
  check_untouched(&before);
  CHECK(state_now().descriptors == before.descriptors);
}

int main(int argc, char **argv) {
  if (argc != 2 || strstr(argv[1], "/profile_file/") == NULL) return 2;
  test_process_is_untouched(argv[1]);
  test_feeds_in_parallel();
  test_asked_while_fed();
  return end_of_checks();
}
