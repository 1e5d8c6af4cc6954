/* Tests what a session keeps open: the files of modules with samples, as long as it or a profile
 * lives, in numbers that the program does not use. The program keeps its own descriptors, however
 * many profiles it has. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks.h"

enum { LIMIT = 64, PROFILES = 2 * LIMIT, OWN_FILES = 20, SKIPPED = 77 };

__attribute__((noinline)) static void work(void) {
  for (int i = 0; i < 20000000; ++i) __asm__ volatile("");
}

/* Counts open descriptors up to LIMIT. */
static int open_descriptors(void) {
  int count = 0;
  for (int number = 0; number < LIMIT; ++number) count += fcntl(number, F_GETFD) != -1;
  return count;
}

static hbbp_session *stopped_session(void) {
  hbbp_session *session = NULL;
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EBS;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 200000;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  CHECK_OK(hbbp_session_start(session, &error));
  work();
  CHECK_OK(hbbp_session_stop(session, &error));
  return session;
}

/* Returns a profile that was analysed, with blocks of this program's code. */
static hbbp_profile *analysed_profile(hbbp_session *session) {
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  CHECK(hbbp_analysis_block_count(analysis) > 0);
  hbbp_analysis_destroy(analysis);
  return profile;
}

/* Checks files that an exec closes, in the upper half of the numbers. */
static void check_kept(int before) {
  int kept = 0;
  for (int number = 0; number < LIMIT; ++number) {
    struct stat file;
    if (fstat(number, &file) != 0) continue;
    if (number < LIMIT / 2) continue;
    ++kept;
    CHECK(S_ISREG(file.st_mode));
    CHECK((fcntl(number, F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(kept > 0);
  CHECK(open_descriptors() == before + kept);
}

static void test_what_is_kept(void) {
  const int before = open_descriptors();
  hbbp_session *session = stopped_session();
  check_kept(before);
  hbbp_profile *profile = analysed_profile(session);
  check_kept(before);
  hbbp_session_destroy(session);
  check_kept(before);
  hbbp_profile_destroy(profile);
  CHECK(open_descriptors() == before);
}

static void test_more_profiles_than_descriptors(void) {
  const int before = open_descriptors();
  static hbbp_profile *profiles[PROFILES];
  for (int i = 0; i < PROFILES; ++i) {
    hbbp_session *session = stopped_session();
    profiles[i] = analysed_profile(session);
    hbbp_session_destroy(session);
  }
  int own[OWN_FILES];
  for (int i = 0; i < OWN_FILES; ++i) {
    own[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(own[i] >= 0 && own[i] < LIMIT / 2);
  }
  for (int i = 0; i < OWN_FILES; ++i) close(own[i]);
  for (int i = 0; i < PROFILES; ++i) hbbp_profile_destroy(profiles[i]);
  CHECK(open_descriptors() == before);
}

static int can_sample(void) {
  hbbp_session *session = NULL;
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EBS;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  HBBP_INIT(hbbp_error, failure);
  const int can = hbbp_session_start(session, &failure) == HBBP_OK;
  if (!can) printf("skipped: %s\n", failure.message);
  hbbp_session_destroy(session);
  return can;
}

int main(void) {
  for (int number = 3; number < 1024; ++number) close(number); /* of whoever runs the tests */
  const struct rlimit limit = {LIMIT, LIMIT};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  if (!can_sample()) return SKIPPED;
  test_what_is_kept();
  test_more_profiles_than_descriptors();
  return end_of_checks();
}
