/* What a host may rely on that profiles others: sessions on many threads have nothing in common, a
 * session can be asked while it is fed, and nothing of the process is touched.
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

enum { PID = 7, CODE_ADDRESS = 0x7000, PERIOD = 100, SESSIONS = 8, ROUNDS = 40, BATCH = 64 };

/* A session of generated code that is `nops` nops, a jump to the first of them, and a return. */
typedef struct fed {
  hbbp_session *session;
  uint32_t source;
  uint32_t nops;
} fed;

static fed fed_of(uint32_t nops) {
  fed made = {.nops = nops};
  CHECK_OK(hbbp_session_create_fed(NULL, &made.session, &error));
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_INSTRUCTIONS;
  source.period = PERIOD;
  CHECK_OK(hbbp_session_add_fed_source(made.session, &source, &made.source, &error));
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
  CHECK_OK(hbbp_session_feed_events(made.session, &event, 1, sizeof(event), &error));
  return made;
}

static void feed(const fed *of) {
  hbbp_feed_sample samples[BATCH];
  memset(samples, 0, sizeof(samples));
  for (uint32_t i = 0; i < BATCH; ++i) {
    samples[i].ip = CODE_ADDRESS + i % of->nops;
    samples[i].pid = PID;
    samples[i].tid = PID + i % 3;
  }
  CHECK_OK(
      hbbp_session_feed_samples(of->session, of->source, samples, BATCH, sizeof(*samples), &error));
}

/* Samples in the only block that the session can have; checks all that is known of it. */
static uint64_t samples_in_block(const fed *of) {
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(of->session, &profile, &error));
  HBBP_INIT(hbbp_profile_info, info);
  CHECK_OK(hbbp_profile_get_info(profile, &info, &error));
  CHECK(hbbp_profile_block_count(profile) == (info.samples != 0));
  HBBP_INIT(hbbp_block, block);
  if (info.samples != 0) {
    const uint32_t length = of->nops + 1;
    CHECK_OK(hbbp_profile_block_at(profile, 0, &block, &error));
    CHECK(block.start == CODE_ADDRESS && block.end == CODE_ADDRESS + of->nops + 2);
    CHECK(block.instruction_count == length && block.samples == info.samples);
    const double expected = (double)info.samples * PERIOD / length;
    CHECK(block.count > expected * 0.999999 && block.count < expected * 1.000001);
  }
  hbbp_profile_destroy(profile);
  return info.samples;
}

/* Every worker has sessions of code of its own at the same address of the same process. */
static void *work(void *number) {
  const uint32_t nops = 3 + *(const uint32_t *)number;
  for (int round = 0; round < ROUNDS; ++round) {
    const fed one = fed_of(nops), other = fed_of(nops + SESSIONS);
    for (int batch = 1; batch <= 3; ++batch) {
      feed(&one);
      CHECK(samples_in_block(&one) == (uint64_t)batch * BATCH);
    }
    feed(&other);
    CHECK(samples_in_block(&other) == BATCH);
    hbbp_session_destroy(one.session);
    CHECK(samples_in_block(&other) == BATCH);
    hbbp_session_destroy(other.session);
  }
  return NULL;
}

static void test_sessions_in_parallel(void) {
  pthread_t workers[SESSIONS];
  uint32_t numbers[SESSIONS];
  for (uint32_t i = 0; i < SESSIONS; ++i) {
    numbers[i] = i;
    CHECK(pthread_create(&workers[i], NULL, work, &numbers[i]) == 0);
  }
  for (int i = 0; i < SESSIONS; ++i) pthread_join(workers[i], NULL);
}

enum { FEEDERS = 3, BATCHES = 300 };

static void *feed_often(void *session) {
  for (int i = 0; i < BATCHES; ++i) feed(session);
  return NULL;
}

/* A snapshot has whole batches, and never fewer of them than the one before. */
static void test_asked_while_fed(void) {
  fed one = fed_of(5);
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
  hbbp_session_destroy(one.session);
}

/* What a library could change behind the back of its host. */
typedef struct process_state {
  struct sigaction actions[NSIG];
  sigset_t mask;
  stack_t alternate_stack;
  struct itimerval timers[3];
  int threads;
  int descriptors;
} process_state;

static int entries_of(const char *folder) {
  DIR *const opened = opendir(folder);
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
  const fed one = fed_of(4);
  check_untouched(&before);
  feed(&one);
  check_untouched(&before);
  CHECK(samples_in_block(&one) == BATCH);
  check_untouched(&before);

  hbbp_profile *loaded = NULL;
  CHECK_OK(hbbp_profile_load(profile_file, &loaded, &error));
  CHECK(hbbp_profile_module_count(loaded) > 0);
  (void)hbbp_profile_block_count(loaded);
  check_untouched(&before);
  hbbp_profile_destroy(loaded);

  char recording[4096];
  const size_t folders = strlen(profile_file) - strlen(strstr(profile_file, "/profile_file/"));
  snprintf(recording, sizeof(recording), "%.*s/perf_data/file", (int)folders, profile_file);
  hbbp_profile *imported = NULL;
  CHECK_OK(hbbp_profile_import(recording, NULL, &imported, &error));
  CHECK(hbbp_profile_source_count(imported) > 0);
  (void)hbbp_profile_block_count(imported);
  check_untouched(&before);
  hbbp_profile_destroy(imported);
  hbbp_session_destroy(one.session);
  check_untouched(&before);
  CHECK(state_now().descriptors == before.descriptors);
}

int main(int argc, char **argv) {
  if (argc != 2 || strstr(argv[1], "/profile_file/") == NULL) return 2;
  test_process_is_untouched(argv[1]);
  test_sessions_in_parallel();
  test_asked_while_fed();
  return end_of_checks();
}
